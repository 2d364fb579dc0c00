// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/hypotheses/weaker_arithmetic_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace assay {
namespace {

// Root mean square of r in a class whose errors fill it; less, and the class explains more than there is.
constexpr double kLeastFilled = 0.05, kMostFilled = 1.25;
// At least kLeastSpread of the elements must have an error above kVisible of the class's deviation. Independent
// roundings with only a quarter of that deviation reach 69 %.
constexpr double kLeastSpread = 0.5, kVisible = 0.1;
// How much of what a truncating unit may lose at most its results lose in the mean: about a fifth, since what is cut
// off is half a unit in the mean, and no block meets the worst case. What loses more is rather of the next width.
constexpr double kMostTypical = 0.3;
// Squared errors over squared results from where on errors are as good as results of their own.
constexpr double kMostOfResults = 0.25;
constexpr double kLeastOdds = 20;  // against every other explanation
// Truncated results equal the golden values that are cut off, but for about one result in a hundred, which an error in
// f32 moved across a number of the narrower output type. Results that share a factor and are rounded to nearest differ
// from golden values that are cut off by as much as from golden values times the factor, or more.
constexpr double kMostLeftByCutting = 0.5;
constexpr int64_t kLeastErrors = 16;  // fewer say nothing of a distribution

// Losses uniform in [0, unit) of n products have a deviation of 1 / sqrt(3 n) of their sum, and more where the running
// sum's own cuts are most of it. Less than a quarter of that is none. Most that simulated units left, whatever the
// parts of the sum: 0.041 in sums of one sign, 0.13 in sums of three quarters of one sign. One lost term of positive
// random numbers leaves 0.69.
constexpr double kLeastScatter = 0.25, kMostScatter = 4;
constexpr double kMostScatterOfOneSign = 0.08, kMostScatterOfMostlyOneSign = 0.3;
constexpr double kOneSign = 0.9, kMostlyOneSign = 0.25;  // of |y| / S, over all elements

// Calls f(i, got, judgement) for all finite values.
template <class F>
void ForEachFinite(const ElementJudge& judge, const Tensor& got, const F& f) {
  const std::vector<double> values = got.ToDoubles();
  for (size_t i = 0; i < values.size(); ++i) {
    const Judgement judged = judge.Judge(static_cast<int64_t>(i), values[i]);
    if (judged.finite) f(static_cast<int64_t>(i), values[i], judged);
  }
}

double GoldenAt(const ElementJudge& judge, int64_t i) {
  return judge.golden().value[static_cast<size_t>(i)];
}

// Normal errors whose variances are known but for a factor, which is chosen to fit.
class ScaledNormal {
 public:
  void Add(double error, double variance) {
    squares_ += error * error / variance;
    logs_ += std::log(variance);
    ++n_;
  }
  double LogLikelihood() const {  // but for a constant of n
    const auto n = static_cast<double>(n_);
    return -0.5 * (n * std::log(squares_ / n) + logs_);
  }

 private:
  double squares_ = 0, logs_ = 0;
  int64_t n_ = 0;
};

// Errors that errors in proportion to a plane do not explain.
class Proportion {
 public:
  void Add(double error, double x) {
    errors_ += error * error;
    both_ += error * x;
    squares_ += x * x;
  }
  double Left() const { return errors_ * Unexplained() * Unexplained(); }  // their sum of squares
  // Their share of all, as root mean squares.
  double Unexplained() const {
    return std::sqrt(std::max(0.0, 1 - both_ * both_ / std::max(errors_ * squares_, kLeast)));
  }

 private:
  static constexpr double kLeast = std::numeric_limits<double>::min();
  double errors_ = 0, both_ = 0, squares_ = 0;
};

// The golden value, rounded toward zero to the output's type.
double CutOff(const ElementJudge& judge, int64_t i) {
  const double y = GoldenAt(judge, i), nearest = judge.Rounded(i);
  if (!(std::fabs(nearest) > std::fabs(y))) return nearest;
  return std::isfinite(nearest) ? nearest - std::copysign(UlpAt(FormatOf(judge.dtype()), std::fabs(y)), y)
                                : std::copysign(FormatOf(judge.dtype()).max_finite, y);
}

// Mean spacing of binades that a sum passes on its way from 0 to y in equal steps, up to a factor.
double MeanSpacing(double y) {
  int exponent = 0;
  const double significand = 2 * std::frexp(std::fabs(y), &exponent);  // in [1, 2)
  return y == 0 ? 0 : std::copysign(std::ldexp(significand - 2.0 / 3, exponent), y);
}

bool IsInteger(double x) {
  return std::isfinite(x) && std::trunc(x) == x;
}

// Whether the problem adds products of its operands, or them alone, and nothing rounds after the sum.
bool IsIntegerSum(const std::optional<SumForm>& sum, std::span<const Tensor> inputs) {
  if (!sum || !IsInteger(sum->alpha) || !IsInteger(sum->beta)) return false;
  return std::ranges::all_of(inputs,
                             [](const Tensor& input) { return std::ranges::all_of(input.ToDoubles(), IsInteger); });
}

}  // namespace

