// SPDX-License-Identifier: Apache-2.0
// Every softmax implementation of every plugin against the formula in long double.
#include <gtest/gtest.h>

#include "tests/unit/backends/every_plugin.h"
#include "tests/unit/backends/softmax_case.h"

namespace plugin_test {
namespace {

class Softmax : public EveryPlugin {
 protected:
  void Check(const SoftmaxArgs& c) {
    Op op = c.Description();
    SCOPED_TRACE(std::string(c.type.name) + testing::PrintToString(c.shape) + " axis " + std::to_string(c.axis));
    const std::vector<double> x = RandomValues(c.type, static_cast<size_t>(op.inputs[0].Elements()), 5);
    const auto expected = c.Reference(x);
    for (const Implementation& implementation : OfferedFor(op, 2)) {
      SCOPED_TRACE(implementation.name);
      const auto got = Run(op, implementation, {x});
      const double roundings = implementation.contract.find("mid=bf16") == std::string::npos ? 1 : 2;
      for (size_t i = 0; i < got.size(); ++i) {
        ASSERT_LE(std::abs(got[i] - expected[i].value), expected[i].Bound(c.type, roundings)) << i;
      }
    }
  }
};

TEST_P(Softmax, EveryTypeAxisAndTail) {
  for (const Type& type : {kF64, kF32, kF16, kBF16}) {
    for (bool log : {false, true}) {
      for (int64_t n : {1, 3, 17, 65, 1025}) Check({.type = type, .shape = {3, n}, .log = log});
      for (int64_t axis : {0, 1, 2, -1}) {
        Check({.type = type, .shape = {5, 7, 12}, .axis = axis, .log = log});
        Check({.type = type, .shape = {5, 7, 12}, .axis = axis, .log = log, .strided = true});
      }
      Check({.type = type, .shape = {64, 4100}, .log = log});
    }
  }
}

TEST_P(Softmax, InfinitiesAndNan) {
  Op op = SoftmaxArgs{.shape = {4, 3}}.Description();
  const std::vector<double> x = {0, -kInf, 0, -kInf, -kInf, -kInf, 1, NAN, 0, 1, kInf, 0};
  for (const Implementation& implementation : OfferedFor(op, 2)) {
    const auto y = Run(op, implementation, {x});
    EXPECT_EQ(y[0], 0.5) << implementation.name;
    EXPECT_EQ(y[1], 0) << implementation.name;
    if (implementation.contract.find("nan=any") != std::string::npos) continue;
    const bool any = implementation.contract.find("masked=any") != std::string::npos;
    for (size_t i = any ? 6 : 3; i < 12; ++i) EXPECT_TRUE(std::isnan(y[i])) << implementation.name << " " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Plugins, Softmax, testing::ValuesIn(PluginPaths()), NameOfPlugin);

}  // namespace
}  // namespace plugin_test
