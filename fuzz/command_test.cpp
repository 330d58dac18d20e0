// The commands as a user meets them: arguments in, exit code and words out.
#include "fuzz/commands.hpp"

#include <gmock/gmock.h>

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace mqalab {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

struct Outcome {
  int code;
  std::string out, err;
};

class Command : public testing::Test {
protected:
  fs::path folder;
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "mqalab-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override { fs::remove_all(folder); }

  std::string file(const std::string& text) {
    const fs::path path = folder / "case.json";
    std::ofstream(path) << text;
    return path.string();
  }
  static Outcome mqalab(std::vector<std::string> words) {
    std::vector<const char*> argv{"mqalab"};
    for (const std::string& w : words) argv.push_back(w.c_str());
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int code =
        run_command_line(static_cast<int>(argv.size()), argv.data(), [](CLI::App& app, ExitCode& code) {
          add_check(app, code), add_run(app, code), add_faults(app, code), add_devices(app, code);
        });
    std::fflush(nullptr);
    return {code, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
  }
};

TEST_F(Command, TheSmallestCaseIsRight) {
  const Outcome o = mqalab({"check", file("{}")});
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_THAT(o.out, HasSubstr("ok: 1 cells"));
}

TEST_F(Command, ALibraryThatIsNoneIsRefused) {
  const Outcome none = mqalab({"check", file("{}"), "--lib", (folder / "none.so").string()});
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("there is no such file"));
  const Outcome text = mqalab({"check", file("{}"), "--lib", file("{}")});
  EXPECT_EQ(text.code, 2);
  EXPECT_THAT(text.err, HasSubstr("cannot be loaded"));
  EXPECT_EQ(mqalab({"check", file("{}"), "--lib", file("{}"), "--fault", "mask_lt"}).code, 2);
}

TEST_F(Command, APlantedFaultIsAFinding) {
  const Outcome o = mqalab({"check", file("{}"), "--fault", "mask_lt"});
  EXPECT_EQ(o.code, 10);
  EXPECT_THAT(o.out, HasSubstr("untouched: 1 of 1 cells"));
}

TEST_F(Command, JsonIsOnStdoutAlone) {
  const Outcome o = mqalab({"check", file("{}"), "--fault", "mask_lt", "--json"});
  EXPECT_EQ(o.code, 10);
  EXPECT_THAT(o.out, HasSubstr("\"verdict\": \"untouched\""));
  EXPECT_EQ(o.err, "");
}

TEST_F(Command, ASelectionsRecallIsSaidWhetherItIsRightOrNot) {
  const std::string four = file(R"({"op": "top_k", "batch": 3, "context_lens": [4, 4, 4], "max_model_len": 4,
      "strides": {"logits": 9}, "top_k": {"k": 2}, "data": {"pattern": "address"}})");
  EXPECT_THAT(mqalab({"check", four}).out, HasSubstr("wants them; recall 1 (worst row)\n"));
  EXPECT_THAT(mqalab({"check", four, "--fault", "topk_sign_ignored"}).out,
              HasSubstr("\n  recall 0 (worst row)\n"));
  EXPECT_THAT(mqalab({"check", four, "--json"}).out, HasSubstr("\"recall\": 1.0"));
}

TEST_F(Command, TheConfigurationOnTheCommandLineIsLaunched) {
  const Outcome o = mqalab({"check", file(R"({"context_lens": [300], "max_model_len": 300})"), "--config",
                            "variant=direct,chunk_k=64,split_kv=2,wave_per_eu=1", "--repeat", "3"});
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_THAT(o.out, HasSubstr("variant=direct,chunk_k=64,split_kv=2,wave_per_eu=1"));
}

TEST_F(Command, AnIllegalCaseIsBadInputUnlessTheContractIsTested) {
  const std::string path = file(R"({"block_size": 24})");
  const Outcome o = mqalab({"check", path});
  EXPECT_EQ(o.code, 2);
  EXPECT_THAT(o.err, HasSubstr("case.json: block_size is 24\n  allowed: 1, or a multiple of 16 up to 1024"));
  EXPECT_EQ(mqalab({"check", path, "--contract"}).code, 0);
}

