// SPDX-License-Identifier: Apache-2.0
// Bugs of one kind of reduction: what it divides by, its functions and their constants.
#include <bit>
#include <numeric>

#include "tests/faults/corpus/held/reduce_held.h"

namespace corpus {
namespace {

// The tables below share the following functions.
template <class T>
T Sum(const std::vector<T>& x) {
  return SequentialOrder::Fold(x, 0, Plain<T>::Add);
}
template <class T>
T SumOfSquares(std::vector<T> x) {
  for (T& term : x) term *= term;
  return Sum(x);
}
template <class T>
T MaxOf(const std::vector<T>& x) {
  return SequentialOrder::Fold(x, 0, [](T a, T b) { return Extreme<1>(a, b, false); });
}
template <class T>
T CountOf(const ReduceContext& c) {
  return static_cast<T>(c.spec->count);
}

// exp(x - max) by `exponential`, then the logarithm by `logarithm`. A maximum that is not finite is the result.
template <class T, class Exponential, class Logarithm>
T LogSumExpBy(const std::vector<T>& x, Exponential exponential, Logarithm logarithm) {
  const T max = MaxOf(x);
  if (!std::isfinite(max)) return max;
  T sum = 0;
  for (T term : x) sum += exponential(term - max);
  return max + logarithm(sum);
}
template <class T>
T Exp(T x) {
  return std::exp(x);
}
template <class T>
T Log(T x) {
  return std::log(x);
}

using enum ReduceKind;
using Spec = const plugin::ReduceSpec&;
constexpr auto kMeans = [](Spec s) { return AreFloats(s, {kMean}); };
constexpr auto kLongMeans = [](Spec s) { return s.count % 64 != 0 && AreFloats(s, {kMean}, 65); };
constexpr auto kMeansOfAxes = [](Spec s) { return s.reduced.size() > 1 && AreFloats(s, {kMean}); };
constexpr auto kNorms = [](Spec s) { return AreFloats(s, {kL2}); };
constexpr auto kLogarithms = [](Spec s) { return AreFloats(s, {kLogSumExp}); };
constexpr auto kLongLogarithms = [](Spec s) { return AreFloats(s, {kLogSumExp}, 33); };
constexpr auto kProducts = [](Spec s) { return AreFloats(s, {kProd}); };

template <class T>
void MeansAndNorms(ReduceEdits<T>& of) {
  of("fault.mean-divided-by-n-plus-1", kMeans).value = [](const Terms<T>& x, const auto& c) {
    return Sum(x) / (CountOf<T>(c) + 1);
  };
  of("fault.mean-divided-by-last-axis", kMeansOfAxes).value = [](const Terms<T>& x, const auto& c) {
    return Sum(x) / static_cast<T>(c.spec->reduced.back().size);
  };
  of("fault.mean-by-reciprocal-of-12-bits", kMeans).value = [](const Terms<T>& x, const auto& c) {
    return Sum(x) * Rounded(NearestBits(12), 1 / CountOf<T>(c));
  };
  of("fault.mean-by-reciprocal-in-f16", kMeans).value = [](const Terms<T>& x, const auto& c) {
    return Sum(x) * Rounded(Nearest(kHalf), 1 / CountOf<T>(c));
  };
  of("fault.mean-of-uneven-blocks-means", kLongMeans).value = [](const Terms<T>& x, const auto&) {
    T sum = 0, blocks = 0;
    for (size_t i = 0; i < x.size(); i += 64, ++blocks) {
      const size_t last = std::min(x.size(), i + 64);
      const auto at = [&](size_t k) { return x.begin() + static_cast<std::ptrdiff_t>(k); };
      sum += Sum(Terms<T>(at(i), at(last))) / static_cast<T>(last - i);
    }
    return sum / blocks;
  };
  of("fault.mean-of-terms-divided-in-bf16", kMeans).value = [](Terms<T> x, const auto& c) {
    for (T& term : x) term = Rounded(Nearest(kBrain), term / CountOf<T>(c));
    return Sum(x);
  };
  of("fault.norm-of-magnitudes", kNorms).value = [](Terms<T> x, const auto&) {
    for (T& term : x) term = std::abs(term);
    return Sum(x);
  };
  of("fault.norm-divided-by-root-of-n", kNorms).value = [](const Terms<T>& x, const auto& c) {
    return std::sqrt(SumOfSquares(x) / CountOf<T>(c));
  };
  of("fault.root-of-12-bits", kNorms).value = [](const Terms<T>& x, const auto&) {
    return Rounded(NearestBits(12), std::sqrt(SumOfSquares(x)));
  };
  of("fault.root-by-magic-constant-and-one-step", kNorms).value = [](const Terms<T>& x, const auto&) {
    const T sum = SumOfSquares(x);
    if (!(sum > 0) || !std::isfinite(sum)) return sum;
    const float guess = std::bit_cast<float>(0x5F3759DF - (std::bit_cast<int32_t>(static_cast<float>(sum)) >> 1));
    const T y = static_cast<T>(guess);
    return sum * (y * (static_cast<T>(1.5L) - sum / 2 * y * y));
  };
  of("fault.squares-in-bf16", kNorms).value = [](Terms<T> x, const auto&) {
    for (T& term : x) term = Rounded(Nearest(kBrain), term * term);
    return std::sqrt(Sum(x));
  };
  of("fault.last-term-not-squared", kNorms).value = [](Terms<T> x, const auto&) {
    const T last = std::abs(x.back());
    x.pop_back();
    return std::sqrt(SumOfSquares(x) + last);
  };
  of("fault.epsilon-added-under-root", kNorms).value = [](const Terms<T>& x, const auto&) {
    return std::sqrt(SumOfSquares(x) + static_cast<T>(1e-4L));
  };
  of("fault.product-as-sum-of-logarithms", kProducts).value = [](const Terms<T>& x, const auto&) {
    T sum = 0;
    for (T term : x) sum += std::log2(std::abs(term));
    return std::exp2(Rounded(NearestBits(20), sum));
  };
  of("fault.products-in-bf16-every-8-factors", kProducts).value = [](const Terms<T>& x, const auto&) {
    T product = 1;
    for (size_t i = 0; i < x.size(); ++i) {
      product *= x[i];
      if (i % 8 == 7) product = Rounded(Nearest(kBrain), product);
    }
    return product;
  };
  of("fault.products-truncated-to-21-bits", kProducts).value = [](const Terms<T>& x, const auto&) {
    T product = 1;
    for (T term : x) product = Rounded(TruncatedBits(21), product * term);
    return product;
  };
  of("fault.first-factor-squared", kProducts).value = [](const Terms<T>& x, const auto& c) {
    return x[0] * CleanReduce(x, c);
  };
}

template <class T>
void LogarithmsOfSums(ReduceEdits<T>& of) {
  const auto by = [&of](const char* name, auto strikes, T (*exponential)(T), T (*logarithm)(T)) {
    of(name, strikes).value = [=](const Terms<T>& x, const auto&) { return LogSumExpBy(x, exponential, logarithm); };
  };
  by(
      "fault.exponential-of-13-bits", kLogarithms, [](T d) { return Rounded(NearestBits(13), std::exp(d)); }, Log<T>);
  by(
      "fault.log2e-of-5-digits", kLogarithms, [](T d) { return std::exp2(d * static_cast<T>(1.4427L)); }, Log<T>);
  by("fault.ln2-of-5-digits", kLogarithms, Exp<T>, [](T s) { return std::log2(s) * static_cast<T>(0.69315L); });
  by("fault.logarithm-in-base-2", kLogarithms, Exp<T>, [](T s) { return std::log2(s); });
  by("fault.logarithm-in-f16", kLogarithms, Exp<T>, [](T s) { return Rounded(Nearest(kHalf), std::log(s)); });
  by("fault.logarithm-of-1-plus-sum", kLogarithms, Exp<T>, [](T s) { return std::log1p(s); });
  by("fault.maximum-counted-twice", kLongLogarithms, Exp<T>, [](T s) { return std::log(s + 1); });
  by(
      "fault.maximum-subtracted-in-bf16", kLogarithms, [](T d) { return std::exp(Rounded(Nearest(kBrain), d)); },
      Log<T>);
  of("fault.rescale-forgotten-in-second-tile", kLongLogarithms).value = [](const Terms<T>& x, const auto&) {
    const auto at = x.begin() + std::ssize(x) / 2;
    const Terms<T> first(x.begin(), at), second(at, x.end());
    const T max = std::max(MaxOf(first), MaxOf(second));
    const auto sum = [](const Terms<T>& part) {
      T total = 0;
      for (T term : part) total += std::exp(term - MaxOf(part));
      return total;
    };
    return max + std::log(sum(first) + sum(second));
  };
  by(
      "fault.small-exponentials-dropped", kLogarithms, [](T d) { return d < -4 ? T{0} : std::exp(d); }, Log<T>);
}

}  // namespace

std::vector<Entry> ReduceHeldKinds() {
  return ReduceRows([](auto& of) { MeansAndNorms(of), LogarithmsOfSums(of); });
}

}  // namespace corpus
