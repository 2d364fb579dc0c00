// SPDX-License-Identifier: Apache-2.0
// Working arrays of many megabytes: left uninitialised, and on large pages where the system offers them. Touching
// fresh small pages costs a product of 1024 x 1024 matrices a fifth of its time.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <vector>

namespace assay {

template <class T>
struct BigPageAllocator {
  using value_type = T;
  static constexpr size_t kPage = size_t{1} << 21;

  BigPageAllocator() = default;
  template <class U>
  explicit BigPageAllocator(const BigPageAllocator<U>&) {}

  T* allocate(size_t n) {
    const size_t bytes = n * sizeof(T);
    if (bytes < 2 * kPage) return static_cast<T*>(::operator new (bytes, std::align_val_t{64}));
    void* memory = ::operator new (bytes, std::align_val_t{kPage});
#ifdef MADV_HUGEPAGE
    ::madvise(memory, bytes / kPage * kPage, MADV_HUGEPAGE);  // a hint: failing changes nothing
#endif
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, size_t n) {
    const bool big = n * sizeof(T) >= 2 * kPage;
    ::operator delete (memory, std::align_val_t{big ? kPage : 64});
  }
  template <class U>
  void construct(U* element) {
    ::new (static_cast<void*>(element)) U;  // resize() leaves numbers uninitialised
  }
  template <class U, class... Args>
  void construct(U* element, Args&&... args) {
    ::new (static_cast<void*>(element)) U(static_cast<Args&&>(args)...);
  }
  bool operator==(const BigPageAllocator&) const = default;
};

template <class T>
using BigBuffer = std::vector<T, BigPageAllocator<T>>;

}  // namespace assay
