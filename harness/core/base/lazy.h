// SPDX-License-Identifier: Apache-2.0
// A value made when it is first asked for, also by several threads at once.
#pragma once

#include <mutex>
#include <optional>

namespace assay {

// A value that the first of several threads to ask for it makes, while the others wait.
template <class T>
class Lazy {
 public:
  // If `make` throws, its caller gets the exception, and the next call tries again.
  template <class Make>
  const T& Get(const Make& make) {
    const std::lock_guard lock(mutex_);
    if (!value_) value_.emplace(make());
    return *value_;
  }

  const T* GetIfMade() const {
    const std::lock_guard lock(mutex_);
    return value_ ? &*value_ : nullptr;
  }

 private:
  mutable std::mutex mutex_;
  std::optional<T> value_;  // unchanged once it is there
};

}  // namespace assay
