// SPDX-License-Identifier: Apache-2.0
// The frame of every reduction of the corpus: the terms of each output, gathered in row-major order, become one value.
// Index outputs are values as well: they are far below 2^24.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "backends/common/reduce_spec.h"
#include "tests/faults/corpus/arithmetic.h"
#include "tests/faults/corpus/dense.h"
#include "tests/faults/corpus/edits.h"
#include "tests/faults/corpus/entry.h"
#include "tests/faults/corpus/struck.h"

namespace corpus {

using plugin::ReduceKind;

// Facts that a reduction may depend on, in addition to its terms.
struct ReduceContext {
  const plugin::ReduceSpec* spec = nullptr;
  int64_t output = 0;  // number of the output, row-major
  int64_t run = 0;     // completed executions of the plan; 1 in exact arithmetic
};

// Folds in the order of a plain loop.
struct SequentialOrder {
  template <class V, class Op>
  static V Fold(const std::vector<V>& x, int64_t /*run*/, Op op) {
    V value = x[0];
    for (size_t i = 1; i < x.size(); ++i) value = op(value, x[i]);
    return value;
  }
};

// The greater (kSign 1) or the lesser of two, NaN first, or never where it is ignored.
template <int kSign, class T>
T Extreme(T a, T b, bool ignore_nan) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) == ignore_nan ? b : a;
  return (kSign > 0 ? b > a : b < a) ? b : a;
}

template <class T>
struct Candidate {
  T value;
  int64_t index;
};

// Extreme for values with their places; the lower index wins among equal ones.
template <int kSign, class T>
Candidate<T> Better(const Candidate<T>& a, const Candidate<T>& b, bool ignore_nan) {
  const bool nan_a = std::isnan(a.value), nan_b = std::isnan(b.value);
  if (nan_a != nan_b) return nan_a == ignore_nan ? b : a;
  if (nan_a || a.value == b.value) return a.index < b.index ? a : b;
  return (kSign > 0 ? b.value > a.value : b.value < a.value) ? b : a;
}

template <int kSign, class Order, class T>
T ArgValue(const std::vector<T>& x, const ReduceContext& c) {
  std::vector<Candidate<T>> all;
  for (size_t i = 0; i < x.size(); ++i) all.push_back({x[i], static_cast<int64_t>(i)});
  const bool ignore_nan = c.spec->ignore_nan;
  return static_cast<T>(
      Order::Fold(all, c.run, [=](const auto& a, const auto& b) { return Better<kSign>(a, b, ignore_nan); }).index);
}

// max + log(sum exp(x - max)); a maximum that is not finite is the result itself.
template <class A, class Order>
typename A::Value LogSumExp(std::vector<typename A::Value> x, int64_t run) {
  using T = typename A::Value;
  const T max = Order::Fold(x, run, [](T a, T b) { return Extreme<1>(a, b, false); });
  if (!std::isfinite(max)) return max;
  for (T& term : x) term = std::exp(term - max);
  return max + std::log(Order::Fold(x, run, A::Add));
}

// Any kind in the arithmetic A and the given order.
template <class A, class Order>
typename A::Value ReduceValue(std::vector<typename A::Value> x, const ReduceContext& c) {
  using T = typename A::Value;
  const bool ignore_nan = c.spec->ignore_nan;
  switch (c.spec->kind) {
    case ReduceKind::kSum:
      return Order::Fold(x, c.run, A::Add);
    case ReduceKind::kMean:
      return Order::Fold(x, c.run, A::Add) / static_cast<T>(c.spec->count);
    case ReduceKind::kProd:
      return Order::Fold(x, c.run, A::Multiply);
    case ReduceKind::kL2:
      for (T& term : x) term = A::Multiply(term, term);
      return std::sqrt(Order::Fold(x, c.run, A::Add));
    case ReduceKind::kLogSumExp:
      return LogSumExp<A, Order>(std::move(x), c.run);
    case ReduceKind::kMax:
      return Order::Fold(x, c.run, [=](T a, T b) { return Extreme<1>(a, b, ignore_nan); });
    case ReduceKind::kMin:
      return Order::Fold(x, c.run, [=](T a, T b) { return Extreme<-1>(a, b, ignore_nan); });
    case ReduceKind::kArgMax:
      return ArgValue<1, Order>(x, c);
    default:
      return ArgValue<-1, Order>(x, c);
  }
}

template <class T>
T CleanReduce(std::vector<T> x, const ReduceContext& c) {
  return ReduceValue<Plain<T>, SequentialOrder>(std::move(x), c);
}

