// SPDX-License-Identifier: Apache-2.0
// Bugs around a computation, as data: what is wrong with an operand when it is read or with the output when it is
// stored, at which positions, in which executions. They fit every operator: `Struck` puts one around any plan.
#pragma once

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/faults/corpus/arithmetic.h"
#include "tests/faults/corpus/dense.h"
#include "tests/faults/corpus/entry.h"
#include "tests/faults/corpus/rounding.h"
#include "tests/faults/corpus/which.h"

namespace corpus {

enum class Strike {
  kZero,
  kDoubled,
  kNegated,
  kPrevious,  // the value of the position before
  kFirst,     // the value of the first position
  kWrapped,   // of the position modulo `limit`
  kOfHalf,    // of the position as f16 holds it: odd ones beyond 2048 are missed
  kOfBrain,   // as bf16 holds it
  kSwapped,   // with its neighbour
  kLastTwoSwapped,
  kUnwritten,  // the output alone
  kStale,      // what the plan's first execution had there; half of the value in exact arithmetic
  kKept,       // likewise, but NaN in exact arithmetic
  kOnTop,      // the output: added to what lay there
  kRounded,
  kFlushed,  // what is subnormal in its type is zero
  kNanToZero,
  kNanToLargest,
  kInfinityToLargest,
  kInfinityToNan,
  kRelu,  // negative values are zero
  kAbsolute,
};

enum class When { kAlways, kEvery17th, kFirst, kLater, kOdd };

inline constexpr int kOutput = -1;
inline constexpr int kFlat = 0;  // not an axis: all elements one after the other

struct IoBug {
  const char* name;
  int operand;  // an input's number or kOutput
  int axis;     // from the end, -1 the last; or kFlat
  Which which;
  Strike strike;
  When when = When::kAlways;
  Rounding rounding{};
  int64_t limit = 0;
  // Positions along a second axis, where it has one.
  int and_axis = kFlat;
  Which and_which{};

  constexpr IoBug And(int other_axis, Which others) const {
    IoBug bug = *this;
    bug.and_axis = other_axis, bug.and_which = others;
    return bug;
  }
  constexpr IoBug To(Rounding other) const {
    IoBug bug = *this;
    bug.rounding = other;
    return bug;
  }
};

inline const plugin::Tensor& TensorOf(const IoBug& bug, Description op) {
  return bug.operand == kOutput ? op.outputs()[0] : op.inputs()[static_cast<size_t>(bug.operand)];
}

// The extent of an axis of the tensor and the elements from one of its positions to the next.
struct AxisOf {
  int64_t extent = 1, inner = 1;
  AxisOf(const plugin::Tensor& tensor, int axis) {
    if (axis == kFlat) {
      extent = tensor.Elements();
      return;
    }
    const auto at = static_cast<size_t>(tensor.Rank() + axis);
    extent = tensor.shape[at];
    for (size_t i = at + 1; i < tensor.shape.size(); ++i) inner *= tensor.shape[i];
  }
  int64_t IndexOf(int64_t element) const { return element / inner % extent; }
};

// Type of the values that the bug changes. The output of an effect is wider than the output that it stands for, whose
// type an attribute names.
plugin::DType StruckType(const IoBug& bug, const plugin::Tensor& tensor, Description op);

// Why the bug cannot change anything of these operands; "" if it can.
std::string IoBugWhyNot(const IoBug& bug, Description op);
// Overload for another view `tensor` of the operand.
std::string IoBugWhyNot(const IoBug& bug, const plugin::Tensor& tensor, Description op);

inline bool IsStruckIn(When when, int64_t run) {
  switch (when) {
    case When::kEvery17th:
      return run % 17 == 16;
    case When::kFirst:
      return run == 0;
    case When::kLater:
      return run > 0;
    case When::kOdd:
      return run % 2 == 1;
    default:
      return true;
  }
}

inline bool IsOfFirstRun(Strike strike) {
  return strike == Strike::kStale || strike == Strike::kKept;
}

// The position along the axis whose value a struck one takes.
inline int64_t StruckSource(const IoBug& bug, int64_t i, int64_t extent) {
  switch (bug.strike) {
    case Strike::kPrevious:
      return i > 0 ? i - 1 : i;
    case Strike::kFirst:
      return 0;
    case Strike::kWrapped:
      return i % bug.limit;
    case Strike::kOfHalf:
      return std::min(static_cast<int64_t>(Rounded(Nearest(kHalf), static_cast<double>(i))), extent - 1);
    case Strike::kOfBrain:
      return std::min(static_cast<int64_t>(Rounded(Nearest(kBrain), static_cast<double>(i))), extent - 1);
    case Strike::kSwapped:
      return i % 2 == 0 ? std::min(i + 1, extent - 1) : i - 1;
    case Strike::kLastTwoSwapped:
      return extent < 2 || i + 2 < extent ? i : 2 * extent - 3 - i;
    default:
      return i;
  }
}

inline double LargestOf(plugin::DType type) {
  if (type == plugin::kF16) return 65504;
  if (type == plugin::kBF16) return 0x1.FEp127;
  return type.bits == (ComponentsOf(type) == 2 ? 128 : 64) ? std::numeric_limits<double>::max()
                                                           : std::numeric_limits<float>::max();
}

template <class T>
T StruckValue(const IoBug& bug, plugin::DType type, T x) {
  switch (bug.strike) {
    case Strike::kZero:
      return T{0};
    case Strike::kDoubled:
      return x + x;
    case Strike::kNegated:
      return -x;
    case Strike::kRounded:
      return Rounded(bug.rounding, x);
    case Strike::kFlushed:
      return Flushed(x, MinNormal(type));
    case Strike::kNanToZero:
      return std::isnan(x) ? T{0} : x;
    case Strike::kNanToLargest:
      return std::isnan(x) ? static_cast<T>(LargestOf(type)) : x;
    case Strike::kInfinityToLargest:
      return std::isinf(x) ? std::copysign(static_cast<T>(LargestOf(type)), x) : x;
    case Strike::kInfinityToNan:
      return std::isinf(x) ? std::numeric_limits<T>::quiet_NaN() : x;
    case Strike::kRelu:
      return x < 0 ? T{0} : x;
    case Strike::kAbsolute:
      return std::abs(x);
    default:
      return x;
  }
}

// `first`: the values of the plan's first execution; `former`: what the output held before.
template <class T>
void StrikeValues(const IoBug& bug, const plugin::Tensor& tensor, bool exact, const std::vector<T>& first,
                  const std::vector<T>& former, DenseOutput<T>& y, plugin::DType type) {
  const AxisOf axis(tensor, bug.axis), other(tensor, bug.and_axis);
  const std::vector<T> old = y.values;
  const int64_t parts = ComponentsOf(tensor.dtype);
  for (int64_t e = 0; e < tensor.Elements(); ++e) {
    const int64_t i = axis.IndexOf(e);
    if (!bug.which.Has(i, axis.extent)) continue;
    if (!bug.and_which.IsNone() && !bug.and_which.Has(other.IndexOf(e), other.extent)) continue;
    const int64_t source = e + (StruckSource(bug, i, axis.extent) - i) * axis.inner;
    for (int64_t part = 0; part < parts; ++part) {
      const auto at = static_cast<size_t>(e * parts + part);
      if (bug.strike == Strike::kUnwritten) {
        y.LeaveUnwritten(e * parts + part);
      } else if (exact && bug.strike == Strike::kStale) {
        y.values[at] /= 2;  // other numbers of that size: where these change nothing, none that were there once do
      } else if (exact && (bug.strike == Strike::kOnTop || bug.strike == Strike::kKept)) {
        y.values[at] = std::numeric_limits<T>::quiet_NaN();
      } else if (IsOfFirstRun(bug.strike)) {
        y.values[at] = first.empty() ? y.values[at] : first[at];
      } else if (bug.strike == Strike::kOnTop) {
        y.values[at] += former[at];
      } else {
        y.values[at] = StruckValue(bug, type, old[static_cast<size_t>(source * parts + part)]);
      }
    }
  }
}

// `Base`: a DensePlan.
template <class Base>
class Struck : public Base {
 public:
  using T = typename Base::Carrier;

