// What the parts of the generator share.  generate_case sets the operation and repairs and bounds what they
// draw, so a draw need not be legal.
#pragma once
#include "fuzz/case.hpp"
#include "fuzz/random.hpp"

#include <initializer_list>
#include <string_view>

namespace mqalab {

inline constexpr int64_t kMostContext = 9000, kLongestContext = 160'000; // usual, and of few cheap cases

// A boundary value for each field that the operation knows.
void draw(Case&, std::initializer_list<std::string_view> names, Random&);

void draw_config(Case&, Random&);
void draw_table(Case&, Random&);
// Some strides, dense or padded; all of them dense in two cases of five.
void draw_strides(Case&, Random&);
void draw_data(Case&, Random&);
void draw_selection(Case&, Random&);
void draw_writer(Case&, Random&);
// One long sequence in a crowd of short and empty ones: what a schedule is for.  Not for a prefill.
void draw_crowd(Case&, Random&);

// Everything but the operation itself.
void draw_logits(Case&, Random&); // paged, ragged, per head, their sum; of an indexer the logits' part
void draw_prefill(Case&, Random&);
void draw_top_k(Case&, Random&);
void draw_cache_write(Case&, Random&);
void draw_cache_gather(Case&, Random&);

} // namespace mqalab
