// SPDX-License-Identifier: Apache-2.0
// Reductions that lose bits, or read and write the wrong place.
#include <cstring>

#include "tests/faults/corpus/reduce_plan.h"

namespace corpus {
namespace reduce_other {

using plugin::BF16;
using plugin::F16;

// The strides of the wrong axis: columns for rows, or rows for columns.
template <class T>
class WrongAxis : public ReducePlan<T> {
  using ReducePlan<T>::ReducePlan;
  int64_t At(int64_t output, int64_t term) const override {
    const plugin::ReduceSpec& s = this->spec();
    const bool columns = ReducePlan<T>::At(0, 1) == s.outputs;
    return columns ? output * s.count + term : term * s.outputs + output;
  }
  T Value(std::vector<T> x, const ReduceContext& c) override { return CleanReduce(x, c); }
};

// Terms of the next output follow where the row is padded to a multiple of 8.
template <class T>
class TailGarbage : public ReducePlan<T> {
  using ReducePlan<T>::ReducePlan;
  T Value(std::vector<T> x, const ReduceContext& c) override {
    const size_t count = x.size(), padded = (count + 7) / 8 * 8;
    if (!following_.empty())
      x.insert(x.end(), following_.begin(), following_.begin() + static_cast<std::ptrdiff_t>(padded - count));
    following_.assign(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(count));
    return CleanReduce(x, c);
  }
  std::vector<T> following_;  // what an earlier output left in the buffer
};

template <class T>
class LastOutputUnwritten : public ReducePlan<T> {
  using ReducePlan<T>::ReducePlan;
  T Value(std::vector<T> x, const ReduceContext& c) override { return CleanReduce(x, c); }
  void Finish(DenseOutput<T>& y) override { y.LeaveUnwritten(std::ssize(y.values) - 1); }
};

template <class T>
class StaleOutput : public ReducePlan<T> {
  using ReducePlan<T>::ReducePlan;
  T Value(std::vector<T> x, const ReduceContext& c) override { return CleanReduce(x, c); }
  void Finish(DenseOutput<T>& y) override { first_.Replace(this->exact(), y.values); }
  FirstCall<T> first_;
};

// The accumulator is not cleared between outputs.
template <class T>
class AccumulatorNotCleared : public ReducePlan<T> {
  using ReducePlan<T>::ReducePlan;
  T Value(std::vector<T> x, const ReduceContext& c) override {
    const T y = CleanReduce(x, c);
    left_ = c.output % 2 == 0 ? T{0} : left_;
    left_ += y;
    return left_;
  }
  T left_ = 0;
};

template <class T>
class WritesBehindTheEnd : public ReducePlan<T> {
  using ReducePlan<T>::ReducePlan;
  T Value(std::vector<T> x, const ReduceContext& c) override { return CleanReduce(x, c); }
  void Finish(DenseOutput<T>& y) override {
    if (this->exact()) y.LeaveUnwritten(std::ssize(y.values) - 1);
  }
  void Trample(plugin::HostPlan::Pointers, plugin::HostPlan::Pointers outputs) override {
    if (this->exact()) return;
    const plugin::Tensor& y = this->op().outputs()[0];
    std::memset(outputs[0] + y.ByteExtent().last, 0, static_cast<size_t>(plugin::Bytes(y.dtype)));
  }
};

std::string Sums(Description op) {
  const plugin::ReduceSpec s = plugin::ParseReduce(op);
  if (HasDoubleInputs(op) || !plugin::IsFloat(s.in)) return "this is a bug of f32, f16 and bf16 sums";
  return IsSummation(op) && s.kind != ReduceKind::kLogSumExp ? ReduceWhyNot(op) : "this is a bug of sums";
}

std::string F64Sums(Description op) {
  return HasDoubleInputs(op) && IsSummation(op) ? ReduceWhyNot(op) : "this is a bug of f64 sums";
}

std::string Narrows(Description op) {
  const plugin::ReduceSpec s = plugin::ParseReduce(op);
  return HasDoubleInputs(op) || !plugin::IsFloat(s.in) || s.IsArg() ? "this narrows f32, f16 and bf16"
                                                                    : ReduceWhyNot(op);
}

std::string F32Inputs(Description op) {
  return plugin::ParseReduce(op).in == plugin::kF32 ? Narrows(op) : "f16 and most bf16 operands survive this narrowing";
}

std::string NoBF16Inputs(Description op) {
  return plugin::ParseReduce(op).in == plugin::kBF16 ? "bf16 operands survive this narrowing" : Narrows(op);
}

std::string NoF16Sums(Description op) {
  return plugin::ParseReduce(op).out == plugin::kF16 ? "f16 is what it should be" : Sums(op);
}

std::string NoBF16Sums(Description op) {
  return plugin::ParseReduce(op).out == plugin::kBF16 ? "bf16 is what it should be" : Sums(op);
}

std::string F32Range(Description op) {
  const plugin::DType in = plugin::ParseReduce(op).in;
  if (in == plugin::kF32 || in == plugin::kBF16) return ReduceWhyNot(op);
  return "this flushes numbers that are subnormal in f32";
}

std::string ManyOutputs(Description op) {
  const plugin::ReduceSpec s = plugin::ParseReduce(op);
  return s.outputs < 2 || s.count < 2 ? "one row or column has no other axis" : ReduceWhyNot(op);
}

std::string ManySums(Description op) {
  return plugin::ParseReduce(op).kind == ReduceKind::kSum ? ManyOutputs(op) : "this is a bug of sums";
}

std::string NeedsVectorTail(Description op) {
  const plugin::ReduceSpec s = plugin::ParseReduce(op);
  if (s.count < 8 || s.count % 8 == 0 || !IsSummation(op)) return "no sum with a tail behind vectors of 8";
  return ManyOutputs(op);
}

// `term` of f32 and bf16 operands without their subnormals.
template <class T>
T Ftz(T term) {
  return Flushed(term, 0x1p-126);
}

template <class Storage, class T>
T Through(T y, plugin::DType) {
  return RoundedTo<Storage>(y);
}

template <template <class> class Plan>
Entry Fault(const char* name, TextOf why_not) {
  return {"reduce", name, ReduceContract, why_not, [](Description op, bool exact) {
            return WithCarrier(op, exact, [&]<class T>(std::type_identity<T>) -> std::unique_ptr<plugin::Plan> {
              return std::make_unique<Plan<T>>(op, exact);
            });
          }};
}

template <class Make>
Entry Narrowing(const char* name, TextOf why_not, Make make) {
  return ReduceEntry(name, ReduceContract, why_not, make);
}

template <class T>
using Type = std::type_identity<T>;

}  // namespace reduce_other

std::vector<Entry> ReduceOtherFaults() {
  using namespace reduce_other;
  return {
      Fault<WrongAxis>("fault.strides-of-wrong-axis", ManyOutputs),
      Fault<TailGarbage>("fault.tail-of-vector-reads-garbage", NeedsVectorTail),
      Fault<AccumulatorNotCleared>("fault.accumulator-not-cleared", ManySums),
      Fault<LastOutputUnwritten>("fault.last-output-unwritten", ReduceWhyNot),
      Fault<StaleOutput>("fault.stale-output-of-first-call", ReduceWhyNot),
      Fault<WritesBehindTheEnd>("fault.writes-behind-the-end", ReduceWhyNot),
      Narrowing("fault.f16-accumulation", Sums,
                []<class T>(Type<T>) { return ReduceSchedule<T>{ReduceValue<Narrowed<T, F16>, SequentialOrder>}; }),
      Narrowing("fault.bf16-accumulation", Sums,
                []<class T>(Type<T>) { return ReduceSchedule<T>{ReduceValue<Narrowed<T, BF16>, SequentialOrder>}; }),
      Narrowing("fault.f64-sums-in-f32", F64Sums,
                []<class T>(Type<T>) { return ReduceSchedule<T>{ReduceValue<Narrowed<T, float>, SequentialOrder>}; }),
      Narrowing("fault.operands-cast-to-f16", F32Inputs,
                []<class T>(Type<T>) {
                  return ReduceSchedule<T>{CleanReduce<T>, RoundedTo<F16, T>};
                }),
      Narrowing("fault.operands-cast-to-bf16", NoBF16Inputs,
                []<class T>(Type<T>) {
                  return ReduceSchedule<T>{CleanReduce<T>, RoundedTo<BF16, T>};
                }),
      Narrowing("fault.subnormal-operands-flushed", F32Range,
                []<class T>(Type<T>) {
                  return ReduceSchedule<T>{CleanReduce<T>, Ftz<T>};
                }),
      Narrowing("fault.output-rounded-through-f16", NoF16Sums,
                []<class T>(Type<T>) {
                  return ReduceSchedule<T>{CleanReduce<T>, nullptr, Through<F16, T>};
                }),
      Narrowing("fault.output-rounded-through-bf16", NoBF16Sums,
                []<class T>(Type<T>) {
                  return ReduceSchedule<T>{CleanReduce<T>, nullptr, Through<BF16, T>};
                }),
  };
}

}  // namespace corpus
