// SPDX-License-Identifier: Apache-2.0
// The interpreter that is this process, through the functions that it has registered (python_calls.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backends/common/backend.h"
#include "backends/common/status.h"
#include "backends/python/python_calls.h"

namespace python {

void Register(const assay_python_calls* calls);
// Throws Unavailable where nothing has registered.
const assay_python_calls& Calls();

struct Answer {
  int32_t status = ASSAY_PYTHON_NO_ANSWER;
  std::string text;
};
template <class Call>
Answer AnswerOf(const Call& call) {
  constexpr uint64_t kTextBytes = 16384;
  Answer answer{.text = std::string(kTextBytes, '\0')};
  call(&answer.status, answer.text.data(), kTextBytes);
  answer.text.resize(std::min<size_t>(answer.text.find('\0'), kTextBytes));
  return answer;
}

// The text of an answer; throws what it says else.
std::string TextOf(Answer answer);

// The answer of a call(status, text, capacity), or its failure with the text.
template <class Call>
std::string Ask(const Call& call) {
  return TextOf(AnswerOf(call));
}

std::vector<std::string> Split(const std::string& text, char by);

// Where an operand's element zero lies (python_calls.h).
struct Place {
  uint64_t buffer, offset;
};

// A kernel that is ready for one description.
class Kernel {
 public:
  Kernel(uint32_t device, const assay_op_desc* op, const std::string& implementation);
  ~Kernel() { Calls().release(plan_); }
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  void Execute(std::span<const Place> places);
  // Facts about the last execution.
  double seconds() const { return seconds_; }
  bool clock_is_device() const { return (flags_ & ASSAY_PYTHON_DEVICE_CLOCK) != 0; }
  bool saw_copies() const { return (flags_ & ASSAY_PYTHON_COPIES) != 0; }

 private:
  int64_t plan_ = 0;
  double seconds_ = 0;
  int32_t flags_ = 0;
};

// A buffer in the memory of a device.
class DeviceMemory : public plugin::Buffer {
 public:
  DeviceMemory(uint32_t device, uint64_t bytes);
  ~DeviceMemory() override { Calls().release_memory(device_, number_); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  uint64_t number() const { return number_; }
  void Upload(uint64_t offset, std::span<const std::byte> bytes);
  void Download(uint64_t offset, std::span<std::byte> bytes) const;

 private:
  uint32_t device_;
  uint64_t number_ = 0;
};

}  // namespace python
