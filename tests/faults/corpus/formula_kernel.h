// SPDX-License-Identifier: Apache-2.0
// A formula as a plain kernel computes it in T, one number after the other, with at most one bug. It is a machine of
// tests/support/formula/interpret.h and shares no code with the evaluation that golden values come from, but for the
// C library's functions.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "ops/formula/functions.h"
#include "ops/formula/graph.h"
#include "ops/formula/library_functions.h"
#include "tests/faults/corpus/arithmetic.h"
#include "tests/support/formula/interpret.h"

namespace corpus {

// Kind of bug at one node.
enum class BugKind : uint8_t {
  kNone,
  kSkipsTerm,    // of a reduction: at `numerator` fourths of its terms; the last one at 4
  kSkipsTail,    // of a reduction: what remains beyond whole vectors of 16
  kNarrowSum,    // running sums, products and carries are kept in bf16
  kNarrowValue,  // results of the node are kept in bf16
  kFewBits,      // results of the node have 12 bits, as approximations of functions have
  kForgets,      // of a recurrence: begins anew every 16 steps
  kSkipsRank,    // of a selection: the second rank is overlooked, or stands behind the third
  kBlindToNan,   // of a selection: comparisons with NaN are false; of others: they go on as if there were none,
                 // functions give 0
  kNextPlace,    // of numbers at places: the next one, and the first instead of what lies beyond the last
  kTruncates,    // of quotients of integers: without their fraction, towards zero
  kLastWins,     // of numbers that are added at places: only the last of a place counts
  // Bugs of powers whose base is -infinity, -0 or -1:
  kOddPowerPositive,   // of -infinity by an odd number above zero
  kEvenPowerNegative,  // of -infinity by an even number above zero
  kOddInverseNan,      // of -infinity by an odd number below zero
  kEvenInverseNan,     // of -infinity by an even number below zero
  kOddPolePositive,    // of -0 by an odd number below zero
  kEvenPoleNegative,   // of -0 by an even number below zero
  kUnitPowerNan,       // of -1 by an infinity
};

struct Bug {
  BugKind kind = BugKind::kNone;
  int node = -1;
  int numerator = 0;
};

template <class T>
class FormulaKernel {
 public:
  using Number = T;
  FormulaKernel(const assay::formula::Graph& graph, const Bug& bug) : graph_(&graph), bug_(bug) {}

  static T Input(int, double value) { return static_cast<T>(value); }
  static T Constant(double value) { return static_cast<T>(value); }
  bool IsLarger(const assay::formula::Node& node, T a, T b) const {
    return std::isnan(a) && !Is(node, BugKind::kBlindToNan) ? !std::isnan(b) : a > b;
  }
  size_t Rank(const assay::formula::Node& node, size_t rank, size_t numbers) const {
    if (!Is(node, BugKind::kSkipsRank) || rank == 0) return rank;
    const auto ranks = static_cast<size_t>(graph_->Extent(node.axis));
    if (ranks < numbers) return rank + 1;
    return rank == 1 && ranks > 2 ? 2 : rank == 2 ? 1 : rank;
  }
  static int64_t PlaceOf(T x) { return static_cast<int64_t>(x); }
  int64_t Gathered(const assay::formula::Node& node, int64_t place) const {
    return Is(node, BugKind::kNextPlace) ? (place + 1) % graph_->Extent(node.from_axis) : place;
  }
  T Store(const assay::formula::Node&, T x) const { return x; }

  T Map(const assay::formula::Node& node, std::span<const T* const> x) const {
    const auto is_nan = [](const T* operand) { return std::isnan(*operand); };
    if (Is(node, BugKind::kBlindToNan) && std::ranges::any_of(x, is_nan)) return T{0};
    if (Is(node, BugKind::kTruncates)) return std::trunc(*x[0] / *x[1]);
    const T value = Struck(node, Value(node, x));
    return MeetsWrongPower(node, x) ? WrongPower(value) : value;
  }

  T Reduce(const assay::formula::Node& node, const std::vector<const T*>& terms) const {
    if (Is(node, BugKind::kLastWins) && terms.size() > 1) return *terms.front() + *terms.back();
    T result = 0;
    bool first = true;
    for (size_t k = 0; k < terms.size(); ++k) {
      if (Skips(node, k, terms.size())) continue;
      if (Is(node, BugKind::kBlindToNan) && std::isnan(*terms[k])) continue;
      result = first ? *terms[k] : Kept(node, Joined(node, result, *terms[k]));
      first = false;
    }
    return Struck(node, result);
  }

  T Step(const assay::formula::Node& node, const T* a, const T* h, T b, int64_t t) const {
    const bool begins = Is(node, BugKind::kForgets) && t % 16 == 0;
    if (h == nullptr || begins || (Is(node, BugKind::kBlindToNan) && std::isnan(*h))) return b;
    return Kept(node, (a == nullptr ? *h : *a * *h) + b);
  }