TEST_F(Command, RunWritesEveryTensor) {
  const std::string inputs = (folder / "in/puts").string();
  const Outcome o = mqalab({"run", file(R"({"context_lens": [3], "max_model_len": 4})"), "--logits",
                            (folder / "l.npy").string(), "--inputs", inputs});
  EXPECT_EQ(o.code, 0) << o.err;
  for (const char* name :
       {"q.npy", "weights.npy", "kv_cache.npy", "context_lens.npy", "block_table.npy", "case.json"})
    EXPECT_TRUE(fs::exists(fs::path(inputs) / name)) << name;
  const Case c = load_case(inputs + "/case.json");
  EXPECT_EQ(c.strides.logits, 4);
  EXPECT_EQ(c.shape.num_blocks, 3);
  EXPECT_GT(c.config.chunk_k, 0);
  EXPECT_EQ(fs::file_size(folder / "l.npy"), 128u + 16);
}

struct OperationFiles {
  const char* json;
  std::vector<const char*> inputs;
  uint64_t cells;
};
TEST_F(Command, RunWritesTheTensorsOfEveryOperationThatMakesLogits) {
  const OperationFiles all[] = {
      {R"({"op": "ragged_mqa_logits", "batch": 2, "context_lens": [3, 0], "max_model_len": 4})",
       {"slot_prefix.npy", "block_table.npy", "kv_cache.npy"},
       8},
      {R"({"op": "per_head_mqa_logits", "context_lens": [3], "max_model_len": 4, "strides": {"logits_head": 100}})",
       {"context_lens.npy", "block_table.npy", "kv_cache.npy"},
       32},
      {R"({"op": "per_head_sum", "context_lens": [3], "max_model_len": 4, "tail": "neg_inf"})",
       {"context_lens.npy", "block_table.npy", "kv_cache.npy"},
       4},
      {R"({"op": "prefill_mqa_logits", "next_n": 2, "lens_per_row": true, "context_lens": [3, 2], "starts": [0, 1], "max_model_len": 4})",
       {"k.npy", "k_scales.npy", "starts.npy", "ends.npy"},
       8}};
  for (const OperationFiles& op : all) {
    const std::string inputs = (folder / "tensors").string(), logits = (folder / "l.npy").string();
    fs::remove_all(inputs);
    const Outcome o = mqalab({"run", file(op.json), "--logits", logits, "--inputs", inputs});
    EXPECT_EQ(o.code, 0) << o.err;
    for (const char* name : op.inputs) EXPECT_TRUE(fs::exists(fs::path(inputs) / name)) << op.json << name;
    for (const char* name : {"q.npy", "weights.npy", "case.json"})
      EXPECT_TRUE(fs::exists(fs::path(inputs) / name)) << op.json << name;
    EXPECT_EQ(fs::file_size(logits), 128 + 4 * op.cells) << op.json;
    EXPECT_EQ(mqalab({"check", inputs + "/case.json"}).code, 0)
        << "the case that hides nothing is the same case";
  }
}

TEST_F(Command, FaultsAndDevicesAreListed) {
  const Outcome faults = mqalab({"faults"}), devices = mqalab({"devices", "--json"});
  EXPECT_EQ(faults.code, 0);
  EXPECT_THAT(faults.out, HasSubstr("out_offset_32"));
  EXPECT_EQ(devices.code, 0);
  EXPECT_THAT(devices.out, HasSubstr("\"accumulation\""));
}

TEST_F(Command, HelpIsCleanAndHasAnExample) {
  EXPECT_EQ(mqalab({"--help"}).code, 0);
  for (const char* command : {"check", "run", "faults", "devices"}) {
    const Outcome o = mqalab({command, "--help"});
    EXPECT_EQ(o.code, 0);
    EXPECT_THAT(o.out, HasSubstr("example: mqalab"));
  }
}

TEST_F(Command, RefusesAFileNestedTooDeepForRecursion) {
  const Outcome o = mqalab({"check", file(std::string(100000, '[') + std::string(100000, ']'))});
  EXPECT_EQ(o.code, 2);
  EXPECT_THAT(o.err, HasSubstr("nested more than 64 levels deep"));
}

struct BadUsage {
  std::vector<std::string> words; // CASE stands for a file with `json`
  const char* json;
  const char* says;
};
class CommandRefuses : public Command, public testing::WithParamInterface<BadUsage> {
protected:
  // Everything lies in the test's own folder: nothing here may touch a device node of the machine.
  std::string special(const std::string& word) const {
    if (word == "FOLDER") return folder.string();
    if (word == "OUT") return (folder / "out.npy").string();
    if (word == "BELOW_A_FILE") return (folder / "case.json" / "in").string();
    if (word != "PIPE") return "";
    const std::string pipe = (folder / "pipe").string();
    EXPECT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    return pipe;
  }
};

