// SPDX-License-Identifier: Apache-2.0
// NVIDIA's libraries, opened when the first operator asks for them, so that the plugin loads where they are not.
#pragma once

#include <string>

namespace cuda_backend {

class Library {
 public:
  // By its soname, then in the toolkit's usual folder. Never closed: it may have threads and state of its own.
  explicit Library(const std::string& soname);

  // "" when everything bound so far was found; else what to install.
  const std::string& why_not() const { return why_not_; }

  // Functions are the API's own, so that a call is checked against its header.
  template <class Function>
  void Bind(const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(Symbol(name));
  }

 private:
  void* Symbol(const char* name);

  std::string soname_, why_not_;
  void* handle_ = nullptr;
};

}  // namespace cuda_backend
