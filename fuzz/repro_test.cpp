// The one-file programs of a finding, built by a C++ compiler and run against libmqa: right where the library
// is right, wrong where a cell is not what the program was told to expect.
#include "fuzz/repro_data.hpp"

#include "fuzz/oracle.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace mqalab {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

constexpr const char* kCases[] = {
    R"({"block_size": 16, "next_n": 2, "context_lens": [40], "max_model_len": 64, "strides": {"logits": 70}})",
    R"({"op": "ragged_mqa_logits", "batch": 2, "context_lens": [5, 9], "max_model_len": 8, "tail": "neg_inf"})",
    R"({"op": "per_head_mqa_logits", "batch": 2, "context_lens": [5, 9], "max_model_len": 12, "strides": {"logits_head": 30}})",
    R"({"op": "per_head_ragged_mqa_logits", "context_lens": [9], "max_model_len": 12, "data": {"lane": "special"}})",
    R"({"op": "per_head_sum", "context_lens": [9], "max_model_len": 12, "tail": "neg_inf", "data": {"lane": "numeric"}})",
    R"({"op": "prefill_mqa_logits", "next_n": 3, "starts": [0, 4, 9], "context_lens": [5, 9, 3], "max_model_len": 10,
        "strides": {"key_scales": 2, "kv_block": 132}, "data": {"lane": "numeric"}})"};

class Repro : public testing::Test {
protected:
  fs::path folder;
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "mqalab-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override { fs::remove_all(folder); }

  static ReproData data_of(const char* json) {
    const Case c = case_from_json(json, "test");
    const Verdict v = Oracle().check(c);
    EXPECT_EQ(v.verdict, VerdictClass::ok) << v.message;
    return repro_data(c, v, declared_policy(v.launched.config.variant));
  }
  // Exit code of the program; -1 when it does not build.
  int run(const ReproData& data) const {
    const std::string source = (folder / "repro.cpp").string(), program = (folder / "repro").string();
    std::ofstream(source) << repro_cpp(data);
    const std::string library = MQALAB_LIBRARIES;
    const std::string build = fmt::format(
        "{} -std=c++17 -O0 -w {} -I{} -I{} -L{} -lmqa -l:libamdhip64.so.5 -Wl,-rpath,{} -o {}", MQALAB_CXX,
        source, MQALAB_SOURCE, MQALAB_SOURCE "/kernels/amdsim/include", library, library, program);
    if (std::system(build.c_str()) != 0) return -1;
    return WEXITSTATUS(std::system((program + " > " + program + ".txt").c_str()));
  }
};

TEST_F(Repro, OfEveryOperationAgreesWithTheLibrary) {
  for (const char* json : kCases) {
    const ReproData data = data_of(json);
    EXPECT_GT(data.cells.size(), 5u) << json;
    EXPECT_EQ(run(data), 0) << json;
  }
}

TEST_F(Repro, SeesACellThatIsNotWhatItExpects) {
  ReproData data = data_of(kCases[5]);
  data.cells[2].expected += 1e6;
  EXPECT_EQ(run(data), 1);
}

TEST_F(Repro, OfAnOperationWithoutAProgramSaysWhatToUse) {
  const Case c = case_from_json(R"({"op": "top_k"})", "test");
  const ReproData data = repro_data(c, Verdict{}, Policy{});
  EXPECT_THAT(repro_cpp(data), HasSubstr("#error \"no program is written for op top_k: use replay.sh"));
  EXPECT_THAT(repro_py(data), HasSubstr("raise SystemExit(\"no program is written for op top_k"));
}

TEST_F(Repro, InPythonNamesTheStructureOfItsEntryPoint) {
  EXPECT_THAT(repro_py(data_of(kCases[5])), HasSubstr("(\"mqa_prefill_logits\", \"prefill\", dict("));
  EXPECT_THAT(repro_py(data_of(kCases[4])), HasSubstr("(\"mqa_head_sum\", \"head_sum\", dict("));
}

} // namespace
} // namespace mqalab
