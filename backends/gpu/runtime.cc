// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/runtime.h"

#include "backends/common/status.h"
#include "backends/gpu/vendor_runtime.h"

namespace gpu {
namespace {

using EventHandle = RUNTIME(Event_t);

[[noreturn]] void Fail(Code code, const char* call) {
  const int number = static_cast<int>(code);
  const std::string advice = AdviceFor(number);
  throw plugin::Error(StatusOf(number), fmt::format("{}: {} ({}){}{}", call, RUNTIME(GetErrorString)(code), number,
                                                    advice.empty() ? "" : "; ", advice));
}

EventHandle MakeEvent() {
  EventHandle event{};
  Check(RUNTIME(EventCreate)(&event), "EventCreate");
  return event;
}

}  // namespace

void Check(Code code, const char* call) {
  if (static_cast<int>(code) == 0) return;
  (void)RUNTIME(GetLastError)();  // what does not outlive the call must not be blamed on the next one
  Fail(code, call);
}

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

Event::Event() : event_(MakeEvent()) {}

Event::~Event() {
  (void)RUNTIME(EventDestroy)(static_cast<EventHandle>(event_));
}

void Event::Record(const Queue& queue) const {
  Check(RUNTIME(EventRecord)(static_cast<EventHandle>(event_), static_cast<StreamHandle>(queue.get())), "EventRecord");
}

double Stopwatch::Seconds() {
  const auto start = static_cast<EventHandle>(start_.get()), stop = static_cast<EventHandle>(stop_.get());
  Check(RUNTIME(EventSynchronize)(stop), "EventSynchronize");
  float milliseconds = 0;
  Check(RUNTIME(EventElapsedTime)(&milliseconds, start, stop), "EventElapsedTime");
  return 1e-3 * static_cast<double>(milliseconds);
}

}  // namespace gpu
