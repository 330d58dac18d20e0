// Measures the kernel table.  The file runs: shapes, arena, calls, contenders, measurement, printing.
#include "tune/kernel_table.hpp"
#include "tune/traffic.hpp"

#include <hip/hip_runtime.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <numeric>
#include <random>
#include <regex>
#include <stdexcept>

namespace mqalab {
namespace {

void ok(hipError_t error) {
  if (error != hipSuccess) throw std::runtime_error(std::string("device: ") + hipGetErrorString(error));
}

// ---- shapes
// -----------------------------------------------------------------------------------------------------
std::vector<TableShape> shapes() {
  std::vector<TableShape> all;
  const std::pair<int32_t, int32_t> sizes[] = {
      {1, 2048},   {1, 8192},   {8, 2048},   {1, 32768},   {8, 8192},    {1, 131072},
      {64, 2048},  {8, 32768},  {128, 2048}, {64, 8192},   {256, 2048},  {8, 131072},
      {128, 8192}, {64, 32768}, {256, 8192}, {128, 32768}, {64, 131072}, {256, 32768}};
  for (const auto& [next_n, heads] :
       {std::pair{1, 64}, {1, 32}, {2, 64}, {2, 32}, {4, 64}, {4, 32}, {1, 128}, {2, 128}})
    for (const auto& [batch, context] : sizes)
      all.push_back({batch, context, next_n, heads, 64, MQA_PLANAR, "uniform"});
  for (int32_t block : {1, 16, 32, 128, 256}) all.push_back({64, 8192, 1, 64, block, MQA_PLANAR, "uniform"});
  all.push_back({64, 8192, 1, 64, 64, MQA_SHUFFLED, "uniform"});
  all.push_back({64, 131072, 1, 64, 64, MQA_PLANAR, "one long"});
  all.push_back({64, 65536, 1, 64, 64, MQA_PLANAR, "2048..65536"});
  all.push_back({256, 16384, 1, 64, 64, MQA_PLANAR, "1024..16384"});
  return all;
}
std::string name(const TableShape& s) {
  std::string text = std::to_string(s.batch) + "x" + std::to_string(s.context) + " n" +
                     std::to_string(s.next_n) + " h" + std::to_string(s.heads) + " bs" +
                     std::to_string(s.block_size);
  if (s.layout == MQA_SHUFFLED) text += " shuffled";
  if (std::string(s.lengths) != "uniform") text += std::string(" ragged ") + s.lengths;
  return text;
}
std::vector<int32_t> lengths(const TableShape& s) {
  std::vector<int32_t> all(s.batch, s.context);
  const std::string kind = s.lengths;
  std::mt19937 random(7);
  if (kind == "one long") std::fill(all.begin() + 1, all.end(), 2048);
  if (kind == "2048..65536" || kind == "1024..16384")
    for (int32_t& n : all)
      n = std::uniform_int_distribution<int32_t>(kind[0] == '2' ? 2048 : 1024, s.context)(random);
  return all;
}

// ---- arena
// ------------------------------------------------------------------------------------------------------
template <class T> struct Buffer {
  T* data = nullptr;
  explicit Buffer(int64_t count) {
    ok(hipMalloc(reinterpret_cast<void**>(&data), std::max<int64_t>(count, 4) * sizeof(T)));
  }
  ~Buffer() { (void)hipFree(data); }
  Buffer(const Buffer&) = delete;
  void upload(const std::vector<T>& host) {
    ok(hipMemcpy(data, host.data(), host.size() * sizeof(T), hipMemcpyHostToDevice));
  }
};

// Plausible bytes: small e4m3 numbers of both signs, scales and weights near 0.01.
__global__ void fill_bytes(uint32_t* to, int64_t words) {
  for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < words;
       i += int64_t{gridDim.x} * blockDim.x) {
    uint64_t x = i * 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 31) * 0xbf58476d1ce4e5b9ull;
    to[i] = static_cast<uint32_t>(x >> 32) & 0xbfbfbfbfu; // below 2: the largest exponent bit is clear
  }
}
__global__ void fill_floats(float* to, int64_t count) {
  for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < count;
       i += int64_t{gridDim.x} * blockDim.x)
    to[i] = 0.01f * static_cast<float>(static_cast<int>(i * 7919 % 17) - 8);
}

constexpr int64_t kPoolBytes = int64_t{524288} * 8448; // of 64-token pages
constexpr int64_t kColdBytes = 400 << 20;              // a replay reads at least this much

// Everything that the calls of one shape need: each has pages, q, weights and logits of its own.
struct Arena {
  TableShape shape;
  std::vector<int32_t> context;
  int64_t page_bytes, columns, pages = 0; // pages that one call reads
  int calls;
  Buffer<uint8_t>& pool;
  Buffer<uint8_t> q;
  Buffer<float> weights, logits, traffic_out;
  Buffer<int32_t> lens, tables, lists;

