// Bisection as such: whom to ask next, and what the answers come to.  Runs nothing; a subject is a number.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace mqalab {

// skip: neither, because it does not build, or fails in another way.
enum class Answer : uint8_t { good, bad, skip };
std::string_view name(Answer);
std::optional<Answer> answer_named(std::string_view);

// What the runs of one subject come to: bad if any is, good once `repeats` are.  Nothing: another run is due.
std::optional<Answer> settled(std::span<const Answer> runs, size_t repeats);

// The parents of every subject, each with a smaller number than its child.  Subject 0 is known to be good and
// the last one to be bad.
using History = std::vector<std::vector<size_t>>;
History straight_history(size_t count);

// Of two subjects at least.  A bad one makes all that is not among its ancestors innocent, a good one its
// ancestors; that is right also across merges, where an order of dates would not be.
class Bisection {
public:
  explicit Bisection(History);
  // Nothing: no answer could narrow it down any further.
  std::optional<size_t> next() const;
  void tell(size_t subject, Answer);

  // Those that may be the first bad one, ascending; the last of them is known to be bad.
  const std::vector<size_t>& suspects() const { return suspects_; }
  bool decided() const { return suspects_.size() == 1; }
  // The good ones that suspects come right after, asked or known from a later one.
  std::vector<size_t> last_good() const;
  int steps_left() const; // about

private:
  std::vector<bool> with_ancestors(size_t subject) const;
  std::vector<size_t> weights() const;

  History history_;
  std::vector<size_t> suspects_;
  std::vector<bool> is_suspect_, skipped_;
};

// The switches that a failure needs.  With all on it must be bad, with none good.
struct NeededSwitches {
  std::vector<size_t> needed;  // with any of these off it is good
  std::vector<size_t> unclear; // with any of these off, no answer
};
// Turns off one after the other what the failure does not need, until nothing more can be.
NeededSwitches needed_switches(size_t count, const std::function<Answer(const std::vector<bool>& on)>& ask);

} // namespace mqalab
