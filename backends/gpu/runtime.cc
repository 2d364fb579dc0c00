// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/runtime.h"

#include <utility>

#include "backends/common/status.h"

#if defined(ASSAY_GPU_CUDA)
#include <cuda_runtime_api.h>
#define RUNTIME(name) cuda##name
#else
#include <hip/hip_runtime_api.h>
#define RUNTIME(name) hip##name
#endif

namespace gpu {
namespace {

using Code = RUNTIME(Error_t);
using StreamHandle = RUNTIME(Stream_t);
using EventHandle = RUNTIME(Event_t);

[[noreturn]] void Fail(Code code, const char* call) {
  const int number = static_cast<int>(code);
  const std::string advice = AdviceFor(number);
  throw plugin::Error(StatusOf(number), fmt::format("{}: {} ({}){}{}", call, RUNTIME(GetErrorString)(code), number,
                                                    advice.empty() ? "" : "; ", advice));
}

void Check(Code code, const char* call) {
  if (static_cast<int>(code) == 0) return;
  (void)RUNTIME(GetLastError)();  // what does not outlive the call must not be blamed on the next one
  Fail(code, call);
}

EventHandle MakeEvent() {
  EventHandle event{};
  Check(RUNTIME(EventCreate)(&event), "EventCreate");
  return event;
}

}  // namespace

void CheckLaunch(const char* what) {
  if (const Code code = RUNTIME(GetLastError)(); static_cast<int>(code) != 0) Fail(code, what);
}

void SelectDevice(int index) {
  Check(RUNTIME(SetDevice)(index), "SetDevice");
}

Memory::Memory(uint64_t bytes) {
  void* data = nullptr;
  Check(RUNTIME(Malloc)(&data, bytes > 0 ? bytes : 1), "Malloc");
  if (data == nullptr) {  // HIP-CPU reports success
    throw plugin::Error(ASSAY_OUT_OF_MEMORY, fmt::format("Malloc of {} bytes: no memory; {}", bytes, AdviceFor(2)));
  }
  data_ = static_cast<std::byte*>(data);
}

Memory::~Memory() {
  (void)RUNTIME(Free)(data_);
}

Queue::Queue() {
  StreamHandle stream{};
  Check(RUNTIME(StreamCreate)(&stream), "StreamCreate");
  stream_ = stream;
}

Queue::~Queue() {
  (void)RUNTIME(StreamDestroy)(static_cast<StreamHandle>(stream_));
}

void Queue::Wait() const {
  Check(RUNTIME(StreamSynchronize)(static_cast<StreamHandle>(stream_)), "StreamSynchronize");
}

void Queue::ToDevice(void* to, const void* from, uint64_t bytes) const {
  Check(RUNTIME(MemcpyAsync)(to, from, bytes, RUNTIME(MemcpyHostToDevice), static_cast<StreamHandle>(stream_)),
        "Memcpy to the device");
  Wait();
}

void Queue::ToHost(void* to, const void* from, uint64_t bytes) const {
  Check(RUNTIME(MemcpyAsync)(to, from, bytes, RUNTIME(MemcpyDeviceToHost), static_cast<StreamHandle>(stream_)),
        "Memcpy to the host");
  Wait();
}

void Queue::Copy(void* to, const void* from, uint64_t bytes) const {
  Check(RUNTIME(MemcpyAsync)(to, from, bytes, RUNTIME(MemcpyDeviceToDevice), static_cast<StreamHandle>(stream_)),
        "Memcpy on the device");
}

void Queue::Fill(void* to, int byte, uint64_t bytes) const {
  Check(RUNTIME(MemsetAsync)(to, byte, bytes, static_cast<StreamHandle>(stream_)), "Memset");
}

Stopwatch::Stopwatch() : start_(MakeEvent()), stop_(MakeEvent()) {}

Stopwatch::~Stopwatch() {
  (void)RUNTIME(EventDestroy)(static_cast<EventHandle>(start_));
  (void)RUNTIME(EventDestroy)(static_cast<EventHandle>(stop_));
}

void Stopwatch::Start(const Queue& queue) {
  Check(RUNTIME(EventRecord)(static_cast<EventHandle>(start_), static_cast<StreamHandle>(queue.get())), "EventRecord");
}

void Stopwatch::Stop(const Queue& queue) {
  Check(RUNTIME(EventRecord)(static_cast<EventHandle>(stop_), static_cast<StreamHandle>(queue.get())), "EventRecord");
}

double Stopwatch::Seconds() {
  Check(RUNTIME(EventSynchronize)(static_cast<EventHandle>(stop_)), "EventSynchronize");
  float milliseconds = 0;
  Check(RUNTIME(EventElapsedTime)(&milliseconds, static_cast<EventHandle>(start_), static_cast<EventHandle>(stop_)),
        "EventElapsedTime");
  return 1e-3 * static_cast<double>(milliseconds);
}

#if defined(ASSAY_GPU_HIP_CPU)

std::unique_ptr<Graph> Graph::Record(const Queue&, const std::function<void()>&) {
  return nullptr;  // HIP-CPU has no graphs
}
Graph::~Graph() = default;
void Graph::Launch(const Queue&) const {}

#else

std::unique_ptr<Graph> Graph::Record(const Queue& queue, const std::function<void()>& enqueue) {
  const auto stream = static_cast<StreamHandle>(queue.get());
  if (static_cast<int>(RUNTIME(StreamBeginCapture)(stream, RUNTIME(StreamCaptureModeThreadLocal))) != 0) {
    (void)RUNTIME(GetLastError)();
    return nullptr;
  }
  bool recorded = true;
  try {
    enqueue();
  } catch (const plugin::Error& error) {
    if (error.status() == ASSAY_DEVICE_LOST) throw;
    recorded = false;
  }
  RUNTIME(Graph_t) graph{};
  const Code ended = RUNTIME(StreamEndCapture)(stream, &graph);
  RUNTIME(GraphExec_t) executable{};
  recorded = recorded && static_cast<int>(ended) == 0 && graph != nullptr;
#if defined(ASSAY_GPU_CUDA)
  if (recorded) recorded = cudaGraphInstantiate(&executable, graph, 0) == cudaSuccess;
#else
  if (recorded) recorded = hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0) == hipSuccess;
#endif
  if (graph != nullptr) (void)RUNTIME(GraphDestroy)(graph);
  if (!recorded) {
    (void)RUNTIME(GetLastError)();
    return nullptr;
  }
  std::unique_ptr<Graph> made(new Graph);
  made->executable_ = executable;
  return made;
}

Graph::~Graph() {
  (void)RUNTIME(GraphExecDestroy)(static_cast<RUNTIME(GraphExec_t)>(executable_));
}

void Graph::Launch(const Queue& queue) const {
  Check(RUNTIME(GraphLaunch)(static_cast<RUNTIME(GraphExec_t)>(executable_), static_cast<StreamHandle>(queue.get())),
        "GraphLaunch");
}

#endif

}  // namespace gpu
