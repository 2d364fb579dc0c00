// SPDX-License-Identifier: Apache-2.0
// The GPU plugins' operators, executed on the host from description to result in every type that they take: what the
// host makes of a description, which kernel it launches over how many blocks, and the kernel.
#include <gtest/gtest.h>

#include <set>

#include "tests/unit/backends/attention_case.h"
#include "tests/unit/backends/conv_case.h"
#include "tests/unit/backends/matmul_case.h"
#include "tests/unit/backends/reduce_case.h"
#include "tests/unit/backends/softmax_case.h"

namespace plugin_test {
namespace {

using Names = std::set<std::string>;
constexpr Type kFloats[] = {kF64, kF32, kF16, kBF16};

// Runs everything that is offered: check(implementation, result). Returns the names.
template <class Check>
Names ForEach(Op op, const std::vector<std::vector<double>>& inputs, const Check& check) {
  Plugin& host = PluginAt(ASSAY_GPU_HOST_PLUGIN);
  Names names;
  for (const Implementation& implementation : host.Offered(op)) {
    SCOPED_TRACE(implementation.name + " " + implementation.contract);
    check(implementation, host.Run(op, implementation.name, inputs));
    names.insert(implementation.name);
  }
  return names;
}

// Against the textbook loop of a product.
template <class Case>
Names CheckProduct(const Case& c) {
  SCOPED_TRACE(c.Text());
  const auto inputs = c.Inputs();
  const auto expected = c.Reference(inputs);
  return ForEach(c.Description(), inputs, [&](const Implementation&, const std::vector<double>& got) {
    ASSERT_EQ(got.size(), expected.value.size());
    for (size_t i = 0; i < got.size(); ++i) ASSERT_LE(std::abs(got[i] - expected.value[i]), expected.bound[i]) << i;
  });
}

bool IsNarrow(const Type& type) {
  return type == kF16 || type == kBF16;
}

TEST(GpuOnHost, Matmul) {
  constexpr std::pair<Type, Type> kTypes[] = {{kF64, kF64}, {kF32, kF32},  {kF16, kF16}, {kBF16, kBF16},
                                              {kI8, kI32},  {kBF16, kF32}, {kF32, kBF16}};
  for (const auto& [in, out] : kTypes) {
    const Names expected = IsNarrow(in) ? Names{"matrix-unit", "splitk", "tiled"} : Names{"splitk", "tiled"};
    for (const bool transposed : {false, true}) {
      const bool has_epilogue = out != kI32;
      EXPECT_EQ(CheckProduct(MatmulArgs{.in = in,
                                        .out = out,
                                        .m = transposed ? 5 : 19,
                                        .n = 131,
                                        .k = 35,
                                        .batch = 2,
                                        .transa = transposed,
                                        .transb = !transposed,
                                        .bias = has_epilogue,
                                        .rounded = has_epilogue && transposed,
                                        .strided = transposed,
                                        .alpha = has_epilogue ? 0.625 : 1,
                                        .beta = has_epilogue ? -1.5 : 0}),
                expected);
    }
  }
  // One tile of every shape: skinny for few rows, large where they are many, but of f64.
  for (const int64_t m : {16, 130}) CheckProduct(MatmulArgs{.m = m, .n = 130, .k = 20});
  CheckProduct(MatmulArgs{.in = kF64, .out = kF64, .m = 70, .n = 66, .k = 20});
}

TEST(GpuOnHost, Conv) {
  constexpr std::pair<Type, Type> kTypes[] = {{kF64, kF64},   {kF32, kF32}, {kF16, kF16},
                                              {kBF16, kBF16}, {kI8, kI32},  {kF16, kF32}};
  const Names portable{"direct", "implicit-gemm"};
  const Names all{"direct", "implicit-gemm", "implicit-gemm-matrix-unit"};
  for (const auto& [in, out] : kTypes) {
    const Names& expected = IsNarrow(in) ? all : portable;
    ConvArgs c{.in = in, .out = out, .n = 2, .c = 6, .o = 4, .groups = 2, .i = {9, 7}, .pad = {2, 1}, .bias = true};
    EXPECT_EQ(CheckProduct(c), expected);
    c.stride = {2, 3}, c.dilation = {2, 1}, c.strided = true;
    EXPECT_EQ(CheckProduct(c), expected);
    EXPECT_EQ(CheckProduct(ConvArgs{.in = in,
                                    .out = out,
                                    .c = 2,
                                    .o = 18,
                                    .i = {4, 5, 6},
                                    .k = {2, 3, 3},
                                    .stride = {1, 2, 1},
                                    .pad = {0, 1, 2},
                                    .dilation = {2, 1, 1}}),
              expected);
    EXPECT_EQ(
        CheckProduct(ConvArgs{
            .in = in, .out = out, .c = 3, .o = 5, .i = {19}, .k = {4}, .stride = {3}, .pad = {2}, .dilation = {1}}),
        expected);
  }
  EXPECT_EQ(CheckProduct(ConvArgs{.c = 3, .o = 3, .groups = 3}), Names{"direct"});
}

void CheckReduce(const ReduceArgs& c, const Names& expected) {
  SCOPED_TRACE(c.kind + " " + c.in.name + "-" + c.out.name + " " + testing::PrintToString(c.shape));
  Op op = c.Description();
  std::vector<double> x = RandomValues(c.in, static_cast<size_t>(op.inputs[0].Elements()), 3);
  if (c.kind == "prod") {
    for (double& v : x) v = v < 0 ? 1.25 : 0.75;  // many factors stay finite, and are exact in every type
  }
  const auto groups = c.Groups(x);
  const Names ran = ForEach(std::move(op), {x}, [&](const Implementation&, const std::vector<double>& got) {
    ASSERT_EQ(got.size(), groups.size());
    for (size_t i = 0; i < got.size(); ++i) {
      const auto [value, bound] = c.Reference(groups[i]);
      ASSERT_LE(std::abs(got[i] - value), bound) << i;
    }
  });
  EXPECT_EQ(ran, expected);
}

TEST(GpuOnHost, Reduce) {
  const Names whole{"sequential", "tree"}, parts{"sequential", "split", "tree"};
  const Names all{"atomic", "sequential", "split", "tree"};
  const std::pair<const char*, Names> kinds[] = {{"sum", all},      {"mean", all},     {"l2", all},
                                                 {"max", parts},    {"min", parts},    {"prod", parts},
                                                 {"argmax", whole}, {"argmin", whole}, {"logsumexp", whole}};
  for (const auto& [kind, expected] : kinds) {
    CheckReduce({.kind = kind, .shape = {2, 301}, .axes = {1}}, expected);
    CheckReduce({.kind = kind, .shape = {5, 3, 17}, .axes = {0, 2}, .strided = true}, expected);
  }
  for (const Type& type : {kF64, kF16, kBF16}) {
    CheckReduce({.kind = "mean", .in = type, .out = type, .shape = {2, 301}, .axes = {1}}, all);
    CheckReduce({.kind = "max", .in = type, .out = type, .shape = {2, 301}, .axes = {1}}, parts);
    CheckReduce({.kind = "argmin", .in = type, .out = type, .shape = {2, 301}, .axes = {1}}, whole);
  }
  CheckReduce({.in = kI8, .out = kI32, .shape = {2, 77}, .axes = {1}}, all);
  CheckReduce({.in = kBF16, .out = kF32, .shape = {40, 3}, .axes = {0}, .keepdims = true}, all);
}

void CheckSoftmax(const SoftmaxArgs& c) {
  SCOPED_TRACE(std::string(c.type.name) + " " + testing::PrintToString(c.shape));
  Op op = c.Description();
  const auto x = RandomValues(c.type, static_cast<size_t>(op.inputs[0].Elements()), 5);
  const auto expected = c.Reference(x);
  const Names ran = ForEach(std::move(op), {x}, [&](const Implementation&, const std::vector<double>& got) {
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i) {
      ASSERT_LE(std::abs(got[i] - expected[i].value), expected[i].Bound(c.type, 1)) << i;
    }
  });
  EXPECT_EQ(ran, (Names{"online", "three-pass"}));
}

TEST(GpuOnHost, Softmax) {
  for (const Type& type : kFloats) {
    for (const bool log : {false, true}) {
      CheckSoftmax({.type = type, .shape = {2, 301}, .log = log});
      CheckSoftmax({.type = type, .shape = {2, 19, 2}, .axis = 1, .log = log, .strided = true});
    }
  }
}

void CheckAttention(const AttentionArgs& c) {
  SCOPED_TRACE(std::string(c.type.name) + " l=" + std::to_string(c.l) + " mask=" + c.mask);
  const auto inputs = c.Inputs();
  const Names ran = ForEach(c.Description(), inputs, [&](const Implementation& by, const std::vector<double>& got) {
    for (int64_t at = 0; at < std::ssize(got); ++at) {
      const int64_t row = at / c.dv;
      const auto [y, bound] =
          c.Reference(inputs, row / (c.l * c.h), row / c.l % c.h, row % c.l, at % c.dv, by.Declares("mid="));
      const double value = got[static_cast<size_t>(at)];
      ASSERT_TRUE(std::isnan(y) ? std::isnan(value) : std::abs(value - y) <= bound) << at << ": " << value << ", " << y;
    }
  });
  EXPECT_EQ(
      ran, IsNarrow(c.type) ? (Names{"flash", "flash-matrix-unit", "materialised"}) : (Names{"flash", "materialised"}));
}

TEST(GpuOnHost, Attention) {
  for (const Type& type : kFloats) {
    for (const char* mask : {"none", "bool", "add"}) {
      CheckAttention({.type = type, .b = 2, .h = 2, .hkv = 1, .l = 2, .s = 70, .d = 20, .dv = 12, .mask = mask});
    }
    CheckAttention({.type = type, .h = 2, .l = 3, .s = 70, .d = 72, .dv = 100, .causal = 1, .window = 9, .softcap = 3});
    CheckAttention({.type = type, .h = 2, .hkv = 2, .l = 2, .s = 9, .strided = true, .mask = "add"});
    CheckAttention({.type = type, .b = 2, .h = 2, .l = 2, .s = 9, .per_head = 1, .mask = "bool"});
    for (const char* policy : {"zero", "nan"}) {
      CheckAttention({.type = type, .l = 5, .s = 3, .causal = 1, .masked_rows = policy});
    }
  }
}

}  // namespace
}  // namespace plugin_test
