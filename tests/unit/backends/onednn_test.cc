// SPDX-License-Identifier: Apache-2.0
// Whether oneDNN, as installed, does what the plugin declares for it. Where it does less on this CPU than declared
// (an older ISA emulates bf16 without flushing), the declaration is still true.
#include <gtest/gtest.h>

#include "tests/unit/backends/matmul_case.h"
#include "tests/unit/backends/reduce_case.h"

namespace plugin_test {
namespace {

Plugin& OneDnn() {
  return PluginAt(ASSAY_ONEDNN_PLUGIN);
}

TEST(OneDnn, OffersItsImplementationsApart) {
  Op op = MatmulArgs{.m = 64, .n = 64, .k = 64}.Description();
  const auto found = OneDnn().Offered(op);
  ASSERT_GE(found.size(), 2u);
  for (const auto& implementation : found) {
    EXPECT_EQ(implementation.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789._-"), std::string::npos);
  }
  const auto again = OneDnn().Offered(op);
  ASSERT_EQ(found.size(), again.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i].name, again[i].name) << "the order is not stable";
}

TEST(OneDnn, SumsInt8AsDeclared) {
  std::string reason;
  size_t exact = 0, rounded = 0;
  for (const int64_t k : {777, 1023, 2049}) {
    Op op = MatmulArgs{.in = kI8, .out = kI32, .m = 16, .n = 16, .k = k}.Description();
    const double want = 127.0 * 127 * static_cast<double>(k);
    const std::vector<double> operand(16 * static_cast<size_t>(k), 127);
    for (const auto& implementation : OneDnn().Query(op, &reason)) {
      double worst = 0;
      for (double value : OneDnn().Run(op, implementation.name, {operand, operand})) {
        worst = std::max(worst, std::abs(value - want));
      }
      const bool declared = implementation.Declares("acc=i32");
      EXPECT_LE(worst, declared ? 0 : want * 0x1p-24) << implementation.name << " k=" << k;
      exact += declared ? 1 : 0;
      rounded += worst > 0 ? 1 : 0;
    }
  }
  if (exact + rounded == 0) GTEST_SKIP() << reason;
  EXPECT_GT(exact, 0u);
  EXPECT_GT(rounded, 0u) << "nothing here tells i32 from f32";
}

TEST(OneDnn, KeepsSubnormalsWhereItDeclaresThat) {
  struct Row {
    Type in, out;
    double a, b;
  };
  const Row rows[] = {{kF32, kF32, 0x1p-130, 0x1p20},
                      {kF32, kF32, 0x1p-70, 0x1p-66},
                      {kBF16, kF32, 0x1p-130, 0x1p20},
                      {kBF16, kF32, 0x1p-70, 0x1p-66},
                      {kBF16, kBF16, 0x1p-130, 0x1p20}};
  std::string reason;  // of bf16, which processors without AVX-512 are not offered
  for (const Row& row : rows) {
    Op op = MatmulArgs{.in = row.in, .out = row.out, .m = 16, .n = 16, .k = 64}.Description();
    int kept = 0, offered = 0;
    for (const auto& implementation : row.in == kF32 ? OneDnn().Offered(op) : OneDnn().Query(op, &reason)) {
      ++offered;
      if (implementation.Declares("ftz=all") || (implementation.Declares("ftz=out") && row.a * row.b < 0x1p-126))
        continue;
      const auto got =
          OneDnn().Run(op, implementation.name, {std::vector<double>(1024, row.a), std::vector<double>(1024, row.b)});
      EXPECT_EQ(got[0], 64 * row.a * row.b) << implementation.name << " " << implementation.contract;
      ++kept;
    }
    if (row.in == kF32) {
      EXPECT_GT(kept, 0) << "of f32 some implementation keeps subnormals, and none was tried";
    }
    EXPECT_EQ(offered > 0, reason.empty() || row.in == kF32) << reason;
  }
  if (!reason.empty()) GTEST_SKIP() << "f32 alone: " << reason;
}

TEST(OneDnn, SumsBf16InF32) {
  std::vector<double> x(4097, 0x1p-12);
  x[0] = 1;
  Op op = ReduceArgs{.in = kBF16, .out = kBF16, .shape = {1, 4097}, .axes = {1}}.Description();
  std::string reason;
  const auto offered = OneDnn().Query(op, &reason);
  EXPECT_EQ(offered.empty(), !reason.empty());
  for (const auto& implementation : offered) {
    EXPECT_EQ(OneDnn().Run(op, implementation.name, {x}).at(0), 2) << implementation.name;
  }
  if (!reason.empty()) GTEST_SKIP() << reason;
}

// The proof of a known issue (backends/onednn/known_issues.toml): a NaN begins the maximum anew, in the vector
// kernels that of its lane. Where the largest element stands before it, the result is neither NaN nor the largest of
// the rest.
TEST(OneDnn, MaximaForgetAtMostWhatStandsBeforeANaN) {
  for (const char* kind : {"max", "min"}) {
    const double sign = kind == std::string("max") ? 1 : -1;
    Op op = ReduceArgs{.kind = kind, .shape = {1, 200}, .axes = {1}}.Description();
    int ran = 0;
    for (const auto& implementation : OneDnn().Offered(op)) {
      std::vector<double> x(200, sign);
      x[80] = 9 * sign, x[96] = NAN;  // 16 apart: one lane of the vectors
      const double before = OneDnn().Run(op, implementation.name, {x}).at(0);
      std::swap(x[80], x[96]);
      const double after = OneDnn().Run(op, implementation.name, {x}).at(0);
      EXPECT_TRUE(implementation.Declares("nan=any") || std::isnan(before)) << implementation.name;
      EXPECT_TRUE(std::isnan(before) || before == sign || before == 9 * sign) << implementation.name << " " << before;
      EXPECT_TRUE(std::isnan(after) || after == 9 * sign) << implementation.name << " " << after;
      RecordProperty(implementation.name + "_" + kind, std::to_string(before));
      ++ran;
    }
    EXPECT_GT(ran, 0);
  }
}

// dx of an element 100 above the mean that has all of the gradient, dy, in a row of 1,024, and what it should be.
constexpr int64_t kRow = 1024;
std::pair<double, double> GradientOfLayerNorm(const std::string& implementation, double dy, double rstd) {
  Op op("layer_norm_backward");
  op.In(Dense("dy", kF32, {1, kRow})).In(Dense("x", kF32, {1, kRow})).In(Dense("mean", kF32, {1}));
  op.In(Dense("rstd", kF32, {1})).In(Dense("gamma", kF32, {kRow}));
  op.Out(Dense("dx", kF32, {1, kRow})).Out(Dense("dgamma", kF32, {kRow})).Out(Dense("dbeta", kF32, {kRow}));
  op.Int("rows", 1).Int("n", kRow);
  std::vector<double> all_dy(kRow), x(kRow);
  all_dy[3] = dy, x[3] = 100;
  const auto dx = OneDnn().Run(op, implementation, {all_dy, x, {0}, {rstd}, std::vector<double>(kRow, 1)});
  return {dx.at(3), rstd * (dy - dy / kRow - 100 * rstd * (dy * 100 * rstd) / kRow)};
}

// The proof of two known issues: the product of x - mean and a sum overflows before it is divided, and the variance of
// a small rstd is infinite.
TEST(OneDnn, GradientsOfLayerNormLoseExtremes) {
  for (const char* implementation : {"simple_layer_normalization-any", "lnorm_ref-any"}) {
    for (const double rstd : {0.1, 0.37, 1.9}) {
      const auto [got, want] = GradientOfLayerNorm(implementation, 1e30, rstd);
      EXPECT_NEAR(got, want, 1e-6 * 1e30 * std::max(1.0, 10 * rstd * rstd * rstd)) << implementation;
    }
    EXPECT_FALSE(std::isfinite(GradientOfLayerNorm(implementation, 1e37, 0.1).first)) << "its rule is obsolete";
    EXPECT_EQ(GradientOfLayerNorm(implementation, 1, 1e-30).first, 0) << "its rule is obsolete";
  }
}

TEST(OneDnn, RefusesWithAReason) {
  EXPECT_NE(OneDnn().Refusal(MatmulArgs{.in = kF16, .out = kF16}.Description()).find("f16"), std::string::npos);
  EXPECT_NE(OneDnn().Refusal(MatmulArgs{.in = kI8, .out = kI32, .bias = true}.Description()).find("f32"),
            std::string::npos);
  EXPECT_NE(OneDnn().Refusal(MatmulArgs{.rounded = true, .beta = 1}.Description()).find("rounded"), std::string::npos);
  EXPECT_NE(OneDnn()
                .Refusal(std::move(Op("rms_norm").In(Dense("x", kF32, {2, 3})).Out(Dense("y", kF32, {2, 3}))))
                .find("no operator 'rms_norm'"),
            std::string::npos);
  EXPECT_NE(OneDnn().Refusal(ReduceArgs{.kind = "logsumexp", .shape = {3}, .axes = {0}}.Description()).find("sum"),
            std::string::npos);
}

}  // namespace
}  // namespace plugin_test
