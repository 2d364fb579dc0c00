// SPDX-License-Identifier: Apache-2.0
// Parts of the operator matmul (matmul.cc): y = alpha a b + beta c + bias.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "golden/gemm/gemm.h"
#include "ops/operator.h"

namespace assay {

// The attributes of a bound matmul, and where its operands are.
struct MatmulArgs {
  explicit MatmulArgs(const Problem& problem);
  bool HasEpilogue() const { return alpha != 1 || beta != 0 || bias; }
  int64_t RowsOfA(int64_t i) const { return i / gemm.n; }             // b * m + i of output element i
  int64_t BatchOf(int64_t i) const { return i / (gemm.m * gemm.n); }  // of output element i
  int64_t ColumnOf(int64_t i) const { return i % gemm.n; }            // j of output element i
  int64_t OffsetInA(int64_t batch, int64_t row, int64_t k) const;     // element of a, transposed or not
  int64_t OffsetInB(int64_t batch, int64_t k, int64_t column) const;
  int c_index() const { return 2; }                     // input index, if beta != 0
  int bias_index() const { return beta != 0 ? 3 : 2; }  // input index, if bias

  GemmShape gemm;
  double alpha = 1, beta = 0;
  bool bias = false;
  bool rounded = false;  // epilogue=rounded: a b is rounded to the output type before alpha, beta c and bias
};

// m, n, k and batch from the shapes of a and b, bias from whether there is one.
Result<AttrList> InferMatmul(const std::vector<Operand>& inputs, AttrList given);

// golden = alpha ab + beta c + bias in double-double, with S' = |alpha| S + |beta||c| + |bias|, and the
// plane "rounded_product" |alpha ab| for epilogue=rounded.
Golden ApplyEpilogue(const MatmulArgs& op, Golden product, std::span<const Tensor> inputs);

// Computes elements of f64 whose magnitude leaves double's range, epilogue included, once more by
// golden/sums/scaled_sum.h. With epilogue=rounded the error stays infinite: an infinity may come from either rounding.
void SumBeyondDouble(const MatmulArgs& op, std::span<const Tensor> inputs, Golden& golden);

// The plane "lost_infinity": 1 where the sum has an infinity times a subnormal, which is NaN for a unit that flushes
// the subnormal to zero first. Absent when there is no such element.
void AddLostInfinities(const MatmulArgs& op, const Tensor& a, const Tensor& b, Golden& golden);

// The planes "largest_operand" and "operand_sum": the largest finite |a| and |b| among the factors of each element, and
// the sum of all of these. The first where some operand becomes infinite in a narrower class's rounding (f32's largest
// numbers in tf32 and bf16) or multiplied by alpha, the second where alpha changes magnitudes.
void AddOperandPlanes(const MatmulArgs& op, const Tensor& a, const Tensor& b, Golden& golden);

BoundModel MatmulBound(const MatmulArgs& op, const Golden& golden, const Contract& contract, DType in, DType out);

std::optional<Twin> MatmulTwin(const Problem& problem, const Contract& contract, int variant);
// Two that name terms, and one of ties where the contract says how they are broken.
int MatmulTwinVariants(const Problem& problem, const Contract& contract);

std::vector<Mutant> MatmulOmittedTerms(const Problem& problem, std::span<const Tensor> inputs,
                                       std::span<const double> values, std::span<const int64_t> outputs);

// The products that output element `output` adds, without an epilogue's terms.
std::vector<double> MatmulTerms(const MatmulArgs& op, std::span<const Tensor> inputs, int64_t output);
// nullptr where an epilogue follows.
std::unique_ptr<SumProducts> MatmulProducts(const Problem& problem, std::span<const Tensor> inputs);

std::vector<SliceAxes> MatmulSlices(const Problem& problem);
std::vector<int> MatmulScaledInputs(const Problem& problem);
std::vector<Relation> MatmulRelations(const Operator& op, const Problem& problem);

CaseSpace MatmulSpace();

}  // namespace assay
