// SPDX-License-Identifier: Apache-2.0
// Terms that are all positive never cancel. But a large one absorbs each of two units alone, and not their sum: with
// the large one in the place of every other term in turn, results tell which terms meet the two no earlier than these
// meet each other.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/tools/fingerprint/prober.h"

namespace assay {
namespace {

// A term, and a unit of which it absorbs one but not two.
struct PositiveSizes {
  double large = 0, unit = 0;
};

ProbeSum MakeProbe(int terms, const PositiveSizes& sizes, int large, int i, int j) {
  ProbeSum sum(static_cast<size_t>(terms), ProbeTerm{0});
  sum[large].a = sizes.large, sum[i].a = sizes.unit, sum[j].a = -sizes.unit;
  return sum;
}

// Whether the units of each probe have met before the large term.
using AreApart = std::function<Result<std::vector<bool>>(const std::vector<ProbeSum>&)>;

Result<std::vector<int>> AskByThrees(int terms, const PositiveSizes& sizes, const AreApart& are_apart,
                                     const TermPairs& pairs) {
  std::vector<int> answers;
  for (const auto& [i, j] : pairs) {
    std::vector<ProbeSum> probes;
    for (int k = 0; k < terms; ++k) {
      if (k != i && k != j) probes.push_back(MakeProbe(terms, sizes, k, i, j));
    }
    const auto apart = are_apart(probes);
    if (!apart) return tl::unexpected(apart.error());
    answers.push_back(terms - static_cast<int>(std::ranges::count(*apart, true)));
  }
  return answers;
}

// Operands of few digits, whose squares are exact: 0.38 of the last bit of a square of `large` has the unit's.
PositiveSizes SquaresFor(int precision, double large) {
  const double last_bit = std::ldexp(1, std::ilogb(large * large) + 1 - precision), unit = std::sqrt(0.375 * last_bit);
  const double grid = std::ldexp(1, std::ilogb(unit) - 3);
  return {large, std::ceil(unit / grid) * grid};
}

// Results are some function of the sum, which may round to one number what differs in the sum's last bit. So a large
// term is looked for by which results of three terms differ where their order is another.
class SquareSizes {
 public:
  explicit SquareSizes(Prober& prober) : prober_(prober) {}

  // Errors: results that show no order; the backend's.
  Status Find() {
    const int precision = FormatOf(prober_.problem().outputs[0].dtype).precision;
    constexpr int kTried = 48, kSteps = 64;
    const int terms = prober_.sums().terms();
    for (int tried = 0; tried < kTried; ++tried) {
      const double scale = 0x1p20 / kSteps;  // beside it any eps is nothing
      sizes_ = SquaresFor(precision, (kSteps + (tried * 5) % kTried) * scale);
      const double square = sizes_.large * sizes_.large;
      if (std::ilogb(square) != std::ilogb(1.07 * square)) continue;  // of which the mean's other terms have a 16th
      ProbeSum alone(static_cast<size_t>(terms), ProbeTerm{0});
      alone[0].a = sizes_.large;
      const auto results = prober_.ExecuteAll(std::vector<ProbeSum>{alone});
      if (!results) return tl::unexpected(results.error());
      baseline_ = LargestOf(results->front());
      const auto apart = AreApart(
          {MakeProbe(terms, sizes_, 0, 1, 2), MakeProbe(terms, sizes_, 1, 2, 0), MakeProbe(terms, sizes_, 2, 0, 1)});
      if (!apart) return tl::unexpected(apart.error());
      const auto count = std::ranges::count(*apart, true);
      if (count == 1) return {};
      keeps_all_ = keeps_all_ || count == 3;
    }
    return Fail(ErrorCode::kUnsupported,
                "no probe of squares comes out otherwise in another order: what follows the sum hides its last bit, or "
                "the sum is of more terms at once, or of other numbers than the row's");
  }

  // Every probe of the last Find() kept both units, whatever the order.
  bool keeps_all() const { return keeps_all_; }
  const PositiveSizes& sizes() const { return sizes_; }

  Result<std::vector<bool>> AreApart(const std::vector<ProbeSum>& probes) {
    const auto results = prober_.ExecuteAll(probes);
    if (!results) return tl::unexpected(results.error());
    std::vector<bool> apart;
    for (const std::vector<double>& result : *results) apart.push_back(LargestOf(result) != baseline_);
    return apart;
  }

 private:
  static double LargestOf(const std::vector<double>& result) { return *std::ranges::max_element(result); }

  Prober& prober_;
  PositiveSizes sizes_;
  double baseline_ = 0;  // the result of the large term without units
  bool keeps_all_ = false;
};

Result<RevealedOrder> RevealOrderOfSquares(Prober& prober) {
  const int terms = prober.sums().terms();
  if (terms < 3) return Fail(ErrorCode::kUnsupported, "a sum of two squares has one order");
  SquareSizes sizes(prober);
  if (Status found = sizes.Find(); !found) {
    if (sizes.keeps_all()) return RevealedOrder{{}, true};
    return tl::unexpected(found.error());
  }
  return RevealBy(terms, [&](const TermPairs& pairs) {
    return AskByThrees(
        terms, sizes.sizes(), [&](const auto& probes) { return sizes.AreApart(probes); }, pairs);
  });
}

}  // namespace

Result<RevealedOrder> RevealOrderByThrees(Prober& prober) {
  if (prober.sums().are_squares()) return RevealOrderOfSquares(prober);
  const int terms = prober.sums().terms();
  const PositiveSizes sizes{1, std::ldexp(0.75, -FormatOf(prober.problem().inputs[0].dtype).precision)};
  const auto are_apart = [&](const std::vector<ProbeSum>& probes) -> Result<std::vector<bool>> {
    const auto results = prober.Execute(probes);
    if (!results) return tl::unexpected(results.error());
    std::vector<bool> apart;
    for (const double sum : *results) apart.push_back(sum > sizes.large + sizes.unit);
    return apart;
  };
  return RevealBy(terms, [&](const TermPairs& pairs) { return AskByThrees(terms, sizes, are_apart, pairs); });
}

}  // namespace assay
