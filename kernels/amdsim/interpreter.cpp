// Fetch, decode once, call the handler. Handlers advance the
// program counter; ~0 in it means that the wave has ended.
#include "interpreter.hpp"

#include "counts.hpp"
#include "coverage.hpp"
#include "settings.hpp"

#include <ctime>
#include <xmmintrin.h>

namespace amdsim {
namespace {

constexpr uint64_t ended_pc = ~0ull;
constexpr unsigned longest_instruction_bytes = 20;
double deadline;

// Decodes what stands at `pc`. Faults leak nothing: the jump passes over this function.
Inst* translate(CodeObj& co, uint64_t pc) {
  static std::string error;
  if (pc < co.base || pc + longest_instruction_bytes > co.base + co.size || pc & 3)
    fault(Status::Fault, "the program counter %#llx left the code object", (unsigned long long)pc);
  R.in = nullptr;
  Inst* in = (*co.table)[(pc - co.base) / 4] = new Inst;
  if (!decode(pc, *in, error, co.target == "gfx950")) {
    uint32_t words[2];
    memcpy(words, (void*)pc, 8);
    delete in;
    (*co.table)[(pc - co.base) / 4] = nullptr;
    fault(Status::Unimplemented, "cannot decode the instruction words %08x %08x: %s", words[0], words[1],
          error.c_str());
  }
  if (!select_inst(*in, R.fnuz)) in->nat = do_refuse;
  classify(*in);
  in->covered = is_covered(*in);
  return in;
}

void trace(const Wave& w, const Inst& in, uint64_t pc) {
  say("  block (%u,%u,%u) w%d +%#llx %s", w.grp->gid[0], w.grp->gid[1], w.grp->gid[2], w.id,
      (unsigned long long)(pc - R.k->entry), in.text.c_str());
}

// Who looks at the instructions. Each has a loop of its own, so that the plain one does not even ask.
enum Watch { nobody, coverage_only, everybody };

template <Watch watch> uint64_t run(Wave& w, CodeObj& co, uint64_t budget) {
  const uint64_t base = co.base, size = co.size;
  Inst** const table = co.table->data();
  const bool tracing = C.trace > 1, counting = collect_counts || C.stats > 1, covering = coverage.counters;
  for (uint64_t n = 0; n < budget; n++) {
    const uint64_t pc = w.pc();
    Inst* in = pc - base < size ? table[(pc - base) >> 2] : nullptr;
    if (__builtin_expect(!in, 0)) {
      if (pc == ended_pc) {
        w.done = true;
        return n;
      }
      in = translate(co, pc);
    }
    R.in = in;
    if (watch == everybody && tracing) trace(w, *in, pc);
    if (__builtin_expect(w.vskip, 0) && in->vector) {
      w.set_pc(pc + in->size);
      continue;
    }
    in->count++;
    if (watch == everybody && counting && in->bytes) count_bytes(w, *in);
    in->nat(w, *in);
    if (watch != nobody && in->covered && (watch == coverage_only || covering)) coverage_record(w, *in, pc);
    if (in->barrier) {
      w.barrier = true;
      return n + 1;
    }
  }
  return budget;
}

void check_limits(const Wave& w) {
  if (C.max_inst && w.ninst > C.max_inst)
    fault(Status::Timeout, "a wave ran more than AMDSIM_MAX_INST=%llu instructions",
          (unsigned long long)C.max_inst);
  if (deadline && now_seconds() > deadline)
    fault(Status::Timeout, "the launch ran longer than AMDSIM_TIMEOUT=%g seconds", C.timeout);
}

} // namespace

double now_seconds() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

void set_deadline() { deadline = C.timeout > 0 ? now_seconds() + C.timeout : 0; }

void apply_mode(Wave& w) {
  constexpr uint32_t round_nearest_no_traps = 0x1f80, flush_to_zero = 0x8000, denormals_are_zero = 0x40;
  const bool flush = (w.mode >> 4 & 3) != 3;
  w.special = w.idx || flush;
  _mm_setcsr(round_nearest_no_traps | (flush ? flush_to_zero | denormals_are_zero : 0));
}

void run_wave(Wave& w, CodeObj& co, uint64_t budget) {
  R.w = &w;
  apply_mode(w);
  const bool each_instruction = C.trace > 1 || C.stats > 1 || collect_counts;
  const auto loop = each_instruction ? run<everybody> : coverage.counters ? run<coverage_only> : run<nobody>;
  w.ninst += loop(w, co, budget);
  R.in = nullptr;
  check_limits(w);
}

} // namespace amdsim
