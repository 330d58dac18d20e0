// A case: everything that one differential check depends on.  Every default is the smallest legal value, so a
// short file is a small case; a field at its default is omitted from both forms (JSON for people, a canonical
// binary record for libFuzzer).  A field that the operation does not know is at its default (fields.hpp,
// has_meaning).
#pragma once
#include "kernels/mqa.h"
#include "refimpl/generate.hpp"
#include "refimpl/problem.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace mqalab {

struct Shape {
  int32_t batch = 1, next_n = 1, heads = 8, head_dim = 128, block_size = 1;
  mqa_layout layout = MQA_PLANAR;
  mqa_fp8 fp8 = MQA_E4M3FN;
  mqa_tail tail = MQA_TAIL_UNTOUCHED;
  int64_t max_model_len = 1;
  int64_t num_blocks = 0; // 0: as many as the table program needs
  bool lens_per_row = false;
  std::vector<int32_t> context_lens{1}; // batch entries, or batch*next_n with lens_per_row
  // prefill_logits (batch 1, next_n rows, lens_per_row: context_lens are the ends) and top_k's prefill form:
  // the first column of every row, batch*next_n entries; empty: 0 everywhere, and top_k takes its decode
  // form.
  std::vector<int32_t> starts;
  bool compressed = false; // prefill_logits
  auto operator<=>(const Shape&) const = default;
};

// 0 means dense.  q: batch, next, head; all in elements but kv_block (bytes).
struct Strides {
  std::array<int64_t, 3> q{0, 0, 0};
  int64_t weights = 0, block_table = 0, logits = 0, kv_block = 0;
  int64_t logits_head = 0; // per_head_logits: between planes
  int64_t keys = 0;       // cache_write, indexer: between input keys; cache_gather: bytes between output keys
  int64_t key_scales = 0; // prefill_logits, cache_gather: between scales
  int64_t indices = 0;    // top_k
  auto operator<=>(const Strides&) const = default;
};

// high: ids at the end of a pool that crosses `period` * 2^31 bytes.
enum class TableMode : uint8_t { identity, reversed, shuffled, one_block, alias, strided, high };
enum class TablePadding : uint8_t { minus_one, zero, poisoned }; // what entries past the needed ones hold

struct TableOverride {
  int32_t row = 0, column = 0, id = 0;
  auto operator<=>(const TableOverride&) const = default;
};
struct BlockTable {
  TableMode mode = TableMode::identity;
  TablePadding padding = TablePadding::minus_one;
  uint64_t seed = 0;
  int32_t period = 1; // alias: column c names block c % period; strided: every period-th block
  std::vector<TableOverride> set;
  auto operator<=>(const BlockTable&) const = default;
};

// top_k and indexer.
struct Selection {
  int32_t k = 1;
  bool stable = false;
  auto operator<=>(const Selection&) const = default;
};
// cache_write and indexer.
struct WriterSpec {
  mqa_key_type key_type = MQA_KEY_BF16;
  mqa_scale_format scale_format = MQA_SCALE_PLAIN;
  int32_t skip_every = 0; // every skip_every-th token has slot -1; 0: none
  auto operator<=>(const WriterSpec&) const = default;
};

struct Case {
  Operation op = Operation::paged_logits;
  Shape shape;
  Strides strides;
  BlockTable block_table;
  DataSpec data;
  Selection selection;
  WriterSpec writer;
  mqa_config config{0, 0, 0, 0};
};
bool operator==(const Case&, const Case&);

// Bad input: the message names what was given, what is allowed and what to do.
struct CaseError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// JSON, as in the user guide.  case_from_json throws CaseError for an unknown field, a wrong type or a bad
// value. with_defaults writes every field, also those at their default.
std::string to_json(const Case&, int indent = 2, bool with_defaults = false);
Case case_from_json(const std::string& text, const std::string& origin);
Case load_case(const std::string& path);

// The canonical record (case_record.cpp).  decode is total: any bytes give a case (perhaps an illegal one)
// and encode(decode(b)) is idempotent; decode(encode(c)) == c for every c that record_holds(c).
std::vector<uint8_t> encode(const Case&);
Case decode(std::span<const uint8_t> record);
bool record_holds(const Case&);

// Empty: legal.  Otherwise one sentence that names the field, what was given and what is allowed.
// why_outside_contract asks libmqa's contract alone, why_illegal also the lab's own limits on size.
std::string why_outside_contract(const Case&);
std::string why_illegal(const Case&);
// The same with the limits of what is judged on the device (docs/large.md): logits, on real hardware.
std::string why_unjudgeable(const Case&);

// The case with every default filled in: strides, table, number of blocks.  Precondition:
// why_illegal(c).empty().
Problem resolve(const Case&);
// The same without the table, which costs time; needs only a legal shape, lengths and strides.
Problem resolve_shape(const Case&);
// Rewrites every table entry that the read set excludes.  `poisoned` falls back to -1 when every block is
// needed.
void fill_table_padding(Problem&, TablePadding);
// The case whose every automatic field is replaced by what `p` and `config` say: for a file that hides
// nothing.
Case spelled_out(const Case&, const Problem& p, const mqa_config& config);

} // namespace mqalab
