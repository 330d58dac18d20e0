// mqalab run: the kernel's logits and every tensor it got, as NumPy files, so that anyone can check us
// independently.
#include "fuzz/commands.hpp"
#include "fuzz/oracle.hpp"
#include "refimpl/npy.hpp"

#include <fmt/format.h>

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

std::vector<float> dense_weights(const Problem& p, const Tensors& t) {
  std::vector<float> w(static_cast<size_t>(p.rows() * p.heads));
  for (int64_t row = 0; row < p.rows(); ++row)
    std::memcpy(w.data() + row * p.heads, t.weights.data() + 4 * row * p.weights_stride,
                4 * static_cast<size_t>(p.heads));
  return w;
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

void save_inputs(const std::string& folder, const Case& c, const Problem& p, const mqa_config& launched) {
  make_folder(folder);
  const Tensors t = generate(p, c.data, Poison::nan_codes);
  save(folder + "/q.npy", NpyType::uint8, {p.batch, p.next_n, p.heads, p.head_dim},
       dense_queries(p, t).data());
  save(folder + "/weights.npy", NpyType::float32, {p.rows(), p.heads}, dense_weights(p, t).data());
  save(folder + "/kv_cache.npy", NpyType::uint8, {p.num_blocks, p.kv_block_stride_bytes}, t.kv_cache.data());
  if (p.lens_per_row)
    save(folder + "/context_lens.npy", NpyType::int32, {p.batch, p.next_n}, p.context_lens.data());
  else
    save(folder + "/context_lens.npy", NpyType::int32, {p.batch}, p.context_lens.data());
  save(folder + "/block_table.npy", NpyType::int32, {p.batch, p.block_table_stride}, p.block_table.data());
  save_text(folder + "/case.json", to_json(spelled_out(c, p, launched), 2, true));
}

void report(const RunOptions& o, const Problem& p, const mqa_choice& launched) {
  if (o.json)
    fmt::print("{{\"logits\": {:?}, \"rows\": {}, \"row_stride\": {}, \"config\": {:?}}}\n", o.logits,
               p.rows(), p.logits_stride, config_text(launched.config));
  else
    fmt::print("{}: float32 [{}, {}], launched with {}\n", o.logits, p.rows(), p.logits_stride,
               config_text(launched.config));
}

ExitCode run(const RunOptions& o) {
  const Fault* fault = fault_named(o.fault);
  const Case c = legal_case(o.path, o.config);
  const Problem p = resolve(c);
  refuse_special_file(o.logits);
  refuse_large("logits", logits_bytes(p));
  if (!o.inputs.empty()) refuse_large("kv_cache.npy", kv_cache_bytes(p));
  Oracle oracle;
  mqa_choice launched{};
  std::string error;
  const std::vector<float> logits = oracle.run(c, fault, &launched, &error);
  if (!error.empty()) {
    fmt::print(stderr, "mqalab run: {}\n", error);
    return error.rfind("rejected", 0) == 0 ? ExitCode::bad_input : ExitCode::findings;
  }
  save(o.logits, NpyType::float32, {p.rows(), p.logits_stride}, logits.data());
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
      ->add_option("--logits", o->logits,
                   "float32 [rows, row stride]; what was not written is the NaN 0x7fc0dead")
      ->required();
  command->add_option("--inputs", o->inputs,
                      "folder for q, weights, kv_cache, context_lens, block_table and case.json");
  command->add_option("--config", o->config, "configuration over the case's, as k=v,...");
  command->add_option("--fault", o->fault, "a planted fault instead of the production kernel");
  command->add_flag("--json", o->json, "the summary as JSON");
  command->footer("example: mqalab run case.json --logits logits.npy --inputs inputs/\n"
                  "exit: 0 it ran, 2 bad input, 10 the launch failed");
  command->callback([o, &code] { code = run(*o); });
}

} // namespace mqalab