  template <class... Args>
  Struck(const IoBug& bug, Description op, bool exact, const Args&... args) : Base(op, exact, args...), bug_(bug) {}

 private:
  void Load(std::vector<std::vector<T>>& inputs) override {
    if (bug_.operand == kOutput) return;
    DenseOutput<T> x{std::move(inputs[static_cast<size_t>(bug_.operand)]), {}};
    Apply({}, x);
    inputs[static_cast<size_t>(bug_.operand)] = std::move(x.values);
    ++runs_;
  }
  void Store(const std::vector<T>& former, DenseOutput<T>& y) override {
    if (bug_.operand != kOutput) return;
    Apply(former, y);
    ++runs_;
  }
  void Apply(const std::vector<T>& former, DenseOutput<T>& x) {
    const std::vector<T> own = IsOfFirstRun(bug_.strike) && runs_ == 0 ? x.values : std::vector<T>{};
    if (this->exact() || IsStruckIn(bug_.when, runs_)) {
      const plugin::Tensor& tensor = TensorOf(bug_, this->op());
      StrikeValues(bug_, tensor, this->exact(), first_, former, x, StruckType(bug_, tensor, this->op()));
    }
    if (!own.empty()) first_ = own;
  }

  const IoBug bug_;
  int64_t runs_ = 0;
  std::vector<T> first_;
};

// One entry per bug. `make(std::type_identity<T>{}, bug, op, exact)` gives the plan.
template <class Make>
std::vector<Entry> IoEntries(const char* name, TextOf contract, TextOf why_not, std::span<const IoBug> bugs,
                             Make make) {
  std::vector<Entry> all;
  for (const IoBug& bug : bugs) {
    all.push_back({name, bug.name, contract,
                   [bug, why_not](Description op) {
                     const std::string reason = why_not(op);
                     return reason.empty() ? IoBugWhyNot(bug, op) : reason;
                   },
                   [bug, make](Description op, bool exact) {
                     return WithCarrier(op, exact,
                                        [&]<class T>(std::type_identity<T> type) -> std::unique_ptr<plugin::Plan> {
                                          return make(type, bug, op, exact);
                                        });
                   }});
  }
  return all;
}

// One entry per bug, around the plan of an operator's correct kernel.
template <template <class> class Plan, template <class> class Kernel>
std::vector<Entry> StruckEntries(const char* name, TextOf contract, TextOf why_not, std::span<const IoBug> bugs) {
  return IoEntries(name, contract, why_not, bugs,
                   []<class T>(std::type_identity<T>, const IoBug& bug, Description op, bool exact) {
                     return std::make_unique<Struck<Plan<T>>>(bug, op, exact, Kernel<T>{});
                   });
}

// Bugs that a kernel of any operator may have, but those that change nothing of the operator's cases.
std::vector<IoBug> BugsOfEveryOperator(std::initializer_list<std::string_view> without = {});

}  // namespace corpus
