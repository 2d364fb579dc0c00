// SPDX-License-Identifier: Apache-2.0
#include "harness/core/base/amounts.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(Amounts, OneIsNoPlural) {
  EXPECT_EQ(Counted(0, "case"), "0 cases");
  EXPECT_EQ(Counted(1, "golden value"), "1 golden value");
  EXPECT_EQ(Counted(2, "case"), "2 cases");
}

}  // namespace
}  // namespace assay
