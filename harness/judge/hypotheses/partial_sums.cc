// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include "harness/judge/hypotheses/recognisers.h"
#include "harness/judge/hypotheses/sum_order.h"

namespace assay {
namespace {

// Share of the elements that must match the prediction. f32 sums flip the rounding to f16 of about one partial sum in
// 2^12, and there may be many partial sums.
constexpr double kLeastMatched = 0.9;
// Results that tell one order of narrow sums from another: an error of one spacing is met by chance in every other one.
constexpr int64_t kLeastOff = 16;

// Each block's sum is stored; the running sum after each block but the last, or after each; or both.
enum class Stores : uint8_t { kBlocks, kRunning, kRunningToEnd, kBoth };

struct Cut {
  std::string text;
  std::vector<int64_t> ends;  // of blocks, ascending, k last
  Stores stores = Stores::kBlocks;
};

std::vector<Cut> CutsOf(int64_t k) {
  std::vector<Cut> cuts;
  for (const Stores stores : {Stores::kBlocks, Stores::kRunning, Stores::kRunningToEnd, Stores::kBoth}) {
    const bool sums = stores == Stores::kBlocks || stores == Stores::kBoth;
    const std::string_view both = stores == Stores::kBoth ? ", added up in it" : "";
    const auto add = [&](std::string_view parts, std::string_view running, std::vector<int64_t> ends) {
      cuts.push_back({sums ? fmt::format("sums of {}{}", parts, both) : fmt::format("a running sum {}", running),
                      std::move(ends), stores});
    };
    for (int64_t parts : {2, 3, 4, 6, 8, 16, 32}) {
      if (parts >= k) break;
      std::vector<int64_t> ends;
      for (int64_t part = 1; part <= parts; ++part) ends.push_back(k * part / parts);
      const std::string equal = fmt::format("{} equal parts", parts);
      add(equal, "of " + equal, std::move(ends));
    }
    for (int64_t block = 8; block < k && block <= 4096; block *= 2) {
      std::vector<int64_t> ends;
      for (int64_t end = block; end < k; end += block) ends.push_back(end);
      ends.push_back(k);
      const std::string terms = fmt::format("{} terms", block);
      add(terms, "every " + terms, std::move(ends));
    }
  }
  // Once, before the last block or behind the middle.
  std::vector<int64_t> places = {k / 2 + 1};
  for (int64_t block = 8; block < k && block <= 4096; block *= 2) places.push_back((k - 1) / block * block);
  std::ranges::sort(places);
  places.erase(std::ranges::unique(places).begin(), places.end());
  for (const int64_t place : places) {
    if (place < k)
      cuts.push_back({fmt::format("a running sum after {} of {} terms", place, k), {place, k}, Stores::kRunning});
  }
  return cuts;
}

PredictedSum Stored(const Cut& cut, const FloatFormat& format, const SumTerms& terms) {
  PredictedSum p;
  int64_t begin = 0;
  const auto store = [&](double x) {
    p.largest = std::max(p.largest, std::fabs(x));
    return RoundTo(format, x);
  };
  for (const int64_t end : cut.ends) {
    const double block = terms.sums[end] - terms.sums[begin];
    const bool is_block = cut.stores == Stores::kBlocks || cut.stores == Stores::kBoth;
    const bool is_last_kept = cut.stores == Stores::kRunning && end == cut.ends.back();
    p.value += is_block ? store(block) : block;
    if (cut.stores != Stores::kBlocks && !is_last_kept) p.value = store(p.value);
    begin = end;
  }
  return p;
}

// Accumulators in `format`: `block` products at a time are added to one without a rounding of their own. Several have a
// part of k each, or every so many-th term (lanes), and are added up in the format too.
struct Accumulation {
  const char* text;
  int64_t block = 1, accumulators = 1;
  bool lanes = false, pairwise = false;  // pairwise: the upper half to the lower until one is left
  bool rounds_products = false, through_f32 = false;
};

constexpr std::array kAccumulations{
    Accumulation{"one term after another"},
    Accumulation{.text = "one term after another", .through_f32 = true},
    Accumulation{.text = "one rounded product after another", .rounds_products = true},
    Accumulation{.text = "2 terms at a time", .block = 2},
    Accumulation{.text = "4 terms at a time", .block = 4},
    Accumulation{.text = "8 terms at a time", .block = 8},
    Accumulation{.text = "16 terms at a time", .block = 16},
    Accumulation{.text = "in 2 equal parts", .accumulators = 2},
    Accumulation{.text = "in 4 equal parts", .accumulators = 4},
    Accumulation{.text = "in 8 equal parts", .accumulators = 8},
    Accumulation{.text = "in 2 lanes", .accumulators = 2, .lanes = true},
    Accumulation{.text = "in 4 lanes", .accumulators = 4, .lanes = true},
    Accumulation{.text = "in 4 lanes", .accumulators = 4, .lanes = true, .pairwise = true},
    Accumulation{.text = "in 8 lanes", .accumulators = 8, .lanes = true},
    Accumulation{.text = "in 8 lanes", .accumulators = 8, .lanes = true, .pairwise = true},
};

PredictedSum Accumulated(const Accumulation& a, const FloatFormat& format, const SumTerms& terms) {
  PredictedSum p;
  const auto round = [&](double x) {
    p.largest = std::max(p.largest, std::fabs(x));
    return RoundTo(format, a.through_f32 ? static_cast<float>(x) : x);
  };
  const int64_t k = std::ssize(terms.products), n = a.accumulators;
  std::array<double, 8> sums{};
  for (int64_t j = 0; j < n; ++j) {
    const int64_t begin = a.lanes ? j : k * j / n, end = a.lanes ? k : k * (j + 1) / n;
    for (int64_t t = begin; t < end; t += a.lanes ? n : a.block) {
      const double x = a.block == 1 ? terms.products[t] : terms.sums[std::min(t + a.block, end)] - terms.sums[t];
      sums[j] = round(sums[j] + (a.rounds_products ? RoundTo(format, x) : x));
    }
  }
  for (int64_t half = n / 2; a.pairwise && half > 0; half /= 2) {
    for (int64_t j = 0; j < half; ++j) sums[j] = round(sums[j] + sums[j + half]);
  }
  for (int64_t j = 1; !a.pairwise && j < n; ++j) sums[0] = round(sums[0] + sums[j]);
  p.value = sums[0];
  return p;
}

std::vector<SumOrder> OrdersOfPartials(int64_t k, const FloatFormat& format) {
  std::vector<SumOrder> orders;
  for (Cut& cut : CutsOf(k)) {
    std::string text = cut.text;
    orders.push_back({std::move(text),
                      [&format, cut = std::move(cut)](const SumTerms& terms) { return Stored(cut, format, terms); }});
  }
  return orders;
}

std::vector<SumOrder> OrdersOfNarrowSums(int64_t k, const FloatFormat& format) {
  std::vector<SumOrder> orders;
  for (const Accumulation& a : kAccumulations) {
    if (a.block * a.accumulators >= k) continue;  // one rounding is no sum
    orders.push_back({a.text, [&](const SumTerms& terms) { return Accumulated(a, format, terms); }});
  }
  return orders;
}

}  // namespace

std::optional<std::string> FindRoundedPartials(const SumProducts& products, const ElementJudge& judge,
                                               const Tensor& got, const FloatFormat& format) {
  const auto orders = OrdersOfPartials(products.terms(), format);
  const auto found = RecogniseOrder(products, judge, got, format, orders, kLeastMatched);
  // Each bit that outputs have beyond the partial sums halves the chance that a wrong result is met by some order.
  const int64_t told_by_each = std::max(1, (FormatOf(judge.dtype()).precision - format.precision) / 2);
  return found && found->off * told_by_each >= kLeastOff ? std::optional(found->text) : std::nullopt;
}

std::optional<std::string> FindNarrowSums(const SumProducts& products, const ElementJudge& judge, const Tensor& got,
                                          const FloatFormat& format) {
  const auto orders = OrdersOfNarrowSums(products.terms(), format);
  // A rounding to f32 on the way lifts one sum in 2^(25 - precision) over a tie; four times as many may differ.
  const double flipped = std::ldexp(static_cast<double>(products.terms()), format.precision - 23);
  const auto found = RecogniseOrder(products, judge, got, format, orders, std::max(kLeastMatched, 1 - flipped));
  return found && found->off >= kLeastOff ? std::optional(found->text) : std::nullopt;
}

bool MayRoundPartials(const SumProducts& products, const ElementJudge& judge, const Tensor& got,
                      const FloatFormat& format) {
  return AnyOrderPossible(products, judge, got, format, OrdersOfPartials(products.terms(), format));
}

bool MaySumNarrowly(const SumProducts& products, const ElementJudge& judge, const Tensor& got,
                    const FloatFormat& format) {
  return AnyOrderPossible(products, judge, got, format, OrdersOfNarrowSums(products.terms(), format));
}

std::optional<StatisticModel> StatisticOfOwnErrors(const Golden& golden, const Tensor& got, double u_acc) {
  // Errors follow the golden's deviation only roughly: where that is far below its usual share of S, the share counts.
  constexpr double kLeastShare = 0.25;
  const std::vector<double> values = got.ToDoubles();
  const int64_t size = golden.size();
  const auto reach = [&](int64_t i) { return golden.magnitude[i] + std::fabs(golden.value[static_cast<size_t>(i)]); };
  const auto is_finite = [&](int64_t i) {
    return std::isfinite(values[static_cast<size_t>(i)]) && std::isfinite(golden.value[static_cast<size_t>(i)]);
  };
  double deviations = 0, reaches = 0, squares = 0, finite = 0;
  for (int64_t i = 0; i < size; ++i) {
    if (!is_finite(i)) continue;
    deviations += PlaneAt(golden.sigma, i, size);
    reaches += reach(i);
  }
  if (!(deviations > 0) || !(reaches > 0)) return std::nullopt;
  const double share = kLeastShare * deviations / reaches;
  for (int64_t i = 0; i < size; ++i) {
    const double model = std::max(PlaneAt(golden.sigma, i, size), share * reach(i));
    if (!is_finite(i) || !(model > 0)) continue;
    squares += std::pow((values[static_cast<size_t>(i)] - golden.value[static_cast<size_t>(i)]) / model, 2);
    ++finite;
  }
  if (!(squares > 0)) return std::nullopt;
  const double scale = std::sqrt(squares / finite);  // of the errors over the model
  StatisticModel statistic;
  statistic.sigma_scale = scale / u_acc;
  statistic.floor = scale * share;
  return statistic;
}

}  // namespace assay
