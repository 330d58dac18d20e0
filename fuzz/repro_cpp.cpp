// Writes repro.cpp: data first, then a main() that never changes.
#include "fuzz/repro_data.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

namespace mqalab {
namespace {

constexpr const char* kHead =
    R"cpp(// Reproduces one finding of mqalab without the lab: C API of libmqa and the HIP runtime, nothing else.
//   {title}
// build:  c++ -std=c++17 repro.cpp -I <folder of mqa.h> -I <folder of hip/> -L <folder of libmqa> -lmqa -lamdhip64 -o repro
// run:    ./repro          exit 1: at least one cell is wrong
#if !defined(__HIP_PLATFORM_AMD__) && !defined(__HIP_PLATFORM_NVIDIA__) && !defined(MQA_PLATFORM_NVIDIA)
#define __HIP_PLATFORM_AMD__ 1
#endif
#include <hip/hip_runtime_api.h>
#if __has_include("kernels/mqa.h")
#include "kernels/mqa.h"
#else
#include <mqa.h>
#endif

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

struct Piece {{ long long offset, repeats; const char* hex; }};  // bytes at an offset, repeated
struct Cell {{ long long row, column; char due; double expected, bound; }};  // v value, i -inf, u untouched
)cpp";

constexpr const char* kMain = R"cpp(
static void check(hipError_t error, const char* what) {
  if (error == hipSuccess) return;
  std::printf("%s: %s\n", what, hipGetErrorString(error));
  std::exit(1);
}
static unsigned char* device(long long bytes) {
  void* memory = nullptr;
  check(hipMalloc(&memory, bytes > 0 ? bytes : 4), "hipMalloc");
  return static_cast<unsigned char*>(memory);
}
static void fill(unsigned char* memory, const Piece* pieces, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const size_t length = std::strlen(pieces[i].hex) / 2;
    std::vector<unsigned char> bytes;
    for (long long r = 0; r < pieces[i].repeats; ++r)
      for (size_t b = 0; b < length; ++b) {
        unsigned value = 0;
        std::sscanf(pieces[i].hex + 2 * b, "%2x", &value);
        bytes.push_back(static_cast<unsigned char>(value));
      }
    check(hipMemcpy(memory + pieces[i].offset, bytes.data(), bytes.size(), hipMemcpyHostToDevice), "hipMemcpy");
  }
}
static bool right(const Cell& cell, uint32_t bits) {
  float got;
  std::memcpy(&got, &bits, 4);
  if (cell.due == 'u') return bits == kSentinel;
  if (bits == kSentinel) return false;
  if (std::isnan(cell.expected)) return std::isnan(got);
  if (std::isinf(cell.expected)) return got == static_cast<float>(cell.expected);
  return std::fabs(got - cell.expected) <= cell.bound + std::fabs(cell.expected) * 6e-8;
}

int main() {
  unsigned char *q = device(kQBytes), *kv = device(kKvBytes), *weights = device(kWeightsBytes);
  unsigned char *lens = device(sizeof kLens), *table = device(sizeof kTable), *logits = device(kLogitsBytes);
  fill(q, kQ, sizeof kQ / sizeof *kQ);
  fill(kv, kKv, sizeof kKv / sizeof *kKv);
  fill(weights, kWeights, sizeof kWeights / sizeof *kWeights);
  check(hipMemcpy(lens, kLens, sizeof kLens, hipMemcpyHostToDevice), "hipMemcpy");
  check(hipMemcpy(table, kTable, sizeof kTable, hipMemcpyHostToDevice), "hipMemcpy");
  for (const Cell& cell : kCells)
    check(hipMemcpy(logits + 4 * (cell.row * kLogitsStride + cell.column), &kSentinel, 4, hipMemcpyHostToDevice), "hipMemcpy");
  mqa_paged_logits_args args = arguments();
  args.q = q, args.kv_cache = kv, args.weights = reinterpret_cast<float*>(weights);
  args.context_lens = reinterpret_cast<int32_t*>(lens), args.block_table = reinterpret_cast<int32_t*>(table);
  args.logits = reinterpret_cast<float*>(logits);
  if (mqa_paged_logits(&args, &kConfig, nullptr, nullptr) != MQA_OK) {
    std::printf("mqa_paged_logits: %s\n", mqa_last_error());
    return 1;
  }
  check(hipDeviceSynchronize(), "the kernel");
  int wrong = 0;
  for (const Cell& cell : kCells) {
    uint32_t bits = 0;
    float got;
    check(hipMemcpy(&bits, logits + 4 * (cell.row * kLogitsStride + cell.column), 4, hipMemcpyDeviceToHost), "hipMemcpy");
    std::memcpy(&got, &bits, 4);
    const bool good = right(cell, bits);
    wrong += !good;
    std::printf("row %lld column %lld: ", cell.row, cell.column);
    if (cell.due == 'u') std::printf("expected untouched");
    else std::printf("expected %.9g (+- %.3g)", cell.expected, cell.bound);
    std::printf(", got %s%.9g (0x%08x)%s\n", bits == kSentinel ? "untouched " : "", got, bits, good ? "" : "   WRONG");
  }
  std::printf("%d of %zu cells wrong\n", wrong, sizeof kCells / sizeof *kCells);
  return wrong != 0;
}
)cpp";

