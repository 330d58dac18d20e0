// The scheduled variant on a device: odd batches, odd lengths, graphs whose lengths change, and how evenly it
// shares.
#include "kernels/naive_test.hpp"

#ifdef MQALAB_SIM
#include <amdsim/control.h>
#endif

namespace mqa {
namespace {

constexpr mqa_config kScheduled{MQA_VARIANT_SCHEDULED, 64, 0, 1};

// Mostly short, some empty, some negative, some past the columns.
std::vector<int32_t> mixed_lengths(int count) {
  std::vector<int32_t> lens;
  for (int i = 0; i < count; ++i)
    lens.push_back(i % 7 == 3 ? 0 : i % 11 == 5 ? INT32_MIN : i % 29 == 8 ? 1000 : i % 19);
  return lens;
}

TEST(Scheduled, BatchesAroundAWindowOfSequences) {
  for (const int batch : {1, 127, 128, 129, 255, 256, 257, 600}) {
    SCOPED_TRACE(batch);
    NaiveShape shape;
    shape.max_model_len = 130;
    shape.lens = mixed_lengths(batch);
    expect_as_the_naive_loop(shape, kScheduled, batch);
  }
}
TEST(Scheduled, ALongSequenceIsSharedAndTheWorkIsPastOneWindow) {
  for (const int where : {0, 300, 599}) {
    NaiveShape shape;
    shape.max_model_len = 2000;
    shape.lens = std::vector<int32_t>(600, 0);
    shape.lens[where] = 1999, shape.lens[550] = 70;
    shape.neg_inf = where == 300;
    expect_as_the_naive_loop(shape, kScheduled, where);
  }
}
TEST(Scheduled, WithoutAnyTokenOnlyTheTailsAreWritten) {
  for (const int32_t length : {0, -1, INT32_MIN}) {
    NaiveShape shape;
    shape.next_n = 2;
    shape.lens = std::vector<int32_t>(300, length);
    expect_as_the_naive_loop(shape, kScheduled);
    shape.neg_inf = false;
    expect_as_the_naive_loop(shape, kScheduled);
  }
}
TEST(Scheduled, EveryHeadDimAndOccupancyWithSeveralRows) {
  for (const int head_dim : {32, 64, 128})
    for (const int waves : {1, 2, 4}) {
      NaiveShape shape;
      shape.head_dim = head_dim, shape.next_n = 3, shape.heads = 24, shape.shuffled = true;
      shape.max_model_len = 200;
      shape.lens = {5, 200, 1, 2, 3, 77};
      expect_as_the_naive_loop(shape, {MQA_VARIANT_SCHEDULED, 128, 0, waves});
    }
}
TEST(Scheduled, LengthsPerRow) {
  NaiveShape shape;
  shape.next_n = 3, shape.per_row = true;
  shape.lens = {5, 0, 9, -3, 64, 2000, 0, 0, 0, 1, 1, 1};
  expect_as_the_naive_loop(shape, kScheduled);
}
TEST(Scheduled, RaggedKeys) {
  NaiveShape shape;
  shape.ragged = true, shape.block_size = 1, shape.max_model_len = 150;
  for (int i = 0; i < 300; ++i) shape.lens.push_back(i == 17 ? 400 : i % 5);
  expect_as_the_naive_loop(shape, kScheduled);
}
TEST(Scheduled, AnOtherFlavourThanTheDevices) {
  NaiveShape shape;
  shape.fnuz = false;
  shape.lens = {64, 3};
  expect_as_the_naive_loop(shape, kScheduled);
}
TEST(Scheduled, AGraphFollowsLengthsAndTablesThatChange) {
  NaiveShape shape;
  shape.max_model_len = 700;
  shape.lens = std::vector<int32_t>(280, 1);
  NaiveCall call(shape, 1);
  NaiveLaunch launch(call);
  hipStream_t stream;
  hipGraph_t graph;
  hipGraphExec_t executable;
  ASSERT_EQ(hipStreamCreate(&stream), hipSuccess);
  ASSERT_EQ(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal), hipSuccess);
  ASSERT_EQ(launch.start(kScheduled, stream, nullptr), MQA_OK) << mqa_last_error();
  ASSERT_EQ(hipStreamEndCapture(stream, &graph), hipSuccess);
  ASSERT_EQ(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0), hipSuccess);
  for (int replay = 0; replay < 4; ++replay) {
    for (size_t b = 0; b < call.s.lens.size(); ++b)
      call.s.lens[b] = replay == 2                             ? 0
                       : b % 97 == static_cast<size_t>(replay) ? 690
                                                               : static_cast<int32_t>(b) % (replay + 2);
    call.redraw_table();
    launch.lens.upload(call.s.lens);
    launch.table.upload(call.table);
    launch.logits.upload(call.untouched());
    ASSERT_EQ(hipGraphLaunch(executable, stream), hipSuccess);
    ASSERT_EQ(hipStreamSynchronize(stream), hipSuccess);
    SCOPED_TRACE(replay);
    expect_same(launch.logits.host(), call.expected(), call.stride());
  }
  (void)hipGraphExecDestroy(executable);
  (void)hipGraphDestroy(graph);
  (void)hipStreamDestroy(stream);
}
TEST(Scheduled, RefusesWhatItCannotServe) {
  NaiveShape shape;
  shape.head_dim = 128, shape.heads = 128, shape.next_n = 4;
  shape.lens = {4};
  const NaiveCall call(shape, 1);
  const NaiveLaunch launch(call);
  EXPECT_EQ(launch.start(kScheduled, nullptr, nullptr), MQA_UNSUPPORTED);
  EXPECT_NE(std::string(mqa_last_error()).find("bytes of LDS for next_n 4 x heads 128"), std::string::npos)
      << mqa_last_error();
  EXPECT_EQ(launch.start({MQA_VARIANT_SCHEDULED, 0, 2, 0}, nullptr, nullptr), MQA_UNSUPPORTED);
  EXPECT_NE(std::string(mqa_last_error()).find("split_kv is 2; allowed: 0 or 1"), std::string::npos)
      << mqa_last_error();
}

