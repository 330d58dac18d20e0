#include "fuzz/relation_launch.hpp"

#include <fmt/format.h>

namespace mqalab {
namespace {

// Not held up by the default stream: a launcher that uses that one instead is not to be put in order by it.
class Stream {
public:
  Stream() { require(hipStreamCreateWithFlags(&stream_, hipStreamNonBlocking), "hipStreamCreateWithFlags"); }
  ~Stream() { (void)hipStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator hipStream_t() const { return stream_; }

private:
  hipStream_t stream_ = nullptr;
};

class Event {
public:
  Event() { require(hipEventCreateWithFlags(&event_, hipEventDisableTiming), "hipEventCreateWithFlags"); }
  ~Event() { (void)hipEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  operator hipEvent_t() const { return event_; }

private:
  hipEvent_t event_ = nullptr;
};

// A captured launch.
class Graph {
public:
  Graph() = default;
  ~Graph() {
    if (exec_) (void)hipGraphExecDestroy(exec_);
    if (graph_) (void)hipGraphDestroy(graph_);
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // What `start` said, or that it did what cannot be captured.
  template <class Start> LaunchResult capture(hipStream_t stream, Start start) {
    require(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal), "hipStreamBeginCapture");
    LaunchResult ran = start();
    const hipError_t ended = hipStreamEndCapture(stream, &graph_);
    if (ended != hipSuccess && ran.status == VerdictClass::ok)
      ran.status = VerdictClass::fault,
      ran.message = fmt::format("the launch cannot be captured: {}", hipGetErrorString(ended));
    if (ran.status == VerdictClass::ok)
      require(hipGraphInstantiate(&exec_, graph_, nullptr, nullptr, 0), "hipGraphInstantiate");
    return ran;
  }
  // `captured`: what capture() returned, a good one.
  LaunchResult replay(hipStream_t stream, LaunchResult captured) const {
    const hipError_t error = hipGraphLaunch(exec_, stream);
    LaunchResult ran = finished(std::move(captured));
    if (error != hipSuccess && ran.status == VerdictClass::ok)
      ran.status = VerdictClass::fault,
      ran.message = fmt::format("the replay does not start: {}", hipGetErrorString(error));
    return ran;
  }

private:
  hipGraph_t graph_ = nullptr;
  hipGraphExec_t exec_ = nullptr;
};

// Copies go over the default stream, which the others do not wait for.
void copies_are_done() { require(hipDeviceSynchronize(), "hipDeviceSynchronize"); }

class Launcher {
public:
  Launcher(TrialMemory& memory, const Partner& partner, const Fault* fault, LogitsOutput& output,
           uint64_t& salt)
      : memory_(memory), partner_(partner), fault_(fault), output_(output), salt_(salt) {}

  LaunchResult alone() {
    put(partner_.problem, partner_.tensors);
    return output_.launch(partner_.config, fault_);
  }

  // The partner may start once the first launch of the load is over, and so may the second: on hardware these
  // two are in flight together.
  LaunchResult under_load() {
    put(partner_.problem, partner_.tensors);
    LogitsOutput load = load_output();
    const Stream ours, theirs;
    const Event first_is_over;
    copies_are_done();
    const LaunchResult before = load.start(partner_.config, fault_, theirs);
    require(hipEventRecord(first_is_over, theirs), "hipEventRecord");
    require(hipStreamWaitEvent(ours, first_is_over, 0), "hipStreamWaitEvent");
    const LaunchResult ran = output_.start(partner_.config, fault_, ours);
    const LaunchResult after = load.start(partner_.config, fault_, theirs);
    for (const LaunchResult& started : {before, ran})
      if (started.status != VerdictClass::ok) return finished(started);
    return finished(after);
  }

  // The last replay counts.  Before it the tensors' contents were replaced where they lie, and the kernel was
  // launched for another output, so whatever a launcher keeps from the capture is out of date.
  LaunchResult replayed() {
    put(partner_.other->problem, partner_.other->tensors);
    LogitsOutput load = load_output();
    const Stream stream;
    copies_are_done();
    Graph graph;
    const LaunchResult captured =
        graph.capture(stream, [&] { return output_.start(partner_.config, fault_, stream); });
    if (captured.status != VerdictClass::ok) return finished(captured);
    if (const LaunchResult once = graph.replay(stream, captured); once.status != VerdictClass::ok)
      return once;
    if (const LaunchResult between = load.launch(partner_.config, fault_); between.status != VerdictClass::ok)
      return between;
    put(partner_.problem, partner_.tensors);
    copies_are_done();
    return graph.replay(stream, captured);
  }

private:
  void put(const Problem& problem, const Tensors& tensors) {
    memory_.partner_inputs.upload(problem, tensors);
    output_.prefill(salt_ = memory_.fresh_salt());
  }
  LogitsOutput load_output() {
    const OtherContents& other = *partner_.other;
    memory_.inputs.upload(other.problem, other.tensors);
    LogitsOutput load(memory_, other.problem);
    load.prefill(memory_.fresh_salt());
    return load;
  }

  TrialMemory& memory_;
  const Partner& partner_;
  const Fault* fault_;
  LogitsOutput& output_;
  uint64_t& salt_;
};

} // namespace

LaunchResult launch_partner(TrialMemory& memory, const Partner& partner, const Fault* fault,
                            LogitsOutput& output, uint64_t& salt) {
  Launcher launcher(memory, partner, fault, output, salt);
  switch (partner.manner) {
  case Manner::alone: break;
  case Manner::under_load: return launcher.under_load();
  case Manner::replayed: return launcher.replayed();
  }
  return launcher.alone();
}

} // namespace mqalab
