// SPDX-License-Identifier: Apache-2.0
// OpenCL's reference-counted objects as C++ owners, and its status codes as the plugin's errors.
#pragma once

#include <CL/cl.h>

#include <utility>

namespace opencl {

inline void Release(cl_context x) {
  clReleaseContext(x);
}
inline void Release(cl_command_queue x) {
  clReleaseCommandQueue(x);
}
inline void Release(cl_program x) {
  clReleaseProgram(x);
}
inline void Release(cl_kernel x) {
  clReleaseKernel(x);
}
inline void Release(cl_mem x) {
  clReleaseMemObject(x);
}
inline void Release(cl_event x) {
  clReleaseEvent(x);
}

// Owns one reference.
template <class T>
class Handle {
 public:
  Handle() = default;
  explicit Handle(T value) : value_(value) {}
  Handle(Handle&& other) noexcept : value_(std::exchange(other.value_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~Handle() { Reset(); }
  T get() const { return value_; }
  // For calls that return an object through a pointer.
  T* Receive() {
    Reset();
    return &value_;
  }

 private:
  void Reset() {
    if (value_ != nullptr) Release(std::exchange(value_, nullptr));
  }
  T value_ = nullptr;
};

// "CL_OUT_OF_RESOURCES", or the number of a status that this file does not know.
const char* StatusName(cl_int status);

// Throws plugin::Error when `status` is not CL_SUCCESS: out of memory, device lost or failure, naming `call`, `object`
// (a kernel) and what to do.
void Check(cl_int status, const char* call, const char* object = "");

}  // namespace opencl
