// SPDX-License-Identifier: Apache-2.0
// Reductions that lose bits, or read and write the wrong place.
#include <cstring>

#include "tests/faults/corpus/reduce_plan.h"

namespace corpus {
namespace reduce_other {

using plugin::BF16;
using plugin::F16;
using enum ReduceKind;
using Spec = const plugin::ReduceSpec&;

// The strides of the wrong axis: columns for rows, or rows for columns.
template <class T>
class WrongAxis : public ReduceSchedulePlan<T> {
 public:
  using ReduceSchedulePlan<T>::ReduceSchedulePlan;

 private:
  int64_t At(int64_t output, int64_t term) const override {
    const plugin::ReduceSpec& s = this->spec();
    const bool columns = ReducePlan<T>::At(0, 1) == s.outputs;
    return columns ? output * s.count + term : term * s.outputs + output;
  }
};

// One element more than there is.
template <class T>
class WritesBehindTheEnd : public ReduceSchedulePlan<T> {
 public:
  using ReduceSchedulePlan<T>::ReduceSchedulePlan;

 private:
  void Store(const std::vector<T>&, DenseOutput<T>& y) override {
    if (this->exact()) y.LeaveUnwritten(std::ssize(y.values) - 1);
  }
  void Trample(plugin::HostPlan::Pointers, plugin::HostPlan::Pointers outputs) override {
    if (!this->exact()) ClearBehindTheEnd(this->op().outputs()[0], outputs[0]);
  }
};

// Where each bug can strike.
constexpr auto kNarrow = [](Spec s) { return s.in != plugin::kF64 && plugin::IsFloat(s.in); };
constexpr auto kSums = [](Spec s) { return kNarrow(s) && IsOneOf(s, {kSum, kMean, kL2}); };
constexpr auto kF64Sums = [](Spec s) { return s.in == plugin::kF64 && IsOneOf(s, {kSum, kMean, kL2, kLogSumExp}); };
constexpr auto kF32Inputs = [](Spec s) { return s.in == plugin::kF32 && !s.IsArg(); };
constexpr auto kNoBF16Inputs = [](Spec s) { return kNarrow(s) && s.in != plugin::kBF16 && !s.IsArg(); };
constexpr auto kNoF16Sums = [](Spec s) { return s.out != plugin::kF16 && kSums(s); };
constexpr auto kNoBF16Sums = [](Spec s) { return s.out != plugin::kBF16 && kSums(s); };
constexpr auto kF32Range = [](Spec s) { return s.in == plugin::kF32 || s.in == plugin::kBF16; };
constexpr auto kManyOutputs = [](Spec s) { return s.outputs > 1 && s.count > 1; };
constexpr auto kManySums = [](Spec s) { return s.kind == kSum && kManyOutputs(s); };
constexpr auto kVectorTail = [](Spec s) {
  return s.count >= 8 && s.count % 8 != 0 && kManyOutputs(s) && IsOneOf(s, {kSum, kMean, kL2, kLogSumExp});
};

template <class T>
void Buffers(ReduceEdits<T>& of) {
  // Terms of the output before follow where the row is padded to a multiple of 8.
  of("fault.tail-of-vector-reads-garbage", kVectorTail).value = [left = std::vector<T>{}](
                                                                    std::vector<T> x, const ReduceContext& c) mutable {
    const auto count = std::ssize(x), padding = (8 - count % 8) % 8;
    if (!left.empty()) x.insert(x.end(), left.begin(), left.begin() + padding);
    left.assign(x.begin(), x.begin() + count);
    return CleanReduce(x, c);
  };
  of("fault.accumulator-not-cleared", kManySums).value = [left = T{0}](const std::vector<T>& x,
                                                                       const ReduceContext& c) mutable {
    left = (c.output % 2 == 0 ? T{0} : left) + CleanReduce(x, c);
    return left;
  };
}

template <class T>
void Narrowings(ReduceEdits<T>& of) {
  of("fault.f16-accumulation", kSums).value = ReduceValue<Narrowed<T, F16>, SequentialOrder>;
  of("fault.bf16-accumulation", kSums).value = ReduceValue<Narrowed<T, BF16>, SequentialOrder>;
  of("fault.f64-sums-in-f32", kF64Sums).value = ReduceValue<Narrowed<T, float>, SequentialOrder>;
  of("fault.operands-cast-to-f16", kF32Inputs).cast = RoundedTo<F16, T>;
  of("fault.operands-cast-to-bf16", kNoBF16Inputs).cast = RoundedTo<BF16, T>;
  of("fault.subnormal-operands-flushed", kF32Range).cast = [](T term) { return Flushed(term, 0x1p-126); };
  of("fault.output-rounded-through-f16", kNoF16Sums).store = [](T y, plugin::DType) { return RoundedTo<F16>(y); };
  of("fault.output-rounded-through-bf16", kNoBF16Sums).store = [](T y, plugin::DType) { return RoundedTo<BF16>(y); };
}

constexpr IoBug kPlaces[] = {
    {"fault.last-output-unwritten", kOutput, kFlat, Last(), Strike::kUnwritten},
    {"fault.stale-output-of-first-call", kOutput, kFlat, All(), Strike::kKept},
};

}  // namespace reduce_other

std::vector<Entry> ReduceOtherFaults() {
  using namespace reduce_other;
  return Joined({ReduceRows<WrongAxis>([](auto& of) { of("fault.strides-of-wrong-axis", kManyOutputs); }),
                 ReduceRows<WritesBehindTheEnd>([](auto& of) { of("fault.writes-behind-the-end"); }),
                 ReduceRows([](auto& of) { Buffers(of), Narrowings(of); }), ReduceIoBugs(kPlaces)});
}

}  // namespace corpus
