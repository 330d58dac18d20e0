// A libmqa.so for tests, whose paged logits go wrong as the file FILE.does beside it says; without one they
// are right.  All else it has from the libmqa that it is linked to.
#include "kernels/mqa.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

namespace {

namespace fs = std::filesystem;

std::string own_path() {
  Dl_info info{};
  dladdr(reinterpret_cast<void*>(&own_path), &info);
  return info.dli_fname;
}

std::string behaviour() {
  std::string word;
  std::ifstream(own_path() + ".does") >> word;
  return word;
}

// Every third process, from the third on.
bool in_turn() {
  static const bool wrong = [] {
    const std::string path = own_path() + ".processes";
    std::ofstream(path, std::ios::app) << '.';
    return fs::file_size(path) % 3 == 0;
  }();
  return wrong;
}

template <class Function> Function* linked(const char* symbol, Function*) {
  void* library = dlopen("libmqa.so.0", RTLD_NOW | RTLD_NOLOAD);
  return reinterpret_cast<Function*>(dlsym(library, symbol));
}

bool short_of_columns(const std::string& does, const mqa_config* config) {
  return does == "short" || (does == "flaky" && in_turn()) ||
         (does == "splits" && config && config->split_kv == 2);
}

} // namespace

extern "C" const char* mqa_version(void) {
  return behaviour() == "version" ? "9.0.0" : linked("mqa_version", &mqa_version)();
}

extern "C" mqa_status mqa_paged_logits(const mqa_paged_logits_args* args, const mqa_config* config,
                                       void* stream, mqa_choice* choice) {
  static const std::string does = behaviour();
  static const auto right = linked("mqa_paged_logits", &mqa_paged_logits);
  mqa_paged_logits_args changed = *args;
  if (does == "structs") changed.struct_size += 8;
  if (args->batch > 0 && args->logits) { // a launch, not a question about structs
    if (does == "crashes") std::abort(); // a SIGSEGV is an exit code under AddressSanitizer
    if (does == "hangs") pause();
    if (does == "refuses") return MQA_INVALID_ARGUMENT;
    if (short_of_columns(does, config)) changed.max_model_len /= 2;
  }
  return right(&changed, config, stream, choice);
}
