# cmake -DOUT=file.cpp -DCASES="a.json;b.json" -P EmbedCorpus.cmake: the regression corpus as a C++ table, so that a
# relocated program has it.
set(rows "")
foreach(path IN LISTS CASES)
  get_filename_component(name ${path} NAME_WE)
  file(READ ${path} json)
  string(APPEND rows "    {\"${name}\", R\"json(${json})json\"},\n")
endforeach()
file(WRITE ${OUT} "// Made from fuzz/corpus/ by cmake/EmbedCorpus.cmake.
#include \"fuzz/corpus.hpp\"
namespace mqalab {
std::span<const CorpusCase> regression_corpus() {
  static constexpr CorpusCase kCases[] = {
${rows}  };
  return kCases;
}
}  // namespace mqalab
")
