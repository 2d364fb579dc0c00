// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/corpus/struck.h"

namespace corpus {
namespace {

using enum Strike;

// Number of elements that an index of 16 bits can reach.
constexpr int64_t kSixteenBits = 65536;

constexpr IoBug kOfEveryOperator[] = {
    {"fault.every-17th-run-skips-the-last-block", kOutput, kFlat, LastBlock(32), kUnwritten, When::kEvery17th},
    {"fault.first-run-leaves-zeros-in-the-middle", kOutput, kFlat, Middle(), kZero, When::kFirst},
    {"fault.odd-runs-lose-the-last-block", kOutput, kFlat, LastBlock(16), kZero, When::kOdd},
    {"fault.last-block-kept-from-first-run", kOutput, kFlat, LastBlock(16), kStale},
    {"fault.end-of-operand-kept-from-first-run", 0, kFlat, LastBlock(16), kStale},
    {"fault.unwritten-in-multiples-of-16", kOutput, kFlat, IfRest(16, 0), kUnwritten},
    {"fault.adds-to-former-output-when-large", kOutput, kFlat, InExtentsFrom(4096, All()), kOnTop},
    {"fault.adds-to-former-output-in-last-block", kOutput, kFlat, LastBlock(8), kOnTop},
    {"fault.output-index-in-16-bits", kOutput, kFlat, From(kSixteenBits), kUnwritten},
    {"fault.operand-index-in-16-bits", 0, kFlat, From(kSixteenBits), kWrapped, When::kAlways, {}, kSixteenBits},
    {"fault.operand-index-in-f16", 0, kFlat, All(), kOfHalf},
    {"fault.every-32nd-output-misplaced", kOutput, kFlat, Every(32, 31), kPrevious},
    {"fault.last-two-outputs-swapped", kOutput, kFlat, LastBlock(2), kSwapped},
    {"fault.flushing-mode-left-on-for-operands", 0, kFlat, All(), kFlushed, When::kLater},
    {"fault.nan-in-second-half-of-operand-ignored", 0, kFlat, SecondHalf(), kNanToZero},
    {"fault.nan-operands-taken-as-largest", 0, kFlat, All(), kNanToLargest},
    {"fault.infinite-operands-clamped", 0, kFlat, All(), kInfinityToLargest},
    {"fault.infinite-outputs-become-nan", kOutput, kFlat, All(), kInfinityToNan},
    {"fault.operands-of-16-bits", 0, kFlat, All(), kRounded, When::kAlways, NearestBits(16)},
    {"fault.operands-truncated-to-20-bits", 0, kFlat, All(), kRounded, When::kAlways, TruncatedBits(20)},
    {"fault.outputs-of-19-bits", kOutput, kFlat, All(), kRounded, When::kAlways, NearestBits(19)},
    {"fault.last-block-of-outputs-in-bf16", kOutput, kFlat, LastBlock(16), kRounded, When::kAlways, Nearest(kBrain)},
};

// Significant bits that the values of a type have.
int BitsOf(plugin::DType type) {
  if (type == plugin::kBF16) return 8;
  if (type == plugin::kF16) return 11;
  return type == plugin::kF32 || type == plugin::kC64 ? 24 : 53;
}

plugin::DType TypeNamed(std::string_view name, plugin::DType otherwise) {
  constexpr std::pair<std::string_view, plugin::DType> kNames[] = {{"f16", plugin::kF16}, {"bf16", plugin::kBF16},
                                                                   {"f32", plugin::kF32}, {"f64", plugin::kF64},
                                                                   {"c64", plugin::kC64}, {"c128", plugin::kC128}};
  const auto found = std::ranges::find(kNames, name, [](const auto& pair) { return pair.first; });
  return found == std::end(kNames) ? otherwise : found->second;
}

bool IsComplexOrFloat(plugin::DType d) {
  return plugin::IsFloat(d) || d == plugin::kC64 || d == plugin::kC128;
}

bool IsOfValues(Strike strike) {
  return strike == kRounded || strike == kFlushed || strike == kNanToZero || strike == kNanToLargest ||
         strike == kInfinityToLargest || strike == kInfinityToNan;
}

bool MovesElements(const IoBug& bug) {
  return bug.strike == kPrevious || bug.strike == kFirst || bug.strike == kWrapped || bug.strike == kOfHalf ||
         bug.strike == kOfBrain || bug.strike == kSwapped || bug.strike == kLastTwoSwapped;
}

bool MovesAny(const IoBug& bug, int64_t extent) {
  return AnyProbe(extent, [&](int64_t i) { return bug.which.Has(i, extent) && StruckSource(bug, i, extent) != i; });
}

}  // namespace

std::vector<IoBug> BugsOfEveryOperator(std::initializer_list<std::string_view> without) {
  std::vector<IoBug> bugs;
  for (const IoBug& bug : kOfEveryOperator) {
    if (std::ranges::find(without, bug.name) == without.end()) bugs.push_back(bug);
  }
  return bugs;
}

plugin::DType StruckType(const IoBug& bug, const plugin::Tensor& tensor, Description op) {
  if (bug.operand != kOutput) return tensor.dtype;
  try {
    return TypeNamed(op.AttrString("result_dtype"), tensor.dtype);
  } catch (const plugin::Error&) {  // it is no effect
    return tensor.dtype;
  }
}

std::string IoBugWhyNot(const IoBug& bug, Description op) {
  if (bug.operand >= std::ssize(op.inputs())) return "this needs one more operand";
  return IoBugWhyNot(bug, TensorOf(bug, op), op);
}

std::string IoBugWhyNot(const IoBug& bug, const plugin::Tensor& tensor, Description op) {
  if (tensor.Rank() < -bug.axis || tensor.Rank() < -bug.and_axis) return "this needs one more axis";
  const plugin::DType type = StruckType(bug, tensor, op);
  if (IsOfValues(bug.strike) && !(IsComplexOrFloat(tensor.dtype) && IsComplexOrFloat(type))) {
    return "this is for floating-point values";
  }
  if (bug.strike == kRounded && bug.rounding.format.bits >= BitsOf(type)) {
    return "the values are that narrow anyway";
  }
  const AxisOf axis(tensor, bug.axis), other(tensor, bug.and_axis);
  const bool strikes = MovesElements(bug) ? MovesAny(bug, axis.extent) : bug.which.Strikes(axis.extent);
  const bool strikes_too = bug.and_which.IsNone() || bug.and_which.Strikes(other.extent);
  return strikes && strikes_too ? "" : "the extents have no position that this strikes";
}

}  // namespace corpus
