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
std::string Means(Description op) {
  return OfKinds(op, {kMean});
}
std::string LongMeans(Description op) {
  return plugin::ParseReduce(op).count % 64 == 0 ? "this needs a tail behind blocks of 64" : OfKinds(op, {kMean}, 65);
}
std::string MeansOfAxes(Description op) {
  return plugin::ParseReduce(op).reduced.size() > 1 ? OfKinds(op, {kMean}) : "this needs several axes apart";
}
std::string Norms(Description op) {
  return OfKinds(op, {kL2});
}
std::string Logarithms(Description op) {
  return OfKinds(op, {kLogSumExp});
}
std::string LongLogarithms(Description op) {
  return OfKinds(op, {kLogSumExp}, 33);
}
std::string Products(Description op) {
  return OfKinds(op, {kProd});
}
std::vector<Entry> MeansAndNorms() {
  return {
      ReduceFault("fault.mean-divided-by-n-plus-1", Means,
                  []<class T>(const Terms<T>& x, const auto& c) { return Sum(x) / (CountOf<T>(c) + 1); }),
      ReduceFault("fault.mean-divided-by-last-axis", MeansOfAxes,
                  []<class T>(const Terms<T>& x, const auto& c) {
                    return Sum(x) / static_cast<T>(c.spec->reduced.back().size);
                  }),
      ReduceFault("fault.mean-by-reciprocal-of-12-bits", Means,
                  []<class T>(const Terms<T>& x, const auto& c) {
                    return Sum(x) * Rounded(NearestBits(12), 1 / CountOf<T>(c));
                  }),
      ReduceFault("fault.mean-by-reciprocal-in-f16", Means,
                  []<class T>(const Terms<T>& x, const auto& c) {
                    return Sum(x) * Rounded(Nearest(kHalf), 1 / CountOf<T>(c));
                  }),
      ReduceFault("fault.mean-of-uneven-blocks-means", LongMeans,
                  []<class T>(const Terms<T>& x, const auto&) {
                    T sum = 0, blocks = 0;
                    for (size_t i = 0; i < x.size(); i += 64, ++blocks) {
                      const size_t last = std::min(x.size(), i + 64);
                      const auto at = [&](size_t k) { return x.begin() + static_cast<std::ptrdiff_t>(k); };
                      sum += Sum(Terms<T>(at(i), at(last))) / static_cast<T>(last - i);
                    }
                    return sum / blocks;
                  }),
      ReduceFault("fault.mean-of-terms-divided-in-bf16", Means,
                  []<class T>(Terms<T> x, const auto& c) {
                    for (T& term : x) term = Rounded(Nearest(kBrain), term / CountOf<T>(c));
                    return Sum(x);
                  }),
      ReduceFault("fault.norm-of-magnitudes", Norms,
                  []<class T>(Terms<T> x, const auto&) {
                    for (T& term : x) term = std::abs(term);
                    return Sum(x);
                  }),
      ReduceFault("fault.norm-divided-by-root-of-n", Norms,
                  []<class T>(const Terms<T>& x, const auto& c) { return std::sqrt(SumOfSquares(x) / CountOf<T>(c)); }),
      ReduceFault(
          "fault.root-of-12-bits", Norms,
          []<class T>(const Terms<T>& x, const auto&) { return Rounded(NearestBits(12), std::sqrt(SumOfSquares(x))); }),
      ReduceFault("fault.root-by-magic-constant-and-one-step", Norms,
                  []<class T>(const Terms<T>& x, const auto&) {
                    const T sum = SumOfSquares(x);
                    if (!(sum > 0) || !std::isfinite(sum)) return sum;
                    const float guess =
                        std::bit_cast<float>(0x5F3759DF - (std::bit_cast<int32_t>(static_cast<float>(sum)) >> 1));
                    const T y = static_cast<T>(guess);
                    return sum * (y * (static_cast<T>(1.5L) - sum / 2 * y * y));
                  }),
      ReduceFault("fault.squares-in-bf16", Norms,
                  []<class T>(Terms<T> x, const auto&) {
                    for (T& term : x) term = Rounded(Nearest(kBrain), term * term);
                    return std::sqrt(Sum(x));
                  }),
      ReduceFault("fault.last-term-not-squared", Norms,
                  []<class T>(Terms<T> x, const auto&) {
                    const T last = std::abs(x.back());
                    x.pop_back();
                    return std::sqrt(SumOfSquares(x) + last);
                  }),
      ReduceFault(
          "fault.epsilon-added-under-root", Norms,
          []<class T>(const Terms<T>& x, const auto&) { return std::sqrt(SumOfSquares(x) + static_cast<T>(1e-4L)); }),
      ReduceFault("fault.product-as-sum-of-logarithms", Products,
                  []<class T>(const Terms<T>& x, const auto&) {
                    T sum = 0;
                    for (T term : x) sum += std::log2(std::abs(term));
                    return std::exp2(Rounded(NearestBits(20), sum));
                  }),
      ReduceFault("fault.products-in-bf16-every-8-factors", Products,
                  []<class T>(const Terms<T>& x, const auto&) {
                    T product = 1;
                    for (size_t i = 0; i < x.size(); ++i) {
                      product *= x[i];
                      if (i % 8 == 7) product = Rounded(Nearest(kBrain), product);
                    }
                    return product;
                  }),
      ReduceFault("fault.products-truncated-to-21-bits", Products,
                  []<class T>(const Terms<T>& x, const auto&) {
                    T product = 1;
                    for (T term : x) product = Rounded(TruncatedBits(21), product * term);
                    return product;
                  }),
      ReduceFault("fault.first-factor-squared", Products,
                  []<class T>(const Terms<T>& x, const auto& c) { return x[0] * CleanReduce(x, c); }),
  };
}