#ifdef MQALAB_SIM
// An eighth of an MI300X, so that workers have many chunks and many sequences each.
const bool kFewUnits = amdsim_set("CUS", "38") == 0;

// Instructions of the busiest block over the mean of all.
double imbalance(const NaiveLaunch& launch, const mqa_config& config) {
  amdsim_collect_counts(1);
  EXPECT_EQ(launch.start(config, nullptr, nullptr), MQA_OK) << mqa_last_error();
  EXPECT_EQ(hipDeviceSynchronize(), hipSuccess);
  amdsim_counts counts{};
  counts.struct_size = sizeof counts;
  EXPECT_EQ(amdsim_counts_last(&counts), 0) << amdsim_last_message();
  amdsim_collect_counts(0);
  return static_cast<double>(counts.max_block_instructions) * static_cast<double>(counts.blocks) /
         static_cast<double>(counts.instructions);
}
TEST(Scheduled, OneLongSequenceAmongShortOnesCostsNoMoreThanItsShare) {
  NaiveShape shape;
  shape.next_n = 2, shape.heads = 64, shape.head_dim = 128, shape.block_size = 64, shape.neg_inf = false;
  shape.max_model_len = 32768;
  shape.lens = std::vector<int32_t>(64, 512);
  shape.lens[20] = 32768;
  const NaiveCall call(shape, 1);
  const NaiveLaunch launch(call);
  const double scheduled = imbalance(launch, {MQA_VARIANT_SCHEDULED, 64, 0, 1});
  const double staged = imbalance(launch, {MQA_VARIANT_STAGED, 64, 0, 1});
  RecordProperty("scheduled", std::to_string(scheduled));
  RecordProperty("staged", std::to_string(staged));
  EXPECT_TRUE(kFewUnits);
  EXPECT_LE(scheduled, 1.15);
  EXPECT_GE(staged, 2) << "the case is not uneven enough to tell";
}
#endif

} // namespace
} // namespace mqa
