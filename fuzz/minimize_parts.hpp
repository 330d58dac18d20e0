// The parts of the table of moves (minimize_moves.cpp): what they are made of, and the moves themselves, a
// file for each kind.  A move proposes simpler neighbours of a case, the boldest first; they need not be
// legal.
#pragma once
#include "fuzz/fields.hpp"

#include <functional>
#include <string_view>
#include <vector>

namespace mqalab {

using Cases = std::vector<Case>;

// Smallest first, then ever closer to the present value: a greedy walk over these is a bisection.
std::vector<int64_t> towards(int64_t smallest, int64_t value);
Case with(const Case&, std::string_view field, int64_t value);
Cases smaller_values(const Case&, std::string_view field, int64_t step = 1);
// None when the field is at its default.
Cases default_value(const Case&, std::string_view field);
// All fields of the group at once, then each.
Cases defaults_of(const Case&, FieldGroup);

// The sequences [first, first + batch), and the rows [first, first + next_n) of every sequence.
Case sequences(const Case&, int64_t first, int64_t batch);
Case with_next_n(const Case&, int32_t next_n, int32_t first = 0);

// minimize_moves.cpp: data, configuration, table, pool, paddings
Cases simpler_data(const Case&);
Cases simpler_config(const Case&);
Cases simpler_table(const Case&);
Cases dense_strides(const Case&);
Cases smaller_strides(const Case&);
Cases smaller_blocks(const Case&);
Cases default_formats(const Case&);

// minimize_rows.cpp: sequences, rows, heads, columns
Cases fewer_sequences(const Case&);
Cases smaller_next_n(const Case&);
Cases lengths_per_sequence(const Case&);
Cases fewer_heads(const Case&);
Cases usual_head_dim(const Case&);
Cases shorter_contexts(const Case&);
Cases columns_and_context(const Case&);
Cases fewer_columns(const Case&);
Cases equal_contexts(const Case&);
Cases shorter_single_context(const Case&);

// minimize_operation.cpp: what only some operations have
Cases simpler_operation(const Case&);
Cases simpler_starts(const Case&);
Cases simpler_selection(const Case&);
Cases k_and_context(const Case&);

// minimize_trades.cpp
Cases rows_for_stride(const Case&);
Cases batch_for_next_n(const Case&);
Cases context_for_chunk(const Case&);
Cases context_for_splits(const Case&);
Cases blocks_for_stride(const Case&);

} // namespace mqalab
