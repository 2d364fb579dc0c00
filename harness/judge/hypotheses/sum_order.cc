// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/hypotheses/sum_order.h"

#include <algorithm>
#include <cmath>

#include "harness/judge/statistic/statistic.h"

namespace assay {
namespace {

constexpr int64_t kMostProducts = int64_t{1} << 24;
// Limit on the unexplained share of the squared errors.
constexpr double kMostUnexplained = 0.1;

// Reads the products of output i and forms their running sums.
void Read(const SumProducts& products, int64_t i, SumTerms& terms) {
  const auto count = static_cast<size_t>(products.terms());
  terms.products.resize(count);
  terms.sums.resize(count + 1);
  products.Read(i, terms.products);
  terms.sums[0] = 0;
  for (size_t t = 0; t < count; ++t) terms.sums[t + 1] = terms.sums[t] + terms.products[t];
}

bool IsFinite(const ElementJudge& judge, int64_t i, double got) {
  return std::isfinite(got) && std::isfinite(judge.golden().value[static_cast<size_t>(i)]);
}

// How well one order explains the elements so far.
struct Fit {
  int64_t matched = 0;
  double remaining = 0;  // sum of squares
  bool possible = true;
};

void Compare(const ElementJudge& judge, const FloatFormat& format, int64_t i, double got, const PredictedSum& p,
             Fit& fit) {
  const FloatFormat& out = FormatOf(judge.dtype());
  const double error = got - RoundTo(out, p.value), spacing = UlpAt(out, std::max(std::fabs(got), std::fabs(p.value)));
  fit.remaining += error * error;
  const double noise = kElementThreshold * judge.Sigma(i);
  // A wide output rounds within the noise; a narrow one hides it, or shows it as a whole spacing.
  if (std::fabs(error) <= noise + (out.precision > format.precision ? spacing : 0)) {
    ++fit.matched;
  } else if (!(std::fabs(error) <= noise + spacing + 2 * UlpAt(format, p.largest))) {
    fit.possible = false;
  }
}

}  // namespace

std::optional<RecognisedOrder> RecogniseOrder(const SumProducts& products, const ElementJudge& judge, const Tensor& got,
                                              const FloatFormat& format, std::span<const SumOrder> orders,
                                              double least_matched) {
  std::vector<Fit> fits(orders.size());
  const std::vector<double> values = got.ToDoubles();
  const auto is_possible = [](const Fit& fit) { return fit.possible; };
  const int64_t size = std::ssize(values), most = std::max<int64_t>(256, kMostProducts / products.terms());
  const int64_t step = (size + most - 1) / most;
  SumTerms terms;
  int64_t formed = 0, off = 0;
  double squares = 0;
  for (int64_t i = 0; i < size && std::ranges::any_of(fits, is_possible); i += step) {
    if (!IsFinite(judge, i, values[i])) continue;
    ++formed;
    const double error = values[i] - judge.Rounded(i);
    squares += error * error;
    off += error != 0 ? 1 : 0;
    Read(products, i, terms);
    for (size_t c = 0; c < orders.size(); ++c) {
      if (fits[c].possible) Compare(judge, format, i, values[i], orders[c].predict(terms), fits[c]);
    }
  }
  for (size_t c = 0; c < orders.size(); ++c) {
    const bool all = fits[c].possible && static_cast<double>(fits[c].matched) >= least_matched * formed;
    if (formed > 0 && all && fits[c].remaining <= kMostUnexplained * squares)
      return RecognisedOrder{orders[c].text, off};
  }
  return std::nullopt;
}

bool AnyOrderPossible(const SumProducts& products, const ElementJudge& judge, const Tensor& got,
                      const FloatFormat& format, std::span<const SumOrder> orders) {
  const std::vector<double> values = got.ToDoubles();
  std::vector<const SumOrder*> left;
  for (const SumOrder& order : orders) left.push_back(&order);
  SumTerms terms;
  for (int64_t i = 0; i < std::ssize(values) && !left.empty(); ++i) {
    if (!IsFinite(judge, i, values[i])) continue;
    Read(products, i, terms);
    std::erase_if(left, [&](const SumOrder* order) {
      Fit fit;
      Compare(judge, format, i, values[i], order->predict(terms), fit);
      return !fit.possible;
    });
  }
  return !left.empty();
}

}  // namespace assay
