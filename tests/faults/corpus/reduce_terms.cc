// SPDX-License-Identifier: Apache-2.0
// Bugs of reductions in which terms take part, how they are counted, and how they are compared.
#include <algorithm>

#include "tests/faults/corpus/exponentials.h"
#include "tests/faults/corpus/reduce_plan.h"

namespace corpus {
namespace reduce_terms {

using enum ReduceKind;
using Spec = const plugin::ReduceSpec&;
using Context = const ReduceContext&;
template <class T>
using Terms = std::vector<T>;

bool IsSpecialPlace(Context c) {
  return c.output == c.spec->outputs / 2;
}

// logsumexp with another exponential. A maximum that is not finite is the result.
template <class T, T (*kExponential)(T, T)>
T LogSumExpWith(const Terms<T>& x, Context) {
  const T max = SequentialOrder::Fold(x, 0, [](T a, T b) { return Extreme<1>(a, b, false); });
  if (!std::isfinite(max)) return max;
  T sum = 0;
  for (T term : x) sum += kExponential(term, max);
  return max + std::log(sum);
}

// Where each bug can strike. An extreme may not show a lost term; an index moves with the first one.
constexpr auto kAdds = [](Spec s) { return IsOneOf(s, {kSum, kMean, kProd, kL2, kLogSumExp}, 2); };
constexpr auto kAddsOrArgs = [](Spec s) { return kAdds(s) || (s.IsArg() && s.count > 1); };
constexpr auto kTail = [](Spec s) { return s.count > 32 && s.count % 32 != 0 && kAdds(s); };
// Zeros add nothing to the other sums, and hide among the terms of extremes.
constexpr auto kTailOfProducts = [](Spec s) { return s.count % 32 != 0 && IsOneOf(s, {kProd, kLogSumExp}); };
constexpr auto kExtremes = [](Spec s) { return IsOneOf(s, {kMax, kMin}); };
constexpr auto kFloatExtremes = [](Spec s) { return plugin::IsFloat(s.in) && !s.ignore_nan && kExtremes(s); };
constexpr auto kSigned = [](Spec s) { return IsOneOf(s, {kMax, kMin, kArgMax, kArgMin, kSum, kMean, kLogSumExp}); };
constexpr auto kLongArgs = [](Spec s) { return s.IsArg() && s.count > 64; };
constexpr auto kMeans = [](Spec s) { return IsOneOf(s, {kMean}, 2); };
constexpr auto kTailMeans = [](Spec s) { return s.count % 32 != 0 && kMeans(s); };
constexpr auto kNorms = [](Spec s) { return IsOneOf(s, {kL2}); };
constexpr auto kLogSumExps = [](Spec s) { return IsOneOf(s, {kLogSumExp}) && s.in != plugin::kF64; };

template <class T>
void LostTerms(ReduceEdits<T>& of) {
  const auto last_dropped = [](Terms<T> x, Context c) {
    x.pop_back();
    return CleanReduce(x, c);
  };
  of("fault.last-term-dropped-everywhere", kAdds).value = last_dropped;
  of("fault.last-term-dropped-in-one-output", kAdds).value = [last_dropped](const Terms<T>& x, Context c) {
    return IsSpecialPlace(c) ? last_dropped(x, c) : CleanReduce(x, c);
  };
  of("fault.first-term-dropped-everywhere", kAddsOrArgs).value = [](Terms<T> x, Context c) {
    x.erase(x.begin());
    return CleanReduce(x, c);
  };
  // The terms behind the last whole warp are lost.
  of("fault.tail-of-warp-lost", kTail).value = [](Terms<T> x, Context c) {
    x.resize(x.size() / 32 * 32);
    return CleanReduce(x, c);
  };
  // The first block's last term is left to the second block, which does not take it.
  of("fault.gap-between-blocks", kAdds).value = [](Terms<T> x, Context c) {
    x.erase(x.begin() + std::ssize(x) / 2);
    return CleanReduce(x, c);
  };
  // Two blocks store to one place: in every other run the second half alone is there, for one output.
  of("fault.race-between-blocks-in-one-output", kAdds).value = [](Terms<T> x, Context c) {
    if (IsSpecialPlace(c) && c.run % 2 != 0) x.erase(x.begin(), x.begin() + std::ssize(x) / 2);
    return CleanReduce(x, c);
  };
}

template <class T>
void AddedTerms(ReduceEdits<T>& of) {
  const auto last_repeated = [](Terms<T> x, Context c) {
    x.push_back(x.back());
    return CleanReduce(x, c);
  };
  of("fault.last-term-repeated-everywhere", kAdds).value = last_repeated;
  of("fault.last-term-repeated-in-one-output", kAdds).value = [last_repeated](const Terms<T>& x, Context c) {
    return IsSpecialPlace(c) ? last_repeated(x, c) : CleanReduce(x, c);
  };
  // And the loop adds it again.
  of("fault.accumulator-starts-with-first-term", kAdds).value = [](Terms<T> x, Context c) {
    x.insert(x.begin(), x.front());
    return CleanReduce(x, c);
  };
  // Lanes behind the end hold zero, whatever the kind.
  of("fault.tail-of-warp-reads-zero", kTailOfProducts).value = [](Terms<T> x, Context c) {
    x.resize((x.size() + 31) / 32 * 32, T{0});
    return CleanReduce(x, c);
  };
  of("fault.extreme-starts-at-zero", kExtremes).value = [](Terms<T> x, Context c) {
    x.insert(x.begin(), T{0});
    return CleanReduce(x, c);
  };
  of("fault.magnitudes-reduced", kSigned).value = [](Terms<T> x, Context c) {
    for (T& term : x) term = std::abs(term);
    return CleanReduce(x, c);
  };
}

template <class T>
void Functions(ReduceEdits<T>& of) {
  of("fault.mean-divided-by-n-minus-1", kMeans).value = [](const Terms<T>& x, Context c) {
    return CleanReduce(x, c) * static_cast<T>(c.spec->count) / static_cast<T>(c.spec->count - 1);
  };
  of("fault.mean-divided-by-padded-count", kTailMeans).value = [](const Terms<T>& x, Context c) {
    return CleanReduce(x, c) * static_cast<T>(c.spec->count) / static_cast<T>((c.spec->count + 31) / 32 * 32);
  };
  of("fault.root-missing-in-l2", kNorms).value = [](const Terms<T>& x, Context c) {
    const T y = CleanReduce(x, c);
    return y * y;
  };
  // exp of the terms themselves in f32, which overflows from 89 on.
  of("fault.logsumexp-without-shift", kLogSumExps).value = [](const Terms<T>& x, Context) {
    T sum = 0;
    for (T term : x) sum += RoundedTo<float>(std::exp(term));
    return std::log(RoundedTo<float>(sum));
  };
  of("fault.log2e-is-1.4427", kLogSumExps).value = LogSumExpWith<T, ExponentialOfFiveDigits<T>>;
  of("fault.ln2-in-one-part", kLogSumExps).value = LogSumExpWith<T, ExponentialOfShortLn2<T>>;
  of("fault.logsumexp-shift-not-added-back", kLogSumExps).value = [](const Terms<T>& x, Context c) {
    return CleanReduce(x, c) - *std::max_element(x.begin(), x.end());
  };
  // `best = term > best ? term : best`: NaN stays where it comes first and is passed over elsewhere.
  of("fault.extreme-loses-nan-by-position", kFloatExtremes).value = [](const Terms<T>& x, Context c) {
    T best = x[0];
    for (T term : x) best = (c.spec->kind == kMax ? term > best : term < best) ? term : best;
    return best;
  };
  // The index within its block of 64.
  of("fault.arg-loses-base-of-block", kLongArgs).value = [](const Terms<T>& x, Context c) {
    return std::fmod(CleanReduce(x, c), T{64});
  };
}

// The last of equal terms: `>=` for `>`.
template <class T>
void Ties(ReduceEdits<T>& of) {
  of("fault.arg-takes-last-of-ties").value = [](const Terms<T>& x, Context c) {
    const T first = CleanReduce(x, c);
    const auto last = std::find(x.rbegin(), x.rend(), x[static_cast<size_t>(first)]);
    return last == x.rend() ? first : static_cast<T>(x.rend() - last - 1);
  };
}
std::string TiesWhyNot(Description op) {
  const bool first = plugin::ParseReduce(op).IsArg() && op.AttrString("tie") != "any";
  return first ? ReduceWhyNot(op) : "this needs an index of the first of equal terms";
}

}  // namespace reduce_terms

std::vector<Entry> ReduceTermFaults() {
  using namespace reduce_terms;
  return Joined({ReduceRows([](auto& of) { LostTerms(of), AddedTerms(of), Functions(of); }),
                 EntriesOf<ReduceSchedulePlan, ReduceSchedule>("reduce", ReduceContract, TiesWhyNot,
                                                               plugin::ParseReduce, [](auto& of) { Ties(of); })});
}

}  // namespace corpus
