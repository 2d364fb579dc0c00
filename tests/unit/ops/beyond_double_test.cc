// SPDX-License-Identifier: Apache-2.0
// Sums of f64 whose terms or total no double holds: golden values against MPFR, and what is accepted.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/core/data/fill/rng.h"
#include "ops/binding.h"
#include "tests/support/mpfr.h"
#include "tests/support/operator_cases.h"
#include "tests/unit/special_values.h"

namespace assay::test {
namespace {

struct BigCase {
  BigCase(const std::string& id, const std::vector<std::vector<double>>& values, Tier tier = Tier::kReproducible)
      : problem(Bind(id)) {
    for (size_t k = 0; k < values.size(); ++k) {
      inputs.emplace_back(problem.inputs[k].dtype, problem.inputs[k].shape);
      inputs.back().SetDoubles(values[k]);
    }
    golden = Op(problem.spec.op).ComputeGolden(problem, 0, inputs, tier);
  }
  bool Accepts(double got) const { return test::Accepts(BoundOf(problem, golden, "f64"), golden, 0, got); }

  Problem problem;
  std::vector<Tensor> inputs;
  Golden golden;
};

TEST(BeyondDouble, AProductThatOverflowsIsInfinite) {
  for (const char* id :
       {"matmul/f64/m=1,n=1,k=1/fill=normal/seed=0", "conv/f64/n=1,c=1,o=1,i=1,k=1/fill=normal/seed=0"}) {
    for (const double sign : {1.0, -1.0}) {
      const BigCase c(id, {{sign * 1e200}, {1e200}});
      EXPECT_EQ(c.golden.value[0], sign * kInf) << id;
      EXPECT_TRUE(c.Accepts(sign * kInf));
      for (const double wrong : {-sign * kInf, 0.0, kNaN, 1e308, sign}) EXPECT_FALSE(c.Accepts(wrong)) << id << wrong;
    }
  }
}

TEST(BeyondDouble, AMeanOfNumbersNearTheLargestIsOneOfThem) {
  const BigCase c("reduce/f64/shape=1x10,axes=1,kind=mean/fill=normal/seed=0", {std::vector<double>(10, 1.7e308)});
  EXPECT_EQ(c.golden.value[0], 1.7e308);
  EXPECT_TRUE(c.Accepts(1.7e308));
  EXPECT_TRUE(c.Accepts(kInf)) << "the sum before the division";
  for (const double wrong : {0.0, 1.0, 1.69e308, -1.7e308}) EXPECT_FALSE(c.Accepts(wrong)) << wrong;
}

// Some orders overflow one way, some the other, some not at all.
TEST(BeyondDouble, TermsOfBothSignsReachBothInfinities) {
  const BigCase c("reduce/f64/shape=1x5,axes=1/fill=normal/seed=0", {{1.5e308, 1.5e308, -1.5e308, -1.5e308, 1e300}});
  EXPECT_EQ(c.golden.value[0], 1e300);
  for (const double right : {1e300, kInf, -kInf, kNaN}) EXPECT_TRUE(c.Accepts(right)) << right;
  for (const double wrong : {1e308, -1e308}) EXPECT_FALSE(c.Accepts(wrong)) << wrong;
  const BigCase up("reduce/f64/shape=1x3,axes=1/fill=normal/seed=0", {{1.5e308, 1.5e308, -1.5e308}});
  EXPECT_EQ(up.golden.value[0], 1.5e308);
  for (const double right : {1.5e308, kInf}) EXPECT_TRUE(up.Accepts(right)) << right;
  for (const double wrong : {1.49e308, -kInf, kNaN, 0.0}) EXPECT_FALSE(up.Accepts(wrong)) << wrong;
}

// alpha brings back what no double holds; a kernel may also have lost it before.
TEST(BeyondDouble, AnEpilogueBringsBackWhatOverflowed) {
  const BigCase c("matmul/f64/m=1,n=1,k=1,alpha=1e-200,bias=1/fill=normal/seed=0", {{1e200}, {1e200}, {1e190}});
  Mpfr exact;
  mpfr_set_d(exact.x, 1e200, MPFR_RNDN);
  mpfr_mul_d(exact.x, exact.x, 1e200, MPFR_RNDN);
  mpfr_mul_d(exact.x, exact.x, 1e-200, MPFR_RNDN);
  mpfr_add_d(exact.x, exact.x, 1e190, MPFR_RNDN);
  EXPECT_LE(exact.DistanceFrom(c.golden.value[0], c.golden.value_lo[0]), c.golden.error[0]);
  EXPECT_LT(c.golden.error[0], 1e200 * 1e-28);
  for (const double right : {exact.Rounded(), kInf}) EXPECT_TRUE(c.Accepts(right)) << right;
  for (const double wrong : {1e200, 0.0, -kInf, kNaN}) EXPECT_FALSE(c.Accepts(wrong)) << wrong;
}

// Either rounding may overflow, so that anything is right; the value stays what it is.
TEST(BeyondDouble, AnEpilogueOfRoundedProductsHasItsValue) {
  const BigCase c("matmul/f64/m=1,n=1,k=1,alpha=1e-200,bias=1,epilogue=rounded/fill=normal/seed=0",
                  {{1e200}, {1e200}, {1e190}});
  EXPECT_NEAR(c.golden.value[0], 1e200, 1e191);
  EXPECT_EQ(c.golden.error[0], kInf);
}

// Scores of 1e320: two keys share all the weight, or one has it, by whatever the mask and the cap leave.
TEST(BeyondDouble, AttentionOfScoresThatNoDoubleHolds) {
  const std::vector<double> q = {1e160}, k = {1e160, -1e160, 1e160, 9e159}, v = {1, 2, 4, 8};
  struct Wide {
    const char* attrs;
    std::vector<double> mask;
    double right;
  };
  const double capped = (std::exp(100.0) * 13 + 2) / (std::exp(100.0) * 3 + 1);
  for (const Wide& wide : std::vector<Wide>{{"scale=1", {}, 2.5},
                                            {"scale=-1", {}, 2},
                                            {"scale=1,softcap=50", {}, capped},
                                            {"scale=1,mask=add", {-kInf, 0, 0, 1e300}, 4}}) {
    std::vector<std::vector<double>> inputs = {q, k, v};
    if (!wide.mask.empty()) inputs.push_back(wide.mask);
    for (const Tier tier : {Tier::kFast, Tier::kReproducible}) {
      const BigCase c(fmt::format("attention/f64/b=1,h=1,l=1,s=4,d=1,dv=1,{}/fill=normal/seed=0", wide.attrs), inputs,
                      tier);
      EXPECT_NEAR(c.golden.value[0], wide.right, 1e-13 * wide.right) << wide.attrs;
      EXPECT_EQ(c.golden.error[0], kInf) << wide.attrs;
    }
  }
  const BigCase nan("attention/f64/b=1,h=1,l=1,s=2,d=1,dv=1,scale=1/fill=normal/seed=0",
                    {{1e160}, {kNaN, 1e160}, {1, 2}});
  EXPECT_TRUE(std::isnan(nan.golden.value[0]));
  EXPECT_EQ(nan.golden.error[0], 0);
}

TEST(BeyondDouble, SumsNearTheLargestMatchMpfr) {
  const RandomStream random(5, 0);
  int finite = 0, infinite = 0;
  for (uint64_t trial = 0; trial < 300; ++trial) {
    std::vector<double> a(12), b(12);
    for (uint64_t k = 0; k < 12; ++k) {
      a[k] = std::ldexp(2 * random.Uniform(trial * 64 + k) - 1,
                        static_cast<int>(random.Below(trial * 64 + 32 + k, 6)) + 508);
      b[k] = std::ldexp(2 * random.Uniform(trial * 64 + 16 + k) - 1, 512);
    }
    const BigCase c("matmul/f64/m=1,n=1,k=12/fill=normal/seed=0", {a, b});
    ReferenceSum exact;
    for (size_t k = 0; k < 12; ++k) exact.AddProduct(a[k], b[k]);
    const double y = exact.sum().Rounded();
    if (!std::isfinite(c.golden.value[0])) {
      EXPECT_EQ(c.golden.value[0], y);
      ++infinite;
      continue;
    }
    ++finite;
    EXPECT_LE(exact.ErrorOf(c.golden.value[0], c.golden.value_lo[0]), c.golden.error[0]) << trial;
    EXPECT_LT(c.golden.error[0], 1e296) << trial;
    EXPECT_TRUE(c.Accepts(y)) << trial;
  }
  EXPECT_GT(finite, 30);
  EXPECT_GT(infinite, 30);
}

}  // namespace
}  // namespace assay::test
