// Graphs are what a stream captured, in that order; a replay uses the arguments of the capture.
#include "runtime.hpp"

using namespace amdsim;

struct hipGraphExec : ihipGraph {};

HIP_ENTRY hipGraphDestroy(hipGraph_t graph) {
  const ApiCall call;
  if (!graph) return fail(hipErrorInvalidValue);
  delete graph;
  return hipSuccess;
}
HIP_ENTRY hipGraphInstantiate(hipGraphExec_t* executable, hipGraph_t graph, hipGraphNode_t*, char*, size_t) {
  const ApiCall call;
  if (!executable || !graph) return fail(hipErrorInvalidValue);
  *executable = new hipGraphExec{*graph};
  return hipSuccess;
}
HIP_ENTRY hipGraphInstantiateWithFlags(hipGraphExec_t* executable, hipGraph_t graph, unsigned long long) {
  return hipGraphInstantiate(executable, graph, nullptr, nullptr, 0);
}
HIP_ENTRY hipGraphLaunch(hipGraphExec_t executable, hipStream_t stream) {
  const ApiCall call;
  if (!executable) return fail(hipErrorInvalidValue);
  for (const Work& work : executable->work)
    if (const hipError_t error = submit(stream, work); error != hipSuccess) return error;
  return hipSuccess;
}
HIP_ENTRY hipGraphExecDestroy(hipGraphExec_t executable) {
  const ApiCall call;
  if (!executable) return fail(hipErrorInvalidValue);
  delete executable;
  return hipSuccess;
}
HIP_ENTRY hipGraphGetNodes(hipGraph_t graph, hipGraphNode_t* nodes, size_t* count) {
  const ApiCall call;
  if (!graph || !count) return fail(hipErrorInvalidValue);
  if (nodes) return static_cast<hipError_t>(amdsim_unimplemented("hipGraphGetNodes with a node array"));
  *count = graph->work.size();
  return hipSuccess;
}
