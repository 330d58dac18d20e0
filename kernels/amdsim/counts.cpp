// Every decoded instruction has a counter of its own; a
// launch's counts are what they grew by, summed by class.
#include "counts.hpp"

#include "settings.hpp"

#include <cctype>
#include <cstdio>
#include <map>

namespace amdsim {

bool collect_counts = false;
uint64_t class_bytes[C_COUNT];
amdsim_counts last_counts = {};

namespace {

// A class's name in the JSON line, and where amdsim_counts has its instructions and bytes.
struct ClassField {
  Class klass;
  const char* name;
  uint64_t amdsim_counts::* instructions;
  uint64_t amdsim_counts::* bytes;
};
const ClassField class_fields[] = {
    {C_VALU, "valu", &amdsim_counts::valu, nullptr},
    {C_PACKED, "valu_packed", &amdsim_counts::valu_packed, nullptr},
    {C_TRANS, "trans", &amdsim_counts::trans, nullptr},
    {C_MFMA, "mfma", &amdsim_counts::mfma, nullptr},
    {C_LDS, "lds", &amdsim_counts::lds, &amdsim_counts::lds_bytes},
    {C_LOAD, "vmem_load", &amdsim_counts::vmem_load, &amdsim_counts::vmem_load_bytes},
    {C_STORE, "vmem_store", &amdsim_counts::vmem_store, &amdsim_counts::vmem_store_bytes},
    {C_ATOMIC, "vmem_atomic", &amdsim_counts::vmem_atomic, &amdsim_counts::vmem_atomic_bytes},
    {C_LOADLDS, "vmem_load_lds", &amdsim_counts::vmem_load_lds, &amdsim_counts::vmem_load_lds_bytes},
    {C_SCRATCH, "scratch", &amdsim_counts::scratch, &amdsim_counts::scratch_bytes},
    {C_SMEM, "smem", &amdsim_counts::smem, &amdsim_counts::smem_bytes},
    {C_SALU, "salu", &amdsim_counts::salu, nullptr},
    {C_BRANCH, "branch", &amdsim_counts::branch, nullptr},
    {C_BARRIER, "barrier", &amdsim_counts::barrier, nullptr},
    {C_WAITCNT, "waitcnt", &amdsim_counts::waitcnt, nullptr},
    {C_OTHER, "other", &amdsim_counts::other, nullptr},
};
std::map<std::string, uint64_t> mfma_by_shape; // of the last launch

// V_MFMA_F32_16X16X32_FP8_FP8 -> 16 * 16 * 32; forms of several blocks say so: _2B
uint64_t multiply_adds(const std::string& mfma) {
  unsigned m = 0, n = 0, k = 0, blocks = 1;
  const size_t x = mfma.find('X');
  if (x == mfma.npos) return 0;
  const size_t shape = mfma.rfind('_', x) + 1;
  const int fields = sscanf(mfma.c_str() + shape, "%uX%uX%u_%uB", &m, &n, &k, &blocks);
  return uint64_t{m} * n * k * (fields == 4 ? blocks : 1);
}

std::string lower(std::string s) {
  for (char& c : s) c = tolower(c);
  return s;
}

void count_instruction(Inst& in, uint64_t instructions_by_class[]) {
  const uint64_t grown = in.count - in.counted;
  in.counted = in.count;
  instructions_by_class[in.klass] += grown;
  last_counts.instructions += grown;
  if (in.klass != C_MFMA || !grown) return;
  mfma_by_shape[lower(in.name)] += grown;
  last_counts.mfma_multiply_adds += grown * multiply_adds(in.name);
}

} // namespace

// Launches that nobody counted have moved the instructions' counters on.
void counts_start(const Kernel& k) {
  memset(class_bytes, 0, sizeof class_bytes);
  for (Inst* in : *k.co->table)
    if (in) in->counted = in->count;
}

void counts_finish(const Kernel& k, const LaunchDims& d, uint64_t waves, uint64_t max_block_instructions) {
  uint64_t instructions_by_class[C_COUNT] = {};
  last_counts = {};
  mfma_by_shape.clear();
  for (Inst* in : *k.co->table)
    if (in) count_instruction(*in, instructions_by_class);
  for (const ClassField& f : class_fields) {
    last_counts.*f.instructions = instructions_by_class[f.klass];
    if (f.bytes) last_counts.*f.bytes = class_bytes[f.klass];
  }
  last_counts.struct_size = sizeof last_counts;
  last_counts.waves = waves;
  last_counts.max_block_instructions = max_block_instructions;
  last_counts.blocks = uint64_t{d.grid[0]} * d.grid[1] * d.grid[2];
  last_counts.vgprs = k.vgprs;
  last_counts.agprs = k.agprs;
  last_counts.sgprs = k.sgprs;
  last_counts.lds_per_block = R.lds_size;
  last_counts.scratch_per_lane = k.priv;
  last_counts.threads_per_block = d.block[0] * d.block[1] * d.block[2];
}

// ---- AMDSIM_STATS=2: one line of JSON for a launch ----------------------------------------------
namespace {

struct JsonObject {
  std::string text;
  double divisor; // 1: whole numbers

  void add(const std::string& key, uint64_t value) {
    char number[60];
    if (divisor == 1)
      snprintf(number, sizeof number, "%llu", (unsigned long long)value);
    else
      snprintf(number, sizeof number, "%.10g", value / divisor);
    text += (text.empty() ? "\"" : ", \"") + key + "\": " + number;
  }
};

std::string counts_json(double divisor) {
  JsonObject counts{"", divisor}, shapes{"", divisor};
  for (const ClassField& f : class_fields) counts.add(f.name, last_counts.*f.instructions);
  for (const ClassField& f : class_fields)
    if (f.bytes) counts.add(std::string(f.name) + "_bytes", last_counts.*f.bytes);
  for (auto& [shape, count] : mfma_by_shape) shapes.add(shape, count);
  return "{" + counts.text + ", \"mfma_by_shape\": {" + shapes.text + "}}";
}

} // namespace

void print_counts(const Kernel& k, const LaunchDims& d, double seconds) {
  const double waves = last_counts.waves ? last_counts.waves : 1;
  fprintf(stderr,
          "{\"kernel\": \"%s\", \"grid\": [%u, %u, %u], \"block\": [%u, %u, %u], \"lds\": %u, \"status\": "
          "\"%s\", "
          "\"waves\": %llu, \"seconds\": %.6f, \"instructions\": %llu, \"total\": %s, \"per_wave\": %s}\n",
          k.name.c_str(), d.grid[0], d.grid[1], d.grid[2], d.block[0], d.block[1], d.block[2], R.lds_size,
          R.status == Status::Ok ? "ok" : "failed", (unsigned long long)last_counts.waves, seconds,
          (unsigned long long)last_counts.instructions, counts_json(1).c_str(), counts_json(waves).c_str());
  fflush(stderr);
}

} // namespace amdsim
