// SPDX-License-Identifier: Apache-2.0
// NVIDIA's libraries, opened when the first operator asks for them, so that the plugin loads where they are not. Each
// is a struct that derives from Library, with a member for every function that is called: its name stands in one place.
#pragma once

#include <string>

namespace cuda_backend {

class Library {
 public:
  // "" when every function was found; else what to install.
  const std::string& why_not() const { return why_not_; }

 protected:
  // By its soname, then in the toolkit's usual folder. Never closed: it may have threads and state of its own.
  explicit Library(const std::string& soname);

  // An address that becomes a pointer to whatever function it initialises; null when the library lacks it.
  class Symbol {
   public:
    explicit Symbol(void* address) : address_(address) {}
    template <class Function>
    operator Function*() const {
      return reinterpret_cast<Function*>(address_);
    }

   private:
    void* address_;
  };
  // Members are of the API's own types, so that a call is checked against its header.
  Symbol Find(const char* name);

 private:
  std::string soname_, why_not_;
  void* handle_ = nullptr;
};

// Throws for a call of `library` that could not allocate.
[[noreturn]] void ThrowOutOfMemory(const char* call, const char* library);
// Throws for a call that failed otherwise. Asks the runtime first: a lost device shows as a failure of the library.
[[noreturn]] void ThrowFailure(const char* call, const std::string& why);

}  // namespace cuda_backend
