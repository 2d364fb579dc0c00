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
  const std::vector<double> values = got.ToDoubles();
  const int64_t size = std::ssize(values), most = std::max<int64_t>(256, kMostProducts / products.terms());
  const int64_t step = (size + most - 1) / most;
  // An order ends where it has explained too little: the errors are known before any sum is formed.
  std::vector<int64_t> elements;
  int64_t off = 0;
  double squares = 0;
  for (int64_t i = 0; i < size; i += step) {
    if (!IsFinite(judge, i, values[i])) continue;
    elements.push_back(i);
    const double error = values[i] - judge.Rounded(i);
    squares += error * error;
    off += error != 0 ? 1 : 0;
  }
  if (elements.empty()) return std::nullopt;
  const double needed = least_matched * static_cast<double>(elements.size());
  std::vector<Fit> fits(orders.size());
  SumTerms terms;
  for (size_t e = 0; e < elements.size() && std::ranges::any_of(fits, &Fit::possible); ++e) {
    const int64_t i = elements[e];
    Read(products, i, terms);
    for (size_t c = 0; c < orders.size(); ++c) {
      Fit& fit = fits[c];
      if (!fit.possible) continue;
      Compare(judge, format, i, values[i], orders[c].predict(terms), fit);
      const auto left = static_cast<double>(elements.size() - e - 1);
      fit.possible &= fit.remaining <= kMostUnexplained * squares && static_cast<double>(fit.matched) + left >= needed;
    }
  }
  const auto found = std::ranges::find_if(fits, &Fit::possible);
  if (found == fits.end()) return std::nullopt;
  return RecognisedOrder{orders[found - fits.begin()].text, off};
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
