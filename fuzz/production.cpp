#include "fuzz/production.hpp"
#include "fuzz/case.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <dlfcn.h>

#include <filesystem>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace mqalab {
namespace {

Production in_use;

// The major version, which the soname carries, too.
std::string_view abi_of(std::string_view version) { return version.substr(0, version.find('.')); }

[[noreturn]] void refuse(const std::string& path, const std::string& what, const std::string& remedy) {
  throw CaseError(
      fmt::format("--lib {}: {}; allowed: a libmqa.so with the C API of this lab's kernels/mqa.h, "
                  "version {}.x; try: {}",
                  path, what, abi_of(mqa_version()), remedy));
}

void* loaded(const std::string& path) {
  if (!std::filesystem::is_regular_file(path))
    refuse(path, "there is no such file", "build/sim/lib/libmqa.so");
  // A name without a slash would be looked for in the system's folders.
  void* library = dlopen(std::filesystem::absolute(path).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    refuse(path, fmt::format("cannot be loaded: {}", dlerror()),
           "a library built for this platform, with the libraries that it needs beside it");
  return library;
}

class Symbols {
public:
  explicit Symbols(void* library) : library_(library) {}
  template <class Function> void take(const char* symbol, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library_, symbol));
    if (!function) missing_.push_back(symbol);
  }
  const std::vector<std::string>& missing() const { return missing_; }

private:
  void* library_;
  std::vector<std::string> missing_;
};

Production functions_of(void* library, const std::string& path) {
  Symbols symbols(library);
  Production p;
  symbols.take("mqa_paged_logits", p.paged_logits);
  symbols.take("mqa_ragged_logits", p.ragged_logits);
  symbols.take("mqa_per_head_logits", p.per_head_logits);
  symbols.take("mqa_prefill_logits", p.prefill_logits);
  symbols.take("mqa_head_sum", p.head_sum);
  symbols.take("mqa_top_k", p.top_k);
  symbols.take("mqa_cache_write", p.cache_write);
  symbols.take("mqa_cache_gather", p.cache_gather);
  symbols.take("mqa_last_error", p.last_error);
  symbols.take("mqa_version", p.version);
  symbols.take("mqa_kernel_hash", p.kernel_hash);
  if (!symbols.missing().empty())
    refuse(path, fmt::format("lacks {}", fmt::join(symbols.missing(), ", ")),
           "a build of the revisions that have these functions");
  return p;
}

bool complains_of_a_struct(const Production& p) {
  return std::string_view(p.last_error()).find("struct_size") != std::string_view::npos;
}
// A library says by itself that it was built with other structs: that is looked at before anything else.
template <class Args, class Call> bool knows(const Production& p, Call call) {
  Args args{};
  args.struct_size = sizeof args;
  call(&args);
  return !complains_of_a_struct(p);
}
// ... but for the one that it fills in, which takes a call with nothing wrong and nothing to do.
bool knows_the_choice(const Production& p) {
  mqa_paged_logits_args args{};
  args.struct_size = sizeof args;
  args.next_n = 1, args.heads = 16, args.head_dim = 128, args.block_size = 1, args.max_model_len = 1;
  args.q_stride_head = args.q_stride_next = args.q_stride_batch = 16 * 128;
  args.kv_block_stride_bytes = 132, args.weights_stride = 16, args.context_lens_stride = 1;
  args.block_table_stride = args.logits_stride = 1;
  mqa_choice choice{};
  choice.struct_size = sizeof choice;
  const mqa_config automatic{};
  p.paged_logits(&args, &automatic, nullptr, &choice);
  return !complains_of_a_struct(p);
}

bool knows_the_structs(const Production& p) {
  const auto logits = [](auto entry) {
    return [entry](const auto* args) { return entry(args, nullptr, nullptr, nullptr); };
  };
  const auto other = [](auto entry) { return [entry](const auto* args) { return entry(args, nullptr); }; };
  return knows<mqa_paged_logits_args>(p, logits(p.paged_logits)) &&
         knows<mqa_prefill_logits_args>(p, logits(p.prefill_logits)) &&
         knows<mqa_head_sum_args>(p, other(p.head_sum)) && knows<mqa_top_k_args>(p, other(p.top_k)) &&
         knows<mqa_cache_write_args>(p, other(p.cache_write)) &&
         knows<mqa_cache_gather_args>(p, other(p.cache_gather)) && knows_the_choice(p);
}

void require_this_abi(const Production& p, const std::string& path) {
  const std::string_view theirs = p.version();
  if (abi_of(theirs) != abi_of(mqa_version()))
    refuse(path, fmt::format("is version {}", theirs), "the mqalab of that version");
  if (!knows_the_structs(p))
    refuse(path, fmt::format("was built with other structs: {}", p.last_error()),
           "`mqalab bisect --good REV --bad REV --program PATH`, where every revision brings its own mqalab");
}

} // namespace

const Production& production() { return in_use; }

void use_library(const std::string& path) {
  // Its kernels would be taken from here if this program exported them, and the check would say nothing of
  // it.
  if (dlsym(RTLD_DEFAULT, "mqa_kernel_hash"))
    throw std::runtime_error("--lib: this program exports libmqa's own symbols; link it without -rdynamic");
  const Production p = functions_of(loaded(path), path);
  require_this_abi(p, path);
  in_use = p;
}

} // namespace mqalab
