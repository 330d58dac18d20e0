// mqalab run: the kernel's logits and every tensor it got, as NumPy files, so that anyone can check us
// independently.
#include "fuzz/case_names.hpp"
#include "fuzz/commands.hpp"
#include "fuzz/oracle.hpp"
#include "refimpl/npy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

namespace mqalab {
namespace {

constexpr int64_t kLargestFile_bytes = int64_t{4} << 30;

struct RunOptions {
  std::string path, config, fault, logits, inputs;
  bool json = false;
};

void refuse_large(const char* what, int64_t bytes) {
  if (bytes > kLargestFile_bytes)
    throw UsageError(
        fmt::format("{} would be a file of {} bytes; allowed: up to {}; try: a smaller stride or pool", what,
                    bytes, kLargestFile_bytes));
}

// A file takes its name by rename, which would replace a device node or a pipe: /dev/null, say.
void refuse_special_file(const std::string& path) {
  std::error_code ignored;
  const auto status = std::filesystem::status(path, ignored);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    throw UsageError(fmt::format("{}: is no regular file; allowed: a file, new or to be replaced", path));
}

// write_npy's errors are about the user's paths: bad input, not our bug.
template <class T>
void save(const std::string& path, NpyType type, std::initializer_list<int64_t> shape, const T* data) {
  refuse_special_file(path);
  try {
    write_npy(path, type, std::span(shape.begin(), shape.size()), data);
  } catch (const std::runtime_error& e) {
    throw UsageError(fmt::format("{}; allowed: a path that can be written", e.what()));
  }
}

std::vector<uint8_t> dense_queries(const Problem& p, const Tensors& t) {
  std::vector<uint8_t> q;
  q.reserve(static_cast<size_t>(p.rows() * p.heads * p.head_dim));
  for (int64_t row = 0; row < p.rows(); ++row)
    for (int32_t head = 0; head < p.heads; ++head) {
      const uint8_t* from = t.q.data() + query_offset_bytes(p, row, head, 0);
      q.insert(q.end(), from, from + p.head_dim);
    }
  return q;
}

// `count` rows of `width` elements, `stride` elements apart, end to end.
template <class T>
std::vector<T> dense_rows(const SparseBuffer& from, int64_t count, int64_t stride, int64_t width) {
  std::vector<T> out(static_cast<size_t>(count * width));
  for (int64_t row = 0; row < count; ++row)
    std::memcpy(out.data() + row * width, from.data() + static_cast<int64_t>(sizeof(T)) * row * stride,
                sizeof(T) * static_cast<size_t>(width));
  return out;
}

void make_folder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    throw UsageError(fmt::format("{}: {}; allowed: a folder that can be made", folder, error.message()));
}

void save_text(const std::string& path, const std::string& text) {
  refuse_special_file(path);
  std::ofstream file(path);
  file << text << "\n";
  if (!file.flush())
    throw UsageError(fmt::format("{}: {}; allowed: a path that can be written", path, std::strerror(errno)));
}

void save_list(const std::string& path, const std::vector<int32_t>& list) {
  save(path, NpyType::int32, {static_cast<int64_t>(list.size())}, list.data());
}

// The flat list of slots starts at entry 0 here.
void save_ragged(const std::string& folder, const Problem& p) {
  const std::vector<int64_t> starts = table_starts(p);
  save_list(folder + "/slot_prefix.npy", {starts.begin(), starts.end()});
  save_list(folder + "/block_table.npy", p.block_table);
}

void save_paged(const std::string& folder, const Problem& p) {
  if (p.lens_per_row)
    save(folder + "/context_lens.npy", NpyType::int32, {p.batch, p.next_n}, p.context_lens.data());
  else
    save_list(folder + "/context_lens.npy", p.context_lens);
  save(folder + "/block_table.npy", NpyType::int32, {p.batch, p.block_table_stride}, p.block_table.data());
}

void save_prefill(const std::string& folder, const Problem& p, const Tensors& t) {
  const std::vector<uint8_t> keys =
      dense_rows<uint8_t>(t.kv_cache, p.num_blocks, p.kv_block_stride_bytes, p.head_dim);
  const std::vector<float> scales = dense_rows<float>(t.key_scales, p.num_blocks, p.key_scales_stride, 1);
  save(folder + "/k.npy", NpyType::uint8, {p.num_blocks, p.head_dim}, keys.data());
  save(folder + "/k_scales.npy", NpyType::float32, {p.num_blocks}, scales.data());
  save_list(folder + "/starts.npy", p.row_starts);
  save_list(folder + "/ends.npy", p.context_lens);
}

void save_inputs(const std::string& folder, const Case& c, const Problem& p, const mqa_config& launched) {
  make_folder(folder);
  const Tensors t = generate(p, c.data, Poison::nan_codes);
  save(folder + "/q.npy", NpyType::uint8, {p.batch, p.next_n, p.heads, p.head_dim},
       dense_queries(p, t).data());
  save(folder + "/weights.npy", NpyType::float32, {p.rows(), p.heads},
       dense_rows<float>(t.weights, p.rows(), p.weights_stride, p.heads).data());
  if (p.op == Operation::prefill_logits) {
    save_prefill(folder, p, t);
  } else {
    save(folder + "/kv_cache.npy", NpyType::uint8, {p.num_blocks, p.kv_block_stride_bytes},
         t.kv_cache.data());
    is_ragged(p.op) ? save_ragged(folder, p) : save_paged(folder, p);
  }
  save_text(folder + "/case.json", to_json(spelled_out(c, p, launched), 2, true));
}

// Whole rows; the planes of a per-head operation one after the other, with the gaps between them left out.
void save_logits(const std::string& path, const Problem& p, const std::vector<float>& logits) {
  if (!is_per_head(p.op)) return save(path, NpyType::float32, {p.rows(), p.logits_stride}, logits.data());
  const int64_t plane = p.rows() * p.logits_stride;
  std::vector<float> planes(static_cast<size_t>(p.heads * plane));
  for (int64_t head = 0; head < p.heads; ++head)
    std::copy_n(logits.begin() + head * p.logits_stride_head, plane, planes.begin() + head * plane);
  save(path, NpyType::float32, {p.heads, p.rows(), p.logits_stride}, planes.data());
}

void report(const RunOptions& o, const Problem& p, const mqa_choice& launched) {
  const std::string planes = is_per_head(p.op) ? fmt::format("{}, ", p.heads) : "";
  if (o.json)
    fmt::print("{{\"logits\": {:?}, \"rows\": {}, \"row_stride\": {}, \"planes\": {}, \"config\": {:?}}}\n",
               o.logits, p.rows(), p.logits_stride, is_per_head(p.op) ? p.heads : 1,
               config_text(launched.config));
  else
    fmt::print("{}: float32 [{}{}, {}], launched with {}\n", o.logits, planes, p.rows(), p.logits_stride,
               config_text(launched.config));
}

ExitCode run(const RunOptions& o) {
  const Fault* fault = fault_named(o.fault);
  const Case c = legal_case(o.path, o.config);
  if (!makes_logits(c.op))
    throw UsageError(
        fmt::format("{}: op is {}; allowed: an operation whose output is logits; try: mqalab check {}",
                    o.path, name_of(c.op), o.path));
  const Problem p = resolve(c);
  refuse_special_file(o.logits);
  refuse_large("logits", logits_bytes(p));
  if (!o.inputs.empty())
    refuse_large(p.op == Operation::prefill_logits ? "k.npy" : "kv_cache.npy", kv_cache_bytes(p));
  Oracle oracle;
  mqa_choice launched{};
  std::string error;
  const std::vector<float> logits = oracle.run(c, fault, &launched, &error);
  if (!error.empty()) {
    fmt::print(stderr, "mqalab run: {}\n", error);
    return error.rfind("rejected", 0) == 0 ? ExitCode::bad_input : ExitCode::findings;
  }
  save_logits(o.logits, p, logits);
  if (!o.inputs.empty()) save_inputs(o.inputs, c, p, launched.config);
  report(o, p, launched);
  return ExitCode::clean;
}

} // namespace

