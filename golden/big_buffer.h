// SPDX-License-Identifier: Apache-2.0
// Working arrays of many megabytes: left uninitialised, and on large pages where the system offers them. Touching
// fresh pages costs a product of 1024 x 1024 matrices a tenth of its time, so that some memory that was given back is
// kept for the next array of its size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

namespace assay {

inline constexpr size_t kBigPage = size_t{1} << 21;
inline constexpr size_t kLeastKept = size_t{1} << 18;  // bytes

// `bytes` is at least kLeastKept.
void* TakeBigMemory(size_t bytes);
void GiveBigMemory(void* memory, size_t bytes) noexcept;
// Gives all kept memory back to the allocator.
void ReturnKeptMemory();

// A hint: failing changes nothing. `memory` begins with a page.
void PreferBigPages(void* memory, size_t bytes);

// Makes an empty vector `size` zeros. Those of many megabytes get large pages if the system has them, which all threads
// touch first.
void ResizeValues(int64_t size, std::vector<double>& values);

template <class T>
struct BigPageAllocator {
  using value_type = T;

  BigPageAllocator() = default;
  template <class U>
  explicit BigPageAllocator(const BigPageAllocator<U>&) {}

  T* allocate(size_t n) {
    const size_t bytes = n * sizeof(T);
    if (bytes >= kLeastKept) return static_cast<T*>(TakeBigMemory(bytes));
    return static_cast<T*>(::operator new (bytes, std::align_val_t{64}));
  }
  void deallocate(T* memory, size_t n) noexcept {
    const size_t bytes = n * sizeof(T);
    if (bytes >= kLeastKept) return GiveBigMemory(memory, bytes);
    ::operator delete (memory, std::align_val_t{64});
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
