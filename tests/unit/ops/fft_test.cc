// SPDX-License-Identifier: Apache-2.0
// The operator fft: what it binds, its inputs and golden values, non-finite data, mutants.
#include "ops/fft/fft.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ops/binding.h"
#include "tests/support/mpfr_dft.h"
#include "tests/support/operator_cases.h"

namespace assay {
namespace {

const Operator& Fft() {
  return *OperatorRegistry::Global().Find("fft");
}

Problem Bound(const std::string& id) {
  Result<Problem> problem = Fft().Bind(ParseId(id).value());
  EXPECT_TRUE(problem.has_value()) << id << ": " << (problem ? "" : problem.error().message);
  return problem.value_or(Problem{});
}

std::string BindFailure(const std::string& id) {
  const Result<Problem> problem = Fft().Bind(ParseId(id).value());
  return problem ? "" : problem.error().message;
}

TEST(FftOp, BindsEachKindToItsShapes) {
  const Problem c2c = Bound("fft/c64/kind=c2c,n=4x6,batch=3/fill=normal/seed=0");
  EXPECT_EQ(c2c.inputs[0].shape, (Shape{3, 4, 6}));
  EXPECT_EQ(c2c.outputs[0].shape, (Shape{3, 4, 6}));
  EXPECT_DOUBLE_EQ(c2c.flops, 3 * 5 * 24 * std::log2(24.0));
  EXPECT_EQ(c2c.bytes, 2 * 3 * 24 * 8);
  const Problem r2c = Bound("fft/f32-c64/kind=r2c,n=4x7/fill=normal/seed=0");
  EXPECT_EQ(r2c.inputs[0].shape, (Shape{1, 4, 7}));
  EXPECT_EQ(r2c.outputs[0].shape, (Shape{1, 4, 4}));
  EXPECT_DOUBLE_EQ(r2c.flops, 2.5 * 28 * std::log2(28.0));
  const Problem c2r = Bound("fft/c128-f64/kind=c2r,n=8,dir=inv,norm=backward/fill=normal/seed=0");
  EXPECT_EQ(c2r.inputs[0].shape, (Shape{1, 5}));
  EXPECT_EQ(c2r.outputs[0].shape, (Shape{1, 8}));
}

TEST(FftOp, RefusesWithTheReason) {
  EXPECT_NE(BindFailure("fft/f32/kind=c2c,n=8/fill=normal/seed=0").find("c64 or c128"), std::string::npos);
  EXPECT_NE(BindFailure("fft/c64/kind=r2c,n=8/fill=normal/seed=0").find("f32-c64"), std::string::npos);
  EXPECT_NE(BindFailure("fft/c64-f64/kind=c2r,n=8/fill=normal/seed=0").find("c64-f32"), std::string::npos);
  EXPECT_NE(BindFailure("fft/f16/kind=c2c,n=8/fill=normal/seed=0").find("c64 or c128"), std::string::npos);
  EXPECT_NE(BindFailure("fft/c64/kind=c2c,n=8x0/fill=normal/seed=0"), "");
  EXPECT_NE(BindFailure("fft/c64/kind=c2c,n=8,batch=-1/fill=normal/seed=0").find("batch"), std::string::npos);
  EXPECT_NE(BindFailure("fft/c64/kind=c2c,n=65536x65536x2/fill=normal/seed=0").find("2^32"), std::string::npos);
}

// The inverse of c2r inputs is real, on every shape: no implementation can then differ by what it ignores.
TEST(FftOp, HalfSpectraAreHermitian) {
  for (const char* n : {"1", "2", "7", "8", "4x6", "3x5", "4x1", "4x2", "3x4x4", "2x3x5"}) {
    const Problem problem = Bound(fmt::format("fft/c64-f32/kind=c2r,n={},batch=2,dir=inv/fill=normal/seed=4", n));
    FftArgs full = FftArgsOf(problem);
    const std::vector<double> half = Fft().MakeInputs(problem)[0].ToDoubles();
    Shape shape = full.n;
    shape.insert(shape.begin(), full.batch);
    Tensor spectrum(DType::kC64, shape);
    std::vector<double> values;
    const int64_t points = full.Points(), elements = NumElements(full.InputAxes());
    for (int64_t i = 0; i < 2 * points; ++i) {
      const HalfIndex at = ToHalf(full.n, i % points);
      const double* x = half.data() + 2 * (i / points * elements + at.index);
      values.push_back(x[0]), values.push_back(at.conjugate ? -x[1] : x[1]);
    }
    spectrum.SetDoubles(values);
    full.kind = FftKind::kC2C;
    const Golden golden = GoldenFft(full, spectrum, Tier::kFast, false, 0);
    for (int64_t i = 1; i < golden.size(); i += 2) ASSERT_LE(std::abs(golden.value[i]), golden.error[i]) << n;
  }
}

TEST(FftOp, GoldenAgainstTheDefinition) {
  for (const char* id :
       {"fft/c64/kind=c2c,n=60,batch=2/fill=cancel-1e6/seed=1",
        "fft/c64/kind=c2c,n=8x9,dir=inv,norm=ortho/fill=outlier/seed=2",
        "fft/f32-c64/kind=r2c,n=6x10/fill=uniform/seed=3",
        "fft/c64-f32/kind=c2r,n=4x10,dir=inv,norm=backward/fill=normal/seed=1",
        "fft/c128-f64/kind=c2r,n=3x4x5/fill=normal/seed=1", "fft/c128/kind=c2c,n=37/fill=subnormal/seed=5",
        "fft/f64-c128/kind=r2c,n=45,dir=inv/fill=lognormal/seed=1"}) {
    const Problem problem = Bound(id);
    const std::vector<Tensor> inputs = Fft().MakeInputs(problem);
    for (const Tier tier : {Tier::kFast, Tier::kReproducible}) {
      const Golden golden = Fft().ComputeGolden(problem, 0, inputs, tier);
      test::ReferenceDft reference(FftArgsOf(problem), inputs[0].ToDoubles());
      for (int64_t i = 0; i < golden.size(); ++i) {
        const double lo = golden.value_lo.empty() ? 0 : golden.value_lo[i];
        ASSERT_LE(reference.ErrorOf(i, golden.value[i], lo), golden.error[i]) << id << " number " << i;
      }
    }
  }
}

// A golden value is admitted when E_gold <= 0.01 sqrt(sigma_acc^2 + ulp^2/12).
TEST(FftOp, GoldenIsAdmitted) {
  for (const char* id :
       {"fft/c64/kind=c2c,n=262144/fill=normal/seed=0", "fft/c64/kind=c2c,n=10007/fill=normal/seed=0",
        "fft/c128/kind=c2c,n=1009/fill=normal/seed=0", "fft/f32-c64/kind=r2c,n=400/fill=normal/seed=0"}) {
    const Problem problem = Bound(id);
    const Golden golden = Fft().ComputeGolden(problem, 0, Fft().MakeInputs(problem), Tier::kFast);
    const double u = FormatOf(problem.outputs[0].dtype).UnitRoundoff();
    EXPECT_LE(golden.error[0], 0.01 * golden.sigma[0] * u) << id;
  }
}

TEST(FftOp, SpecialDataIsClaimedWhereItIsCertain) {
  const Problem problem = Bound("fft/c64/kind=c2c,n=64,batch=40/fill=special/seed=0");
  const std::vector<Tensor> inputs = Fft().MakeInputs(problem);
  const Golden golden = Fft().ComputeGolden(problem, 0, inputs, Tier::kFast);
  const std::vector<double> x = inputs[0].ToDoubles();
  int dirty = 0;
  for (int64_t b = 0; b < 40; ++b) {
    const auto row = std::span(x).subspan(b * 128, 128);
    const bool finite = std::ranges::all_of(row, [](double v) { return std::isfinite(v); });
    dirty += finite ? 0 : 1;
    for (int64_t i = b * 128; i < (b + 1) * 128; ++i) {
      if (finite) {
        ASSERT_TRUE(std::isfinite(golden.value[i]));
      } else {
        ASSERT_TRUE(!std::isfinite(golden.value[i]) || std::isinf(golden.error[i]));
      }
    }
  }
  EXPECT_GT(dirty, 0);
}

double Caught(const std::string& id, const std::string& contract) {
  const Problem problem = Bound(id);
  const std::vector<Tensor> inputs = Fft().MakeInputs(problem);
  const Golden golden = Fft().ComputeGolden(problem, 0, inputs, Tier::kFast);
  const test::DeclaredBound bound = test::BoundOf(problem, golden, contract);
  std::vector<int64_t> outputs;
  for (int64_t i = 0; i < golden.size(); i += std::max<int64_t>(1, golden.size() / 256)) outputs.push_back(i);
  const std::vector<Mutant> mutants = Fft().OmittedTerms(problem, 0, inputs, golden.value, outputs);
  EXPECT_GE(mutants.size(), outputs.size());
  int64_t caught = 0;
  for (const Mutant& mutant : mutants) {
    caught += test::Accepts(bound, golden, mutant.index, mutant.value) ? 0 : 1;
  }
  return static_cast<double>(caught) / static_cast<double>(mutants.size());
}

TEST(FftOp, LostInputsAreVisibleWhereTheBoundAllows) {
  EXPECT_GE(Caught("fft/c64/kind=c2c,n=1024,batch=4/fill=normal/seed=0", "f32;alg=fft"), 0.99);
  EXPECT_GE(Caught("fft/f32-c64/kind=r2c,n=400,batch=8/fill=normal/seed=0", "f32;alg=fft"), 0.99);
  EXPECT_GE(Caught("fft/c64-f32/kind=c2r,n=8x8,dir=inv,norm=backward/fill=normal/seed=0", "f32;alg=fft"), 0.99);
  EXPECT_GE(Caught("fft/c128/kind=c2c,n=262144/fill=normal/seed=0", "f64;alg=fft"), 0.99);
  // n log2(n) u is above 1: the bound of this class sees no single input any more.
  EXPECT_LT(Caught("fft/c64/kind=c2c,n=262144/fill=normal/seed=0", "f32;alg=fft"), 0.99);
}

// A mutant is the golden value without x_j: the transform of the signal with that element cleared.
TEST(FftOp, MutantsAreTransformsWithoutOneElement) {
  const Problem problem = Bound("fft/c64-f32/kind=c2r,n=2x5,dir=inv/fill=normal/seed=0");
  const std::vector<Tensor> inputs = Fft().MakeInputs(problem);
  const Golden golden = Fft().ComputeGolden(problem, 0, inputs, Tier::kFast);
  const std::vector<int64_t> outputs = {3};
  const std::vector<Mutant> mutants = Fft().OmittedTerms(problem, 0, inputs, golden.value, outputs);
  ASSERT_EQ(mutants.size(), 6u);
  for (int64_t j = 0; j < 6; ++j) {
    std::vector<double> x = inputs[0].ToDoubles();
    x[2 * j] = x[2 * j + 1] = 0;
    test::ReferenceDft reference(FftArgsOf(problem), x);
    EXPECT_NEAR(mutants[j].value, reference.Value(mutants[j].index), 1e-12);
  }
}

}  // namespace
}  // namespace assay