 private:
  bool Is(const assay::formula::Node& node, BugKind kind) const {
    return bug_.kind == kind && bug_.node >= 0 && &node == &graph_->nodes[static_cast<size_t>(bug_.node)];
  }
  bool Skips(const assay::formula::Node& node, size_t k, size_t terms) const {
    if (Is(node, BugKind::kSkipsTail)) return terms > 16 && k >= terms / 16 * 16;
    if (!Is(node, BugKind::kSkipsTerm) || terms < 2) return false;
    return k == std::min(terms - 1, terms * static_cast<size_t>(bug_.numerator) / 4);
  }
  // Whether the bug is about such a power.
  bool MeetsWrongPower(const assay::formula::Node& node, std::span<const T* const> x) const {
    if (node.function != assay::formula::Function::kPow || !Is(node, bug_.kind)) return false;
    const T base = *x[0], exponent = *x[1], half = exponent / 2;
    const bool is_integer = std::isfinite(exponent) && exponent == std::floor(exponent);
    const bool is_even = is_integer && half == std::floor(half), is_odd = is_integer && !is_even;
    const bool is_infinite = std::isinf(base) && base < 0, is_zero = base == 0 && std::signbit(base);
    switch (bug_.kind) {
      case BugKind::kOddPowerPositive:
        return is_infinite && is_odd && exponent > 0;
      case BugKind::kEvenPowerNegative:
        return is_infinite && is_even && exponent > 0;
      case BugKind::kOddInverseNan:
        return is_infinite && is_odd && exponent < 0;
      case BugKind::kEvenInverseNan:
        return is_infinite && is_even && exponent < 0;
      case BugKind::kOddPolePositive:
        return is_zero && is_odd && exponent < 0;
      case BugKind::kEvenPoleNegative:
        return is_zero && is_even && exponent < 0;
      case BugKind::kUnitPowerNan:
        return base == -1 && std::isinf(exponent);
      default:
        return false;
    }
  }
  // Negates an infinite result; replaces any other by NaN.
  static T WrongPower(T right) { return std::isinf(right) ? -right : std::numeric_limits<T>::quiet_NaN(); }
  T Kept(const assay::formula::Node& node, T x) const {
    return Is(node, BugKind::kNarrowSum) ? RoundedTo<plugin::BF16>(x) : x;
  }
  T Struck(const assay::formula::Node& node, T x) const {
    if (Is(node, BugKind::kNarrowValue)) return RoundedTo<plugin::BF16>(x);
    return Is(node, BugKind::kFewBits) ? RoundedToBits(12, x) : x;
  }

  static T Joined(const assay::formula::Node& node, T a, T b) {
    using assay::formula::Kind;
    if (node.kind == Kind::kProd) return a * b;
    if (node.kind == Kind::kSum || node.kind == Kind::kScatterAdd) return a + b;
    if (std::isnan(a) || std::isnan(b)) return a + b;
    return node.kind == Kind::kMax ? std::max(a, b) : std::min(a, b);
  }

  static T Value(const assay::formula::Node& node, std::span<const T* const> x) {
    using assay::formula::Function;
    const T a = *x[0], b = x.size() > 1 ? *x[1] : T{0};
    switch (node.function) {
      case Function::kAdd:
        return a + b;
      case Function::kSub:
        return a - b;
      case Function::kMul:
        return a * b;
      case Function::kDiv:
        return a / b;
      case Function::kNegate:
        return -a;
      case Function::kAbs:
        return std::fabs(a);
      case Function::kMaximum:
        return std::isnan(a) || std::isnan(b) ? a + b : std::max(a, b);
      case Function::kMinimum:
        return std::isnan(a) || std::isnan(b) ? a + b : std::min(a, b);
      case Function::kLess:
        return a < b ? 1 : 0;
      case Function::kLessEqual:
        return a <= b ? 1 : 0;
      case Function::kEqual:
        return a == b ? 1 : 0;
      case Function::kAnd:
        return a != 0 && b != 0 ? 1 : 0;
      case Function::kOr:
        return a != 0 || b != 0 ? 1 : 0;
      case Function::kSelect:
        return a != 0 ? b : *x[2];
      case Function::kSqrt:
        return std::sqrt(a);
      case Function::kRsqrt:
        return 1 / std::sqrt(a);
      case Function::kExp:
        return std::exp(a);
      case Function::kOneMinusTanh:
        return 1 + std::tanh(-a);
      case Function::kOneMinusErf:
        return 1 + std::erf(-a);
      case Function::kPow:
        return std::pow(a, b);
      case Function::kSigmoid:
        return 1 / (1 + std::exp(-a));
      case Function::kFloorDivide:
        return std::floor(a / b);
      case Function::kNearest:
        return std::nearbyint(a);
      default:
        return static_cast<T>(assay::formula::InDouble(node.function, a));
    }
  }

  const assay::formula::Graph* graph_;
  Bug bug_;
};

}  // namespace corpus
