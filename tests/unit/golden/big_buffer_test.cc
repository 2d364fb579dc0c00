// SPDX-License-Identifier: Apache-2.0
#include "golden/big_buffer.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>

#include "golden/golden.h"

namespace assay {
namespace {

TEST(BigBuffer, AlignsWhatItTakesAndGivesBack) {
  for (size_t bytes : {size_t{1}, kLeastKept - 1, kLeastKept, 2 * kBigPage, 2 * kBigPage + 8, size_t{80} << 20}) {
    for (int turn = 0; turn < 3; ++turn) {
      BigBuffer<char> buffer(bytes);
      const size_t alignment = bytes >= 2 * kBigPage ? kBigPage : 64;
      EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer.data()) % alignment, 0u) << bytes;
      buffer.front() = buffer.back() = 1;
    }
  }
}

// Many sizes at once, more than are kept, each written in full: none overlaps another.
TEST(BigBuffer, BlocksAreApart) {
  for (int turn = 0; turn < 2; ++turn) {
    std::vector<BigBuffer<int>> buffers;
    for (int i = 0; i < 15; ++i) {
      buffers.emplace_back((kLeastKept + static_cast<size_t>(i % 7) * kBigPage) / sizeof(int));
      std::ranges::fill(buffers.back(), i);
    }
    for (int i = 0; i < 15; ++i) {
      EXPECT_TRUE(std::ranges::all_of(buffers[i], [i](int x) { return x == i; })) << i;
    }
  }
}

// Buffers that one thread frees are reused by others: each must find what it wrote itself.
TEST(BigBuffer, ThreadsShareWhatIsKept) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t, &wrong] {
      for (int turn = 0; turn < 50; ++turn) {
        BigBuffer<int> buffer((kLeastKept << (turn % 3)) / sizeof(int));
        std::ranges::fill(buffer, 100 * t + turn);
        std::this_thread::yield();
        wrong += !std::ranges::all_of(buffer, [=](int x) { return x == 100 * t + turn; });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// A plane is zero also where it takes over memory of another.
TEST(BigBuffer, PlanesBeginWithZeros) {
  const auto size = static_cast<int64_t>(kBigPage);
  for (int turn = 0; turn < 3; ++turn) {
    Plane plane(size, false);
    EXPECT_TRUE(std::ranges::all_of(plane.f32(), [](float x) { return x == 0; }));
    std::ranges::fill(plane.f32(), 7.0F);
  }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which keep count of memory themselves
size_t AllocatedBytes() {
  const struct mallinfo2 info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

TEST(BigBuffer, WhatIsKeptCanBeHadBack) {
  constexpr size_t kBytes = 16 * kBigPage;
  ReturnKeptMemory();
  const size_t before = AllocatedBytes();
  { const BigBuffer<char> buffer(kBytes); }
  EXPECT_GE(AllocatedBytes(), before + kBytes);
  ReturnKeptMemory();
  EXPECT_LT(AllocatedBytes(), before + kBytes / 8);
}
#endif

}  // namespace
}  // namespace assay
