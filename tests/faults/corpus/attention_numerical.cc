// SPDX-License-Identifier: Apache-2.0
// Attention with wrong scores and exponentials, undeclared narrowings, and outputs that stay unwritten.
#include "tests/faults/corpus/attention_plan.h"
#include "tests/faults/corpus/exponentials.h"

namespace corpus {
namespace attention_numerical {

using plugin::BF16;
using plugin::F16;

template <class T>
T ScaleOfNextDimension(const AttentionSpec& s) {
  const T d = static_cast<T>(s.d);
  return ScaleOf<T>(s) * std::sqrt(d / (d + 1));
}
template <class T>
T ScaleOfDimension(const AttentionSpec& s) {
  return T{1} / static_cast<T>(s.d);
}
template <class T>
T ScaleOne(const AttentionSpec&) {
  return T{1};
}
template <class T>
T ScaleOfFiveDigits(const AttentionSpec& s) {
  return std::round(ScaleOf<T>(s) * 100000) / 100000;
}
template <class T>
T ScaleInBF16(const AttentionSpec& s) {
  return RoundedTo<BF16>(ScaleOf<T>(s));
}

// Overflows and underflows f32, as in a kernel that subtracts no maximum.
template <class T>
T UnshiftedExponential(T score, T) {
  return RoundedTo<float>(std::exp(score));
}
// exp2 of a polynomial of degree 2 between powers of two: 2^-9.3 off at worst.
template <class T>
T CoarseExponential(T score, T max) {
  const T x = std::max<T>((score - max) * static_cast<T>(1.4426950408889634074L), T{-1000});
  const T whole = std::floor(x), part = x - whole;
  const T mantissa =
      static_cast<T>(1.00172476L) + part * (static_cast<T>(0.657636276L) + part * static_cast<T>(0.3371894346L));
  return std::ldexp(mantissa, static_cast<int>(whole));
}
template <class T>
T ExponentOfRoundedDifference(T score, T max) {
  return std::exp(RoundedTo<F16>(score - max));
}

bool ExceptTailTile(const AttentionSpec& s, const Query&, int64_t j) {
  return j < s.s / 16 * 16;
}
bool ExceptFirstTile(const AttentionSpec&, const Query&, int64_t j) {
  return j >= 16;
}
bool ExceptSecondTile(const AttentionSpec&, const Query&, int64_t tile) {
  return tile != 1;
}
bool Never(const AttentionSpec&, const Query&, int64_t) {
  return false;
}

std::string SeveralDimensions(Description op) {
  const AttentionSpec s = AttentionSpecOf(op);
  if (s.d <= 1) return "this needs several dimensions";
  return AttentionWhyNot(op);
}
std::string Scaled(Description op) {
  return AttentionSpecOf(op).scale == 1 ? "this needs a scale" : AttentionWhyNot(op);
}
std::string ScaledByRoot(Description op) {
  const AttentionSpec s = AttentionSpecOf(op);
  return s.d <= 1 || s.scale * static_cast<double>(s.d) == 1 ? "this needs a scale other than 1/d"
                                                             : SeveralDimensions(op);
}
std::string ScaledByNoPower(Description op) {
  const double scale = AttentionSpecOf(op).scale;
  return RoundedTo<BF16>(scale) == scale ? "this needs a scale that bf16 does not hold" : AttentionWhyNot(op);
}
std::string SeveralKeys(Description op) {
  return AttentionSpecOf(op).s < 2 ? "this needs several keys" : AttentionWhyNot(op);
}
std::string ScaledByMoreDigits(Description op) {
  const double scale = AttentionSpecOf(op).scale;
  return std::round(scale * 100000) / 100000 == scale ? "this needs a scale of more than five digits" : SeveralKeys(op);
}
// The last row sees tiles 0 and 1.
std::string TwoTiles(Description op) {
  const AttentionSpec s = AttentionSpecOf(op);
  const AttentionSpec::Range keys = s.KeysOf(s.l - 1);
  return keys.first < 16 && keys.last > 16 ? AttentionWhyNot(op) : "this needs two tiles of 16 keys in the last row";
}
std::string Tail(Description op) {
  const AttentionSpec s = AttentionSpecOf(op);
  const AttentionSpec::Range keys = s.KeysOf(s.l - 1);
  return s.mask_kind == MaskKind::kNone && s.s > 16 && s.s % 16 != 0 && keys.last == s.s && keys.first < s.s / 16 * 16
             ? AttentionWhyNot(op)
             : "this needs a tail behind whole tiles of 16 keys that no mask hides";
}
std::string Wider(Description op, plugin::DType narrow) {
  return AttentionSpecOf(op).dtype == narrow ? "the operands are that narrow anyway" : AttentionWhyNot(op);
}
std::string WiderThanBF16(Description op) {
  return Wider(op, plugin::kBF16);
}
std::string WiderThanF16(Description op) {
  return AttentionSpecOf(op).dtype == plugin::kBF16 ? "bf16 operands have few enough bits" : Wider(op, plugin::kF16);
}
std::string F32Operands(Description op) {
  return AttentionSpecOf(op).dtype == plugin::kF32 ? AttentionWhyNot(op) : "this takes f32 operands";
}

template <class Make>
Entry Fault(const char* name, TextOf why_not, Make make) {
  return AttentionEntry(name, AttentionContract, why_not, make);
}

// Output that is not written: the last element, the last row of every head.
template <class T>
class LastRowsUnwritten : public AttentionPlan<T> {
 public:
  using AttentionPlan<T>::AttentionPlan;

