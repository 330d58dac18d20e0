// What memory instructions do to a value: load, store, load to LDS, or one of the atomics
#pragma once
#include <cstdint>

namespace amdsim {

enum MemoryOp : int {
  LOAD,
  STORE,
  LOADLDS, // the others are atomics
  A_SWAP,
  A_CMPSWAP,
  A_ADD,
  A_SUB,
  A_RSUB,
  A_SMIN,
  A_UMIN,
  A_SMAX,
  A_UMAX,
  A_AND,
  A_OR,
  A_XOR,
  A_INC,
  A_DEC,
  A_FADD,
  A_FMIN,
  A_FMAX,
  A_PKF16,
  A_PKBF16,
  A_MSKOR,
  A_WRAP,
  A_FCMPST
};
inline bool is_atomic(int op) { return op > LOADLDS; }

// The new value of memory that held `old`. `operand` is the instruction's data; `second`
// the value compared with (CMPSWAP, FCMPST), the bits to set (MSKOR) or to add (WRAP).
uint64_t atomic_result(int op, int bytes, uint64_t old, uint64_t operand, uint64_t second);

} // namespace amdsim
