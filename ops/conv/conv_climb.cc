// SPDX-License-Identifier: Apache-2.0
#include "ops/conv/conv_climb.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ops/exact_code.h"

namespace assay {
namespace {

constexpr int64_t kSparse = 32;
constexpr int64_t kLargestSpread = 31;

// Sum of K terms, averaged over pixels.
double MeanSum(const ConvClimb& climb, int64_t terms) {
  const double places = climb.sparse ? static_cast<double>(kSparse) : 2;
  const double x = static_cast<double>(climb.x) - static_cast<double>(climb.x_spread) / places;
  const double w = static_cast<double>(climb.w) - static_cast<double>(climb.w_spread) / places;
  return static_cast<double>(terms) * x * w;
}

// The widest spreads with which K terms exceed the aim; the narrowest where none do.
ConvClimb Spread(ConvClimb climb, int64_t terms, double aim) {
  // Sums differ from output to output; more than half of them shall exceed the aim.
  constexpr double kMargin = 1 + 0x1p-10;
  for (int64_t spread = kLargestSpread; spread >= 1; spread /= 2) {
    climb.x_spread = std::min(spread, climb.x / 4);
    climb.w_spread = std::min(spread, climb.w / 4);
    if (MeanSum(climb, terms) > aim * kMargin) return climb;
  }
  climb.sparse = true;
  climb.x_spread = climb.w_spread = 1;
  return climb;
}

}  // namespace

int64_t ConvClimb::Pixel(uint64_t stream, int64_t i) const {
  const int64_t lower =
      sparse ? (TwinFactor(stream, i, kSparse) == 1 ? x_spread : 0) : TwinFactor(stream, i, x_spread + 1) - 1;
  return negative ? lower - x : x - lower;
}

int64_t ConvClimb::Tap(int64_t k) const {
  const int64_t base = w_spread + 1;
  const int64_t lower = sparse ? (k % kSparse == 0 ? w_spread : 0) : (k + k / base) % base;
  return negative ? lower - w : w - lower;
}

std::string ConvClimb::Describe() const {
  return fmt::format("sums of terms of one sign, |x| = {}-{}, |w| = {}-{}", x - x_spread, x, w - w_spread, w);
}

std::optional<ConvClimb> PlanConvClimb(const ConvArgs& op, const Problem& problem, const Contract& contract,
                                       double added) {
  const DType in = problem.inputs[0].dtype, out = problem.outputs[0].dtype;
  if (contract.alg != Algorithm::kDirect || !ShowsAllBits(contract, out)) return std::nullopt;
  const int64_t limit = TwinInputLimit(in, contract);
  // With one term twice it is still a number of the accumulator.
  const double room =
      std::floor((std::ldexp(1.0, TwinPartialBits(contract)) - added - 1) / static_cast<double>(op.Terms() + 1));
  if (room < 4) return std::nullopt;
  const auto fit = [&](int64_t largest) {
    ConvClimb climb{.w = std::min(largest, static_cast<int64_t>(std::sqrt(room)))};
    climb.x = std::min(largest, static_cast<int64_t>(room) / climb.w);
    return climb;
  };
  const double aim = ClimbingAim(contract);
  const ConvClimb climb = Spread(fit(limit), op.Terms(), aim);
  if (!IsInt(in) || aim == 0 || MeanSum(climb, op.Terms()) > aim) return climb;
  ConvClimb lowest = Spread(fit(limit + 1), op.Terms(), aim);
  lowest.negative = true;
  if (MeanSum(lowest, op.Terms()) > aim) return lowest;
  return Spread(fit(limit), op.Terms(), 0);  // nothing is narrow enough to be exposed
}

}  // namespace assay
