// SPDX-License-Identifier: Apache-2.0
// The runtime calls that both vendors have, by one name. Every function throws plugin::Error with the call's name and
// the runtime's own text; which status that is, StatusOf says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "backends/abi/assay_backend.h"

namespace gpu {

// The runtime's error codes have the same numbers at both vendors. A device that is lost takes its process with it: the
// harness starts another worker.
assay_status StatusOf(int code);

// Advice about a code, in addition to the runtime's own text; "" if there is none.
std::string AdviceFor(int code);

// Throws the runtime's last error, such as that of a launch, if nobody has read it yet.
void CheckLaunch(const char* what);

void SelectDevice(int index);

// Device memory.
class Memory {
 public:
  explicit Memory(uint64_t bytes);
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory();
  std::byte* get() const { return data_; }

 private:
  std::byte* data_ = nullptr;
};

// A stream of the current device.
class Queue {
 public:
  Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;
  ~Queue();
  void* get() const { return stream_; }

  void Wait() const;
  void ToDevice(void* to, const void* from, uint64_t bytes) const;  // both wait
  void ToHost(void* to, const void* from, uint64_t bytes) const;
  void Copy(void* to, const void* from, uint64_t bytes) const;  // on the device; neither of these waits
  void Fill(void* to, int byte, uint64_t bytes) const;

 private:
  void* stream_ = nullptr;
};

// A point in a queue.
class Event {
 public:
  Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event();
  void Record(const Queue& queue) const;
  void* get() const { return event_; }

 private:
  void* event_ = nullptr;
};

// A pair of events around some work.
class Stopwatch {
 public:
  void Start(const Queue& queue) { start_.Record(queue); }
  void Stop(const Queue& queue) { stop_.Record(queue); }
  double Seconds();  // waits

 private:
  Event start_, stop_;
};

// Work that is put into the queue by one call, without the host between its launches.
class Graph {
 public:
  // Null where the runtime cannot record `enqueue` (its error is then cleared). Throws what `enqueue` throws when the
  // device is lost, or when it is no Error. Whatever happens, the queue runs again what it is given afterwards.
  static std::unique_ptr<Graph> Record(const Queue& queue, const std::function<void()>& enqueue);
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph();
  void Launch(const Queue& queue) const;

 private:
  Graph() = default;
  void* executable_ = nullptr;
};

}  // namespace gpu
