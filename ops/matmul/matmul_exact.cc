// SPDX-License-Identifier: Apache-2.0
// Exact twins and omitted terms of matmul. The twin is the coded rank-one product a[i,k] = r_i s_k u_k,
// b[k,j] = c_j v_k (exact_code.h): every element is alpha r_i c_j sum + beta c + bias, no golden product needed.
// Variant 1 climbs where the output shows all bits of the accumulator. The last variant has sums that are ties
// (exact_ties.h).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/core/data/dtype.h"
#include "ops/binding.h"
#include "ops/exact_code.h"
#include "ops/exact_ties.h"
#include "ops/matmul/matmul.h"

namespace assay {
namespace {

constexpr double kLeastRest = 1e-6;
enum MatmulStream : uint64_t { kRows, kColumns, kC, kAddedBias };

std::optional<ExactCode> PlanTwin(const MatmulArgs& op, const Problem& problem, const Contract& contract, int variant) {
  if (contract.alg != Algorithm::kDirect) return std::nullopt;
  // Everything is a multiple of `unit`, so integers below 2^p in that unit are exact.
  const double unit = std::min({1.0, LowestBit(op.alpha), LowestBit(op.beta)});
  const double added = (op.beta != 0 ? std::abs(op.beta) * kLargestAddend : 0) + (op.bias ? kLargestAddend : 0);
  const double scale = std::max(1.0, std::abs(op.alpha));  // products may be scaled before or after they are summed
  const double held = std::ldexp(unit, TwinPartialBits(contract));
  const double shown = std::ldexp(unit, TwinOutputBits(problem.outputs[0].dtype));
  const int64_t limit = TwinInputLimit(problem.inputs[0].dtype, contract);
  const CodeBudget budget{.terms = op.gemm.k,
                          .first = limit,
                          .second = limit,
                          .partial = (held - added) / scale,
                          .result = (std::min(shown, held) - added) / scale,
                          .aim = ClimbingAim(contract),
                          .lowest = IsInt(problem.inputs[0].dtype)};
  if (variant == 1 && ShowsAllBits(contract, problem.outputs[0].dtype)) {
    if (auto climbing = ExactCode::PlanClimbing(budget)) return climbing;
  }
  return ExactCode::Plan(budget);
}

// r_i of all rows, or c_j of all columns.
std::vector<double> Factors(uint64_t stream, int64_t count, const ExactCode& code) {
  std::vector<double> factors(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) factors[i] = static_cast<double>(code.Factor(stream, i));
  return factors;
}

// One operand: factors[line] coded[k], in the order in which it lies in memory, a stretch of it at a time. `factors`
// are those of all matrices of the batch.
Tensor Coded(const Operand& operand, std::span<const double> factors, std::span<const double> coded, int64_t batch,
             bool along_k) {
  Tensor tensor(operand.dtype, operand.shape);
  const size_t lines = factors.size() / static_cast<size_t>(batch);
  std::vector<double> stretch(along_k ? coded.size() : lines);
  std::byte* to = tensor.data();
  const auto put = [&](double factor, std::span<const double> values) {
    std::ranges::transform(values, stretch.begin(), [&](double value) { return factor * value; });
    FromF64(operand.dtype, stretch, to);
    to += stretch.size() * static_cast<size_t>(SizeOf(operand.dtype));
  };
  for (int64_t matrix = 0; matrix < batch; ++matrix) {
    const auto own = factors.subspan(static_cast<size_t>(matrix) * lines, lines);
    if (along_k) {
      for (const double factor : own) put(factor, coded);
    } else {
      for (const double value : coded) put(value, own);
    }
  }
  return tensor;
}

// Signs such that nothing cancels against alpha a b > 0 or < 0: outputs stay away from zero. A climbing sum is larger
// than they are.
Tensor Addends(const Operand& operand, uint64_t stream, double factor, double alpha) {
  Tensor tensor(operand.dtype, operand.shape);
  const double sign = std::copysign(1.0, factor) * std::copysign(1.0, alpha);
  std::vector<double> values(static_cast<size_t>(tensor.size()));
  for (int64_t i = 0; i < tensor.size(); ++i)
    values[i] = sign * static_cast<double>(TwinFactor(stream, i, kLargestAddend));
  tensor.SetDoubles(values);
  return tensor;
}

// y without term k, when y - term is not to be had.
double SumWithout(const MatmulArgs& op, std::span<const Tensor> inputs, int64_t output, int64_t omitted) {
  const int64_t batch = op.BatchOf(output), row = op.RowsOfA(output) % op.gemm.m, column = op.ColumnOf(output);
  double sum = 0;
  for (int64_t k = 0; k < op.gemm.k; ++k) {
    if (k == omitted) continue;
    sum += ValueAt(inputs[0], op.OffsetInA(batch, row, k)) * ValueAt(inputs[1], op.OffsetInB(batch, k, column));
  }
  sum *= op.alpha;
  if (op.beta != 0) sum += op.beta * ValueAt(inputs[op.c_index()], output);
  if (op.bias) sum += ValueAt(inputs[op.bias_index()], column);
  return sum;
}

std::optional<TieCode> PlanTies(const MatmulArgs& op, const Problem& problem, const Contract& contract) {
  if (std::abs(op.alpha) != 1 || !PlanTwin(op, problem, contract, 0)) return std::nullopt;
  return TieCode::Plan(op.gemm.k, problem.inputs[0].dtype, problem.outputs[0].dtype, contract);
}

Tensor TiedRows(const Operand& operand, const MatmulArgs& op, const TieCode& code) {
  Tensor tensor(operand.dtype, operand.shape);
  std::vector<double> values(static_cast<size_t>(tensor.size()));
  const int64_t k = op.gemm.k, m = op.gemm.m;
  for (int64_t row = 0; row < op.gemm.batch * m; ++row) {
    for (int64_t term = 0; term < k; ++term) values[op.OffsetInA(row / m, row % m, term)] = code.Term(row, term);
  }
  tensor.SetDoubles(values);
  return tensor;
}

// Rows of a as TieCode has them, columns of b all 1 or all -1; what the epilogue adds is zero.
std::optional<Twin> TieTwin(const MatmulArgs& op, const Problem& problem, const Contract& contract) {
  const GemmShape& gemm = op.gemm;
  const std::optional<TieCode> code = PlanTies(op, problem, contract);
  if (!code) return std::nullopt;
  std::vector<double> signs(static_cast<size_t>(gemm.batch * gemm.n));  // of columns
  for (size_t i = 0; i < signs.size(); ++i) {
    signs[i] = static_cast<double>(2 * TwinFactor(kColumns, static_cast<int64_t>(i), 2) - 3);
  }
  Twin twin;
  twin.inputs.push_back(TiedRows(problem.inputs[0], op, *code));
  twin.inputs.push_back(
      Coded(problem.inputs[1], signs, std::vector(static_cast<size_t>(gemm.k), 1.0), gemm.batch, gemm.transb));
  for (const Operand& operand : std::span(problem.inputs).subspan(2)) {
    Tensor& zeros = twin.inputs.emplace_back(operand.dtype, operand.shape);
    std::fill_n(zeros.data(), zeros.size() * SizeOf(operand.dtype), std::byte{0});
  }
  for (int64_t i = 0; i < NumElements(problem.outputs[0].shape); ++i) {
    const double sign = signs[op.BatchOf(i) * gemm.n + op.ColumnOf(i)];
    twin.expected.push_back(op.alpha * sign * code->Rounded(op.RowsOfA(i)));
  }
  twin.code = DescribeTies("sums lie", contract);
  return twin;
}

}  // namespace

std::optional<Twin> MatmulTwin(const Problem& problem, const Contract& contract, int variant) {
  const MatmulArgs op(problem);
  if (variant == kTieVariant) return TieTwin(op, problem, contract);
  const std::optional<ExactCode> code = PlanTwin(op, problem, contract, variant);
  if (!code) return std::nullopt;
  const GemmShape& gemm = op.gemm;
  const std::vector<double> rows = Factors(kRows, gemm.batch * gemm.m, *code),
                            columns = Factors(kColumns, gemm.batch * gemm.n, *code);
  std::vector<double> first(static_cast<size_t>(gemm.k)), second(first.size());
  for (int64_t k = 0; k < gemm.k; ++k) {
    first[k] = static_cast<double>(code->First(k, variant));
    second[k] = static_cast<double>(code->Second(k, variant));
  }
  Twin twin;
  twin.inputs.push_back(Coded(problem.inputs[0], rows, first, gemm.batch, !gemm.transa));
  twin.inputs.push_back(Coded(problem.inputs[1], columns, second, gemm.batch, gemm.transb));
  if (op.beta != 0) twin.inputs.push_back(Addends(problem.inputs[op.c_index()], kC, op.beta, op.alpha));
  if (op.bias) twin.inputs.push_back(Addends(problem.inputs[op.bias_index()], kAddedBias, 1, op.alpha));

  const int64_t size = NumElements(problem.outputs[0].shape);
  const double sum = op.alpha * static_cast<double>(code->Sum(variant));
  twin.expected.resize(static_cast<size_t>(size));
  for (int64_t i = 0; i < size; ++i) {
    double y = sum * (rows[op.RowsOfA(i)] * columns[op.BatchOf(i) * gemm.n + op.ColumnOf(i)]);
    if (op.beta != 0) y += op.beta * ValueAt(twin.inputs[op.c_index()], i);
    if (op.bias) y += ValueAt(twin.inputs[op.bias_index()], op.ColumnOf(i));
    twin.expected[i] = y;
  }
  twin.terms = gemm.k;
  twin.terms_of = [op, code = *code, variant](int64_t i, double part) {
    const int64_t column = op.BatchOf(i) * op.gemm.n + op.ColumnOf(i);
    const int64_t factor = code.Factor(kRows, op.RowsOfA(i)) * code.Factor(kColumns, column);
    return code.TermsOf(part / (op.alpha * static_cast<double>(factor)), variant);
  };
  return twin;
}

int MatmulTwinVariants(const Problem& problem, const Contract& contract) {
  return PlanTies(MatmulArgs(problem), problem, contract) ? kTieVariant + 1 : kTieVariant;
}

std::vector<Mutant> MatmulOmittedTerms(const Problem& problem, std::span<const Tensor> inputs,
                                       std::span<const double> values, std::span<const int64_t> outputs) {
  const MatmulArgs op(problem);
  std::vector<Mutant> mutants;
  mutants.reserve(outputs.size() * kMostSampledTerms);
  for (int64_t output : outputs) {
    const int64_t batch = op.BatchOf(output), row = op.RowsOfA(output) % op.gemm.m, column = op.ColumnOf(output);
    for (int64_t k : SampledTerms(op.gemm.k, output)) {
      const double term = op.alpha * ValueAt(inputs[0], op.OffsetInA(batch, row, k)) *
                          ValueAt(inputs[1], op.OffsetInB(batch, k, column));
      if (term == 0) continue;  // omitting nothing is no fault
      // Where nearly nothing is left, the difference has lost its digits.
      const double rest = values[output] - term;
      const bool plain = std::isfinite(rest) && std::abs(rest) >= kLeastRest * std::abs(term);
      const double value = plain ? rest : SumWithout(op, inputs, output, k);
      if (!plain && std::isnan(values[output]) && std::isnan(value)) continue;
      mutants.push_back({output, value, k});
    }
  }
  return mutants;
}

}  // namespace assay