void add_run(CLI::App& app, ExitCode& code) {
  auto o = std::make_shared<RunOptions>();
  CLI::App* command =
      app.add_subcommand("run", "the kernel's logits, and with --inputs every tensor it got, as NumPy files");
  command->group("Checking");
  command->add_option("CASE", o->path, "case file (JSON)")->required();
  command
      ->add_option(
          "--logits", o->logits,
          "float32 [rows, row stride], [heads, rows, row stride] per head; what was not written is the NaN "
          "0x7fc0dead")
      ->required();
  command->add_option("--inputs", o->inputs,
                      "folder for every tensor that the kernel got, see below, and case.json");
  command->add_option("--config", o->config, "configuration over the case's, as k=v,...");
  command->add_option("--fault", o->fault, "a planted fault instead of the production kernel");
  command->add_flag("--json", o->json, "the summary as JSON");
  command->footer(
      "files:   q [batch, next_n, heads, head_dim] and weights [rows, heads], then\n"
      "         paged: kv_cache [blocks, block stride], context_lens, block_table [batch, row stride]\n"
      "         ragged: kv_cache, slot_prefix [batch + 1], block_table, the flat list of slots\n"
      "         prefill: k [keys, head_dim], k_scales [keys], starts [rows], ends [rows]\n"
      "example: mqalab run case.json --logits logits.npy --inputs inputs/\n"
      "exit: 0 it ran, 2 bad input, 10 the launch failed");
  command->callback([o, &code] { code = run(*o); });
}

} // namespace mqalab
