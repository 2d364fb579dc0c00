// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/library.h"

#include <dlfcn.h>

#include "backends/common/status.h"
#include "backends/gpu/runtime.h"

namespace cuda_backend {

Library::Library(const std::string& soname) : soname_(soname) {
  handle_ = dlopen(soname.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ != nullptr) return;
  const char* error = dlerror();
  why_not_ =
      fmt::format("{} cannot be loaded ({}): install the libraries of CUDA, or put their folder into LD_LIBRARY_PATH",
                  soname, error == nullptr ? "no reason given" : error);
  handle_ = dlopen(("/usr/local/cuda/lib64/" + soname).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ != nullptr) why_not_.clear();
}

Library::Symbol Library::Find(const char* name) {
  if (handle_ == nullptr) return Symbol(nullptr);
  void* symbol = dlsym(handle_, name);
  if (symbol == nullptr && why_not_.empty()) {
    why_not_ = fmt::format("{} has no {}: another version than this plugin was built for", soname_, name);
  }
  return Symbol(symbol);
}

void ThrowOutOfMemory(const char* call, const char* library) {
  throw plugin::Error(ASSAY_OUT_OF_MEMORY,
                      fmt::format("{}: {} could not allocate; {}", call, library, gpu::AdviceFor(2)));
}

void ThrowFailure(const char* call, const std::string& why) {
  gpu::CheckLaunch(call);
  throw plugin::Failure("{}: {}", call, why);
}

}  // namespace cuda_backend
