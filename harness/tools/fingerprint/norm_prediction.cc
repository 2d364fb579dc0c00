// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/fingerprint/norm_prediction.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/tools/fingerprint/prediction.h"

namespace assay {
namespace {

constexpr int kRows = 256;

// How a norm goes on from its sums.
enum class Moments : uint8_t { kTwoPass, kOnePass, kWelford };
enum class Inverse : uint8_t { kOneByRoot, kDivide, kRoundedOnce };
struct Way {
  Moments moments = Moments::kTwoPass;
  bool contracts = false;   // a square is added without a rounding of its own
  bool multiplies = false;  // by 1 / n, where others divide by n
  Inverse inverse = Inverse::kOneByRoot;
  bool is_folded = false;  // x r - mean r, not (x - mean) r
};

void AddWays(Moments moments, bool has_mean, std::vector<Way>& ways) {
  for (const bool contracts : {false, true}) {
    for (const bool multiplies : {false, true}) {
      for (const Inverse inverse : {Inverse::kOneByRoot, Inverse::kDivide, Inverse::kRoundedOnce}) {
        ways.push_back({moments, contracts, multiplies, inverse, false});
        if (has_mean && inverse != Inverse::kDivide) ways.push_back({moments, contracts, multiplies, inverse, true});
      }
    }
  }
}

std::vector<Way> ListWays(const Passport& passport, const SumProbe& sums) {
  std::vector<Way> ways;
  const bool knows_sums = passport.order || passport.sums_widely;
  const bool knows_squares = sums.is_mean() ? passport.squares || passport.squares_widely : knows_sums;
  if (knows_sums && knows_squares) AddWays(Moments::kTwoPass, sums.is_mean(), ways);
  if (!sums.is_mean()) return ways;
  if (knows_sums && knows_squares) AddWays(Moments::kOnePass, true, ways);
  AddWays(Moments::kWelford, true, ways);
  return ways;
}

// In T, each operation rounded once.
template <class T>
class Norm {
 public:
  Norm(const Passport& passport, const SumProbe& sums, double eps) : passport_(passport), sums_(sums), eps_(eps) {}

  std::vector<double> Compute(const std::vector<T>& x, const Way& way) const {
    T mean = 0, squares = 0;
    const auto n = static_cast<T>(x.size());
    const auto mean_of = [&](T sum) { return way.multiplies ? sum * (1 / n) : sum / n; };
    if (way.moments == Moments::kWelford) {
      Update(x, way, mean, squares);
    } else {
      if (sums_.is_mean()) mean = mean_of(SumOf(passport_.order, x, false, false));
      std::vector<T> squared = x;
      if (way.moments == Moments::kTwoPass) {
        for (T& each : squared) each -= mean;
      }
      squares = SumOf(sums_.is_mean() ? passport_.squares : passport_.order, squared, true, way.contracts);
    }
    if (!sums_.has_row()) return {static_cast<double>(std::sqrt(squares))};
    T variance = mean_of(squares);
    if (way.moments == Moments::kOnePass) {
      const T less = way.contracts ? std::fma(-mean, mean, variance) : variance - mean * mean;
      variance = less < 0 ? 0 : less;
    }
    return Scale(x, way, mean, variance + static_cast<T>(eps_));
  }

 private:
  static void Update(const std::vector<T>& x, const Way& way, T& mean, T& squares) {
    for (size_t i = 0; i < x.size(); ++i) {
      const auto count = static_cast<T>(i + 1);
      const T delta = x[i] - mean;
      mean += way.multiplies ? delta * (1 / count) : delta / count;
      const T left = x[i] - mean;
      squares = way.contracts ? std::fma(delta, left, squares) : squares + delta * left;
    }
  }

  // Without a tree nothing is lost, whatever the order.
  static T SumOf(const std::optional<SumTree>& tree, const std::vector<T>& x, bool squares, bool contracts) {
    if (!tree) {
      double sum = 0;
      for (const T each : x) {
        const T rounded = squares ? each * each : each;
        sum += squares && contracts ? static_cast<double>(each) * each : static_cast<double>(rounded);
      }
      return static_cast<T>(sum);
    }
    const auto leaf = [&](int term) { return static_cast<double>(squares ? x[term] * x[term] : x[term]); };
    const auto add = [&](const SumTree& node, std::span<const double> sums) {
      const SumTree &first = node.children.front(), &last = node.children.back();
      if (contracts && node.children.size() == 2 && (last.children.empty() || first.children.empty())) {
        const bool is_last = last.children.empty();
        const T term = x[is_last ? last.term : first.term];
        return static_cast<double>(std::fma(term, term, static_cast<T>(sums[is_last ? 0 : 1])));
      }
      T sum = 0;
      for (const double part : sums) sum += static_cast<T>(part);
      return static_cast<double>(sum);
    };
    return static_cast<T>(SumInOrder(*tree, leaf, add));
  }