TEST_P(CommandRefuses, WithExitTwoAndOneClearMessage) {
  std::vector<std::string> words = GetParam().words;
  for (std::string& w : words)
    if (w == "CASE")
      w = file(GetParam().json);
    else if (const auto path = special(w); !path.empty())
      w = path;
  const Outcome o = mqalab(words);
  EXPECT_EQ(o.code, 2) << o.out;
  EXPECT_THAT(o.err, HasSubstr(GetParam().says));
  EXPECT_EQ(o.out, "");
}

INSTANTIATE_TEST_SUITE_P(
    All, CommandRefuses,
    testing::Values(
        BadUsage{{}, "", "subcommand"}, BadUsage{{"chek"}, "", "chek is no command"},
        BadUsage{{"chek"}, "", "try:     mqalab check"}, BadUsage{{"check"}, "", "CASE"},
        BadUsage{{"check", "CASE", "--fast"}, "{}", "--fast"},
        BadUsage{{"check", "no/such.json"}, "", "no/such.json: cannot be read"},
        BadUsage{{"check", "FOLDER"}, "", "is a folder"}, BadUsage{{"check", "CASE"}, "", "not JSON"},
        BadUsage{{"check", "CASE"}, "{\"heads\": 8,}", "not JSON"},

        BadUsage{{"check", "CASE"}, "{\"head\": 8}", "unknown field head"},
        BadUsage{{"check", "CASE"}, "{\"heads\": \"8\"}", "heads is \"8\""},
        BadUsage{{"check", "CASE"}, "{\"heads\": 1025}", "heads is 1025"},
        BadUsage{{"check", "CASE"}, "{\"batch\": 1.5}", "batch is 1.5"},
        BadUsage{{"check", "CASE"}, "{\"batch\": 1e99}", "batch is 1e+99"},
        BadUsage{{"check", "CASE"}, "{\"batch\": -1}", "batch is -1"},
        BadUsage{{"check", "CASE"}, "{\"batch\": 2, \"batch\": 3}", "given twice"},
        BadUsage{{"check", "CASE"}, "{\"context_lens\": [1, 2, 3]}", "context_lens has 3 entries"},
        BadUsage{{"check", "CASE"}, "{\"strides\": {\"kv_block\": 4}}", "strides.kv_block is 4"},
        BadUsage{{"check", "CASE"}, "{\"strides\": {\"logits\": 99999999999}}", "allowed: up to"},
        BadUsage{{"check", "CASE"}, "{\"max_model_len\": 99999999999}", "max_model_len is 99999999999"},
        BadUsage{{"check", "CASE", "--repeat", "0"}, "{}", "--repeat"},
        BadUsage{{"check", "CASE", "--repeat", "x"}, "{}", "--repeat"},
        BadUsage{{"check", "CASE", "--fault", "mask_let"}, "{}", "mask_let is no planted fault"},
        BadUsage{{"check", "CASE", "--fault", "mask_let"}, "{}", "mask_l"},
        BadUsage{{"check", "CASE", "--config", "chunk=64"}, "{}", "\"chunk=64\" is no setting"},
        BadUsage{{"check", "CASE", "--config", "chunk_k"}, "{}", "\"chunk_k\" is no setting"},
        BadUsage{{"check", "CASE", "--config", "chunk_k=64k"}, "{}", "chunk_k is \"64k\""},
        BadUsage{{"check", "CASE", "--config", "variant=fast"},
                 "{}",
                 "auto, staged, direct, wgmma, general or scheduled"},
        BadUsage{{"check", "CASE", "--config", "chunk_k=100"}, "{}", "config.chunk_k is 100"},
        BadUsage{{"run", "CASE"}, "{}", "--logits"},
        BadUsage{{"run", "CASE", "--logits", "OUT"}, "{\"op\": \"top_k\"}", "op is top_k"},
        BadUsage{{"run", "CASE", "--logits", "no/such/folder/x.npy"}, "{}", "no/such/folder/x.npy"},
        BadUsage{{"run", "CASE", "--logits", "PIPE"}, "{}", "is no regular file"},
        BadUsage{{"run", "CASE", "--logits", "FOLDER"}, "{}", "is no regular file"},
        BadUsage{{"run", "CASE", "--logits", "OUT", "--inputs", "BELOW_A_FILE"}, "{}", "case.json/in"},
        BadUsage{{"run", "CASE", "--logits", "OUT"},
                 "{\"strides\": {\"logits\": 4294967296}}",
                 "logits would be a file of"},
        BadUsage{{"faults", "extra"}, "", "extra"}));

} // namespace
} // namespace mqalab