  Arena(const TableShape& s, Buffer<uint8_t>& shared_pool)
      : shape(s), context(lengths(s)), page_bytes(int64_t{s.block_size} * 132),
        columns((s.context + s.block_size - 1) / s.block_size), pages(count_pages()), calls(count_calls()),
        pool(shared_pool), q(rows() * s.heads * 128 * calls), weights(rows() * s.heads * calls),
        logits(rows() * s.context * calls), traffic_out(traffic_floats() * calls), lens(s.batch),
        tables(s.batch * columns * calls), lists(traffic_pages() * calls) {
    fill_bytes<<<1024, 256>>>(reinterpret_cast<uint32_t*>(q.data), rows() * s.heads * 32 * calls);
    fill_floats<<<1024, 256>>>(weights.data, rows() * s.heads * calls);
    lens.upload(context);
    draw_pages();
    ok(hipDeviceSynchronize());
  }
  int64_t rows() const { return int64_t{shape.batch} * shape.next_n; }
  int64_t tokens() const { return std::accumulate(context.begin(), context.end(), int64_t{0}); }
  int64_t count_pages() const {
    int64_t n = 0;
    for (int32_t c : context) n += (c + shape.block_size - 1) / shape.block_size;
    return n;
  }
  int64_t pool_pages() const { return kPoolBytes / page_bytes; }
  int count_calls() const {
    const int64_t wanted = std::max<int64_t>(2, (kColdBytes + tokens() * 132 - 1) / (tokens() * 132));
    const int64_t disjoint = std::max<int64_t>(2, pool_pages() / pages);
    const int64_t fit = std::max<int64_t>(2, (int64_t{24} << 30) / (rows() * shape.context * 4));
    return static_cast<int>(std::min({wanted, disjoint, fit, int64_t{512}}));
  }
  // The yardstick reads the same bytes as whole 64-token pages, whatever the block size.
  int64_t traffic_pages() const {
    int64_t n = 0;
    for (int32_t c : context) n += (c + 63) / 64;
    return n;
  }
  int64_t traffic_floats() const { return traffic_pages() * 64 * shape.next_n; }

  void draw_pages() {
    std::mt19937_64 random(shape.batch * 1000003 + shape.context);
    std::vector<int32_t> ids(pool_pages()), big(kPoolBytes / 8448);
    std::iota(ids.begin(), ids.end(), 0);
    std::iota(big.begin(), big.end(), 0);
    std::shuffle(ids.begin(), ids.end(), random);
    std::shuffle(big.begin(), big.end(), random);
    std::vector<int32_t> table(shape.batch * columns * calls, -1), list(traffic_pages() * calls);
    int64_t next = 0;
    for (int call = 0; call < calls; ++call)
      for (int32_t b = 0; b < shape.batch; ++b)
        for (int64_t c = 0; c < (context[b] + shape.block_size - 1) / shape.block_size; ++c)
          table[(int64_t{call} * shape.batch + b) * columns + c] = ids[next++ % ids.size()];
    for (size_t i = 0; i < list.size(); ++i) list[i] = big[i % big.size()];
    tables.upload(table);
    lists.upload(list);
  }

  mqa_paged_logits_args args(int call) const {
    mqa_paged_logits_args a{};
    a.struct_size = sizeof a;
    a.batch = shape.batch, a.next_n = shape.next_n, a.heads = shape.heads, a.head_dim = 128;
    a.block_size = shape.block_size, a.layout = shape.layout, a.fp8 = MQA_E4M3FN;
    a.max_model_len = shape.context, a.num_blocks = pool_pages();
    a.q = q.data + rows() * shape.heads * 128 * call;
    a.q_stride_head = 128, a.q_stride_next = 128 * shape.heads,
    a.q_stride_batch = a.q_stride_next * shape.next_n;
    a.kv_cache = pool.data, a.kv_block_stride_bytes = page_bytes;
    a.weights = weights.data + rows() * shape.heads * call, a.weights_stride = shape.heads;
    a.context_lens = lens.data, a.context_lens_stride = 1;
    a.block_table = tables.data + int64_t{call} * shape.batch * columns, a.block_table_stride = columns;
    a.logits = logits.data + rows() * shape.context * call, a.logits_stride = shape.context;
    return a;
  }
};

