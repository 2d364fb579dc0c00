// SPDX-License-Identifier: Apache-2.0
// Stray writes around memory that a plugin lends, and what is said of them.
#include "backends/common/canary.h"

#include <gtest/gtest.h>

#include <cstring>

#include "backends/common/status.h"

namespace plugin {
namespace {

const Loan kLoan{"Library 1.2, kernel k", "the copy of y", 2376};

std::string Finding(const GuardedMemory& memory) {
  try {
    memory.Check();
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), ASSAY_MEMORY_FAULT);
    return error.what();
  }
  return "";
}

TEST(GuardedMemory, MayBeWrittenAllOver) {
  for (const uint64_t bytes : {0, 1, 2376, 4096}) {
    GuardedMemory memory({"Library", "m", bytes});
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.data()) % 4096, 0u);
    for (int value : {0, 0xFF}) {
      std::memset(memory.data(), value, bytes);
      EXPECT_EQ(Finding(memory), "") << bytes;
    }
  }
}

TEST(GuardedMemory, NamesWhoWroteWhereAroundIt) {
  GuardedMemory memory(kLoan);
  std::memset(memory.data() + 2376, 0, 792);
  const std::string text = Finding(memory);
  for (const char* part : {"Library 1.2, kernel k", "the copy of y", "2376 bytes", "792 bytes", "bytes 2376 to 3167"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in: " << text;
  }
}

TEST(GuardedMemory, EveryByteOfBothZonesCounts) {
  constexpr auto kZone = static_cast<int64_t>(kCanaryBytes);
  for (int64_t at : {-kZone, int64_t{-1}, int64_t{2376}, 2376 + kZone - 1}) {
    for (const std::byte flipped : {std::byte{1}, std::byte{0x80}}) {
      GuardedMemory memory(kLoan);
      memory.data()[at] ^= flipped;
      EXPECT_NE(Finding(memory).find(fmt::format("1 bytes changed at bytes {0} to {0} ", at)), std::string::npos)
          << Finding(memory);
      memory.data()[at] ^= flipped;
      EXPECT_EQ(Finding(memory), "");
    }
  }
}

// The most frequent stray bytes are 0x00 and 0xFF: no byte of a canary may equal them.
TEST(GuardedMemory, ZerosAndOnesAreNoCanary) {
  for (const std::byte byte : Canary()) ASSERT_TRUE(byte != std::byte{0} && byte != std::byte{0xFF});
}

}  // namespace
}  // namespace plugin
