// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/gpu/fake_runtime/fake_runtime.h"

#include <cuda_runtime_api.h>

#include <cstdlib>
#include <cstring>

struct FakeStream {};
struct FakeEvent {};
struct FakeGraph {
  int kernels = 0;
};
struct FakeExecutable {
  int kernels = 0;
};

namespace fake_runtime {
namespace {

constexpr int kStreamCaptureUnsupported = 900, kStreamCaptureInvalidated = 901, kFirstSticky = 700, kLastSticky = 719;

struct State {
  std::map<std::string, std::pair<int, int>> failures;  // code, calls until then
  int last = 0, sticky = 0, recorded = 0;
  bool invalidated = false;
  Seen seen;
} state;

cudaError_t Result(int code) {
  if (code != 0) state.last = code;
  if (code >= kFirstSticky && code <= kLastSticky) state.sticky = code;
  return static_cast<cudaError_t>(code);
}

// Returns the planned failure of a call, if any, before the call does anything.
cudaError_t Enter(const char* name) {
  if (state.sticky != 0) return Result(state.sticky);
  const auto planned = state.failures.find(name);
  if (planned == state.failures.end() || --planned->second.second > 0) return cudaSuccess;
  const int code = planned->second.first;
  state.failures.erase(planned);
  return Result(code);
}

// Fails a call that waits while the stream records, as the real runtime does; the recording is lost.
cudaError_t EnterWaiting(const char* name) {
  if (const cudaError_t code = Enter(name); code != cudaSuccess || !state.seen.recording) return code;
  state.invalidated = true;
  return Result(kStreamCaptureUnsupported);
}

template <class Handle>
cudaError_t Make(const char* name, Handle** handle) {
  if (const cudaError_t code = Enter(name); code != cudaSuccess) return code;
  *handle = new Handle;
  ++state.seen.alive;
  return cudaSuccess;
}

// Also of a lost device: its handles are given back.
template <class Handle>
cudaError_t Destroy(Handle* handle) {
  delete handle;
  --state.seen.alive;
  return Result(state.sticky);
}

}  // namespace

void Reset() {
  state = State{};
}

void Fail(const std::string& name, int code, int nth) {
  state.failures[name] = {code, nth};
}

Seen Now() {
  return state.seen;
}

void CountLaunch() {
  if (Enter("Launch") != cudaSuccess) return;
  ++(state.seen.recording ? state.recorded : state.seen.launched);
}

}  // namespace fake_runtime

using namespace fake_runtime;

const char* cudaGetErrorString(cudaError_t) {
  return "as the test says";
}
cudaError_t cudaGetLastError() {
  const int last = state.last;
  state.last = state.sticky;
  return static_cast<cudaError_t>(last);
}
cudaError_t cudaSetDevice(int) {
  return Enter("SetDevice");
}
cudaError_t cudaMalloc(void** data, size_t bytes) {
  if (const cudaError_t code = Enter("Malloc"); code != cudaSuccess) return code;
  *data = std::malloc(bytes);
  ++state.seen.alive;
  return cudaSuccess;
}
cudaError_t cudaFree(void* data) {
  std::free(data);
  state.seen.alive -= data == nullptr ? 0 : 1;
  return Result(state.sticky);
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind, cudaStream_t) {
  const cudaError_t code = Enter("MemcpyAsync");
  if (code == cudaSuccess) std::memcpy(to, from, bytes);
  return code;
}
cudaError_t cudaMemsetAsync(void* to, int byte, size_t bytes, cudaStream_t) {
  const cudaError_t code = Enter("MemsetAsync");
  if (code == cudaSuccess) std::memset(to, byte, bytes), state.seen.filled += bytes;
  return code;
}
cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return Make("StreamCreate", stream);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return Destroy(stream);
}
cudaError_t cudaStreamSynchronize(cudaStream_t) {
  return EnterWaiting("StreamSynchronize");
}
cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) {
  const cudaError_t code = Enter("StreamBeginCapture");
  if (code != cudaSuccess) return code;
  state.seen.recording = true, state.invalidated = false, state.recorded = 0;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t* graph) {
  state.seen.recording = false;
  *graph = nullptr;
  if (state.invalidated) return Result(kStreamCaptureInvalidated);
  const cudaError_t code = Make("StreamEndCapture", graph);
  if (code == cudaSuccess) (*graph)->kernels = state.recorded;
  return code;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long) {
  const cudaError_t code = Make("GraphInstantiate", executable);
  if (code == cudaSuccess) (*executable)->kernels = graph->kernels;
  return code;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t) {
  if (const cudaError_t code = Enter("GraphLaunch"); code != cudaSuccess) return code;
  state.seen.launched += executable->kernels, ++state.seen.replayed;
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return Destroy(graph);
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  return Destroy(executable);
}
cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return Make("EventCreate", event);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return Destroy(event);
}
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) {
  return Enter("EventRecord");
}
cudaError_t cudaEventSynchronize(cudaEvent_t) {
  return EnterWaiting("EventSynchronize");
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t, cudaEvent_t) {
  *milliseconds = 1;
  return Enter("EventElapsedTime");
}
