// SPDX-License-Identifier: Apache-2.0
// Golden values against MPFR: every element is within its own certified error, and the magnitude plane is
// no less than the exact sum of magnitudes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ops/binding.h"
#include "ops/matmul/matmul.h"
#include "ops/reduce/reduce.h"
#include "tests/support/mpfr.h"
#include "tests/support/operator_cases.h"

namespace assay::test {
namespace {

void ExpectWithin(const Golden& golden, int64_t i, const Mpfr& exact) {
  const double rounded = exact.Rounded(), value = golden.value[i];
  if (std::isnan(rounded)) {
    EXPECT_TRUE(std::isnan(value)) << i;
  } else if (std::isinf(rounded)) {
    EXPECT_EQ(value, rounded) << i;
  } else {
    const double lo = golden.value_lo.empty() ? 0 : golden.value_lo[i];
    EXPECT_LE(exact.DistanceFrom(value, lo), golden.error[i])
        << "element " << i << ": " << value << " against " << rounded;
  }
}

constexpr const char* kGoldenFills[] = {"uniform", "normal",    "lognormal", "outlier", "cancel-1e6", "ramp",
                                        "coded",   "subnormal", "special",   "pow2",    "near_one"};

Golden GoldenOf(const Problem& problem, std::span<const Tensor> inputs, Tier tier) {
  Golden golden = Op(problem.spec.op).ComputeGolden(problem, 0, inputs, tier);
  EXPECT_EQ(golden.shape, problem.outputs[0].shape);
  EXPECT_EQ(golden.size(), NumElements(problem.outputs[0].shape));
  if (!golden.exact) {
    EXPECT_EQ(golden.sigma.size(), golden.size());
  }
  return golden;
}

void CheckMatmul(const std::string& id, Tier tier) {
  SCOPED_TRACE(id + " " + std::string(Name(tier)));
  const Problem problem = Bind(id);
  const MatmulArgs op(problem);
  const std::vector<Tensor> inputs = Op("matmul").MakeInputs(problem);
  const Golden golden = GoldenOf(problem, inputs, tier);
  for (int64_t i = 0; i < golden.size(); ++i) {
    Mpfr y;
    double magnitude = 0;
    for (int64_t k = 0; k < op.gemm.k; ++k) {
      const double a = ValueAt(inputs[0], op.OffsetInA(op.BatchOf(i), op.RowsOfA(i) % op.gemm.m, k));
      const double b = ValueAt(inputs[1], op.OffsetInB(op.BatchOf(i), k, op.ColumnOf(i)));
      y.AddProduct(a, b);
      if (std::isfinite(a * b)) magnitude += std::abs(op.alpha * a * b);
    }
    mpfr_mul_d(y.x, y.x, op.alpha, MPFR_RNDN);
    if (op.beta != 0) y.AddProduct(op.beta, ValueAt(inputs[op.c_index()], i));
    if (op.bias) y.AddProduct(1, ValueAt(inputs[op.bias_index()], op.ColumnOf(i)));
    if (golden.exact) {
      EXPECT_EQ(golden.value[i], y.Rounded());
    } else {
      ExpectWithin(golden, i, y);
      EXPECT_GE(golden.magnitude[i], magnitude * (1 - 1e-12)) << i;
    }
  }
}

TEST(MatmulGolden, MatchesMpfr) {
  uint64_t seed = 0;
  for (const char* dtypes : {"f64", "f32", "f16", "bf16", "bf16-bf16-f32", "e4m3-e4m3-f32", "e5m2-e5m2-bf16"}) {
    for (const char* fill : kGoldenFills) {
      for (const char* attrs : {"m=3,n=4,k=77", "m=2,n=3,k=20,batch=2,transa=1,alpha=0.3,beta=-2.5,bias=1",
                                "m=3,n=2,k=9,transb=1,bias=1,epilogue=rounded"}) {
        for (Tier tier : {Tier::kFast, Tier::kReproducible}) {
          CheckMatmul(fmt::format("matmul/{}/{}/fill={}/seed={}", dtypes, attrs, fill, seed), tier);
          if (HasFailure()) return;
        }
        ++seed;
      }
    }
  }
  CheckMatmul("matmul/i8-i8-i32/m=3,n=4,k=300/fill=uniform/seed=1", Tier::kFast);
}

// The row's result with many bits; sums skip nothing, so infinities and NaN follow IEEE rules.
// Log-sum-exp is shifted by the largest term: 1e308 is beyond MPFR's exponential too.
void ReduceExactly(const ReduceArgs& op, std::span<const double> row, Mpfr& y) {
  const double largest = *std::ranges::max_element(row);
  const double shift = std::isfinite(largest) ? largest : 0;
  mpfr_set_d(y.x, op.kind == ReduceKind::kProd ? 1 : 0, MPFR_RNDN);
  for (double x : row) {
    if (op.kind == ReduceKind::kProd) {
      mpfr_mul_d(y.x, y.x, x, MPFR_RNDN);
    } else if (op.kind == ReduceKind::kL2) {
      y.AddProduct(x, x);
    } else if (op.kind == ReduceKind::kLogSumExp) {
      Mpfr term(x);
      mpfr_sub_d(term.x, term.x, shift, MPFR_RNDN);
      mpfr_exp(term.x, term.x, MPFR_RNDN);
      mpfr_add(y.x, y.x, term.x, MPFR_RNDN);
    } else {
      mpfr_add_d(y.x, y.x, x, MPFR_RNDN);
    }
  }
  if (op.kind == ReduceKind::kMean) mpfr_div_si(y.x, y.x, op.terms, MPFR_RNDN);
  if (op.kind == ReduceKind::kL2) mpfr_sqrt(y.x, y.x, MPFR_RNDN);
  if (op.kind != ReduceKind::kLogSumExp) return;
  mpfr_log(y.x, y.x, MPFR_RNDN);
  mpfr_add_d(y.x, y.x, shift, MPFR_RNDN);
}

void CheckReduce(const std::string& id, Tier tier) {
  SCOPED_TRACE(id + " " + std::string(Name(tier)));
  const Problem problem = Bind(id);
  const ReduceArgs op(problem);
  const std::vector<Tensor> inputs = Op("reduce").MakeInputs(problem);
  const Golden golden = GoldenOf(problem, inputs, tier);
  for (int64_t row = 0; row < golden.size(); ++row) {
    const std::vector<double> x = op.Row(inputs[0], row);
    Mpfr y;
    ReduceExactly(op, x, y);
    ExpectWithin(golden, row, y);
  }
}

TEST(ReduceGolden, MatchesMpfr) {
  uint64_t seed = 0;
  for (const char* dtypes : {"f64", "f32", "f16", "bf16", "bf16-f32"}) {
    for (const char* fill : kGoldenFills) {
      for (const char* kind : {"sum", "mean", "prod", "l2", "logsumexp"}) {
        const std::string key = std::string_view(kind) == "sum" ? "" : fmt::format(",kind={}", kind);
        for (const char* shape : {"shape=4x7x5,axes=0+2", "shape=3x150,axes=1", "shape=6x2,axes=-2,keepdims=1"}) {
          for (Tier tier : {Tier::kFast, Tier::kReproducible}) {
            CheckReduce(fmt::format("reduce/{}/{}{}/fill={}/seed={}", dtypes, shape, key, fill, seed), tier);
            if (HasFailure()) return;
          }
          ++seed;
        }
      }
    }
  }
}

// Axes are flattened row-major in the order of the shape, whatever the order in the case.
TEST(ReduceGolden, SelectsAlongSeveralAxes) {
  const Problem problem = Bind("reduce/f32/shape=2x2x3,axes=2+0,kind=argmax/fill=normal/seed=0");
  std::vector<Tensor> inputs = Op("reduce").MakeInputs(problem);
  inputs[0].SetDoubles(std::vector<double>{0, 1, 2, /**/ 9, 1, 0, /**/ 3, 8, 4, /**/ 9, 1, NAN});
  EXPECT_EQ(GoldenOf(problem, inputs, Tier::kFast).value, (std::vector<double>{4, 5}));
  const Problem ignoring = Bind("reduce/f32/shape=2x2x3,axes=0+2,kind=max,nan=ignore/fill=normal/seed=0");
  EXPECT_EQ(GoldenOf(ignoring, inputs, Tier::kFast).value, (std::vector<double>{8, 9}));
  const Problem first = Bind("reduce/f32/shape=2x2x3,axes=0+2,kind=argmax,nan=ignore/fill=normal/seed=0");
  EXPECT_EQ(GoldenOf(first, inputs, Tier::kFast).value, (std::vector<double>{4, 0}));
}

TEST(ReduceGolden, AnyTieIsMappedToTheFirst) {
  const Problem problem = Bind("reduce/f32/shape=2x4,axes=1,kind=argmin,tie=any/fill=normal/seed=0");
  std::vector<Tensor> inputs = Op("reduce").MakeInputs(problem);
  inputs[0].SetDoubles(std::vector<double>{5, 0.0, 7, -0.0, 1, NAN, NAN, 2});
  Tensor got(DType::kI64, {2});
  const auto canonical = [&](int64_t first, int64_t second) {
    got.As<int64_t>()[0] = first;
    got.As<int64_t>()[1] = second;
    Op("reduce").Canonicalise(problem, 0, inputs, got);
    return std::vector<int64_t>{got.As<int64_t>()[0], got.As<int64_t>()[1]};
  };
  EXPECT_EQ(canonical(3, 2), (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(canonical(2, 0), (std::vector<int64_t>{2, 0}));  // wrong stays wrong
  EXPECT_EQ(canonical(-1, 4), (std::vector<int64_t>{-1, 4}));
}

}  // namespace
}  // namespace assay::test