// ---- contenders
// -------------------------------------------------------------------------------------------------
struct Graph {
  hipGraph_t graph = nullptr;
  hipGraphExec_t executable = nullptr;
  template <class Enqueue> Graph(hipStream_t stream, int calls, Enqueue enqueue) {
    ok(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    for (int call = 0; call < calls; ++call) enqueue(call);
    ok(hipStreamEndCapture(stream, &graph));
    ok(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  }
  ~Graph() {
    (void)hipGraphExecDestroy(executable);
    (void)hipGraphDestroy(graph);
  }
  Graph(const Graph&) = delete;
};

struct Contender {
  std::string label;
  std::unique_ptr<Graph> graph;
  std::vector<float> microseconds; // a call
  double median() {
    std::ranges::nth_element(microseconds, microseconds.begin() + microseconds.size() / 2);
    return microseconds[microseconds.size() / 2];
  }
};

std::string label(const mqa_config& c) {
  return std::string(mqa_variant_name(c.variant)) + "/" + std::to_string(c.chunk_k) + "/" +
         std::to_string(c.split_kv) + "/" + std::to_string(c.wave_per_eu);
}

void add_traffic(std::vector<Contender>& all, Arena& arena, hipStream_t stream, int sms) {
  for (int per_sm : {1, 2, 4}) {
    const int stages = std::min(kMostStages, 200 * 1024 / per_sm / 8448);
    const int bytes = stages * 8448;
    ok(hipFuncSetAttribute(reinterpret_cast<const void*>(&traffic),
                           hipFuncAttributeMaxDynamicSharedMemorySize, 220 << 10));
    const auto blocks =
        static_cast<uint32_t>(std::min<int64_t>(arena.traffic_pages(), int64_t{sms} * per_sm));
    all.push_back(
        {"traffic/" + std::to_string(per_sm),
         std::make_unique<Graph>(stream, arena.calls,
                                 [&](int call) {
                                   const TrafficArgs t{arena.pool.data,
                                                       arena.lists.data + arena.traffic_pages() * call,
                                                       arena.traffic_out.data + arena.traffic_floats() * call,
                                                       static_cast<int32_t>(arena.traffic_pages()),
                                                       64 * arena.shape.next_n,
                                                       8448};
                                   traffic<<<dim3(blocks), dim3(kTrafficThreads), bytes, stream>>>(t, stages);
                                   ok(hipGetLastError());
                                 }),
         {}});
  }
}
void add_kernel(std::vector<Contender>& all, const Arena& arena, hipStream_t stream,
                const mqa_config& config) {
  const auto probe = arena.args(0);
  if (mqa_paged_logits(&probe, &config, stream, nullptr) != MQA_OK) return; // not for this shape
  ok(hipStreamSynchronize(stream));
  all.push_back({label(config),
                 std::make_unique<Graph>(stream, arena.calls,
                                         [&](int call) {
                                           const auto args = arena.args(call);
                                           if (mqa_paged_logits(&args, &config, stream, nullptr) != MQA_OK)
                                             throw std::runtime_error(mqa_last_error());
                                         }),
                 {}});
}

void replay(std::vector<Contender>& all, int replays, int calls, hipStream_t stream) {
  hipEvent_t begin, end;
  ok(hipEventCreate(&begin));
  ok(hipEventCreate(&end));
  for (int round = -1; round < replays; ++round) // round -1 warms up
    for (Contender& c : all) {
      ok(hipEventRecord(begin, stream));
      ok(hipGraphLaunch(c.graph->executable, stream));
      ok(hipEventRecord(end, stream));
      ok(hipEventSynchronize(end));
      float ms = 0;
      ok(hipEventElapsedTime(&ms, begin, end));
      if (round >= 0) c.microseconds.push_back(ms * 1000 / static_cast<float>(calls));
    }
  (void)hipEventDestroy(begin);
  (void)hipEventDestroy(end);
}

void print(const Arena& arena, std::vector<Contender>& all, bool json) {
  double yardstick = 1e30;
  for (Contender& c : all)
    if (c.label.rfind("traffic", 0) == 0) yardstick = std::min(yardstick, c.median());
  const double bytes =
      static_cast<double>(arena.tokens()) * 132 + static_cast<double>(arena.traffic_floats()) * 4;
  if (json)
    std::printf("{\"shape\": \"%s\", \"calls\": %d, \"traffic_us\": %.3f, \"kernels\": {",
                name(arena.shape).c_str(), arena.calls, yardstick);
  else
    std::printf("%-34s T %9.2f us %5.2f TB/s |", name(arena.shape).c_str(), yardstick,
                bytes / yardstick * 1e-6);
  bool first = true;
  for (Contender& c : all) {
    if (c.label.rfind("traffic", 0) == 0) continue;
    if (json)
      std::printf("%s\"%s\": %.3f", first ? "" : ", ", c.label.c_str(), c.median());
    else
      std::printf(" %s %.2f (%.2f)", c.label.c_str(), c.median(), c.median() / yardstick);
    first = false;
  }
  std::printf(json ? "}}\n" : "\n");
  std::fflush(stdout);
}

} // namespace

int kernel_table(const TableOptions& options) {
  const std::regex wanted(options.filter);
  int device = 0, sms = 0, measured = 0;
  ok(hipGetDevice(&device));
  ok(hipDeviceGetAttribute(&sms, hipDeviceAttributeMultiprocessorCount, device));
  Buffer<uint8_t> pool(kPoolBytes);
  fill_bytes<<<4096, 256>>>(reinterpret_cast<uint32_t*>(pool.data), kPoolBytes / 4);
  hipStream_t stream;
  ok(hipStreamCreate(&stream));
  for (const TableShape& shape : shapes()) {
    if (!std::regex_search(name(shape), wanted)) continue;
    Arena arena(shape, pool);
    std::vector<Contender> all;
    add_traffic(all, arena, stream, sms);
    for (const mqa_config& config : options.configs) add_kernel(all, arena, stream, config);
    replay(all, options.replays, arena.calls, stream);
    print(arena, all, options.json);
    ++measured;
  }
  (void)hipStreamDestroy(stream);
  return measured;
}

} // namespace mqalab
