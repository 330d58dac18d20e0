// What a self-contained reproducer carries: the resolved problem, the tensors' bytes in a compact form, and
// the cells to look at with what is due there.
#pragma once
#include "fuzz/case.hpp"
#include "fuzz/verdict.hpp"
#include "refimpl/reference.hpp"
#include "refimpl/sparse_buffer.hpp"

#include <string>
#include <vector>

namespace mqalab {

// `hex` written `repeats` times from byte `offset` on.
struct Piece {
  int64_t offset = 0, repeats = 1;
  std::string hex;
};
std::vector<Piece> pieces(const SparseBuffer&);

enum class Due : uint8_t { value, minus_infinity, untouched };
struct DueCell {
  int64_t row, column; // of the output
  int64_t element;     // of the buffer
  Due due;
  double expected, bound;
};

struct ReproData {
  Problem problem;
  mqa_config config;
  std::vector<Piece> q, kv_cache, weights, key_scales;
  std::vector<DueCell> cells; // the bad ones first
  std::string title;          // one line: the verdict
  std::string no_program;     // why there is none; empty: there is
};
ReproData repro_data(const Case&, const Verdict&, const Policy&);

// Bytes of the planes between the steps of a head sum; 0 of other operations.
int64_t planes_bytes(const Problem&);
// Function of the C API that makes the logits, and where ragged sequences start in their list.
std::string_view entry_name(Operation);
std::vector<int32_t> slot_prefix_of(const Problem&);

// One-file programs: C++ against the C API and the HIP runtime, Python against the same by ctypes with NumPy.
std::string repro_cpp(const ReproData&);
std::string repro_py(const ReproData&);

} // namespace mqalab