bool FillsEvenly(const ElementJudge& judge, const Tensor& got, const ErrorMetrics& metrics) {
  if (std::sqrt(metrics.statistic.sum_r2 / static_cast<double>(metrics.finite)) > kMostFilled) return false;
  // Without what the class may lose in one direction: that need not be there.
  const FloatFormat& out = FormatOf(judge.dtype());
  int64_t visible = 0, all = 0;
  double squares = 0;
  ForEachFinite(judge, got, [&](int64_t i, double x, const Judgement& judged) {
    const double sigma = judge.Sigma(i), error = std::fabs(judged.error);
    if (!(sigma > 0)) return;
    ++all;
    const double own =
        judge.params().own_rounding_ulps * UlpAt(out, std::max(std::fabs(x), std::fabs(GoldenAt(judge, i))));
    squares += std::pow(std::max(0.0, error - own) / sigma, 2);
    if (error > kVisible * sigma) ++visible;
  });
  const auto n = static_cast<double>(all);
  return all > 0 && std::sqrt(squares / n) >= kLeastFilled && static_cast<double>(visible) >= kLeastSpread * n;
}

bool FollowsRunningSums(const ElementJudge& judge, const Tensor& got, const ErrorMetrics& metrics) {
  const Golden& golden = judge.golden();
  if (judge.bound().statistic.shared || golden.magnitude.empty() || metrics.finite < kLeastErrors) return false;
  if (!(metrics.nmse.value_or(1) <= kMostOfResults)) return false;
  // Results that cancel are compared by the error that the others have.
  const double floor = 0x1p-12 * metrics.rms_err / std::sqrt(*metrics.nmse);
  const FloatFormat& out = FormatOf(judge.dtype());
  ScaledNormal sums;
  std::array<ScaledNormal, 3> others;  // in proportion to the results, to the terms, equal
  ForEachFinite(judge, got, [&](int64_t i, double, const Judgement& judged) {
    const double y = GoldenAt(judge, i), s = PlaneAt(golden.magnitude, i, golden.size());
    // Without the floor of the statistic, which knows the terms alone.
    const double sigma = judge.params().u_acc * PlaneAt(golden.sigma, i, golden.size());
    if (!(sigma > 0) || !(s > 0)) return;
    const double own = UlpAt(out, std::fabs(y));
    sums.Add(judged.error, sigma * sigma + own * own / 12);
    others[0].Add(judged.error, y * y + floor * floor);
    others[1].Add(judged.error, s * s);
    others[2].Add(judged.error, 1);
  });
  return std::ranges::all_of(others, [&](const ScaledNormal& other) {
    return sums.LogLikelihood() > other.LogLikelihood() + std::log(kLeastOdds);
  });
}

bool HoldsPrecision(const FloatFormat& format, const Tensor& got) {
  if (FormatOf(got.dtype()).precision <= format.precision) return true;
  std::vector<double> block(4096);  // at a time: few results hold what they need not
  for (int64_t first = 0; first < got.size(); first += std::ssize(block)) {
    block.resize(static_cast<size_t>(std::min(std::ssize(block), got.size() - first)));
    ToF64(got.dtype(), got.data() + first * SizeOf(got.dtype()), block);
    const auto is_held = [&](double x) { return !std::isfinite(x) || RoundTo(format, x) == x; };
    if (!std::ranges::all_of(block, is_held)) return false;
  }
  return true;
}

bool IsBiased(const ElementJudge& judge, const Tensor& got) {
  int64_t toward = 0, away = 0;
  ForEachFinite(judge, got, [&](int64_t i, double, const Judgement& judged) {
    const double direction = judged.error * GoldenAt(judge, i);
    toward += direction < 0 ? 1 : 0;
    away += direction > 0 ? 1 : 0;
  });
  return toward > 2 * away;
}

bool LosesLikeUnit(const ElementJudge& judge, const Tensor& got) {
  double lost = 0, most = 0;
  int64_t off = 0, all = 0;
  ForEachFinite(judge, got, [&](int64_t i, double x, const Judgement& judged) {
    lost += std::fabs(judged.error);
    most += judge.Systematic(i);
    off += x != judge.Rounded(i) ? 1 : 0;
    ++all;
  });
  return lost <= kMostTypical * most && static_cast<double>(off) >= kLeastSpread * static_cast<double>(all);
}

