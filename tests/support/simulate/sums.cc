// SPDX-License-Identifier: Apache-2.0
#include "tests/support/simulate/sums.h"

#include <cmath>

#include "ops/binding.h"
#include "ops/matmul/matmul.h"
#include "ops/reduce/reduce.h"

namespace assay::test {

std::vector<double> RunMatmul(const Problem& problem, std::span<const Tensor> inputs, const Schedule& schedule,
                              const Arithmetic& unit) {
  const MatmulArgs op(problem);
  const DType in = problem.inputs[0].dtype, out = problem.outputs[0].dtype;
  std::vector<double> y(static_cast<size_t>(NumElements(problem.outputs[0].shape)));
  std::vector<double> a(static_cast<size_t>(op.gemm.k));
  std::vector<std::vector<double>> columns(static_cast<size_t>(op.gemm.n), a);  // of b, as a is a row
  for (int64_t i = 0; i < std::ssize(y); ++i) {
    const int64_t row = op.RowsOfA(i) % op.gemm.m, column = op.ColumnOf(i);
    std::vector<double>& b = columns[static_cast<size_t>(column)];
    for (int64_t k = 0; k < op.gemm.k; ++k) {
      if (column == 0) a[k] = unit.Operand(in, ValueAt(inputs[0], op.OffsetInA(op.BatchOf(i), row, k)));
      if (row == 0) b[k] = unit.Operand(in, ValueAt(inputs[1], op.OffsetInB(op.BatchOf(i), k, column)));
    }
    double sum = Sum(a, b, schedule, unit);
    if (op.rounded) sum = unit.Out(out, sum);
    if (op.alpha != 1) sum = unit.Mul(unit.Round(op.alpha), sum);
    if (op.beta != 0) {
      const double c = unit.In(out, ValueAt(inputs[op.c_index()], i)), beta = unit.Round(op.beta);
      sum = schedule.fma ? unit.Fma(beta, c, sum) : unit.Add(sum, unit.Mul(beta, c));
    }
    if (op.bias) sum = unit.Add(sum, unit.In(out, ValueAt(inputs[op.bias_index()], op.ColumnOf(i))));
    y[i] = unit.Out(out, sum);
  }
  return y;
}

namespace {

double LogSumExpOf(std::span<const double> x, const Schedule& schedule, const Arithmetic& unit) {
  double max = -HUGE_VAL;
  for (double v : x) max = std::isnan(v) || v > max ? v : max;
  if (!std::isfinite(max)) return max;
  std::vector<double> terms;
  for (double v : x) terms.push_back(unit.Round(std::exp(unit.Add(v, -max))));
  return unit.Add(max, unit.Round(std::log(Sum(terms, {}, schedule, unit))));
}

double ReduceRow(const ReduceArgs& op, std::span<const double> x, const Schedule& schedule, const Arithmetic& unit) {
  const auto count = static_cast<double>(op.terms);
  switch (op.kind) {
    case ReduceKind::kSum:
      return Sum(x, {}, schedule, unit);
    case ReduceKind::kMean:  // with FMA: by the reciprocal
      return schedule.fma ? unit.Mul(Sum(x, {}, schedule, unit), unit.Round(1 / unit.Round(count)))
                          : unit.Round(Sum(x, {}, schedule, unit) / unit.Round(count));
    case ReduceKind::kProd:
      return Product(x, schedule, unit);
    case ReduceKind::kL2:
      return unit.Round(std::sqrt(Sum(x, x, schedule, unit)));
    case ReduceKind::kLogSumExp:
      return LogSumExpOf(x, schedule, unit);
    default: {
      const int64_t selected = SelectedTerm(op, x);
      return IsArg(op.kind) ? static_cast<double>(selected) : x[selected];
    }
  }
}

}  // namespace

std::vector<double> RunReduce(const Problem& problem, std::span<const Tensor> inputs, const Schedule& schedule,
                              const Arithmetic& unit) {
  const ReduceArgs op(problem);
  const DType in = problem.inputs[0].dtype;
  std::vector<double> y;
  for (int64_t row = 0; row < op.rows; ++row) {
    std::vector<double> x = op.Row(inputs[0], row);
    for (double& value : x) value = unit.Operand(in, value);
    y.push_back(unit.Out(problem.outputs[0].dtype, ReduceRow(op, x, schedule, unit)));
  }
  return y;
}

}  // namespace assay::test
