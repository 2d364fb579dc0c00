// SPDX-License-Identifier: Apache-2.0
// Means, norms, logarithms, products and extremes that count, narrow or compare wrongly.
#include "tests/faults/corpus/fresh/fresh.h"
#include "tests/faults/corpus/fresh/functions.h"
#include "tests/faults/corpus/held/reduce_held.h"

namespace corpus {
namespace {

using enum ReduceKind;
using Spec = const plugin::ReduceSpec&;

constexpr auto kMeans = [](Spec s) { return AreFloats(s, {kMean}, 4); };
constexpr auto kLongMeans = [](Spec s) {
  return Rounded(Nearest(kBrain), static_cast<double>(s.count)) != static_cast<double>(s.count) && kMeans(s);
};
constexpr auto kNorms = [](Spec s) { return AreFloats(s, {kL2}, 4); };
constexpr auto kLogarithms = [](Spec s) { return AreFloats(s, {kLogSumExp}, 4); };
constexpr auto kProducts = [](Spec s) { return AreFloats(s, {kProd}, 4); };
constexpr auto kExtremes = [](Spec s) { return s.count % 32 != 0 && AreFloats(s, {kMax, kMin, kArgMax, kArgMin}, 4); };
constexpr auto kWideExtremes = [](Spec s) { return s.in == plugin::kF32 && AreFloats(s, {kMax, kMin}, 4); };
constexpr auto kArgs = [](Spec s) { return AreFloats(s, {kArgMax, kArgMin}, 16); };

bool WantsMax(const ReduceContext& c) {
  return c.spec->kind == kMax || c.spec->kind == kArgMax;
}

template <class T>
T Total(const Terms<T>& x) {
  return SumBy(Summation{}, x);
}

template <class T>
void Kinds(ReduceEdits<T>& of) {
  of("fault.count-of-mean-in-bf16", kLongMeans).value = [](const Terms<T>& x, const auto& c) {
    return Total(x) / Rounded(Nearest(kBrain), static_cast<T>(c.spec->count));
  };
  of("fault.running-mean-of-16-bits", kMeans).value = [](const Terms<T>& x, const auto&) {
    T mean = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      mean = Rounded(NearestBits(16), mean + (x[i] - mean) / static_cast<T>(i + 1));
    }
    return mean;
  };
  of("fault.norm-scaled-down-in-f32-and-up-in-bf16", kNorms).value = [](Terms<T> x, const auto& c) {
    T largest = 0;
    for (T term : x) largest = std::max(largest, std::abs(term));
    if (!(largest > 0) || !std::isfinite(largest)) return CleanReduce(std::move(x), c);
    for (T& term : x) term = term / largest * (term / largest);
    return Rounded(Nearest(kBrain), largest) * std::sqrt(Total(x));
  };
  of("fault.squares-saturate-at-8", kNorms).value = [](Terms<T> x, const auto&) {
    for (T& term : x) term = std::min(term * term, static_cast<T>(8));
    return std::sqrt(Total(x));
  };
  of("fault.exponential-with-short-ln2", kLogarithms).value = [](Terms<T> x, const auto&) {
    const T max = *std::ranges::max_element(x);
    for (T& term : x) term = ExpWithShortLn2(term - max);
    return max + std::log(Total(x));
  };
  of("fault.logarithm-by-cubic", kLogarithms).value = [](Terms<T> x, const auto&) {
    const T max = *std::ranges::max_element(x);
    for (T& term : x) term = std::exp(term - max);
    return max + LogByCubic(Total(x));
  };
  of("fault.two-logarithms-merged-in-bf16", kLogarithms).value = [](const Terms<T>& x, const auto& c) {
    const auto half = x.begin() + std::ssize(x) / 2;
    const T a = Rounded(Nearest(kBrain), CleanReduce(Terms<T>(x.begin(), half), c));
    const T b = Rounded(Nearest(kBrain), CleanReduce(Terms<T>(half, x.end()), c));
    return CleanReduce(Terms<T>{a, b}, c);
  };
  of("fault.halves-of-product-in-tf32", kProducts).value = [](const Terms<T>& x, const auto& c) {
    const auto half = x.begin() + std::ssize(x) / 2;
    return Rounded(Nearest(kTensor), CleanReduce(Terms<T>(x.begin(), half), c)) *
           Rounded(Nearest(kTensor), CleanReduce(Terms<T>(half, x.end()), c));
  };
  of("fault.product-loses-last-of-each-8-factors", kProducts).value = [](Terms<T> x, const auto& c) {
    for (size_t i = 7; i < x.size(); i += 8) x[i] = 1;
    return CleanReduce(std::move(x), c);
  };
  of("fault.tail-of-extreme-filled-with-ones", kExtremes).value = [](Terms<T> x, const auto& c) {
    for (size_t i = x.size() / 32 * 32; i < x.size(); ++i) x[i] = WantsMax(c) ? T{-1} : T{1};
    return CleanReduce(std::move(x), c);
  };
  of("fault.extreme-handed-on-in-tf32", kWideExtremes).value = [](const Terms<T>& x, const auto& c) {
    return Rounded(Nearest(kTensor), CleanReduce(x, c));
  };
  of("fault.index-of-lane-before-index-of-term", kArgs).value = [](const Terms<T>& x, const auto& c) {
    Terms<T> lanes;  // those of lane 0 first: among equal terms the lower lane wins
    std::vector<size_t> places;
    for (size_t lane = 0; lane < 8; ++lane) {
      for (size_t i = lane; i < x.size(); i += 8) lanes.push_back(x[i]), places.push_back(i);
    }
    return static_cast<T>(places[static_cast<size_t>(CleanReduce(lanes, c))]);
  };
  of("fault.index-compares-in-fp8", kArgs).value = [](Terms<T> x, const auto& c) {
    for (T& term : x) term = Rounded(Nearest(kFp8), term);
    return CleanReduce(std::move(x), c);
  };
}

}  // namespace

std::vector<Entry> ReduceFreshKinds() {
  return ReduceRows([](auto& of) { Kinds(of); });
}

}  // namespace corpus