bool ScattersLikeTruncation(const ElementJudge& judge, const Tensor& got, double terms, double block) {
  const Golden& golden = judge.golden();
  if (golden.magnitude.empty() || terms < 1) return true;
  std::array<Proportion, 3> common;                                         // to the results, to the terms, equal
  constexpr std::array<double, 4> kParts = {1, 4.0 / 3, 8.0 / 5, 8.0 / 7};  // 2^k, 3 2^k, 5 and 7 parts of a sum
  std::array<Proportion, kParts.size()> losses;
  double results = 0, magnitudes = 0;
  ForEachFinite(judge, got, [&](int64_t i, double, const Judgement& judged) {
    const double y = GoldenAt(judge, i), s = PlaneAt(golden.magnitude, i, golden.size());
    results += std::fabs(y);
    magnitudes += s;
    common[0].Add(judged.error, y);
    common[1].Add(judged.error, s);
    common[2].Add(judged.error, 1);
    for (size_t k = 0; k < kParts.size(); ++k) losses[k].Add(judged.error, MeanSpacing(kParts[k] * y));
  });
  const double least = kLeastScatter / std::sqrt(3 * terms), expected = 1 / std::sqrt(3 * terms / block);
  const auto is_common = [&](const Proportion& p) { return p.Unexplained() < least; };
  if (std::ranges::any_of(common, is_common)) return false;
  if (results < kMostlyOneSign * magnitudes) return true;  // where running sums change their sign, so do the losses
  const double most = results < kOneSign * magnitudes ? kMostScatterOfMostlyOneSign : kMostScatterOfOneSign;
  return std::ranges::any_of(
      losses, [&](const Proportion& loss) { return loss.Unexplained() <= std::max(most, kMostScatter * expected); });
}

bool FitsMatrixUnit(const Operator& op, const Problem& problem, size_t output, const Contract& weaker,
                    std::span<const Tensor> inputs) {
  const ProblemTraits traits = op.TraitsOf(problem, output);
  const std::optional<SumForm>& sum = traits.sum;
  const bool of_products = sum ? sum->factors == 2 : traits.peer.kind == PeerForm::Kind::kAttention;
  if (!of_products) return false;
  if (weaker.in != InputRounding::kExact) return true;
  FloatFormat tf32 = FormatOf(DType::kF32);
  tf32.precision = 11;
  for (size_t k = 0; k < std::min(inputs.size(), traits.factors); ++k) {
    const bool is_factor = (!sum || k < sum->factors) && IsFloat(inputs[k].dtype());
    if (is_factor && !HoldsPrecision(tf32, inputs[k])) return false;
  }
  return true;
}

bool RoundsTowardZero(const ElementJudge& judge, const Tensor& got, const ErrorMetrics& metrics) {
  const FloatFormat& format = FormatOf(judge.dtype());
  int64_t toward = 0, beyond = 0;
  double left = 0;    // of squared errors, in spacings, by cutting the golden values off
  Proportion common;  // or by a factor that all results have in common
  ForEachFinite(judge, got, [&](int64_t i, double x, const Judgement& judged) {
    const double y = GoldenAt(judge, i);
    const double noise = judge.Sigma(i) * kElementThreshold + PlaneAt(judge.golden().error, i, judge.golden().size());
    const double error = std::fabs(judged.error), spacing = UlpAt(format, std::max(std::fabs(x), std::fabs(y)));
    const double most = (judged.error * y > 0 ? 0 : spacing) + judge.Systematic(i);
    beyond += error > most + noise ? 1 : 0;
    if (noise > 0.5 * spacing) return;  // sums hide how the output was rounded
    toward += judged.error * y < 0 && error > 0.5 * spacing + noise ? 1 : 0;
    const double own = UlpAt(format, std::fabs(y)), off = (x - CutOff(judge, i)) / own;
    left += off * off;
    common.Add(judged.error / own, y / own);
  });
  return beyond == 0 && static_cast<double>(toward) >= 0.1 * static_cast<double>(metrics.finite) &&
         left <= kMostLeftByCutting * common.Left();
}

bool FlushesResults(const ElementJudge& judge, const Tensor& got, const ErrorMetrics&) {
  const double least = FormatOf(judge.dtype()).MinNormal();
  int64_t flushed = 0, kept = 0;
  ForEachFinite(judge, got, [&](int64_t i, double x, const Judgement&) {
    const double y = std::fabs(GoldenAt(judge, i));
    if (y > 0 && y < least / 2) ++(x == 0 ? flushed : kept);
  });
  return kept == 0 && flushed >= 2;
}

bool BreaksExactSum(const std::optional<SumForm>& sum, std::span<const Tensor> inputs, const Golden& golden,
                    const Contract& contract, const ElementJudge& judge, const Tensor& got) {
  if (golden.magnitude.empty() || contract.alg != Algorithm::kDirect || !IsIntegerSum(sum, inputs)) return false;
  const double held = ExactIntegers(contract) / 2;  // operands in parts have partial sums a little beyond S
  bool broken = false;
  ForEachFinite(judge, got, [&](int64_t i, double x, const Judgement&) {
    if (PlaneAt(golden.magnitude, i, golden.size()) > held) return;
    const double expected = judge.Rounded(i);
    const bool must_equal = contract.out == OutputRounding::kNearest || expected == GoldenAt(judge, i);
    broken = broken || (must_equal && x != expected);
  });
  return broken;
}

}  // namespace assay
