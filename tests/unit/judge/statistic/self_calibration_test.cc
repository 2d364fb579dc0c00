// SPDX-License-Identifier: Apache-2.0
// Results against the implementation's own scale where most outputs of a convolution see nothing but padding.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "tests/support/simulate/conv.h"
#include "tests/unit/judge/statistic/statistic_case.h"

namespace assay::test {
namespace {

// 66 of 462 outputs have terms, 17 each.
constexpr const char* kFewHaveTerms = "conv/{}/n=1,c=561,o=66,i=1,k=1,pad=3,groups=33/fill=normal/seed=0";

void ExpectNoSuspect(const StatisticCase& c) {
  for (const Schedule& schedule : AllSchedules(1)) {
    for (const Padding padding : {Padding::kSkipped, Padding::kMultiplied}) {
      const auto got = RunConv(c.problem, c.inputs, schedule, ArithmeticOf(c.contract), padding);
      const StatisticFinding finding = c.Judge(got).statistic;
      ASSERT_TRUE(finding.self_margin);
      EXPECT_GT(*finding.self_margin, 0.1) << "the scale is that of the errors";  // the largest is above a tenth of 10
      EXPECT_LE(*finding.self_margin, 1) << c.problem.spec.Id() << ": " << finding.self_reason;
    }
  }
}

class SelfCalibration : public testing::TestWithParam<const char*> {};

TEST_P(SelfCalibration, ZerosOfPaddingAloneHaveNoPartInTheScale) {
  const char* type = GetParam();
  const auto contract = fmt::format("acc={}", type);
  ExpectNoSuspect({fmt::format(fmt::runtime(kFewHaveTerms), type), contract.c_str()});
  // Every sum has one term or none.
  ExpectNoSuspect({fmt::format("conv/{}/n=1,c=130,o=130,i=3x4x1,k=1x1x3,stride=3,pad=3,dilation=2x1x3,groups=130/"
                               "fill=normal/seed=0",
                               type),
                   contract.c_str()});
}

INSTANTIATE_TEST_SUITE_P(Types, SelfCalibration, testing::Values("f32", "f64"),
                         [](const auto& type) { return std::string(type.param); });

}  // namespace
}  // namespace assay::test
