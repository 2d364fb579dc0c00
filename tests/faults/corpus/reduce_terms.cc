// SPDX-License-Identifier: Apache-2.0
// Bugs of reductions in which terms take part, how they are counted, and how they are compared.
#include <algorithm>

#include "tests/faults/corpus/exponentials.h"
#include "tests/faults/corpus/reduce_plan.h"

namespace corpus {
namespace reduce_terms {

bool IsSpecialPlace(const ReduceContext& c) {
  return c.output == c.spec->outputs / 2;
}

// Functions of one output's terms; T stands where the bug is in exact arithmetic too.
template <class T>
T LastDropped(std::vector<T> x, const ReduceContext& c) {
  x.pop_back();
  return CleanReduce(x, c);
}

template <class T>
T LastDroppedOnce(std::vector<T> x, const ReduceContext& c) {
  return IsSpecialPlace(c) ? LastDropped(std::move(x), c) : CleanReduce(x, c);
}

// Also moves every index by one.
template <class T>
T FirstDropped(std::vector<T> x, const ReduceContext& c) {
  x.erase(x.begin());
  return CleanReduce(x, c);
}

template <class T>
T LastRepeated(std::vector<T> x, const ReduceContext& c) {
  x.push_back(x.back());
  return CleanReduce(x, c);
}

template <class T>
T LastRepeatedOnce(std::vector<T> x, const ReduceContext& c) {
  return IsSpecialPlace(c) ? LastRepeated(std::move(x), c) : CleanReduce(x, c);
}

// The accumulator starts with the first term, and the loop adds it again.
template <class T>
T StartsWithFirst(std::vector<T> x, const ReduceContext& c) {
  x.insert(x.begin(), x.front());
  return CleanReduce(x, c);
}

// The terms behind the last whole warp are lost.
template <class T>
T TailLost(std::vector<T> x, const ReduceContext& c) {
  x.resize(x.size() / 32 * 32);
  return CleanReduce(x, c);
}

// Lanes behind the end hold zero, whatever the kind.
template <class T>
T TailReadsZero(std::vector<T> x, const ReduceContext& c) {
  x.resize((x.size() + 31) / 32 * 32, T{0});
  return CleanReduce(x, c);
}

// The first block's last term is left to the second block, which does not take it.
template <class T>
T BlockGap(std::vector<T> x, const ReduceContext& c) {
  x.erase(x.begin() + std::ssize(x) / 2);
  return CleanReduce(x, c);
}

// Two blocks store to one place: in every other run the second half alone is there, for one output.
template <class T>
T Race(std::vector<T> x, const ReduceContext& c) {
  if (IsSpecialPlace(c) && c.run % 2 != 0) x.erase(x.begin(), x.begin() + std::ssize(x) / 2);
  return CleanReduce(x, c);
}

// The extreme's register starts at zero.
template <class T>
T StartsAtZero(std::vector<T> x, const ReduceContext& c) {
  x.insert(x.begin(), T{0});
  return CleanReduce(x, c);
}

template <class T>
T OfMagnitudes(std::vector<T> x, const ReduceContext& c) {
  for (T& term : x) term = std::abs(term);
  return CleanReduce(x, c);
}

template <class T>
T MeanByCountMinusOne(std::vector<T> x, const ReduceContext& c) {
  return CleanReduce(x, c) * static_cast<T>(c.spec->count) / static_cast<T>(c.spec->count - 1);
}

template <class T>
T MeanByPaddedCount(std::vector<T> x, const ReduceContext& c) {
  return CleanReduce(x, c) * static_cast<T>(c.spec->count) / static_cast<T>((c.spec->count + 31) / 32 * 32);
}

template <class T>
T RootMissing(std::vector<T> x, const ReduceContext& c) {
  const T y = CleanReduce(x, c);
  return y * y;
}

// exp of the terms themselves in f32, which overflows from 89 on.
template <class T>
T ShiftMissing(std::vector<T> x, const ReduceContext&) {
  T sum = 0;
  for (T term : x) sum += RoundedTo<float>(std::exp(term));
  return std::log(RoundedTo<float>(sum));
}

template <class T>
T ShiftNotAddedBack(std::vector<T> x, const ReduceContext& c) {
  const T max = *std::max_element(x.begin(), x.end());
  return CleanReduce(x, c) - max;
}

// logsumexp with another exponential. A maximum that is not finite is the result.
template <class T, T (*kExponential)(T, T)>
T LogSumExpWith(std::vector<T> x, const ReduceContext&) {
  const T max = SequentialOrder::Fold(x, 0, [](T a, T b) { return Extreme<1>(a, b, false); });
  if (!std::isfinite(max)) return max;
  T sum = 0;
  for (T term : x) sum += kExponential(term, max);
  return max + std::log(sum);
}

// `best = term > best ? term : best`: NaN stays where it comes first and is passed over elsewhere.
template <class T>
T NanByPosition(std::vector<T> x, const ReduceContext& c) {
  const bool max = c.spec->kind == ReduceKind::kMax;
  T best = x[0];
  for (T term : x) best = (max ? term > best : term < best) ? term : best;
  return best;
}

// The last of equal terms: `>=` for `>`.
template <class T>
T LastOfTies(std::vector<T> x, const ReduceContext& c) {
  const T first = CleanReduce(x, c);
  const T best = x[static_cast<size_t>(first)];
  for (size_t i = x.size(); i-- > 0;) {
    if (x[i] == best) return static_cast<T>(i);
  }
  return first;
}

// The index within its block of 64.
template <class T>
T BlockBaseLost(std::vector<T> x, const ReduceContext& c) {
  return std::fmod(CleanReduce(x, c), T{64});
}

std::string OfKinds(Description op, std::initializer_list<ReduceKind> kinds, const char* otherwise) {
  const ReduceKind kind = plugin::ParseReduce(op).kind;
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end() ? ReduceWhyNot(op) : otherwise;
}

std::string Adds(Description op) {
  if (plugin::ParseReduce(op).count < 2) return "one term has no second one for this bug";
  using enum ReduceKind;
  return OfKinds(op, {kSum, kMean, kProd, kL2, kLogSumExp}, "an extreme may not show this bug");
}
// Where an index moves as well.
std::string AddsOrArgs(Description op) {
  const plugin::ReduceSpec s = plugin::ParseReduce(op);
  return s.IsArg() && s.count > 1 ? ReduceWhyNot(op) : Adds(op);
}
std::string NeedsTail(Description op) {
  const int64_t count = plugin::ParseReduce(op).count;
  return count < 32 || count % 32 == 0 ? "no tail behind warps of 32" : Adds(op);
}
// Zeros add nothing to the other sums, and hide among the terms of extremes.
std::string NeedsTailOfProducts(Description op) {
  using enum ReduceKind;
  if (plugin::ParseReduce(op).count % 32 == 0) return "no tail behind warps of 32";
  return OfKinds(op, {kProd, kLogSumExp}, "zeros do not show in a sum");
}
std::string Extremes(Description op) {
  return OfKinds(op, {ReduceKind::kMax, ReduceKind::kMin}, "this is a bug of max and min");
}
std::string FloatExtremes(Description op) {
  return plugin::IsFloat(plugin::ParseReduce(op).in) && !plugin::ParseReduce(op).ignore_nan
             ? Extremes(op)
             : "this is a bug of propagated NaN";
}
std::string MaxAndArg(Description op) {
  using enum ReduceKind;
  return OfKinds(op, {kMax, kMin, kArgMax, kArgMin, kSum, kMean, kLogSumExp}, "the sign does not matter to this kind");
}
std::string Args(Description op) {
  return OfKinds(op, {ReduceKind::kArgMax, ReduceKind::kArgMin}, "this is a bug of argmax and argmin");
}
std::string FirstOfTies(Description op) {
  return op.AttrString("tie") == "any" ? "any of equal terms will do" : Args(op);
}
std::string LongArgs(Description op) {
  return plugin::ParseReduce(op).count <= 64 ? "there is one block of 64" : Args(op);
}
std::string Means(Description op) {
  return plugin::ParseReduce(op).count < 2 ? "the mean of one term"
                                           : OfKinds(op, {ReduceKind::kMean}, "this is a bug of mean");
}
std::string TailMeans(Description op) {
  return plugin::ParseReduce(op).count % 32 == 0 ? "no tail behind warps of 32" : Means(op);
}
std::string L2(Description op) {
  return OfKinds(op, {ReduceKind::kL2}, "this is a bug of l2");
}
std::string LogSumExps(Description op) {
  return plugin::ParseReduce(op).IsF64() && HasDoubleInputs(op)
             ? "this overflows f32"
             : OfKinds(op, {ReduceKind::kLogSumExp}, "this is a bug of logsumexp");
}

template <class Pick>
Entry Fault(const char* name, TextOf why_not, Pick pick) {
  return ReduceEntry(name, ReduceContract, why_not,
                     [pick]<class T>(std::type_identity<T> type) { return ReduceSchedule<T>{pick(type)}; });
}

template <class T>
using Type = std::type_identity<T>;

}  // namespace reduce_terms

std::vector<Entry> ReduceTermFaults() {
  using namespace reduce_terms;
  return {
      Fault("fault.last-term-dropped-everywhere", Adds, []<class T>(Type<T>) { return LastDropped<T>; }),
      Fault("fault.last-term-dropped-in-one-output", Adds, []<class T>(Type<T>) { return LastDroppedOnce<T>; }),
      Fault("fault.first-term-dropped-everywhere", AddsOrArgs, []<class T>(Type<T>) { return FirstDropped<T>; }),
      Fault("fault.last-term-repeated-everywhere", Adds, []<class T>(Type<T>) { return LastRepeated<T>; }),
      Fault("fault.last-term-repeated-in-one-output", Adds, []<class T>(Type<T>) { return LastRepeatedOnce<T>; }),
      Fault("fault.accumulator-starts-with-first-term", Adds, []<class T>(Type<T>) { return StartsWithFirst<T>; }),
      Fault("fault.tail-of-warp-lost", NeedsTail, []<class T>(Type<T>) { return TailLost<T>; }),
      Fault("fault.tail-of-warp-reads-zero", NeedsTailOfProducts, []<class T>(Type<T>) { return TailReadsZero<T>; }),
      Fault("fault.gap-between-blocks", Adds, []<class T>(Type<T>) { return BlockGap<T>; }),
      Fault("fault.race-between-blocks-in-one-output", Adds, []<class T>(Type<T>) { return Race<T>; }),
      Fault("fault.extreme-starts-at-zero", Extremes, []<class T>(Type<T>) { return StartsAtZero<T>; }),
      Fault("fault.magnitudes-reduced", MaxAndArg, []<class T>(Type<T>) { return OfMagnitudes<T>; }),
      Fault("fault.mean-divided-by-n-minus-1", Means, []<class T>(Type<T>) { return MeanByCountMinusOne<T>; }),
      Fault("fault.mean-divided-by-padded-count", TailMeans, []<class T>(Type<T>) { return MeanByPaddedCount<T>; }),
      Fault("fault.root-missing-in-l2", L2, []<class T>(Type<T>) { return RootMissing<T>; }),
      Fault("fault.logsumexp-without-shift", LogSumExps, []<class T>(Type<T>) { return ShiftMissing<T>; }),
      Fault("fault.log2e-is-1.4427", LogSumExps,
            []<class T>(Type<T>) { return LogSumExpWith<T, ExponentialOfFiveDigits<T>>; }),
      Fault("fault.ln2-in-one-part", LogSumExps,
            []<class T>(Type<T>) { return LogSumExpWith<T, ExponentialOfShortLn2<T>>; }),
      Fault("fault.logsumexp-shift-not-added-back", LogSumExps, []<class T>(Type<T>) { return ShiftNotAddedBack<T>; }),
      Fault("fault.extreme-loses-nan-by-position", FloatExtremes, []<class T>(Type<T>) { return NanByPosition<T>; }),
      Fault("fault.arg-takes-last-of-ties", FirstOfTies, []<class T>(Type<T>) { return LastOfTies<T>; }),
      Fault("fault.arg-loses-base-of-block", LongArgs, []<class T>(Type<T>) { return BlockBaseLost<T>; }),
  };
}

}  // namespace corpus
