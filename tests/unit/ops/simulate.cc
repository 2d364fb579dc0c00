// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/ops/simulate.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "harness/data/fill/rng.h"
#include "ops/binding.h"
#include "ops/matmul/matmul.h"
#include "ops/reduce/reduce.h"

namespace assay::test {
namespace {

double FlushBelow(double x, double min_normal) {
  return std::abs(x) < min_normal ? std::copysign(0.0, x) : x;
}

std::vector<int64_t> Arrange(int64_t n, const Schedule& schedule) {
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), int64_t{0});
  if (schedule.order == Order::kReverse) std::ranges::reverse(order);
  if (schedule.order != Order::kRandom) return order;
  const RandomStream random(schedule.seed, 99);
  for (int64_t i = n - 1; i > 0; --i) std::swap(order[i], order[random.Below(i, i + 1)]);
  return order;
}

// Combines order[begin, end) with `step(accumulated, k)` from `start(k)`, and parts with `join`.
struct Reduction {
  std::function<double(int64_t)> start;
  std::function<double(double, int64_t)> step;
  std::function<double(double, double)> join;

  double Chain(std::span<const int64_t> order) const {
    double sum = start(order[0]);
    for (size_t i = 1; i < order.size(); ++i) sum = step(sum, order[i]);
    return sum;
  }
  double Pairwise(std::span<const int64_t> order) const {
    if (order.size() <= 2) return Chain(order);
    const size_t half = order.size() / 2;
    return join(Pairwise(order.first(half)), Pairwise(order.subspan(half)));
  }
  double Parts(std::span<const int64_t> order, size_t width) const {
    double sum = 0;
    for (size_t begin = 0; begin < order.size(); begin += width) {
      const double part = Chain(order.subspan(begin, std::min(width, order.size() - begin)));
      sum = begin == 0 ? part : join(sum, part);
    }
    return sum;
  }
  double Run(const Schedule& schedule, int64_t n) const {
    const std::vector<int64_t> order = Arrange(n, schedule);
    const auto size = static_cast<size_t>(n);
    if (schedule.order == Order::kPairwise) return Pairwise(order);
    if (schedule.order == Order::kBlocked) return Parts(order, 16);
    if (schedule.order == Order::kSplit) return Parts(order, (size + 3) / 4);
    return Chain(order);
  }
};

}  // namespace

std::vector<Schedule> AllSchedules(uint64_t seed) {
  std::vector<Schedule> all;
  for (Order order : kOrders) {
    all.push_back({order, false, seed});
    all.push_back({order, true, seed});
  }
  return all;
}

double Arithmetic::Round(double x) const {
  const double rounded = RoundTo(FormatOf(format), x);
  return flush_out ? FlushBelow(rounded, FormatOf(format).MinNormal()) : rounded;
}

double Arithmetic::In(DType type, double x) const {
  return flush_in && IsFloat(type) ? FlushBelow(x, FormatOf(type).MinNormal()) : x;
}

double Arithmetic::Out(DType type, double x) const {
  if (IsInt(type)) return x;
  const double rounded = RoundTo(FormatOf(type), x);
  return flush_out ? FlushBelow(rounded, FormatOf(type).MinNormal()) : rounded;
}

double Arithmetic::Fma(double x, double y, double z) const {
  return format == DType::kF64 ? Round(std::fma(x, y, z)) : Round(x * y + z);
}

Arithmetic ArithmeticOf(const Contract& contract) {
  Arithmetic unit;
  unit.format = contract.acc == Accumulator::kF64 || contract.acc == Accumulator::kI32 ? DType::kF64
                : contract.acc == Accumulator::kF16                                    ? DType::kF16
                : contract.acc == Accumulator::kBF16                                   ? DType::kBF16
                                                                                       : DType::kF32;
  unit.flush_in = contract.ftz == Flush::kIn || contract.ftz == Flush::kAll;
  unit.flush_out = contract.ftz == Flush::kOut || contract.ftz == Flush::kAll;
  return unit;
}

double Sum(std::span<const double> a, std::span<const double> b, const Schedule& schedule, const Arithmetic& unit) {
  const auto factor = [&](int64_t k) { return b.empty() ? 1.0 : b[k]; };
  const Reduction reduction{.start = [&](int64_t k) { return unit.Mul(a[k], factor(k)); },
                            .step =
                                [&](double sum, int64_t k) {
                                  return schedule.fma ? unit.Fma(a[k], factor(k), sum)
                                                      : unit.Add(sum, unit.Mul(a[k], factor(k)));
                                },
                            .join = [&](double x, double y) { return unit.Add(x, y); }};
  return reduction.Run(schedule, std::ssize(a));
}

double Product(std::span<const double> a, const Schedule& schedule, const Arithmetic& unit) {
  const Reduction reduction{.start = [&](int64_t k) { return unit.Round(a[k]); },
                            .step = [&](double product, int64_t k) { return unit.Mul(product, a[k]); },
                            .join = [&](double x, double y) { return unit.Mul(x, y); }};
  return reduction.Run(schedule, std::ssize(a));
}

std::vector<double> RunMatmul(const Problem& problem, std::span<const Tensor> inputs, const Schedule& schedule,
                              const Arithmetic& unit) {
  const MatmulCase op(problem);
  const DType in = problem.inputs[0].dtype, out = problem.output.dtype;
  std::vector<double> y(static_cast<size_t>(NumElements(problem.output.shape)));
  std::vector<double> a(static_cast<size_t>(op.gemm.k)), b(a.size());
  for (int64_t i = 0; i < std::ssize(y); ++i) {
    for (int64_t k = 0; k < op.gemm.k; ++k) {
      a[k] = unit.In(in, ValueAt(inputs[0], op.OffsetInA(op.BatchOf(i), op.RowsOfA(i) % op.gemm.m, k)));
      b[k] = unit.In(in, ValueAt(inputs[1], op.OffsetInB(op.BatchOf(i), k, op.ColumnOf(i))));
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

double ReduceRow(const ReduceCase& op, std::span<const double> x, const Schedule& schedule, const Arithmetic& unit) {
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
  const ReduceCase op(problem);
  const DType in = problem.inputs[0].dtype;
  std::vector<double> y;
  for (int64_t row = 0; row < op.rows; ++row) {
    std::vector<double> x = op.Row(inputs[0], row);
    for (double& value : x) value = unit.In(in, value);
    y.push_back(unit.Out(problem.output.dtype, ReduceRow(op, x, schedule, unit)));
  }
  return y;
}

}  // namespace assay::test
