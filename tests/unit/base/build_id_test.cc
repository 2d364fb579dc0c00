// SPDX-License-Identifier: Apache-2.0
#include "harness/core/base/build_id.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

// -Wl,--build-id=sha1 writes 20 bytes.
TEST(BuildId, IsThatOfThisProgram) {
  EXPECT_EQ(OwnBuildId().size(), 40U);
  EXPECT_EQ(OwnBuildId().find_first_not_of("0123456789abcdef"), std::string::npos) << OwnBuildId();
  EXPECT_EQ(OwnBuildId(), OwnBuildId());
}

}  // namespace
}  // namespace assay
