// SPDX-License-Identifier: Apache-2.0
// Every softmax implementation of every plugin against the formula in long double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/unit/backends/plugin_fixture.h"

namespace plugin_test {
namespace {

struct SoftmaxCase {
  Type type = kF32;
  std::vector<int64_t> shape;
  int64_t axis = -1;
  bool log = false, strided = false;

  Op Description() const {
    Op op("softmax");
    op.In(strided ? Strided("x", type, shape) : Dense("x", type, shape));
    op.Out(strided ? Strided("y", type, shape) : Dense("y", type, shape));
    op.List("shape", shape).Int("axis", axis).Int("log", log);
    return op;
  }

  // Calls row(offsets) with the element numbers of each row.
  template <class Visit>
  void ForEachRow(const Visit& visit) const {
    const auto at = static_cast<size_t>(axis < 0 ? axis + std::ssize(shape) : axis);
    int64_t inner = 1, total = 1;
    for (size_t i = 0; i < shape.size(); ++i) total *= shape[i], inner *= i > at ? shape[i] : 1;
    for (int64_t first = 0; first < total; ++first) {
      if (first / inner % shape[at] != 0) continue;
      std::vector<size_t> row;
      for (int64_t k = 0; k < shape[at]; ++k) row.push_back(static_cast<size_t>(first + k * inner));
      visit(row);
    }
  }
};

class Softmax : public testing::TestWithParam<const char*> {
 protected:
  void Check(const SoftmaxCase& c) {
    Op op = c.Description();
    SCOPED_TRACE(std::string(c.type.name) + testing::PrintToString(c.shape) + " axis " + std::to_string(c.axis));
    std::string reason;
    const auto found = PluginAt(GetParam()).Query(op, &reason);
    if (IsCpu(GetParam())) {
      ASSERT_EQ(found.size(), 2u) << reason;
    }
    const std::vector<double> x = RandomValues(c.type, static_cast<size_t>(op.inputs[0].Elements()), 5);
    const double unit = c.type == kF64 ? kF64.unit : kF32.unit;
    for (const Implementation& implementation : found) {
      SCOPED_TRACE(implementation.name);
      const auto got = PluginAt(GetParam()).Run(op, implementation.name, {x});
      const double roundings = implementation.contract.find("mid=bf16") == std::string::npos ? 1 : 2;
      c.ForEachRow([&](const std::vector<size_t>& row) {
        long double max = -kInf, sum = 0;
        for (size_t i : row) max = std::max<long double>(max, x[i]);
        for (size_t i : row) sum += std::exp(x[i] - max);
        for (size_t i : row) {
          const long double y = c.log ? x[i] - max - std::log(sum) : std::exp(x[i] - max) / sum;
          const double size = std::abs(static_cast<double>(y)), n = static_cast<double>(row.size());
          const double bound =
              unit * (n + 64) * (c.log ? 1 + size : size) + roundings * c.type.unit * size * 1.01 + c.type.min_normal;
          ASSERT_LE(std::abs(got[i] - static_cast<double>(y)), bound) << i;
        }
      });
      ++ran_;
    }
  }
  int ran_ = 0;
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
  EXPECT_GT(ran_, 0);
}

TEST_P(Softmax, InfinitiesAndNan) {
  Op op = SoftmaxCase{.shape = {4, 3}}.Description();
  const std::vector<double> x = {0, -kInf, 0, -kInf, -kInf, -kInf, 1, NAN, 0, 1, kInf, 0};
  for (const Implementation& implementation : PluginAt(GetParam()).Query(op)) {
    const auto y = PluginAt(GetParam()).Run(op, implementation.name, {x});
    EXPECT_EQ(y[0], 0.5) << implementation.name;
    EXPECT_EQ(y[1], 0) << implementation.name;
    if (implementation.contract.find("nan=any") != std::string::npos) continue;
    const bool any = implementation.contract.find("masked=any") != std::string::npos;
    for (size_t i = any ? 6 : 3; i < 12; ++i) EXPECT_TRUE(std::isnan(y[i])) << implementation.name << " " << i;
  }
}

std::string NameOfSoftmax(const testing::TestParamInfo<const char*>& info) {
  return PluginName(info.param);
}
INSTANTIATE_TEST_SUITE_P(Plugins, Softmax, testing::ValuesIn(PluginPaths()), NameOfSoftmax);

}  // namespace
}  // namespace plugin_test
