// SPDX-License-Identifier: Apache-2.0
#include "golden/gemm/gemm.h"

#include <cmath>

#include "golden/big_buffer.h"
#include "golden/bound/bound.h"
#include "golden/gemm/gemm_engine.h"
#include "harness/core/base/check.h"
#include "harness/core/base/float_environment.h"
#include "harness/core/base/parallel.h"

namespace assay {
namespace {

// sum |a_k b_k| over the terms with a subnormal factor: |a_sub| |b| + |a_normal| |b_sub|.
void AddSubnormalMass(const GemmOperand& a, const GemmOperand& b, bool wide, Golden& golden) {
  Plane& mass = golden.AddExtra("subnormal_mass", wide);
  if (a.has_subnormal) MagnitudeGemm(a, SelectSubnormal(a, true), b, b.values, false, mass);
  if (b.has_subnormal) MagnitudeGemm(a, SelectSubnormal(a, false), b, SelectSubnormal(b, true), true, mass);
}

GemmOperand Absolute(const GemmOperand& operand) {
  GemmOperand absolute = operand;
  for (int64_t i = 0; i < std::ssize(absolute.values); ++i) absolute.values[i] = std::fabs(absolute.values[i]);
  return absolute;
}

Golden IntegerGemm(const GemmOperand& a, const GemmOperand& b, bool wide, Golden golden) {
  // Every partial sum is an integer below 2^53, so that double adds it exactly in any order.
  ASSAY_CHECK(a.max_abs * b.max_abs * static_cast<double>(a.cols) < 0x1p53);
  golden.exact = true;
  // S is exact before it is stored, so that what lies below an accumulator's 2^p is not rounded beyond it.
  Golden sums;
  sums.value.resize(golden.value.size());
  FastGemm(Absolute(a), Absolute(b), false, sums);
  golden.magnitude = Plane(golden.size(), wide);
  for (int64_t i = 0; i < golden.size(); ++i) golden.magnitude.SetUp(i, sums.value[i]);
  FastGemm(a, b, false, golden);
  return golden;
}

}  // namespace

Golden GoldenGemm(const GemmShape& shape, const Tensor& a, const Tensor& b, Tier tier, bool out_wide) {
  RequireFloatEnvironment("golden matrix product");
  const bool floats = tier == Tier::kFast && a.dtype() == DType::kF32 && b.dtype() == DType::kF32;
  GemmOperand left = LoadOperand(a, shape.batch, shape.m, shape.k, shape.transa, floats);
  GemmOperand right = LoadOperand(b, shape.batch, shape.k, shape.n, shape.transb, floats);
  const bool plain = left.nonfinite.empty() && right.nonfinite.empty() && !left.has_subnormal && !right.has_subnormal;
  if (!plain || !MagnitudeFitsFloat(left, right)) left.Widen(), right.Widen();
  Golden golden{.tier = tier};
  golden.shape = shape.batch == 1 ? Shape{shape.m, shape.n} : Shape{shape.batch, shape.m, shape.n};
  const int64_t size = shape.batch * shape.m * shape.n;
  ResizeValues(size, golden.value);
  if (IsInt(left.dtype) && IsInt(right.dtype)) return IntegerGemm(left, right, out_wide, std::move(golden));

  if (left.dtype == DType::kF64 || right.dtype == DType::kF64) golden.tier = Tier::kReproducible;
  const bool fast = golden.tier == Tier::kFast;
  for (Plane* plane : {&golden.magnitude, &golden.sigma, &golden.error}) {
    *plane = fast && shape.k > 0 ? Plane::Unset(size, out_wide) : Plane(size, out_wide);
  }
  if (fast) {
    FastGemm(left, right, true, golden);
  } else {
    golden.value_lo.resize(size);
    ReproducibleGemm(left, right, golden);
  }
  if (left.has_subnormal || right.has_subnormal) AddSubnormalMass(left, right, out_wide, golden);
  if (!left.nonfinite.empty() || !right.nonfinite.empty()) AddNonFiniteTerms(left, right, golden);
  return golden;
}

}  // namespace assay
