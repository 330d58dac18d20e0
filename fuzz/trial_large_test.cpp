// The large trial, forced on small cases: what it must pass, and which planted faults it sees by which of its
// means.  Not out_offset_32: a simulator would spend hours on the gigabytes between the rows; docs/large.md
// has the commands for hardware.
#include "fuzz/oracle.hpp"

#include <gtest/gtest.h>

namespace mqalab {
namespace {

Case of(const std::string& json) { return case_from_json(json, "test"); }

Verdict large(const std::string& json, const char* fault = nullptr) {
  OracleOptions options;
  options.large = true;
  Oracle oracle;
  return oracle.check(of(json), fault ? find_fault(fault) : nullptr, options);
}

constexpr const char* kPadded =
    R"({"batch": 3, "next_n": 2, "block_size": 16, "context_lens": [300, 40, 129], "max_model_len": 400,
        "strides": {"logits": 450}, "block_table": {"mode": "shuffled", "padding": "poisoned"}})";
constexpr const char* kTails =
    R"({"batch": 2, "block_size": 64, "context_lens": [500, 70], "max_model_len": 520, "tail": "neg_inf",
        "data": {"lane": "numeric"}})";
TEST(TrialLarge, TheProductionKernelPassesInEveryOperation) {
  for (const char* json :
       {"{}", kPadded, kTails, R"({"batch": 0, "context_lens": []})",
        R"({"op": "ragged_mqa_logits", "batch": 2, "context_lens": [70, 100], "max_model_len": 128})",
        R"({"op": "per_head_mqa_logits", "batch": 2, "next_n": 2, "block_size": 16, "context_lens": [40, 77],
            "max_model_len": 80, "data": {"lane": "numeric"}})",
        R"({"op": "per_head_ragged_mqa_logits", "batch": 2, "context_lens": [40, 77], "max_model_len": 80})",
        R"({"op": "per_head_sum", "batch": 2, "block_size": 16, "context_lens": [40, 77], "max_model_len": 80,
            "tail": "neg_inf", "data": {"lane": "numeric"}})",
        R"({"op": "prefill_mqa_logits", "next_n": 3, "lens_per_row": true, "context_lens": [100, 200, 300],
            "starts": [0, 17, 250], "max_model_len": 300, "data": {"lane": "numeric"}})",
        R"({"op": "prefill_mqa_logits", "next_n": 3, "lens_per_row": true, "context_lens": [100, 200, 300],
            "starts": [0, 17, 250], "max_model_len": 190, "compressed": true, "tail": "neg_inf"})"}) {
    const Verdict v = large(json);
    EXPECT_EQ(v.verdict, VerdictClass::ok) << json << ": " << v.message;
  }
}

TEST(TrialLarge, ALostSplitIsUntouched) {
  const Verdict v = large(kPadded, "split_drops_last");
  EXPECT_EQ(v.verdict, VerdictClass::untouched) << v.message;
}
TEST(TrialLarge, AColumnPastTheEndIsTouched) {
  Verdict v = large(kPadded, "mask_le");
  EXPECT_EQ(v.verdict, VerdictClass::touched) << v.message;
  v = large(R"({"tail": "neg_inf", "context_lens": [2], "max_model_len": 3, "strides": {"logits": 80}})",
            "no_col_bound");
  EXPECT_EQ(v.verdict, VerdictClass::touched) << v.message;
}
TEST(TrialLarge, AWrongKeyIsSeenInTheSamples) {
  const Verdict v = large(kPadded, "table_by_token");
  EXPECT_EQ(v.verdict, VerdictClass::value) << v.message;
}

} // namespace
} // namespace mqalab
