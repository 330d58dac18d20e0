// Blocks and waves of a launch, in the order of AMDSIM_SCHED. Blocks run one after the other, or
// AMDSIM_RESIDENT of them side by side; a wave runs until a barrier, its end or its quantum.
#include "executor.hpp"

#include "compares.hpp"
#include "counts.hpp"
#include "coverage.hpp"
#include "interpreter.hpp"
#include "settings.hpp"
#include "waves.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <xmmintrin.h>

namespace amdsim {

RunState R;

namespace {

constexpr int random_quantum_most = 200;

// What a launch holds while it runs. Static, because a fault jumps out of the functions that fill it.
struct Progress {
  LaunchBuffers buffers{};
  std::vector<Group*> live;
  std::vector<int> order;
  uint64_t blocks = 0, next_block = 0, waves = 0, instructions = 0, max_block_instructions = 0;
  int waves_per_block = 0;
} progress;
std::mt19937_64 shuffler;

// ---- what the kernel reads of its launch
// ------------------------------------------------------------------------ Kept between launches, one for
// each size: allocating costs more than a small kernel.
uint64_t buffer_of(size_t bytes, const char* what) {
  static auto& buffers = *new std::map<std::pair<size_t, const char*>, Alloc*>;
  Alloc*& a = buffers[{bytes, what}];
  if (!a) a = mem_alloc(bytes, MemKind::Internal, what);
  return a ? a->base : 0;
}

void write_packet(const LaunchBuffers& b, const Kernel& k, const LaunchDims& d) {
  const uint32_t dims = d.grid[2] > 1 || d.block[2] > 1 ? 3 : d.grid[1] > 1 || d.block[1] > 1 ? 2 : 1;
  const uint32_t words[16] = {dims << 16,
                              d.block[0] | d.block[1] << 16,
                              d.block[2],
                              d.grid[0] * d.block[0],
                              d.grid[1] * d.block[1],
                              d.grid[2] * d.block[2],
                              k.priv,
                              R.lds_size};
  memcpy((char*)b.packet, words, sizeof words);
  memcpy((char*)b.packet + 32, &k.kd, 8);
  memcpy((char*)b.packet + 40, &b.kernarg, 8);
}

bool prepare_buffers(const Kernel& k, const LaunchDims& d, const std::vector<uint8_t>& kernarg) {
  progress.buffers = {buffer_of(std::max<size_t>(kernarg.size(), 16), "kernel arguments"),
                      buffer_of(64, "dispatch packet")};
  if (!progress.buffers.kernarg || !progress.buffers.packet) return false;
  memcpy((void*)progress.buffers.kernarg, kernarg.data(), kernarg.size());
  write_packet(progress.buffers, k, d);
  return true;
}

// ---- blocks -------------------------------------------------------------------------------------
void start_block(Group& g) {
  const uint64_t i =
      C.sched == sched_reverse ? progress.blocks - 1 - progress.next_block : progress.next_block;
  progress.next_block++;
  g.gid[0] = i % R.d.grid[0];
  g.gid[1] = i / R.d.grid[0] % R.d.grid[1];
  g.gid[2] = i / R.d.grid[0] / R.d.grid[1];
  fill(g.lds, (R.lds_size + 255) & ~255u);
  lds_shadow_begin(g);
  while ((int)g.waves.size() < progress.waves_per_block) g.waves.push_back(take_wave());
  for (int id = 0; id < progress.waves_per_block; id++) init_wave(*g.waves[id], g, id, progress.buffers);
  progress.waves += progress.waves_per_block;
  g.active = true;
}

void finish_block(Group& g) {
  uint64_t instructions = 0;
  for (const Wave* w : g.waves) instructions += w->ninst;
  progress.instructions += instructions;
  progress.max_block_instructions = std::max(progress.max_block_instructions, instructions);
  g.active = false;
}

uint64_t quantum() {
  if (C.sched != sched_random) return C.quantum;
  return 1 + shuffler() % std::min(C.quantum, random_quantum_most);
}

void choose_order() {
  const int n = progress.waves_per_block;
  progress.order.resize(n);
  for (int i = 0; i < n; i++) progress.order[i] = C.sched == sched_reverse ? n - 1 - i : i;
  if (C.sched == sched_random) std::shuffle(progress.order.begin(), progress.order.end(), shuffler);
}

void release_barrier(Group& g) {
  for (Wave* w : g.waves) w->barrier = false;
  lds_shadow_barrier(g);
}

// A turn for each wave of the block. Returns whether all have ended.
bool run_turn(Group& g, CodeObj& co) {
  choose_order();
  for (int i : progress.order)
    if (Wave& w = *g.waves[i]; !w.done && !w.barrier) run_wave(w, co, quantum());
  const auto waits = [](const Wave* w) { return w->done || w->barrier; };
  if (std::all_of(g.waves.begin(), g.waves.end(), waits)) release_barrier(g);
  return std::all_of(g.waves.begin(), g.waves.end(), [](const Wave* w) { return w->done; });
}

void run_blocks(CodeObj& co) {
  while ((int)progress.live.size() < C.resident && progress.next_block < progress.blocks) {
    progress.live.push_back(take_group());
    start_block(*progress.live.back());
  }
  for (size_t active = progress.live.size(); active;) {
    for (Group* g : progress.live) {
      if (!g->active || !run_turn(*g, co)) continue;
      finish_block(*g);
      if (progress.next_block < progress.blocks)
        start_block(*g);
      else
        active--;
    }
  }
}

// ---- a launch -----------------------------------------------------------------------------------
void start_launch(Kernel& k, const LaunchDims& d, uint32_t dyn_lds) {
  R.k = &k;
  R.d = d;
  R.w = nullptr;
  R.in = nullptr;
  R.status = Status::Ok;
  R.lds_size = k.lds + dyn_lds;
  R.fnuz = C.fp8 == fp8_auto ? k.co->fnuz : C.fp8 == fp8_fnuz;
  R.tid = pthread_self();
  std::fill(std::begin(R.last), std::end(R.last), nullptr);
  k.co->use_table(R.fnuz);
  progress.blocks = (uint64_t)d.grid[0] * d.grid[1] * d.grid[2];
  progress.waves_per_block = (d.block[0] * d.block[1] * d.block[2] + 63) / 64;
  progress.next_block = progress.waves = progress.instructions = progress.max_block_instructions = 0;
  if (C.sched == sched_random) shuffler.seed(C.seed);
  reserve_scratch(k);
  set_deadline();
  if (collect_counts || C.stats > 1) counts_start(k);
  coverage_start(k);
  compares_start(k);
}

// Everything between the jump's mark and `active = false` may end in a fault.
void run_until_end_or_fault(CodeObj& co) {
  const unsigned host_float_mode = _mm_getcsr();
  if (!sigsetjmp(R.jb, 0)) {
    R.active = true;
    run_blocks(co);
  }
  R.active = false;
  _mm_setcsr(host_float_mode);
}

void finish_launch() {
  R.w = nullptr;
  R.in = nullptr;
  std::fill(std::begin(R.last), std::end(R.last), nullptr);
  for (Group* g : progress.live) give_back(g);
  progress.live.clear();
}

void print_launch(const Kernel& k, const LaunchDims& d, double seconds) {
  say("kernel %s grid (%u,%u,%u) block (%u,%u,%u) lds %u: %s, %llu wave instructions, %.3f s, %.3g/s",
      k.name.c_str(), d.grid[0], d.grid[1], d.grid[2], d.block[0], d.block[1], d.block[2], R.lds_size,
      R.status == Status::Ok ? "ok" : "FAILED", (unsigned long long)progress.instructions, seconds,
      progress.instructions / seconds);
}

} // namespace

Status run_kernel(Kernel* k, const LaunchDims& d, uint32_t dyn_lds, const std::vector<uint8_t>& kernarg,
                  std::string& msg) {
  install_signals();
  start_launch(*k, d, dyn_lds);
  if (!prepare_buffers(*k, d, kernarg)) {
    msg = "out of memory for kernel arguments";
    return Status::Fault;
  }
  const double start = now_seconds();
  run_until_end_or_fault(*k->co);
  if (R.status != Status::Ok) msg = R.msg;
  finish_launch();
  if (collect_counts || C.stats > 1) counts_finish(*k, d, progress.waves, progress.max_block_instructions);
  if (C.stats > 1)
    print_counts(*k, d, now_seconds() - start);
  else if (C.trace || C.stats)
    print_launch(*k, d, now_seconds() - start);
  return R.status;
}

} // namespace amdsim