template <class T>
class ReducePlan : public DensePlan<T> {
 public:
  ReducePlan(Description op, bool exact) : DensePlan<T>(op, exact), spec_(plugin::ParseReduce(op)) {
    const std::vector<int64_t>& shape = op.inputs()[0].shape;
    int64_t stride = 1;
    std::vector<std::pair<int64_t, int64_t>> kept, reduced;  // size and stride, last axis first
    for (size_t i = shape.size(); i-- > 0; stride *= shape[i]) {
      (spec_.is_reduced[i] ? reduced : kept).emplace_back(shape[i], stride);
    }
    outputs_ = Offsets(kept), terms_ = Offsets(reduced);
  }

 protected:
  virtual T Value(std::vector<T> x, const ReduceContext& c) = 0;
  // The place in the dense input of a term of an output.
  virtual int64_t At(int64_t output, int64_t term) const {
    return outputs_[static_cast<size_t>(output)] + terms_[static_cast<size_t>(term)];
  }
  const plugin::ReduceSpec& spec() const { return spec_; }

 private:
  static std::vector<int64_t> Offsets(const std::vector<std::pair<int64_t, int64_t>>& axes) {
    std::vector<int64_t> offsets{0};
    for (const auto& [size, stride] : axes) {
      std::vector<int64_t> next;
      for (int64_t i = 0; i < size; ++i) {
        for (int64_t offset : offsets) next.push_back(offset + i * stride);
      }
      offsets = std::move(next);
    }
    return offsets;
  }

  void Compute(std::span<const std::vector<T>> inputs, DenseOutput<T>& output) final {
    std::vector<T> x(terms_.size());
    for (int64_t i = 0; i < spec_.outputs; ++i) {
      for (int64_t term = 0; term < spec_.count; ++term) {
        x[static_cast<size_t>(term)] = inputs[0][static_cast<size_t>(At(i, term))];
      }
      output.values[static_cast<size_t>(i)] = Value(x, {&spec_, i, this->exact() ? 1 : runs_});
    }
    ++runs_;
  }

  const plugin::ReduceSpec spec_;
  std::vector<int64_t> outputs_, terms_;  // offsets
  int64_t runs_ = 0;
};

// A reduction as a function of one output's terms, with a rounding of operands and results.
template <class T>
struct ReduceSchedule {
  std::function<T(std::vector<T>, const ReduceContext&)> value = CleanReduce<T>;
  T (*cast)(T) = nullptr;                  // of every term; null: none
  T (*store)(T, plugin::DType) = nullptr;  // of every result, given its type; null: none
};

template <class T>
class ReduceSchedulePlan : public ReducePlan<T> {
 public:
  ReduceSchedulePlan(Description op, bool exact, ReduceSchedule<T> schedule)
      : ReducePlan<T>(op, exact), schedule_(schedule) {}

 protected:
  T Value(std::vector<T> x, const ReduceContext& c) override {
    if (schedule_.cast != nullptr) {
      for (T& term : x) term = schedule_.cast(term);
    }
    const T y = schedule_.value(std::move(x), c);
    const plugin::DType type = this->exact() ? this->spec().in : this->spec().out;
    return schedule_.store == nullptr ? y : schedule_.store(y, type);
  }

 private:
  const ReduceSchedule<T> schedule_;
};

// "" for every reduction that has terms and outputs.
std::string ReduceWhyNot(Description op);
// f32acc, f64 or acc=i32 with the functions' accuracy, det=yes and batchinv=yes.
std::string ReduceContract(Description op);
// ReduceContract without det and batchinv, and with `acc` in place of f32acc (f64 and integers keep theirs).
std::string ReduceClass(Description op, const std::string& acc);

// Whether the kind computes a sum: sum, mean, l2, logsumexp.
bool IsSummation(Description op);

// Whether the kind is one of these, of at least so many terms.
inline bool IsOneOf(const plugin::ReduceSpec& s, std::initializer_list<ReduceKind> kinds, int64_t least = 1) {
  return std::find(kinds.begin(), kinds.end(), s.kind) != kinds.end() && s.count >= least;
}
// Whether the terms are floating-point numbers as well, two at least.
inline bool AreFloats(const plugin::ReduceSpec& s, std::initializer_list<ReduceKind> kinds, int64_t least = 2) {
  return plugin::IsFloat(s.in) && IsOneOf(s, kinds, least);
}

template <class T>
using ReduceEdits = Edits<ReduceSchedule<T>, plugin::ReduceSpec>;
template <template <class> class Plan = ReduceSchedulePlan, class Fill>
std::vector<Entry> ReduceRows(Fill fill) {
  return EntriesOf<Plan, ReduceSchedule>("reduce", ReduceContract, ReduceWhyNot, plugin::ParseReduce, fill);
}
// Bugs of what the correct kernel reads or stores.
inline std::vector<Entry> ReduceIoBugs(std::span<const IoBug> bugs) {
  return StruckEntries<ReduceSchedulePlan, ReduceSchedule>("reduce", ReduceContract, ReduceWhyNot, bugs);
}

}  // namespace corpus
