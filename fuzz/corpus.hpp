// The regression corpus: cases of public failures, from fuzz/corpus/, built into the program.
#pragma once
#include <span>
#include <string_view>

namespace mqalab {

struct CorpusCase {
  std::string_view name, json;
};
std::span<const CorpusCase> regression_corpus();

} // namespace mqalab
