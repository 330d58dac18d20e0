// A decoded instruction: what the decoder read, which handler
// executes it, and the fields that the handler keeps.
#pragma once
#include <cstdint>
#include <string>

namespace amdsim {

struct Wave;
struct Inst;
struct VInst;
typedef void (*NativeFn)(Wave&, const Inst&);

// Classes of the counts (counts.cpp)
enum Class {
  C_OTHER,
  C_VALU,
  C_PACKED,
  C_TRANS,
  C_MFMA,
  C_LDS,
  C_LOAD,
  C_STORE,
  C_ATOMIC,
  C_LOADLDS,
  C_SCRATCH,
  C_SMEM,
  C_SALU,
  C_BRANCH,
  C_BARRIER,
  C_WAITCNT,
  C_COUNT
};

struct Inst {
  NativeFn nat = nullptr;
  uint64_t count = 0, counted = 0; // executed so far; of these in earlier launches
  uint8_t size = 4, klass = 0;
  bool barrier = false, vector = false; // vector: skipped by s_setvskip
  bool covered = false;                 // coverage_record() wants to see it
  uint8_t bytes = 0;                    // that a lane moves
  uint32_t raw[4] = {0, 0, 0, 0};
  int op = 0, n = 0, w = 0, a = 0, b = 0, c = 0, d = 0, e = 0; // the handlers' own
  const VInst* v = nullptr;                                    // vector arithmetic
  uint8_t sr[2] = {0, 0}, sc[2] = {0, 0},
          sd = 0;          // scalar arithmetic: registers, which are constants, destination
  uint64_t sk[2] = {0, 0}; // ... the constants
  std::string cls, name, text;
};

bool decode(uint64_t pc, Inst& in, std::string& error,
            bool gfx950); // decoder.cpp: cls, name, text, size, raw

// isa/
bool select_inst(Inst& in, bool fnuz); // fills in.nat; false: nothing executes it
void classify(Inst& in);               // fills in.klass, in.bytes, in.vector
void do_nop(Wave& w, const Inst& in);
void do_refuse(Wave& w, const Inst& in);

} // namespace amdsim
