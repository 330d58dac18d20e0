// Readers and a writer at once: a reader never sees a freed value, and no value outlives its readers.
#include "kernels/snapshot.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace mqa {
namespace {

std::atomic<int> alive{0};
struct Counted {
  explicit Counted(int v) : value(v), copy(v) { ++alive; }
  ~Counted() {
    value = -1;
    --alive;
  }
  int value, copy;
};

TEST(Snapshot, IsEmptyUntilSomethingIsPublished) {
  Snapshot<Counted> snapshot;
  EXPECT_TRUE(snapshot.read([](const Counted* c) noexcept { return c == nullptr; }));
  snapshot.publish(std::make_unique<const Counted>(7));
  EXPECT_EQ(snapshot.read([](const Counted* c) noexcept { return c->value; }), 7);
  snapshot.publish(nullptr);
  EXPECT_TRUE(snapshot.read([](const Counted* c) noexcept { return c == nullptr; }));
  EXPECT_EQ(alive, 0);
}

TEST(Snapshot, NeverShowsAFreedValue) {
  Snapshot<Counted> snapshot;
  snapshot.publish(std::make_unique<const Counted>(0));
  std::atomic<bool> stop{false};
  std::atomic<int> torn{0}, reads{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i)
    readers.emplace_back([&] {
      while (!stop) {
        torn += snapshot.read(
            [](const Counted* c) noexcept { return c->value == c->copy && c->value >= 0 ? 0 : 1; });
        ++reads;
      }
    });
  for (int i = 1; i <= 2000 || reads < 100; ++i) snapshot.publish(std::make_unique<const Counted>(i));
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(torn, 0);
  EXPECT_EQ(alive, 1) << "only the last one";
}

} // namespace
} // namespace mqa
