// SPDX-License-Identifier: Apache-2.0
// Correct reductions: orders, and the narrower arithmetic that they declare.
#include <algorithm>
#include <array>

#include "tests/faults/corpus/orders.h"
#include "tests/faults/corpus/reduce_plan.h"

namespace corpus {
namespace reduce_legal {

using plugin::BF16;
using plugin::F16;

template <class V, class Op>
V Tree(const V* x, size_t count, Op op) {
  if (count == 1) return x[0];
  return op(Tree(x, count / 2, op), Tree(x + count / 2, count - count / 2, op));
}

struct PairwiseOrder {
  template <class V, class Op>
  static V Fold(const std::vector<V>& x, int64_t, Op op) {
    return Tree(x.data(), x.size(), op);
  }
};

// One accumulator, the terms in kMake's order.
template <std::vector<int64_t> (*kMake)(int64_t)>
struct Reordered {
  template <class V, class Op>
  static V Fold(const std::vector<V>& x, int64_t run, Op op) {
    std::vector<V> terms;
    for (int64_t i : OrderOf<kMake>(std::ssize(x))) terms.push_back(x[static_cast<size_t>(i)]);
    return SequentialOrder::Fold(terms, run, op);
  }
};

// A warp: term i goes to lane i mod 32, then lanes exchange over distances 16, 8, ... 1.
struct WarpOrder {
  template <class V, class Op>
  static V Fold(const std::vector<V>& x, int64_t, Op op) {
    const size_t lanes = std::min<size_t>(32, x.size());
    std::vector<V> lane(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(lanes));
    for (size_t i = lanes; i < x.size(); ++i) lane[i % 32] = op(lane[i % 32], x[i]);
    for (size_t half = 16; half > 0; half /= 2) {
      for (size_t i = 0; i < half && i + half < lane.size(); ++i) lane[i] = op(lane[i], lane[i + half]);
      lane.resize(std::min(lane.size(), half));
    }
    return lane[0];
  }
};

// Blocks of 64 terms; their results are combined from the last to the first.
template <class V, class Op>
std::vector<V> Blocks(const std::vector<V>& x, Op op) {
  std::vector<V> parts;
  for (size_t i = 0; i < x.size(); i += 64) parts.push_back(Tree(x.data() + i, std::min<size_t>(64, x.size() - i), op));
  return parts;
}

struct TwoStageOrder {
  template <class V, class Op>
  static V Fold(const std::vector<V>& x, int64_t run, Op op) {
    std::vector<V> parts = Blocks(x, op);
    std::reverse(parts.begin(), parts.end());
    return SequentialOrder::Fold(parts, run, op);
  }
};

// The blocks add themselves in the order in which they finish: another one in every run.
struct AtomicOrder {
  template <class V, class Op>
  static V Fold(const std::vector<V>& x, int64_t run, Op op) {
    std::vector<V> parts = Blocks(x, op);
    std::rotate(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(static_cast<size_t>(run) % parts.size()),
                parts.end());
    return SequentialOrder::Fold(parts, run, op);
  }
};

// Kahan's sum of the terms that the kind adds.
template <class T>
T CompensatedSum(std::vector<T> x, const ReduceContext& c) {
  if (c.spec->kind == ReduceKind::kL2) {
    for (T& term : x) term *= term;
  }
  T sum = 0, lost = 0;
  for (T term : x) {
    const T corrected = term - lost, total = sum + corrected;
    lost = std::isfinite(total) ? (total - sum) - corrected : T{0};
    sum = total;
  }
  if (c.spec->kind == ReduceKind::kMean) return sum / static_cast<T>(c.spec->count);
  return c.spec->kind == ReduceKind::kL2 ? std::sqrt(sum) : sum;
}

// A mean by multiplication with the rounded reciprocal of the count.
template <class T>
T ReciprocalMean(std::vector<T> x, const ReduceContext& c) {
  return WarpOrder::Fold(x, c.run, Plain<T>::Add) * (T{1} / static_cast<T>(c.spec->count));
}

// One pass with a running maximum: exp in base 2, as GPUs have it. NaN or an infinite maximum is the result itself.
template <class T>
T OnlineLogSumExp(std::vector<T> x, const ReduceContext&) {
  constexpr T kLog2E = static_cast<T>(1.4426950408889634074L);
  T max = -std::numeric_limits<T>::infinity(), sum = 0;
  for (T term : x) {
    const T before = max;
    max = Extreme<1>(max, term, false);
    if (!std::isfinite(max)) continue;
    if (std::isfinite(before)) sum *= std::exp2((before - max) * kLog2E);
    sum += std::exp2((term - max) * kLog2E);
  }
  return std::isfinite(max) ? max + std::log(sum) : max;
}

template <class T>
T Ftz(T x) {
  return Flushed(x, 0x1p-126);
}

template <class T>
struct Flushing {
  using Value = T;
  static T Add(T a, T b) { return Ftz(a + b); }
  static T Multiply(T a, T b) { return Ftz(a * b); }
};

template <class T>
T FlushedResult(T x, plugin::DType y) {
  return Flushed(x, MinNormal(y));
}

using Spec = const plugin::ReduceSpec&;
template <const plugin::DType& kType>
constexpr auto kInputs = [](Spec s) { return s.in == kType; };
constexpr auto kPlainSums = [](Spec s) { return IsOneOf(s, {ReduceKind::kSum, ReduceKind::kMean, ReduceKind::kL2}); };
constexpr auto kMeans = [](Spec s) { return s.kind == ReduceKind::kMean; };
constexpr auto kLogSumExps = [](Spec s) { return s.kind == ReduceKind::kLogSumExp; };
constexpr auto kNotF64 = [](Spec s) { return !s.IsF64(); };

std::string AnyOrder(Description op) {
  return ReduceClass(op, "f32acc");
}
std::string F16Class(Description op) {
  return ReduceClass(op, "f16acc") + ";det=yes;batchinv=yes";
}
std::string BF16Class(Description op) {
  return ReduceClass(op, "bf16acc") + ";det=yes;batchinv=yes";
}
std::string FlushingClass(Description op) {
  return ReduceContract(op) + ";ftz=all";
}
std::string WideClass(Description op) {
  return ReduceClass(op, "f64") + ";det=yes;batchinv=yes";
}

template <class T>
void Legal(ReduceEdits<T>& of) {
  of("legal.sequential");
  of("legal.shuffled-terms").value = ReduceValue<Plain<T>, Reordered<Shuffled>>;
  of("legal.strided-terms-64").value = ReduceValue<Plain<T>, Reordered<Strided<64>>>;
  of("legal.pairwise").value = ReduceValue<Plain<T>, PairwiseOrder>;
  of("legal.warp-shuffle-32").value = ReduceValue<Plain<T>, WarpOrder>;
  of("legal.two-stage-64").value = ReduceValue<Plain<T>, TwoStageOrder>;
  of("legal.two-stage-64-atomics", nullptr, AnyOrder).value = ReduceValue<Plain<T>, AtomicOrder>;
  of("legal.compensated", kPlainSums).value = CompensatedSum<T>;
  of("legal.reciprocal-mean", kMeans).value = ReciprocalMean<T>;
  of("legal.online-logsumexp", kLogSumExps).value = OnlineLogSumExp<T>;
  of("legal.f16-accumulator", kInputs<plugin::kF16>, F16Class).value = ReduceValue<Narrowed<T, F16>, PairwiseOrder>;
  of("legal.bf16-accumulator", kInputs<plugin::kBF16>, BF16Class).value = ReduceValue<Narrowed<T, BF16>, PairwiseOrder>;
  of("legal.flush-to-zero", kInputs<plugin::kF32>, FlushingClass) = {ReduceValue<Flushing<T>, WarpOrder>, Ftz<T>,
                                                                     FlushedResult<T>};
}

}  // namespace reduce_legal

std::vector<Entry> ReduceLegalEntries() {
  using namespace reduce_legal;
  std::vector<Entry> all = ReduceRows([](auto& of) { Legal(of); });
  Entry wide = ReduceRows([](auto& of) { of("legal.f64-accumulator", kNotF64, WideClass); })[0];
  wide.create = [](Description op, bool exact) {
    return std::make_unique<ReduceSchedulePlan<double>>(op, exact, ReduceSchedule<double>{});
  };
  all.push_back(wide);
  return all;
}

}  // namespace corpus
