// SPDX-License-Identifier: Apache-2.0
// Twins of l2 and logsumexp. A result that is v equal terms changes relatively by 1 / (2 v), absolutely by 1 / v when
// one is missing: beside too many terms none can be told. Where all K of a row are too many, each variant shows v of
// them in turn, the rest are 0 or -inf, and the variants together show all:
//   l2         r^2 ones, so that the result is r to the bit wherever the root's error disappears in the output's
//              rounding; of short rows all terms, 1 and 2, a perfect square where one is possible
//   logsumexp  v terms of level -ln v rounded, so that the result is near zero and 1 / v shows in it. Exponentials of
//              zero and their sum are exact where math <= 1, as in softmax; else off by what the contract permits
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "golden/bound/bound.h"
#include "harness/core/data/infinity.h"
#include "ops/binding.h"
#include "ops/exact_code.h"
#include "ops/reduce/reduce.h"

namespace assay {
namespace {

constexpr int64_t kMostWindows = 16;  // each is one more execution

// How many of the row's terms a variant shows, and how far off a right result may be.
struct TermWindow {
  int64_t shown = 0;
  double tolerance_ulp = 0;
};

int64_t WindowsOf(const ReduceArgs& op, const TermWindow& window) {
  return (op.terms + window.shown - 1) / window.shown;
}

// Whether a row of the variant that shows this many has term k among them. The last window reaches back.
bool Shows(const ReduceArgs& op, const TermWindow& window, int variant, int64_t shown, int64_t k) {
  const int64_t begin = std::min(variant * window.shown, op.terms - shown);
  return k >= begin && k < begin + shown;
}

std::string WindowText(const ReduceArgs& op, const TermWindow& window, int variant) {
  if (window.shown == op.terms) return {};
  const int64_t begin = std::min(variant * window.shown, op.terms - window.shown);
  return fmt::format("; of terms {} to {}", begin, begin + window.shown - 1);
}

// How many of K terms of l2's twin are 2, the others 1, so that K + 3 n is a perfect square; nullopt: no such n.
std::optional<int64_t> TwosForSquare(int64_t terms) {
  for (auto root = static_cast<int64_t>(std::sqrt(1.5 * static_cast<double>(terms))); root * root <= 4 * terms;
       ++root) {
    const int64_t rest = root * root - terms;
    if (rest >= 0 && rest % 3 == 0) return rest / 3;
  }
  return std::nullopt;
}

// How far the root of `square` may be off so that a result that lacks a 1 still differs; nullopt: it would not.
std::optional<double> RootTolerance(const Contract& contract, DType out, double square) {
  const FloatFormat& format = FormatOf(out);
  const double root = std::sqrt(square), without = std::sqrt(square - 1), ulp = UlpAt(format, root);
  if (root == std::floor(root) && RoundTo(format, root) == root && contract.out == OutputRounding::kNearest) {
    const double error = std::max(contract.math_ulp, 0.5) * 2 * contract.AccUnitRoundoff();
    const double half_below = UlpAt(format, std::nextafter(root, 0.0)) / 2;
    const bool exact = contract.math_ulp == 0 || root * error < half_below;
    if (exact && without * (1 + error) < root - half_below) return 0;
  }
  const double tolerance = FinalTolerance(contract, out, std::max(contract.math_ulp, 0.5));
  if (root - without >= kTwinDetectable * tolerance * ulp) return tolerance;
  return std::nullopt;
}

// All of a row's terms, 1 and 2.
struct Squares {
  int64_t twos = 0;
  double total = 0, tolerance_ulp = 0;
};

std::optional<Squares> PlanSquares(const ReduceArgs& op, const Problem& problem, const Contract& contract) {
  Squares plan{.twos = TwosForSquare(op.terms).value_or(op.terms / 4)};
  plan.total = static_cast<double>(op.terms + 3 * plan.twos);
  // Four times the total: scaled by a maximum of 2, squares are multiples of 1/4.
  if (4 * plan.total >= std::ldexp(1.0, TwinPartialBits(contract)) ||
      TwinInputLimit(problem.inputs[0].dtype, contract) < 2) {
    return std::nullopt;
  }
  const std::optional<double> tolerance = RootTolerance(contract, problem.outputs[0].dtype, plan.total);
  if (!tolerance) return std::nullopt;
  plan.tolerance_ulp = *tolerance;
  return plan;
}

std::optional<TermWindow> PlanOnes(const ReduceArgs& op, const Problem& problem, const Contract& contract) {
  for (int64_t windows = 1; windows <= kMostWindows; ++windows) {
    const auto root = static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(op.terms) / windows)));
    const int64_t shown = root * root;
    if (shown > op.terms || static_cast<double>(shown) >= std::ldexp(1.0, TwinPartialBits(contract))) continue;
    const auto tolerance = RootTolerance(contract, problem.outputs[0].dtype, static_cast<double>(shown));
    if (tolerance) return TermWindow{shown, *tolerance};
  }
  return std::nullopt;
}

