// Ctrl-C and SIGTERM as a question that long loops ask.
#pragma once

namespace mqalab {

// From construction to destruction the two signals only set a flag; a second Ctrl-C kills in the usual way.
class StopSignal {
public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;
  static bool requested();
};

} // namespace mqalab