std::vector<Entry> LogarithmsOfSums() {
  return {
      ReduceFault("fault.exponential-of-13-bits", Logarithms,
                  []<class T>(const Terms<T>& x, const auto&) {
                    return LogSumExpBy(
                        x, [](T d) { return Rounded(NearestBits(13), std::exp(d)); }, Log<T>);
                  }),
      ReduceFault("fault.log2e-of-5-digits", Logarithms,
                  []<class T>(const Terms<T>& x, const auto&) {
                    return LogSumExpBy(
                        x, [](T d) { return std::exp2(d * static_cast<T>(1.4427L)); }, Log<T>);
                  }),
      ReduceFault("fault.ln2-of-5-digits", Logarithms,
                  []<class T>(const Terms<T>& x, const auto&) {
                    return LogSumExpBy(x, Exp<T>, [](T s) { return std::log2(s) * static_cast<T>(0.69315L); });
                  }),
      ReduceFault("fault.logarithm-in-base-2", Logarithms,
                  []<class T>(const Terms<T>& x, const auto&) {
                    return LogSumExpBy(x, Exp<T>, [](T s) { return std::log2(s); });
                  }),
      ReduceFault("fault.logarithm-in-f16", Logarithms,
                  []<class T>(const Terms<T>& x, const auto&) {
                    return LogSumExpBy(x, Exp<T>, [](T s) { return Rounded(Nearest(kHalf), std::log(s)); });
                  }),
      ReduceFault("fault.logarithm-of-1-plus-sum", Logarithms,
                  []<class T>(const Terms<T>& x, const auto&) {
                    return LogSumExpBy(x, Exp<T>, [](T s) { return std::log1p(s); });
                  }),
      ReduceFault("fault.maximum-counted-twice", LongLogarithms,
                  []<class T>(const Terms<T>& x, const auto&) {
                    return LogSumExpBy(x, Exp<T>, [](T s) { return std::log(s + 1); });
                  }),
      ReduceFault("fault.maximum-subtracted-in-bf16", Logarithms,
                  []<class T>(const Terms<T>& x, const auto&) {
                    return LogSumExpBy(
                        x, [](T d) { return std::exp(Rounded(Nearest(kBrain), d)); }, Log<T>);
                  }),
      ReduceFault("fault.rescale-forgotten-in-second-tile", LongLogarithms,
                  []<class T>(const Terms<T>& x, const auto&) {
                    const auto at = x.begin() + std::ssize(x) / 2;
                    const Terms<T> first(x.begin(), at), second(at, x.end());
                    const T max = std::max(MaxOf(first), MaxOf(second));
                    const auto sum = [](const Terms<T>& part) {
                      T total = 0;
                      for (T term : part) total += std::exp(term - MaxOf(part));
                      return total;
                    };
                    return max + std::log(sum(first) + sum(second));
                  }),
      ReduceFault("fault.small-exponentials-dropped", Logarithms,
                  []<class T>(const Terms<T>& x, const auto&) {
                    return LogSumExpBy(
                        x, [](T d) { return d < -4 ? T{0} : std::exp(d); }, Log<T>);
                  }),
  };
}

}  // namespace

std::vector<Entry> ReduceHeldKinds() {
  std::vector<Entry> all = MeansAndNorms();
  const std::vector<Entry> logarithms = LogarithmsOfSums();
  all.insert(all.end(), logarithms.begin(), logarithms.end());
  return all;
}

}  // namespace corpus