 private:
  void Finish(DenseOutput<T>& o) override {
    const AttentionSpec& s = this->spec();
    for (int64_t head = 1; head <= s.batch * s.heads; ++head) {
      for (int64_t c = 1; c <= s.dv; ++c) o.LeaveUnwritten(head * s.l * s.dv - c);
    }
  }
};

template <class T>
class LastElementUnwritten : public AttentionPlan<T> {
 public:
  using AttentionPlan<T>::AttentionPlan;

 private:
  void Finish(DenseOutput<T>& o) override { o.LeaveUnwritten(std::ssize(o.values) - 1); }
};

// The last two dimensions of each row change places: a permuted fragment.
template <class T>
class DimensionsSwapped : public AttentionPlan<T> {
 public:
  using AttentionPlan<T>::AttentionPlan;

 private:
  void Finish(DenseOutput<T>& o) override {
    const auto dv = static_cast<size_t>(this->spec().dv);
    for (size_t row = dv; row <= o.values.size(); row += dv) std::swap(o.values[row - 1], o.values[row - 2]);
  }
};

template <template <class> class Plan>
Entry OfPlan(const char* name, TextOf why_not) {
  return {"attention", name, AttentionContract, why_not, [](Description op, bool exact) {
            return WithCarrier(op, exact, [&]<class T>(std::type_identity<T>) -> std::unique_ptr<plugin::Plan> {
              return std::make_unique<Plan<T>>(op, exact, AttentionKernel<T>{.tile = 16});
            });
          }};
}

std::string SeveralOutputDimensions(Description op) {
  return AttentionSpecOf(op).dv < 2 ? "this needs several dimensions of v" : AttentionWhyNot(op);
}

std::vector<Entry> ScoreFaults() {
  return {
      Fault("fault.scale-of-d-plus-1", AttentionWhyNot,
            []<class T>(std::type_identity<T>) { return AttentionKernel<T>{.scale = ScaleOfNextDimension<T>}; }),
      Fault("fault.scale-1-over-d", ScaledByRoot,
            []<class T>(std::type_identity<T>) { return AttentionKernel<T>{.scale = ScaleOfDimension<T>}; }),
      Fault("fault.scale-missing", Scaled,
            []<class T>(std::type_identity<T>) { return AttentionKernel<T>{.scale = ScaleOne<T>}; }),
      Fault("fault.scale-in-bf16", ScaledByNoPower,
            []<class T>(std::type_identity<T>) { return AttentionKernel<T>{.scale = ScaleInBF16<T>}; }),
      Fault("fault.scale-of-5-decimals", ScaledByMoreDigits,
            []<class T>(std::type_identity<T>) { return AttentionKernel<T>{.scale = ScaleOfFiveDigits<T>}; }),
  };
}

std::vector<Entry> ExponentialFaults() {
  return {
      Fault("fault.log2e-is-1.4427", SeveralKeys,
            []<class T>(std::type_identity<T>) {
              return AttentionKernel<T>{.tile = 16, .exponential = ExponentialOfFiveDigits<T>};
            }),
      Fault("fault.exp-by-five-taylor-terms", SeveralKeys,
            []<class T>(std::type_identity<T>) {
              return AttentionKernel<T>{.tile = 16, .exponential = ExponentialOfDegree5<T>};
            }),
      Fault("fault.reciprocal-estimated", SeveralKeys,
            []<class T>(std::type_identity<T>) {
              return AttentionKernel<T>{.tile = 16, .reciprocal = ReciprocalOf12Bits<T>};
            }),
      Fault("fault.reciprocal-of-16-bits", SeveralKeys,
            []<class T>(std::type_identity<T>) {
              return AttentionKernel<T>{.tile = 16, .reciprocal = ReciprocalOfBits<16, T>};
            }),
      Fault("fault.epsilon-in-denominator", SeveralKeys,
            []<class T>(std::type_identity<T>) {
              return AttentionKernel<T>{.tile = 16, .reciprocal = ReciprocalWithEpsilon<T>};
            }),
      Fault("fault.ln2-in-one-part", SeveralKeys,
            []<class T>(std::type_identity<T>) { return AttentionKernel<T>{.exponential = ExponentialOfShortLn2<T>}; }),
      Fault("fault.no-maximum-subtracted", SeveralKeys,
            []<class T>(std::type_identity<T>) { return AttentionKernel<T>{.exponential = UnshiftedExponential<T>}; }),
      Fault("fault.exp-to-bf16", SeveralKeys,
            []<class T>(std::type_identity<T>) { return AttentionKernel<T>{.exponential = ExponentialToBF16<T>}; }),
      Fault("fault.exp-of-degree-2", SeveralKeys,
            []<class T>(std::type_identity<T>) { return AttentionKernel<T>{.exponential = CoarseExponential<T>}; }),
      Fault("fault.exponent-in-f16", SeveralKeys,
            []<class T>(std::type_identity<T>) {
              return AttentionKernel<T>{.exponential = ExponentOfRoundedDifference<T>};
            }),
      Fault("fault.exp2-without-log2e", SeveralKeys,
            []<class T>(std::type_identity<T>) { return AttentionKernel<T>{.exponential = ExponentialOfTwo<T>}; }),
  };
}

std::vector<Entry> TileFaults() {
  return {
      Fault("fault.maximum-misses-tail", Tail,
            []<class T>(std::type_identity<T>) {
              return AttentionKernel<T>{.counts_for_max = ExceptTailTile, .exponential = ExponentialInF32Range<T>};
            }),
      Fault("fault.sum-misses-tail", Tail,
            []<class T>(std::type_identity<T>) { return AttentionKernel<T>{.counts_for_sum = ExceptTailTile}; }),
      Fault("fault.sum-misses-first-tile", TwoTiles,
            []<class T>(std::type_identity<T>) { return AttentionKernel<T>{.counts_for_sum = ExceptFirstTile}; }),
      Fault(
          "fault.rescale-forgotten-once", TwoTiles,
          []<class T>(std::type_identity<T>) { return AttentionKernel<T>{.tile = 16, .rescales = ExceptSecondTile}; }),
      Fault("fault.rescale-forgotten", TwoTiles,
            []<class T>(std::type_identity<T>) { return AttentionKernel<T>{.tile = 16, .rescales = Never}; }),
  };
}

// Narrowings that the contract does not declare.
std::vector<Entry> NarrowingFaults() {
  return {
      Fault(
          "fault.rescale-in-bf16", TwoTiles,
          []<class T>(std::type_identity<T>) { return AttentionKernel<T>{.tile = 16, .factor = RoundedTo<BF16, T>}; }),
      Fault("fault.weights-in-f16", SeveralKeys,
            []<class T>(std::type_identity<T>) { return AttentionKernel<T>{.tile = 64, .weight = RoundedTo<F16, T>}; }),
      Fault(
          "fault.weights-in-bf16", SeveralKeys,
          []<class T>(std::type_identity<T>) { return AttentionKernel<T>{.tile = 64, .weight = RoundedTo<BF16, T>}; }),
      Fault("fault.scores-in-f16", SeveralKeys,
            []<class T>(std::type_identity<T>) { return AttentionKernel<T>{.stored = RoundedTo<F16, T>}; }),
      Fault("fault.scores-in-bf16", SeveralKeys,
            []<class T>(std::type_identity<T>) { return AttentionKernel<T>{.stored = RoundedTo<BF16, T>}; }),
      Fault("fault.sum-in-f16", SeveralKeys,
            []<class T>(std::type_identity<T>) { return AttentionKernel<T>{.tile = 1, .total = RoundedTo<F16, T>}; }),
      Fault("fault.values-summed-in-f16", SeveralKeys,
            []<class T>(std::type_identity<T>) { return AttentionKernel<T>{.tile = 16, .value = RoundedTo<F16, T>}; }),
      Fault("fault.values-summed-in-bf16", SeveralKeys,
            []<class T>(std::type_identity<T>) { return AttentionKernel<T>{.tile = 16, .value = RoundedTo<BF16, T>}; }),
      Fault("fault.operands-in-tf32", F32Operands,
            []<class T>(std::type_identity<T>) { return AttentionKernel<T>{.cast = RoundedToTf32<T>}; }),
      Fault("fault.operands-in-bf16", WiderThanBF16,
            []<class T>(std::type_identity<T>) { return AttentionKernel<T>{.cast = RoundedTo<BF16, T>}; }),
      Fault("fault.operands-in-f16", WiderThanF16,
            []<class T>(std::type_identity<T>) { return AttentionKernel<T>{.cast = RoundedTo<F16, T>}; }),
  };
}

}  // namespace attention_numerical

std::vector<Entry> AttentionNumericalFaults() {
  using namespace attention_numerical;
  std::vector<Entry> all = {
      OfPlan<LastRowsUnwritten>("fault.last-row-of-each-head-unwritten", AttentionWhyNot),
      OfPlan<LastElementUnwritten>("fault.last-element-unwritten", AttentionWhyNot),
      OfPlan<DimensionsSwapped>("fault.last-two-dimensions-swapped", SeveralOutputDimensions),
  };
  for (const auto& list : {ScoreFaults(), ExponentialFaults(), TileFaults(), NarrowingFaults()}) {
    all.insert(all.end(), list.begin(), list.end());
  }
  return all;
}

}  // namespace corpus
