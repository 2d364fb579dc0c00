// SPDX-License-Identifier: Apache-2.0
// Sums of f64 whose terms or total no double holds: golden values against MPFR, and what is accepted.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/data/fill/rng.h"
#include "ops/binding.h"
#include "tests/support/mpfr.h"
#include "tests/support/operator_cases.h"
#include "tests/unit/special_values.h"

namespace assay::test {
namespace {

struct BigCase {
  BigCase(const std::string& id, const std::vector<std::vector<double>>& values) : problem(Bind(id)) {
    for (size_t k = 0; k < values.size(); ++k) {
      inputs.emplace_back(problem.inputs[k].dtype, problem.inputs[k].shape);
      inputs.back().SetDoubles(values[k]);
    }
    golden = Op(problem.spec.op).ComputeGolden(problem, inputs, Tier::kReproducible);
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