Twin SquaresTwin(const ReduceArgs& op, const Problem& problem, const Squares& plan, int variant) {
  // Spread evenly by a stride that visits every term once, rotated by row and variant.
  const auto term = [&](int64_t row, int64_t k) {
    const int64_t place = (k + row * 7 + variant * 3) % op.terms;
    return (place + 1) * plan.twos / op.terms != place * plan.twos / op.terms ? 2.0 : 1.0;
  };
  Twin twin;
  twin.inputs.push_back(FillRows(op, problem.inputs[0], term));
  twin.expected.assign(static_cast<size_t>(op.rows), std::sqrt(plan.total));
  twin.tolerance_ulp = plan.tolerance_ulp;
  twin.code = "one missing term x = sqrt(expected^2 - got^2), 1 or 2";
  return twin;
}

// v terms of -ln v as their type holds it, among others of -inf.
struct Level {
  double x = 0, error = 0;  // error: of the result of an exact sum, before the output is rounded
};

double LogOf(int64_t count) {
  return std::log(static_cast<double>(count));
}

Level LevelOf(const Problem& problem, const Contract& contract, int64_t shown) {
  const DType in = problem.inputs[0].dtype;
  const double logarithm = LogOf(shown);
  // Precision that the contract's rounding of inputs keeps.
  const int bits = std::min(TwinInputBits(in, contract), 24);
  const double grain = std::ldexp(1.0, std::ilogb(logarithm) + 1 - bits);
  Level level{.x = -RoundTo(FormatOf(in), std::round(logarithm / grain) * grain)};
  const double u = 2 * contract.AccUnitRoundoff(), eps = std::max(contract.math_ulp, 0.5) * u;
  const double flushed = contract.ftz == Flush::kNone ? 0 : FormatOf(problem.outputs[0].dtype).MinNormal();
  level.error = (eps + u) * (LogOf(shown + 1) + std::abs(level.x)) + flushed;
  return level;
}

// Every other row of a window shows one term more: else a constant would be right for all of them.
int64_t ShownIn(const ReduceArgs& op, const TermWindow& window, int64_t row) {
  return window.shown == op.terms ? op.terms : window.shown + row % 2;
}

// Relative error of a sum of `shown` exponentials; 0 if every order gives the same bits.
double LevelSumError(const Contract& contract, int64_t shown, int64_t terms) {
  const bool plain = contract.mid == Intermediate::kNone && contract.acc != Accumulator::kTensorCore;
  const bool exact = plain && contract.math_ulp <= 1 && std::log2(shown) < contract.AccExactBits();
  if (exact) return 0;
  // The bound of this very input: x - m is 0, or -inf, whose exponential is 0; no term is larger than another one.
  return plain || shown == terms ? LogOfSumError(contract, static_cast<double>(terms), 0) : kInfinity;
}

