// SPDX-License-Identifier: Apache-2.0
#include "backends/common/status.h"

#include <gtest/gtest.h>

#include <new>

namespace plugin {
namespace {

std::string Written(std::string_view text, uint64_t capacity) {
  std::string buffer(16, '~');
  assay_text out{sizeof out, buffer.data(), capacity};
  WriteText(&out, text);
  EXPECT_EQ(buffer[capacity], '~');
  return buffer.c_str();
}

TEST(WriteText, CutsBetweenCharacters) {
  EXPECT_EQ(Written("abcdef", 4), "abc");
  EXPECT_EQ(Written("a\u00e9z", 3), "a");  // the accented letter takes two bytes
  EXPECT_EQ(Written("a\u00e9z", 4), "a\u00e9");
  EXPECT_EQ(Written("abc", 1), "");
}

TEST(WriteText, IgnoresAnAbsentBuffer) {
  std::string memory = "before";
  assay_text absent{sizeof absent, nullptr, 100}, no_room{sizeof no_room, memory.data(), 0};
  assay_text too_short{8, memory.data(), memory.size()};  // of a host that knows no more than its size
  for (assay_text* out : {static_cast<assay_text*>(nullptr), &absent, &no_room, &too_short}) {
    WriteText(out, "x");
    EXPECT_EQ(memory, "before");
  }
}

TEST(Guarded, TranslatesEveryException) {
  std::string buffer(64, '\0');
  assay_text text{sizeof text, buffer.data(), buffer.size()};
  EXPECT_EQ(Guarded(&text, [] {}), ASSAY_OK);
  EXPECT_EQ(Guarded(&text, [] { throw Unsupported("no {}", "luck"); }), ASSAY_UNSUPPORTED);
  EXPECT_STREQ(buffer.c_str(), "no luck");
  EXPECT_EQ(Guarded(&text, [] { throw Unavailable("x"); }), ASSAY_UNAVAILABLE);
  EXPECT_EQ(Guarded(&text, [] { throw std::bad_alloc(); }), ASSAY_OUT_OF_MEMORY);
  EXPECT_EQ(Guarded(&text, [] { throw std::runtime_error("why"); }), ASSAY_ERROR);
  EXPECT_STREQ(buffer.c_str(), "why");
  EXPECT_EQ(Guarded(&text, [] { throw 5; }), ASSAY_ERROR);
}

}  // namespace
}  // namespace plugin
