// SPDX-License-Identifier: Apache-2.0
// Every reduce implementation of every plugin against the textbook loop.
#include <gtest/gtest.h>

#include "tests/unit/backends/every_plugin.h"
#include "tests/unit/backends/reduce_case.h"

namespace plugin_test {
namespace {

class Reduce : public EveryPlugin {
 protected:
  void Check(const ReduceArgs& c) {
    Op op = c.Description();
    const bool is_arg = c.kind.starts_with("arg");
    SCOPED_TRACE(c.kind + " " + c.in.name + "-" + c.out.name + " " + testing::PrintToString(c.shape) + " over " +
                 testing::PrintToString(c.axes) + (c.keepdims ? " keepdims" : "") + (c.strided ? " strided" : ""));
    // Small factors keep a product of many finite; they are exact in every type.
    std::vector<double> x = RandomValues(c.in, static_cast<size_t>(op.inputs[0].Elements()), 3);
    if (c.kind == "prod") {
      for (double& v : x) v = v < 0 ? 1.25 : 0.75;
    }
    const auto groups = c.Groups(x);
    for (const Implementation& implementation : OfferedFor(op, is_arg ? 1 : 3)) {
      SCOPED_TRACE(implementation.name + " " + implementation.contract);
      const auto got = Run(op, implementation, {x});
      ASSERT_EQ(got.size(), groups.size());
      for (size_t i = 0; i < got.size(); ++i) {
        const auto [value, bound] = c.Reference(groups[i]);
        ASSERT_LE(std::abs(got[i] - value), bound) << "element " << i << ": " << got[i] << " for " << value;
      }
    }
  }
};

constexpr const char* kKinds[] = {"sum", "mean", "max", "min", "prod", "l2", "argmax", "argmin", "logsumexp"};
constexpr std::pair<Type, Type> kReduceTypes[] = {{kF64, kF64},  {kF32, kF32},  {kF16, kF16}, {kBF16, kBF16},
                                                  {kBF16, kF32}, {kF32, kBF16}, {kF32, kF64}};

TEST_P(Reduce, EveryKindTypeAndTail) {
  for (const char* kind : kKinds) {
    for (const auto& [in, out] : kReduceTypes) {
      for (int64_t size : {1, 3, 17, 33, 65, 1025}) {
        Check({.kind = kind, .in = in, .out = out, .shape = {3, size}, .axes = {1}});
        Check({.kind = kind, .in = in, .out = out, .shape = {size, 3}, .axes = {0}});
      }
    }
  }
}

TEST_P(Reduce, AnySetOfAxes) {
  const std::vector<std::vector<int64_t>> sets = {{0}, {1}, {2}, {0, 1}, {0, 2}, {1, 2}, {0, 1, 2}, {2, 0}};
  for (const char* kind : kKinds) {
    for (const auto& axes : sets) {
      for (int flags = 0; flags < 4; ++flags) {
        Check({.kind = kind,
               .shape = {5, 7, 12},
               .axes = axes,
               .keepdims = (flags & 1) != 0,
               .strided = (flags & 2) != 0});
      }
    }
  }
}

TEST_P(Reduce, LongSumsAndSeveralThreads) {
  for (const char* kind : {"sum", "mean", "l2", "max", "logsumexp"}) {
    Check({.kind = kind, .shape = {100003}, .axes = {0}});
    Check({.kind = kind, .shape = {17, 66000}, .axes = {1}});
    Check({.kind = kind, .in = kBF16, .out = kBF16, .shape = {3, 70, 5000}, .axes = {0, 2}});
  }
}

INSTANTIATE_TEST_SUITE_P(Plugins, Reduce, testing::ValuesIn(PluginPaths()), NameOfPlugin);

}  // namespace
}  // namespace plugin_test
