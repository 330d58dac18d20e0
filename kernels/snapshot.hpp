// A pointer to something immutable that readers use without a lock while a writer replaces it.  The old value
// is freed once every reader that could have seen it has left (left-right: two groups of readers, the writer
// drains both).
#pragma once
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <thread>

namespace mqa {

template <class T> class Snapshot {
public:
  ~Snapshot() { delete current_.load(); }

  // Calls use(const T*), nullptr when nothing was ever published.  `use` must not publish.
  template <class Use> auto read(Use use) const noexcept {
    std::atomic<int64_t>& inside = readers_[group_.load()].slot[thread_slot()].count;
    inside.fetch_add(1);
    struct Leave {
      std::atomic<int64_t>& count;
      ~Leave() { count.fetch_sub(1, std::memory_order_release); }
    } leave{inside};
    return use(current_.load());
  }

  void publish(std::unique_ptr<const T> next) {
    const std::lock_guard lock(writer_);
    const std::unique_ptr<const T> old(current_.exchange(next.release()));
    const unsigned before = group_.load();
    drain(1 - before);
    group_.store(1 - before);
    drain(before);
  }

private:
  static constexpr unsigned kSlots = 16; // spread, so that readers on many cores do not share a cache line
  struct alignas(64) Slot {
    std::atomic<int64_t> count{0};
  };
  struct Group {
    std::array<Slot, kSlots> slot;
  };

  static unsigned thread_slot() noexcept {
    static std::atomic<unsigned> next{0};
    thread_local const unsigned mine = next.fetch_add(1) % kSlots;
    return mine;
  }

  void drain(unsigned group) const {
    for (const Slot& slot : readers_[group].slot)
      while (slot.count.load() != 0) std::this_thread::yield();
  }

  std::atomic<const T*> current_{nullptr};
  std::atomic<unsigned> group_{0};
  mutable std::array<Group, 2> readers_;
  std::mutex writer_;
};

} // namespace mqa