// Tolerance of a row that shows this many terms, in ulp of the output.
double LevelTolerance(const ReduceArgs& op, const Problem& problem, const Contract& contract, const Level& level,
                      int64_t shown) {
  const double ulp = UlpAt(FormatOf(problem.outputs[0].dtype), LogOf(shown) + level.x);
  return (level.error + LevelSumError(contract, shown, op.terms)) / ulp + (contract.RoundsToNearest() ? 0.5 : 1.0);
}

std::optional<TermWindow> PlanLevels(const ReduceArgs& op, const Problem& problem, const Contract& contract) {
  for (int64_t windows = 1; windows <= kMostWindows; ++windows) {
    const TermWindow window{(op.terms + windows - 1) / windows};
    if (window.shown < 2) break;  // nothing would be left of it
    const Level level = LevelOf(problem, contract, window.shown);
    const auto seen = [&](int64_t row) {
      const int64_t shown = ShownIn(op, window, row);
      const double ulp = UlpAt(FormatOf(problem.outputs[0].dtype), LogOf(shown) + level.x);
      const double effect = -std::log1p(-1 / static_cast<double>(shown));
      return effect >= kTwinDetectable * LevelTolerance(op, problem, contract, level, shown) * ulp;
    };
    if (seen(0) && seen(1)) return window;
  }
  return std::nullopt;
}

}  // namespace

int WindowTwinVariants(const Problem& problem, const Contract& contract) {
  const ReduceArgs op(problem);
  const bool l2 = op.kind == ReduceKind::kL2;
  if (l2 && PlanSquares(op, problem, contract)) return 2;
  const auto window = l2 ? PlanOnes(op, problem, contract) : PlanLevels(op, problem, contract);
  return window ? static_cast<int>(WindowsOf(op, *window)) : 0;
}

std::optional<Twin> L2Twin(const Problem& problem, const Contract& contract, int variant) {
  const ReduceArgs op(problem);
  if (const auto plan = PlanSquares(op, problem, contract)) return SquaresTwin(op, problem, *plan, variant);
  const std::optional<TermWindow> window = PlanOnes(op, problem, contract);
  if (!window) return std::nullopt;
  Twin twin;
  twin.inputs.push_back(FillRows(op, problem.inputs[0], [&](int64_t, int64_t k) {
    return Shows(op, *window, variant, window->shown, k) ? 1.0 : 0.0;
  }));
  twin.expected.assign(static_cast<size_t>(op.rows), std::sqrt(static_cast<double>(window->shown)));
  twin.tolerance_ulp = window->tolerance_ulp;
  twin.code = "terms that arrived = got^2" + WindowText(op, *window, variant);
  return twin;
}

std::optional<Twin> LogSumExpTwin(const Problem& problem, const Contract& contract, int variant) {
  const ReduceArgs op(problem);
  const std::optional<TermWindow> window = PlanLevels(op, problem, contract);
  if (!window) return std::nullopt;
  const Level level = LevelOf(problem, contract, window->shown);
  Twin twin;
  twin.inputs.push_back(FillRows(op, problem.inputs[0], [&](int64_t row, int64_t k) {
    return Shows(op, *window, variant, ShownIn(op, *window, row), k) ? level.x : -kInfinity;
  }));
  for (int64_t row = 0; row < op.rows; ++row) {
    const int64_t shown = ShownIn(op, *window, row);
    twin.expected.push_back(LogOf(shown) + level.x);
    twin.tolerances.push_back(LevelTolerance(op, problem, contract, level, shown));
  }
  twin.tolerance_ulp = *std::ranges::max_element(twin.tolerances);
  twin.code =
      fmt::format("terms that arrived = {} exp(got - expected)", window->shown) + WindowText(op, *window, variant);
  if (window->shown < op.terms) twin.code += ", one more in odd rows";
  return twin;
}

}  // namespace assay
