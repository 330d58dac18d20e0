// Progress on stderr: on a terminal one line that is written over, elsewhere a line every few seconds.
#pragma once
#include <chrono>
#include <string>

namespace mqalab {

class Progress {
public:
  Progress();
  ~Progress() { done(); }
  void show(const std::string& line); // may be dropped when the last one was a moment ago
  void keep(const std::string& line); // stays
  void done();                        // ends the line that is written over

private:
  bool terminal_, open_ = false;
  std::chrono::steady_clock::time_point last_{};
};

// "1:05", "2 s": how people write a span.
std::string span_text(double seconds);

} // namespace mqalab
