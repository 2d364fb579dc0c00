// SPDX-License-Identifier: Apache-2.0
// Means, norms, logarithms, products and extremes that count, narrow or compare wrongly.
#include "tests/faults/corpus/fresh/fresh.h"
#include "tests/faults/corpus/fresh/functions.h"
#include "tests/faults/corpus/held/reduce_held.h"

namespace corpus {
namespace {

using enum ReduceKind;

std::string Means(Description op) {
  return OfKinds(op, {kMean}, 4);
}
std::string LongMeans(Description op) {
  const int64_t n = plugin::ParseReduce(op).count;
  return static_cast<int64_t>(Rounded(Nearest(kBrain), static_cast<double>(n))) != n ? Means(op)
                                                                                     : "bf16 holds this count";
}
std::string Norms(Description op) {
  return OfKinds(op, {kL2}, 4);
}
std::string Logarithms(Description op) {
  return OfKinds(op, {kLogSumExp}, 4);
}
std::string Products(Description op) {
  return OfKinds(op, {kProd}, 4);
}
std::string Extremes(Description op) {
  const plugin::ReduceSpec s = plugin::ParseReduce(op);
  return s.count % 32 != 0 ? OfKinds(op, {kMax, kMin, kArgMax, kArgMin}, 4) : "this needs a tail behind blocks of 32";
}
std::string WideExtremes(Description op) {
  return plugin::ParseReduce(op).in == plugin::kF32 ? OfKinds(op, {kMax, kMin}, 4) : "this is for f32";
}
std::string Args(Description op) {
  return OfKinds(op, {kArgMax, kArgMin}, 16);
}

bool WantsMax(const ReduceContext& c) {
  return c.spec->kind == kMax || c.spec->kind == kArgMax;
}

template <class T>
T Total(const Terms<T>& x) {
  return SumBy(Summation{}, x);
}

}  // namespace

std::vector<Entry> ReduceFreshKinds() {
  return {
      ReduceFault("fault.count-of-mean-in-bf16", LongMeans,
                  []<class T>(const Terms<T>& x, const auto& c) {
                    return Total(x) / Rounded(Nearest(kBrain), static_cast<T>(c.spec->count));
                  }),
      ReduceFault("fault.running-mean-of-16-bits", Means,
                  []<class T>(const Terms<T>& x, const auto&) {
                    T mean = 0;
                    for (size_t i = 0; i < x.size(); ++i) {
                      mean = Rounded(NearestBits(16), mean + (x[i] - mean) / static_cast<T>(i + 1));
                    }
                    return mean;
                  }),
      ReduceFault("fault.norm-scaled-down-in-f32-and-up-in-bf16", Norms,
                  []<class T>(Terms<T> x, const auto& c) {
                    T largest = 0;
                    for (T term : x) largest = std::max(largest, std::abs(term));
                    if (!(largest > 0) || !std::isfinite(largest)) return CleanReduce(std::move(x), c);
                    for (T& term : x) term = term / largest * (term / largest);
                    return Rounded(Nearest(kBrain), largest) * std::sqrt(Total(x));
                  }),
      ReduceFault("fault.squares-saturate-at-8", Norms,
                  []<class T>(Terms<T> x, const auto&) {
                    for (T& term : x) term = std::min(term * term, static_cast<T>(8));
                    return std::sqrt(Total(x));
                  }),
      ReduceFault("fault.exponential-with-short-ln2", Logarithms,
                  []<class T>(Terms<T> x, const auto&) {
                    const T max = *std::ranges::max_element(x);
                    for (T& term : x) term = ExpWithShortLn2(term - max);
                    return max + std::log(Total(x));
                  }),
      ReduceFault("fault.logarithm-by-cubic", Logarithms,
                  []<class T>(Terms<T> x, const auto&) {
                    const T max = *std::ranges::max_element(x);
                    for (T& term : x) term = std::exp(term - max);
                    return max + LogByCubic(Total(x));
                  }),
      ReduceFault("fault.two-logarithms-merged-in-bf16", Logarithms,
                  []<class T>(const Terms<T>& x, const auto& c) {
                    const auto half = x.begin() + std::ssize(x) / 2;
                    const T a = Rounded(Nearest(kBrain), CleanReduce(Terms<T>(x.begin(), half), c));
                    const T b = Rounded(Nearest(kBrain), CleanReduce(Terms<T>(half, x.end()), c));
                    return CleanReduce(Terms<T>{a, b}, c);
                  }),
      ReduceFault("fault.halves-of-product-in-tf32", Products,
                  []<class T>(const Terms<T>& x, const auto& c) {
                    const auto half = x.begin() + std::ssize(x) / 2;
                    return Rounded(Nearest(kTensor), CleanReduce(Terms<T>(x.begin(), half), c)) *
                           Rounded(Nearest(kTensor), CleanReduce(Terms<T>(half, x.end()), c));
                  }),
      ReduceFault("fault.product-loses-last-of-each-8-factors", Products,
                  []<class T>(Terms<T> x, const auto& c) {
                    for (size_t i = 7; i < x.size(); i += 8) x[i] = 1;
                    return CleanReduce(std::move(x), c);
                  }),
      ReduceFault("fault.tail-of-extreme-filled-with-ones", Extremes,
                  []<class T>(Terms<T> x, const auto& c) {
                    for (size_t i = x.size() / 32 * 32; i < x.size(); ++i) x[i] = WantsMax(c) ? T{-1} : T{1};
                    return CleanReduce(std::move(x), c);
                  }),
      ReduceFault(
          "fault.extreme-handed-on-in-tf32", WideExtremes,
          []<class T>(const Terms<T>& x, const auto& c) { return Rounded(Nearest(kTensor), CleanReduce(x, c)); }),
      ReduceFault("fault.index-of-lane-before-index-of-term", Args,
                  []<class T>(const Terms<T>& x, const auto& c) {
                    Terms<T> lanes;  // those of lane 0 first: among equal terms the lower lane wins
                    std::vector<size_t> places;
                    for (size_t lane = 0; lane < 8; ++lane) {
                      for (size_t i = lane; i < x.size(); i += 8) lanes.push_back(x[i]), places.push_back(i);
                    }
                    return static_cast<T>(places[static_cast<size_t>(CleanReduce(lanes, c))]);
                  }),
      ReduceFault("fault.index-compares-in-fp8", Args,
                  []<class T>(Terms<T> x, const auto& c) {
                    for (T& term : x) term = Rounded(Nearest(kFp8), term);
                    return CleanReduce(std::move(x), c);
                  }),
  };
}

}  // namespace corpus
