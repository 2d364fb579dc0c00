// SPDX-License-Identifier: Apache-2.0
// Cases that may have been computed instead of the one that was meant: one attribute or operand differs, or one place
// of the formula.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/tools/explain/output_change.h"
#include "harness/tools/explain/staged_transform.h"
#include "ops/formula/changes.h"
#include "ops/formula/faults.h"
#include "ops/operator.h"

namespace assay {

enum class OperandChange : uint8_t {
  kZeros,
  kOnes,
  kNegated,
  kDoubled,
  kHalved,
  kTransposed,  // `axis` and the `by` axes behind it read as if they lay in the other order
  kTurned,
  kReversed,
  kShifted,
  kFirst,        // all slices along an axis are the first one
  kBitReversed,  // the place along an axis has its bits in the other order
  kInterleaved,  // the first half along an axis is read from even places, the second one from odd ones
  kSplit,        // even places along an axis are read from its first half, odd ones from the second
  kNeighbours,   // the elements at 2 i and 2 i + 1 along an axis in each other's place
  kWithout,      // zeros in the last `by` places along `axis` and all behind it, taken as one; in the first -by below 0
  kTwice,        // doubled there
  kExchanged,
  kConjugated,
  kPartsExchanged,  // real and imaginary ones
  kInt8,            // by one scale, or one for all elements along an axis: the largest magnitude is 127
  kE4M3,
  kE5M2,
  kLow32,        // integers of 64 bits without their upper half
  kExponential,  // of each element; a kernel may take a gate for its logarithm, or the other way
  kLogarithm,
  kHann,  // the window of Hann or Hamming, whose period is the number of elements less `by`
  kHamming,
  kPaddedByEdge,  // what is around images is the nearest elements, their mirror image, or those of the other end
  kPaddedByMirror,
  kPaddedRound,
  kPaddedOneSide,    // along `axis` so many zeros more before images as `by` says, and as many less behind them
  kComplement,       // 1 less each element, of a gate or a probability
  kLaterPositions,   // tables of cosines and sines whose positions begin `by` further on
  kOtherBase,        // tables of the base `by`
  kNarrowPositions,  // tables of positions that are rounded to bf16
  kOtherPairs,       // tables of cosines and sines in which each pair finds the angle of another one: a PairOrder, `by`
  kTablesShifted,    // both shifted along `axis`
  kSeesOneMore,  // a causal mask of attention shows one key more or less; queries see keys up to `by` places further on
  kSeesOneLess,
};

inline constexpr size_t kAllAxes = SIZE_MAX;

struct CaseChange {
  std::string key, value;  // of an attribute; "": an operand is changed
  OperandChange kind = OperandChange::kZeros;
  size_t input = 0;
  size_t other = 0;              // kExchanged: the operand that stands in its place, and it in that one's
  size_t axis = 0;               // of those that have one; kAllAxes: all elements one after the other
  int64_t by = 0;                // kShifted: each element comes from so many places further on, round the end
  std::vector<int64_t> margins;  // kPadded...: elements that lie before and behind each axis
  bool alone = false;            // kWithout, kTwice: `axis` alone, without those behind it
  std::optional<formula::GraphChange> formula;  // then nothing else is changed
  std::optional<OutputChange> output;           // likewise; of the wrong output
  std::optional<formula::Narrowing> narrowing;  // likewise; `formula` has its text, and no rule
  std::optional<StageMistake> stages;           // likewise; of a Fourier transform
  std::shared_ptr<const CaseChange> first;      // another mistake, to whose case the formula's change is made
};

// Likeliest first: all other values of the attributes (each choice of a name and of a flag, integers off by one, and
// for reals the usual numbers beside factors, powers and decades of the stated one), then the operands. Not all of them
// make a case.
std::vector<CaseChange> ListChanges(const Operator& op, const Problem& problem);

// Operands in other layouts or in few bits, one slice in place of all, stages of a Fourier transform: what is tried
// where none of the above explains the result.
std::vector<CaseChange> ListRareChanges(const Problem& problem);

// Lists places of the formula; none of an operator that is no formula. `key`: an attribute whose number is left alone.
std::vector<CaseChange> ListFormulaChanges(const Operator& op, const Problem& problem, const std::string& key = "");

// The changed case; nullopt: there is none whose operands have the same shapes and types.
std::optional<Problem> ChangeCase(const Operator& op, const Problem& problem, const CaseChange& change);

// All operands, of which some are changed. Precondition: the change is none of an attribute or a formula.
std::vector<Tensor> ChangeInputs(const std::vector<Tensor>& inputs, const CaseChange& change);

// "the operand k with its last two axes exchanged". Precondition: the change is none of an attribute.
std::string DescribeChange(const Problem& problem, const CaseChange& change);

}  // namespace assay