  static std::vector<double> Scale(const std::vector<T>& x, const Way& way, T mean, T variance) {
    const T root = std::sqrt(variance);
    const T inverse = way.inverse == Inverse::kRoundedOnce
                          ? static_cast<T>(1 / std::sqrt(static_cast<long double>(variance)))
                          : 1 / root;
    std::vector<double> y;
    for (const T each : x) {
      const T left = each - mean;
      y.push_back(static_cast<double>(way.is_folded                     ? std::fma(each, inverse, -(mean * inverse))
                                      : way.inverse == Inverse::kDivide ? left / root
                                                                        : left * inverse));
    }
    return y;
  }

  const Passport& passport_;
  const SumProbe& sums_;
  double eps_;
};

std::string Describe(const Way& way, const SumProbe& sums, bool is_wide) {
  const char* squares =
      way.contracts ? "squares added without a rounding of their own" : "squares rounded before they are added";
  if (!sums.has_row()) return fmt::format("{}; the root of their sum", squares);
  const char* moments = !sums.is_mean()                    ? ""
                        : way.moments == Moments::kTwoPass ? "two passes, mean of (x - mean)^2: "
                        : way.moments == Moments::kOnePass ? "one pass, mean of x^2 less mean^2: "
                                                           : "Welford's updates, one after the other: ";
  const char* inverse = way.inverse == Inverse::kDivide      ? "divided by the root"
                        : way.inverse == Inverse::kOneByRoot ? "times 1 / root"
                                                             : "times an inverse root that is rounded once";
  return fmt::format("{}{}; {}; {}{}{}", moments, squares, way.multiplies ? "times 1 / n" : "divided by n", inverse,
                     way.is_folded ? ", x and mean by themselves" : "", is_wide ? "; all in f64" : "");
}

// Keeps the way by which most rows come out alike.
template <class T>
void PredictIn(const std::vector<ProbeSum>& rows, const std::vector<std::vector<double>>& results, const Prober& prober,
               Passport& passport) {
  const SumProbe& sums = prober.sums();
  const Problem& problem = prober.problem();
  const FloatFormat& out = FormatOf(problem.outputs[0].dtype);
  const Norm<T> norm(passport, sums, sums.has_row() ? problem.Float("eps") : 0);
  for (const Way& way : ListWays(passport, sums)) {
    int agree = 0;
    for (size_t row = 0; row < rows.size(); ++row) {
      std::vector<T> x;
      for (const ProbeTerm& term : rows[row]) x.push_back(static_cast<T>(term.a));
      std::vector<double> y = norm.Compute(x, way);
      for (double& each : y) each = RoundTo(out, each);
      if (y == results[row]) ++agree;
      if (row == 8 && agree == 0) break;  // no way that gives half of the rows
    }
    // Some rows of few elements come out alike by two passes, too.
    const bool is_chance = way.moments == Moments::kWelford && agree < kRows;
    if (is_chance || agree <= passport.predicted->agree) continue;
    passport.predicted->agree = agree;
    passport.formula = Describe(way, sums, sizeof(T) == sizeof(double) && problem.outputs[0].dtype == DType::kF32);
    passport.is_welford = way.moments == Moments::kWelford && passport.predicted->tells_all();
  }
}

}  // namespace

Status PredictNorm(Prober& prober, Passport& passport) {
  const std::vector<ProbeSum> rows = RandomSums(prober, kRows);
  const auto results = prober.ExecuteAll(rows);
  if (!results) return tl::unexpected(results.error());
  passport.predicted = {0, kRows, {}};
  if (prober.problem().outputs[0].dtype == DType::kF32) PredictIn<float>(rows, *results, prober, passport);
  if (!passport.predicted->tells_all()) PredictIn<double>(rows, *results, prober, passport);
  // Short rows come out alike by many ways now and then.
  if (2 * passport.predicted->agree < kRows) passport.predicted.reset(), passport.formula = "";
  return {};
}

}  // namespace assay
