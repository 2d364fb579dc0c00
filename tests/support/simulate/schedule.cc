// SPDX-License-Identifier: Apache-2.0
#include "tests/support/simulate/schedule.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "harness/core/data/fill/rng.h"
#include "harness/core/data/infinity.h"

namespace assay::test {
namespace {

double FlushBelow(double x, double min_normal) {
  return std::abs(x) < min_normal ? std::copysign(0.0, x) : x;
}

// RoundTo, by conversions of the processor where it has them: simulations round some billions of numbers.
double RoundToType(DType type, double x) {
  if (type == DType::kF64) return x;
  return type == DType::kF32 ? static_cast<double>(static_cast<float>(x)) : RoundTo(FormatOf(type), x);
}

std::vector<int64_t> Arrange(int64_t n, const Schedule& schedule) {
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), int64_t{0});
  if (schedule.order == Order::kReverse) std::ranges::reverse(order);
  if (schedule.order != Order::kRandom && schedule.order != Order::kLanes) return order;
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
  double Lanes(std::span<const int64_t> order, uint64_t seed) const {
    const RandomStream random(seed, 98);
    const size_t count = 1 + random.Below(0, order.size());
    std::vector<double> lanes;
    for (size_t lane = 0; lane < count; ++lane) {
      std::vector<int64_t> own;
      for (size_t i = lane; i < order.size(); i += count) own.push_back(order[i]);
      lanes.push_back(Chain(own));
    }
    for (; lanes.size() > 1; lanes.pop_back()) {
      double& other = lanes[random.Below(lanes.size(), lanes.size() - 1)];
      other = join(lanes.back(), other);
    }
    return lanes[0];
  }
  double Run(const Schedule& schedule, int64_t n) const {
    const std::vector<int64_t> order = Arrange(n, schedule);
    const auto size = static_cast<size_t>(n);
    if (schedule.order == Order::kPairwise) return Pairwise(order);
    if (schedule.order == Order::kBlocked) return Parts(order, 16);
    if (schedule.order == Order::kLanes) return Lanes(order, schedule.seed);
    if (schedule.order == Order::kSplit) return Parts(order, (size + 3) / 4);
    return Chain(order);
  }
};

// A matrix unit: every product of a block, and the running sum, cut to F bits below the largest exponent; their sum
// cut to f32. `term(k)` gives the factors, which are finite.
template <class Term>
double TruncatingSum(std::span<const int64_t> order, const Arithmetic& unit, Term&& term) {
  double sum = 0;
  const auto block = static_cast<size_t>(unit.unit_block);
  for (size_t start = 0; start < order.size(); start += block) {
    const std::span<const int64_t> terms = order.subspan(start, std::min(block, order.size() - start));
    int exponent = sum == 0 ? -1000 : std::ilogb(sum);
    for (const int64_t k : terms) {
      const auto [x, y] = term(k);
      if (x * y != 0) exponent = std::max(exponent, std::ilogb(x) + std::ilogb(y));
    }
    const double quantum = std::ldexp(1.0, exponent - unit.unit_bits);
    sum = std::trunc(sum / quantum) * quantum;
    for (const int64_t k : terms) sum += std::trunc(term(k).first * term(k).second / quantum) * quantum;
    const double spacing = UlpAt(FormatOf(DType::kF32), sum);
    sum = std::trunc(sum / spacing) * spacing;
  }
  return sum;
}

}  // namespace

double RoundOperand(InputRounding rounding, double x) {
  if (rounding == InputRounding::kExact || !std::isfinite(x) || x == 0) return x;
  const double bf16 = RoundTo(FormatOf(DType::kBF16), x);
  const double unit = std::ldexp(1.0, std::max(std::ilogb(x), -126) - 10);  // of tf32
  switch (rounding) {
    case InputRounding::kBF16:
      return bf16;
    case InputRounding::kBF16x3:
      return std::isinf(bf16) ? bf16 : x;
    case InputRounding::kTF32RZ:
      return std::trunc(x / unit) * unit;
    case InputRounding::kTF32RN: {
      const double rounded = std::nearbyint(x / unit) * unit;
      return std::abs(rounded) < 0x1p128 ? rounded : std::copysign(kInfinity, x);
    }
    default:
      return x;
  }
}

std::vector<Schedule> AllSchedules(uint64_t seed) {
  std::vector<Schedule> all;
  for (Order order : kOrders) {
    all.push_back({order, false, seed});
    all.push_back({order, true, seed});
  }
  return all;
}

double Arithmetic::Round(double x) const {
  const double rounded = RoundToType(format, x);
  return flush_out ? FlushBelow(rounded, FormatOf(format).MinNormal()) : rounded;
}

double Arithmetic::In(DType type, double x) const {
  return flush_in && IsFloat(type) ? FlushBelow(x, FormatOf(type).MinNormal()) : x;
}

double Arithmetic::Operand(DType type, double x) const {
  return IsFloat(type) ? RoundOperand(in, In(type, x)) : x;
}

double Arithmetic::Out(DType type, double x) const {
  if (IsInt(type)) return x;
  const FloatFormat& format_out = FormatOf(type);
  double rounded = RoundToType(type, x);
  if (toward_zero && std::isfinite(x) && !(std::abs(rounded) <= std::abs(x))) {
    const double below = std::isfinite(rounded) ? std::abs(rounded) - UlpAt(format_out, x) : format_out.max_finite;
    rounded = std::copysign(below, x);
  }
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
  unit.flush_in = contract.FlushesInputs();
  unit.flush_out = contract.ftz == Flush::kOut || contract.ftz == Flush::kAll;
  unit.in = contract.in;
  unit.toward_zero = contract.out == OutputRounding::kTowardZero;
  if (contract.acc == Accumulator::kTensorCore) {
    unit.unit_bits = contract.tc_bits;
    unit.unit_block = contract.tc_block;
  }
  return unit;
}

double Sum(std::span<const double> a, std::span<const double> b, const Schedule& schedule, const Arithmetic& unit) {
  const auto factor = [&](int64_t k) { return b.empty() ? 1.0 : b[k]; };
  if (unit.unit_block > 0) {
    const auto order = Arrange(std::ssize(a), schedule);
    return TruncatingSum(order, unit, [&](int64_t k) { return std::pair(a[k], factor(k)); });
  }
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

}  // namespace assay::test
