// SPDX-License-Identifier: Apache-2.0
// Results that were right when they were computed and wrong when they were stored: at another place, with another sign
// or in fewer bits.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "harness/judge/judge.h"

namespace assay {

struct OutputChange {
  enum class Kind : uint8_t {
    kZeros,
    kOperand,  // number `input`, as where nothing was computed
    kNegated,
    kDoubled,
    kHalved,
    kScaled,  // by `factor`
    kNeighbours,
    kShifted,
    kTransposed,
    kReadTransposed,
    kOtherLayout,  // `axis` and the `by` axes behind it in the other order
    kReversed,
    kBitReversed,
    kConjugated,
    kPartsExchanged,  // real and imaginary ones
    kFlipped,
    kRounded,
    kNegativeAsZero,
    kSmallAsZero,  // below some magnitude
    kOneMore,      // of whole numbers, as places that are counted from 1
    kOneLess,
    kInTurn,        // `by` parts along `axis`, one element of each after the other instead of one part behind the other
    kBehind,        // the other way round
    kNumberForNan,  // `factor`
    kOperandForNan,  // number `input`
    kAtEnds,         // the largest or the least number of the type, which integers that pass it are not
    kTiesAway,       // from 0, of integers that are rounded
    kTiesUp,
    kInF32,  // integers beyond 2^24 that have no more bits than f32
  };
  Kind kind = Kind::kZeros;
  size_t axis = 0;  // kNeighbours: elements 2 i - by and 2 i + 1 - by in each other's place; and others that have one
  int64_t by = 0;   // kShifted: what belongs so many places before
  bool round = false;  // kShifted: at the end what belongs at the other end, else what belongs there
  int bits = 0;        // kRounded: significant ones that are left; kFlipped: number of the one, from the last on
  size_t output = 0, input = 0;
  double factor = 1;
};

// The place whose number has the bits of `i` in the other order. Precondition: an extent that IsBitReversible.
int64_t ReverseBits(int64_t i, int64_t extent);
inline bool IsBitReversible(int64_t extent) {
  return extent > 2 && std::has_single_bit(static_cast<uint64_t>(extent));
}
// "axes 1 and 2 lay in the other order"
std::string LayoutText(size_t axis, int64_t axes);

// `factors`: by which results of the operator may be multiplied that are normalised otherwise. `parts`: numbers of
// parts that an axis may have.
std::vector<OutputChange> ListOutputChanges(const Tensor& got, std::span<const double> factors,
                                            const std::set<int64_t>& parts);
// Whether all elements bear witness to it, or those that no other change makes: its bits are not counted.
bool IsSeenInAll(const OutputChange& change);
// Whether it moves values, all of which stay as they are.
bool MovesValues(const OutputChange& change);

// Whether the value at each of these places is what the change makes of a right result. `places` are indices of golden
// values, nullptr all of them, `values` are those of `got`, `operand` those of a kOperand; `hit` is told how each is
// judged then.
bool IsChanged(const OutputChange& change, const ElementJudge& judge, const Tensor& got, std::span<const double> values,
               std::span<const double> operand, const std::vector<int64_t>* places,
               const std::function<void(int64_t, const Judgement&)>& hit);

// "the output y shifted by 1 along axis 0"
std::string DescribeOutputChange(const std::string& output, const OutputChange& change);

}  // namespace assay
