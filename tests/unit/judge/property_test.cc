// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/property.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tests/unit/special_values.h"

namespace assay {
namespace {

using testing::HasSubstr;

using Values = std::vector<double>;

PropertyFinding Check(const Shape& shape, const Values& expected, const Values& tolerance, const Values& got) {
  return CheckProperty("p", shape, expected, tolerance, got);
}

TEST(Property, EqualValuesHoldWhateverTheirBits) {
  const PropertyFinding finding = Check({4}, {1, -0.0, NAN, kInf}, {}, {1, 0, -NAN, kInf});
  EXPECT_TRUE(finding.Holds());
  EXPECT_EQ(finding.margin, 0);
  EXPECT_EQ(finding.where, "");
}

TEST(Property, TheFirstDifferenceIsNamed) {
  const PropertyFinding finding = Check({2, 3}, {1, 2, 3, 4, 5, 6}, {}, {1, 2, 3, 4, 5.5, 7});
  EXPECT_EQ(finding.broken, 2);
  EXPECT_EQ(finding.margin, kInf);
  EXPECT_THAT(finding.where, HasSubstr("element [1,1] is 5.5, expected 5; 2 of 6 elements"));
}

TEST(Property, NoNanHasASign) {
  EXPECT_THAT(Check({2}, {1, 2}, {}, {1, -NAN}).where, HasSubstr("element [1] is nan, expected 2"));
  EXPECT_THAT(Check({2}, {1, -NAN}, {}, {1, 2}).where, HasSubstr("element [1] is 2, expected nan"));
}

TEST(Property, OneUlpIsADifference) {
  EXPECT_FALSE(Check({1}, {1}, {}, {std::nextafter(1.0, 2)}).Holds());
}

TEST(Property, TolerancesAreOfEachElement) {
  const PropertyFinding within = Check({3}, {1, 2, 3}, {0.5, 0, kInf}, {1.25, 2, NAN});
  EXPECT_TRUE(within.Holds());
  EXPECT_EQ(within.margin, 0.5);
  const PropertyFinding beyond = Check({3}, {1, 2, 3}, {0.5, 0, kInf}, {2, 2, 3});
  EXPECT_EQ(beyond.broken, 1);
  EXPECT_EQ(beyond.margin, 2);
  EXPECT_FALSE(Check({1}, {1}, {10}, {NAN}).Holds());
}

TEST(Property, BothPartsOfAComplexElementAreOne) {
  const PropertyFinding finding = Check({2}, {1, 2, 3, 4}, {}, {1, 2, 0, 0});
  EXPECT_EQ(finding.broken, 1);
  EXPECT_THAT(finding.where, HasSubstr("element [1] is 0"));
  EXPECT_THAT(Check({2}, {1, 2, 3, 4}, {}, {1, 9, 3, 4}).where, HasSubstr("element [0] (imaginary part) is 9"));
}

TEST(Property, FailsOnlyWhereClaimed) {
  PropertyFinding finding = Check({1}, {1}, {}, {2});
  EXPECT_FALSE(finding.Fails());
  finding.claimed = true;
  EXPECT_TRUE(finding.Fails());
}

}  // namespace
}  // namespace assay
