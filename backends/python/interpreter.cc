// SPDX-License-Identifier: Apache-2.0
#include "backends/python/interpreter.h"

namespace python {
namespace {

const assay_python_calls* registered = nullptr;

}  // namespace

void Register(const assay_python_calls* calls) {
  registered = calls;
}

const assay_python_calls& Calls() {
  if (registered != nullptr) return *registered;
  throw plugin::Unavailable("no interpreter is in this process; give the kernels with --kernels FILE.py");
}

std::string TextOf(Answer answer) {
  if (answer.status == ASSAY_PYTHON_NO_ANSWER) {
    answer = AnswerOf(Calls().interruption);
    const bool is_told = answer.status == ASSAY_OK && !answer.text.empty();
    throw plugin::Failure("an exception came from outside of the kernel, as another thread or a signal raises it: {}",
                          is_told ? answer.text : "one that cannot be told, as more came meanwhile");
  }
  if (answer.status != ASSAY_OK) throw plugin::Error(answer.status, answer.text);
  return std::move(answer.text);
}

std::vector<std::string> Split(const std::string& text, char by) {
  std::vector<std::string> parts;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(by, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

Kernel::Kernel(uint32_t device, const assay_op_desc* op, const std::string& implementation) {
  Ask([&](int32_t* status, char* text, uint64_t capacity) {
    Calls().prepare(device, op, implementation.c_str(), &plan_, status, text, capacity);
  });
}

void Kernel::Execute(std::span<const Place> places) {
  static_assert(sizeof(Place) == 2 * sizeof(uint64_t));
  Ask([&](int32_t* status, char* text, uint64_t capacity) {
    Calls().execute(plan_, reinterpret_cast<const uint64_t*>(places.data()), &seconds_, &flags_, status, text,
                    capacity);
  });
}

DeviceMemory::DeviceMemory(uint32_t device, uint64_t bytes) : device_(device) {
  Ask([&](int32_t* status, char* text, uint64_t capacity) {
    Calls().allocate(device_, bytes, &number_, status, text, capacity);
  });
}

void DeviceMemory::Upload(uint64_t offset, std::span<const std::byte> bytes) {
  Ask([&](int32_t* status, char* text, uint64_t capacity) {
    Calls().upload(device_, number_, offset, bytes.data(), bytes.size(), status, text, capacity);
  });
}

void DeviceMemory::Download(uint64_t offset, std::span<std::byte> bytes) const {
  Ask([&](int32_t* status, char* text, uint64_t capacity) {
    Calls().download(device_, number_, offset, bytes.data(), bytes.size(), status, text, capacity);
  });
}

}  // namespace python