std::string piece_table(const char* table, const std::vector<Piece>& list) {
  std::string text = fmt::format("static const Piece {}[] = {{\n", table);
  if (list.empty()) text += "  {0, 0, \"\"},\n";
  for (const Piece& piece : list) {
    text += fmt::format("  {{{}, {},\n", piece.offset, piece.repeats);
    for (size_t at = 0; at < piece.hex.size(); at += 100)
      text += fmt::format("   \"{}\"\n", piece.hex.substr(at, 100));
    text += "  },\n";
  }
  return text + "};\n";
}

std::string number(double value) {
  return std::isnan(value)   ? "NAN"
         : std::isinf(value) ? (value < 0 ? "-INFINITY" : "INFINITY")
                             : fmt::format("{:.17g}", value);
}

std::string cell_table(const std::vector<DueCell>& cells) {
  std::string text = "static const Cell kCells[] = {\n";
  for (const DueCell& cell : cells)
    text += fmt::format("  {{{}, {}, '{}', {}, {}}},\n", cell.row, cell.column,
                        cell.due == Due::value       ? 'v'
                        : cell.due == Due::untouched ? 'u'
                                                     : 'i',
                        number(cell.expected), number(cell.bound));
  return text + "};\n";
}

std::string argument_function(const Problem& p) {
  return fmt::format(R"(static mqa_paged_logits_args arguments() {{
  mqa_paged_logits_args a{{}};
  a.struct_size = sizeof a;
  a.batch = {}, a.next_n = {}, a.heads = {}, a.head_dim = {}, a.block_size = {};
  a.layout = {}, a.fp8 = {}, a.tail = {}, a.max_model_len = {}, a.num_blocks = {};
  a.q_stride_batch = {}, a.q_stride_next = {}, a.q_stride_head = {};
  a.kv_block_stride_bytes = {}, a.weights_stride = {};
  a.lens_per_row = {}, a.context_lens_stride = {}, a.block_table_stride = {}, a.logits_stride = {};
  return a;
}}
)",
                     p.batch, p.next_n, p.heads, p.head_dim, p.block_size, static_cast<int>(p.layout),
                     static_cast<int>(p.fp8), static_cast<int>(p.tail), p.max_model_len, p.num_blocks,
                     p.q_stride_batch, p.q_stride_next, p.q_stride_head, p.kv_block_stride_bytes,
                     p.weights_stride, p.lens_per_row ? 1 : 0, p.lens_per_row ? p.next_n : 1,
                     p.block_table_stride, p.logits_stride);
}

std::string integers(const char* table, std::vector<int32_t> values) {
  if (values.empty()) values.push_back(0);
  return fmt::format("static const int32_t {}[] = {{{}}};\n", table, fmt::join(values, ", "));
}

} // namespace

std::string repro_cpp(const ReproData& data) {
  if (data.too_large)
    return fmt::format(
        "// {}\n#error \"the data of this case are too large to embed: use replay.sh beside this file\"\n",
        data.title);
  const Problem& p = data.problem;
  std::string text = fmt::format(fmt::runtime(kHead), fmt::arg("title", data.title));
  text +=
      fmt::format("\nstatic const uint32_t kSentinel = 0x7fc0dead;\nstatic const long long kQBytes = {}, "
                  "kKvBytes = {}, kWeightsBytes = {}, kLogitsBytes = {}, "
                  "kLogitsStride = {};\nstatic const mqa_config kConfig = {{{}, {}, {}, {}}};\n",
                  query_bytes(p), kv_cache_bytes(p), weights_bytes(p), logits_bytes(p), p.logits_stride,
                  data.config.variant, data.config.chunk_k, data.config.split_kv, data.config.wave_per_eu);
  text += argument_function(p) + integers("kLens", p.context_lens) + integers("kTable", p.block_table);
  text +=
      piece_table("kQ", data.q) + piece_table("kKv", data.kv_cache) + piece_table("kWeights", data.weights);
  return text + cell_table(data.cells) + kMain;
}

} // namespace mqalab
