// SPDX-License-Identifier: Apache-2.0
// Bugs of one kind of reduction: what it divides by, its functions and their constants, how it compares.
#include <bit>
#include <numeric>

#include "tests/faults/corpus/held/reduce_held.h"

namespace corpus {
namespace {

// What the tables' functions share.
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

// The best by `is_better(candidate, best)`, the index of it for arg kinds.
template <class T, class IsBetter>
T Selected(const std::vector<T>& x, const ReduceContext& c, IsBetter is_better) {
  size_t best = 0;
  for (size_t i = 1; i < x.size(); ++i) best = is_better(x[i], x[best]) ? i : best;
  return c.spec->IsArg() ? static_cast<T>(best) : x[best];
}
bool WantsMax(const ReduceContext& c) {
  return c.spec->kind == ReduceKind::kMax || c.spec->kind == ReduceKind::kArgMax;
}
template <class T>
bool IsBetter(const ReduceContext& c, T a, T b) {
  return WantsMax(c) ? a > b : a < b;
}
// The bits of an f32 as an integer: negative numbers come in the wrong order.
template <class T>
int32_t BitsOf(T x) {
  return std::bit_cast<int32_t>(static_cast<float>(x));
}

std::string OfKinds(Description op, std::initializer_list<ReduceKind> kinds, int64_t least = 2) {
  const plugin::ReduceSpec s = plugin::ParseReduce(op);
  if (std::ranges::find(kinds, s.kind) == kinds.end()) return "this is a bug of another kind";
  return s.count >= least && plugin::IsFloat(s.in) ? ReduceWhyNot(op) : "this needs more floating-point terms";
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
std::string Extremes(Description op) {
  return OfKinds(op, {kMax, kMin});
}
std::string Selections(Description op) {
  return OfKinds(op, {kMax, kMin, kArgMax, kArgMin});
}
std::string WideSelections(Description op) {
  return plugin::ParseReduce(op).in == plugin::kBF16 ? "bf16 survives this" : Selections(op);
}
std::string Propagating(Description op) {
  return plugin::ParseReduce(op).ignore_nan ? "NaN is ignored" : Extremes(op);
}
std::string Ignoring(Description op) {
  return plugin::ParseReduce(op).ignore_nan ? Extremes(op) : "NaN is propagated";
}
std::string Args(Description op) {
  return OfKinds(op, {kArgMax, kArgMin});
}
std::string LongArgs(Description op) {
  return OfKinds(op, {kArgMax, kArgMin}, 2050);
}
std::string VeryLongArgs(Description op) {
  return OfKinds(op, {kArgMax, kArgMin}, 4097);
}

// `value(terms, context)` gives an output.
template <class Value>
Entry Fault(const char* name, TextOf why_not, Value value) {
  return ReduceEntry(name, ReduceContract, why_not,
                     [value]<class T>(std::type_identity<T>) { return ReduceSchedule<T>{value}; });
}

template <class T>
using Terms = std::vector<T>;

std::vector<Entry> MeansAndNorms() {
  return {
      Fault("fault.mean-divided-by-n-plus-1", Means,
            []<class T>(const Terms<T>& x, const auto& c) { return Sum(x) / (CountOf<T>(c) + 1); }),
      Fault("fault.mean-divided-by-last-axis", MeansOfAxes,
            []<class T>(const Terms<T>& x, const auto& c) {
              return Sum(x) / static_cast<T>(c.spec->reduced.back().size);
            }),
      Fault("fault.mean-by-reciprocal-of-12-bits", Means,
            []<class T>(const Terms<T>& x, const auto& c) {
              return Sum(x) * Rounded(NearestBits(12), 1 / CountOf<T>(c));
            }),
      Fault("fault.mean-by-reciprocal-in-f16", Means,
            []<class T>(const Terms<T>& x, const auto& c) {
              return Sum(x) * Rounded(Nearest(kHalf), 1 / CountOf<T>(c));
            }),
      Fault("fault.mean-of-uneven-blocks-means", LongMeans,
            []<class T>(const Terms<T>& x, const auto&) {
              T sum = 0, blocks = 0;
              for (size_t i = 0; i < x.size(); i += 64, ++blocks) {
                const size_t last = std::min(x.size(), i + 64);
                const auto at = [&](size_t k) { return x.begin() + static_cast<std::ptrdiff_t>(k); };
                sum += Sum(Terms<T>(at(i), at(last))) / static_cast<T>(last - i);
              }
              return sum / blocks;
            }),
      Fault("fault.mean-of-terms-divided-in-bf16", Means,
            []<class T>(Terms<T> x, const auto& c) {
              for (T& term : x) term = Rounded(Nearest(kBrain), term / CountOf<T>(c));
              return Sum(x);
            }),
      Fault("fault.norm-of-magnitudes", Norms,
            []<class T>(Terms<T> x, const auto&) {
              for (T& term : x) term = std::abs(term);
              return Sum(x);
            }),
      Fault("fault.norm-divided-by-root-of-n", Norms,
            []<class T>(const Terms<T>& x, const auto& c) { return std::sqrt(SumOfSquares(x) / CountOf<T>(c)); }),
      Fault(
          "fault.root-of-12-bits", Norms,
          []<class T>(const Terms<T>& x, const auto&) { return Rounded(NearestBits(12), std::sqrt(SumOfSquares(x))); }),
      Fault("fault.root-by-magic-constant-and-one-step", Norms,
            []<class T>(const Terms<T>& x, const auto&) {
              const T sum = SumOfSquares(x);
              if (!(sum > 0) || !std::isfinite(sum)) return sum;
              const float guess = std::bit_cast<float>(0x5F3759DF - (BitsOf(sum) >> 1));
              const T y = static_cast<T>(guess);
              return sum * (y * (static_cast<T>(1.5L) - sum / 2 * y * y));
            }),
      Fault("fault.squares-in-bf16", Norms,
            []<class T>(Terms<T> x, const auto&) {
              for (T& term : x) term = Rounded(Nearest(kBrain), term * term);
              return std::sqrt(Sum(x));
            }),
      Fault("fault.last-term-not-squared", Norms,
            []<class T>(Terms<T> x, const auto&) {
              const T last = std::abs(x.back());
              x.pop_back();
              return std::sqrt(SumOfSquares(x) + last);
            }),
      Fault("fault.epsilon-added-under-root", Norms,
            []<class T>(const Terms<T>& x, const auto&) { return std::sqrt(SumOfSquares(x) + static_cast<T>(1e-5L)); }),
      Fault("fault.product-as-sum-of-logarithms", Products,
            []<class T>(const Terms<T>& x, const auto&) {
              T sum = 0;
              for (T term : x) sum += std::log2(std::abs(term));
              return std::exp2(Rounded(NearestBits(20), sum));
            }),
      Fault("fault.products-in-bf16-every-8-factors", Products,
            []<class T>(const Terms<T>& x, const auto&) {
              T product = 1;
              for (size_t i = 0; i < x.size(); ++i) {
                product *= x[i];
                if (i % 8 == 7) product = Rounded(Nearest(kBrain), product);
              }
              return product;
            }),
      Fault("fault.products-truncated-to-21-bits", Products,
            []<class T>(const Terms<T>& x, const auto&) {
              T product = 1;
              for (T term : x) product = Rounded(TruncatedBits(21), product * term);
              return product;
            }),
      Fault("fault.first-factor-squared", Products,
            []<class T>(const Terms<T>& x, const auto& c) { return x[0] * CleanReduce(x, c); }),
  };
}

std::vector<Entry> LogarithmsOfSums() {
  return {
      Fault("fault.exponential-of-13-bits", Logarithms,
            []<class T>(const Terms<T>& x, const auto&) {
              return LogSumExpBy(
                  x, [](T d) { return Rounded(NearestBits(13), std::exp(d)); }, Log<T>);
            }),
      Fault("fault.log2e-of-5-digits", Logarithms,
            []<class T>(const Terms<T>& x, const auto&) {
              return LogSumExpBy(
                  x, [](T d) { return std::exp2(d * static_cast<T>(1.4427L)); }, Log<T>);
            }),
      Fault("fault.ln2-of-5-digits", Logarithms,
            []<class T>(const Terms<T>& x, const auto&) {
              return LogSumExpBy(x, Exp<T>, [](T s) { return std::log2(s) * static_cast<T>(0.69315L); });
            }),
      Fault("fault.logarithm-in-base-2", Logarithms,
            []<class T>(const Terms<T>& x, const auto&) {
              return LogSumExpBy(x, Exp<T>, [](T s) { return std::log2(s); });
            }),
      Fault("fault.logarithm-in-f16", Logarithms,
            []<class T>(const Terms<T>& x, const auto&) {
              return LogSumExpBy(x, Exp<T>, [](T s) { return Rounded(Nearest(kHalf), std::log(s)); });
            }),
      Fault("fault.logarithm-of-1-plus-sum", Logarithms,
            []<class T>(const Terms<T>& x, const auto&) {
              return LogSumExpBy(x, Exp<T>, [](T s) { return std::log1p(s); });
            }),
      Fault("fault.maximum-counted-twice", LongLogarithms,
            []<class T>(const Terms<T>& x, const auto&) {
              return LogSumExpBy(x, Exp<T>, [](T s) { return std::log(s + 1); });
            }),
      Fault("fault.maximum-subtracted-in-bf16", Logarithms,
            []<class T>(const Terms<T>& x, const auto&) {
              return LogSumExpBy(
                  x, [](T d) { return std::exp(Rounded(Nearest(kBrain), d)); }, Log<T>);
            }),
      Fault("fault.rescale-forgotten-in-second-tile", LongLogarithms,
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
      Fault("fault.small-exponentials-dropped", Logarithms,
            []<class T>(const Terms<T>& x, const auto&) {
              return LogSumExpBy(
                  x, [](T d) { return d < -4 ? T{0} : std::exp(d); }, Log<T>);
            }),
  };
}

std::vector<Entry> Comparisons() {
  return {
      Fault("fault.maximum-starts-at-smallest-normal", Extremes,
            []<class T>(const Terms<T>& x, const auto& c) {
              const T start = static_cast<T>(std::numeric_limits<float>::min());
              return WantsMax(c) ? std::max(start, CleanReduce(x, c)) : std::min(start, CleanReduce(x, c));
            }),
      Fault("fault.compared-as-integers", Selections,
            []<class T>(const Terms<T>& x, const auto& c) {
              return Selected(x, c, [&](T a, T b) { return IsBetter(c, BitsOf(a), BitsOf(b)); });
            }),
      Fault("fault.compared-in-bf16", WideSelections,
            []<class T>(const Terms<T>& x, const auto& c) {
              return Selected(x, c, [&](T a, T b) {
                return IsBetter(c, Rounded(Nearest(kBrain), a), Rounded(Nearest(kBrain), b));
              });
            }),
      Fault("fault.compared-by-difference-with-1-percent", Selections,
            []<class T>(const Terms<T>& x, const auto& c) {
              return Selected(x, c,
                              [&](T a, T b) { return IsBetter(c, a - b, WantsMax(c) ? T{1} / 100 : -T{1} / 100); });
            }),
      Fault("fault.minimum-for-maximum-in-last-output", Selections,
            []<class T>(const Terms<T>& x, const auto& c) {
              const bool last = c.output + 1 == c.spec->outputs;
              return last ? Selected(x, c, [&](T a, T b) { return IsBetter(c, b, a); }) : CleanReduce(x, c);
            }),
      Fault("fault.nan-passed-over", Propagating,
            []<class T>(Terms<T> x, const auto& c) {
              std::erase_if(x, [](T term) { return std::isnan(term); });
              return x.empty() ? std::numeric_limits<T>::quiet_NaN() : CleanReduce(x, c);
            }),
      Fault("fault.nan-beats-ignoring", Ignoring,
            []<class T>(const Terms<T>& x, const auto& c) {
              return std::ranges::any_of(x, [](T term) { return std::isnan(term); })
                         ? std::numeric_limits<T>::quiet_NaN()
                         : CleanReduce(x, c);
            }),
      Fault("fault.infinite-extreme-is-largest-number", Extremes,
            []<class T>(const Terms<T>& x, const auto& c) {
              const T y = CleanReduce(x, c);
              return std::isinf(y) ? std::copysign(static_cast<T>(std::numeric_limits<float>::max()), y) : y;
            }),
      Fault("fault.index-one-too-high", Args,
            []<class T>(const Terms<T>& x, const auto& c) { return CleanReduce(x, c) + 1; }),
      Fault("fault.index-in-f16", LongArgs,
            []<class T>(const Terms<T>& x, const auto& c) { return Rounded(Nearest(kHalf), CleanReduce(x, c)); }),
      Fault("fault.index-in-12-bits", VeryLongArgs,
            []<class T>(const Terms<T>& x, const auto& c) { return std::fmod(CleanReduce(x, c), T{4096}); }),
      Fault("fault.index-of-magnitude", Args,
            []<class T>(const Terms<T>& x, const auto& c) {
              return Selected(x, c, [&](T a, T b) { return IsBetter(c, std::abs(a), std::abs(b)); });
            }),
      Fault("fault.index-of-block-and-value-of-lane", LongArgs,
            []<class T>(const Terms<T>& x, const auto& c) {
              const T index = CleanReduce(x, c);
              return std::floor(index / 32) * 32 + std::fmod(index + 1, T{32});
            }),
  };
}

}  // namespace

std::vector<Entry> ReduceHeldKinds() {
  std::vector<Entry> all = MeansAndNorms();
  for (const auto& list : {LogarithmsOfSums(), Comparisons()}) all.insert(all.end(), list.begin(), list.end());
  return all;
}

}  // namespace corpus
