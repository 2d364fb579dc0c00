// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/explain/output_change.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numbers>

namespace assay {
namespace {

using Kind = OutputChange::Kind;

// An output of few bits is told from one of many by as many bits that are 0 in values that need them.
constexpr int64_t kLeastBitsLost = 12;
// Share of the squared errors that such a rounding may leave, where others on the way turn some of its ties.
constexpr double kMostLeft = 0.25;

double RoundTo(double x, int bits) {
  if (x == 0 || !std::isfinite(x)) return x;
  const double unit = std::ldexp(1.0, std::ilogb(x) - bits + 1);
  return std::nearbyint(x / unit) * unit;
}

// Where the value at a place of the output belongs.
int64_t FindSource(const OutputChange& change, const Shape& shape, int64_t element) {
  if (change.kind == Kind::kTransposed || change.kind == Kind::kReadTransposed) {
    const int64_t columns = shape.back(), rows = shape[shape.size() - 2], i = element % (rows * columns);
    const int64_t inner = change.kind == Kind::kTransposed ? rows : columns;
    return element - i + i % inner * (rows * columns / inner) + i / inner;
  }
  if (change.kind == Kind::kOtherLayout) {
    int64_t columns = 1, inner = 1;
    for (size_t axis = change.axis + 1; axis < shape.size(); ++axis)
      (axis <= change.axis + static_cast<size_t>(change.by) ? columns : inner) *= shape[axis];
    const int64_t rows = shape[change.axis], i = element / inner % (rows * columns);
    return element + (i % rows * columns + i / rows - i) * inner;
  }
  const bool is_of_parts = change.kind == Kind::kInTurn || change.kind == Kind::kBehind;
  const bool has_axis = change.kind == Kind::kNeighbours || change.kind == Kind::kShifted ||
                        change.kind == Kind::kReversed || change.kind == Kind::kBitReversed || is_of_parts;
  if (!has_axis) return element;
  const int64_t extent = shape[change.axis], stride = RowMajorStrides(shape)[change.axis];
  const int64_t i = element / stride % extent;
  if (change.kind == Kind::kReversed) return element + (extent - 1 - 2 * i) * stride;
  if (change.kind == Kind::kBitReversed) return element + (ReverseBits(i, extent) - i) * stride;
  if (is_of_parts) {
    const int64_t inner = change.kind == Kind::kInTurn ? change.by : extent / change.by;
    return element + (i % inner * (extent / inner) + i / inner - i) * stride;
  }
  const int64_t from = change.kind == Kind::kShifted ? i - change.by : ((i + change.by) ^ 1) - change.by;
  if (change.round) return element + ((from + extent) % extent - i) * stride;
  return element + ((from < 0 || from >= extent ? i : from) - i) * stride;
}

double Undo(const OutputChange& change, double value, bool is_imaginary) {
  const Kind kind = change.kind;
  return kind == Kind::kNegated                      ? -value
         : kind == Kind::kScaled                     ? value / change.factor
         : kind == Kind::kConjugated && is_imaginary ? -value
         : kind == Kind::kDoubled                    ? value / 2
         : kind == Kind::kHalved                     ? 2 * value
         : kind == Kind::kOneMore                    ? value - 1
         : kind == Kind::kOneLess                    ? value + 1
                                                     : value;
}

// The value with one bit of its representation flipped.
double FlipBit(const Tensor& got, int64_t element, int bit) {
  std::array<std::byte, 16> one{};
  const auto size = static_cast<size_t>(SizeOf(got.dtype()));
  std::memcpy(one.data(), got.data() + static_cast<size_t>(element) * size, size);
  one[static_cast<size_t>(bit / 8)] ^= std::byte{1} << (bit % 8);
  double value = 0;
  ToF64(got.dtype(), one.data(), {&value, 1});
  return value;
}

// Whether the error is what rounding to a number near `value` may make, beside the tolerance.
bool IsWithinRounding(const Judgement& judged, double value, int bits) {
  if (!judged.finite || !std::isfinite(value) || value == 0) return false;
  return std::fabs(judged.error) <= std::ldexp(0.5, std::ilogb(value) - bits + 1) + judged.Tolerance();
}

int64_t CountPlaces(std::span<const double> values, const std::vector<int64_t>* places) {
  return places == nullptr ? std::ssize(values) : std::ssize(*places);
}

int64_t PlaceAt(int64_t n, const std::vector<int64_t>* places) {
  return places == nullptr ? n : (*places)[static_cast<size_t>(n)];
}

bool IsRounded(int bits, const ElementJudge& judge, std::span<const double> values,
               const std::vector<int64_t>* places) {
  int64_t lost = 0;
  double squares = 0, squares_meant = 0;
  const int bits_lost = FormatOf(judge.dtype()).precision - bits;
  for (int64_t n = 0; n < CountPlaces(values, places); ++n) {
    const int64_t i = PlaceAt(n, places);
    const double value = values[static_cast<size_t>(i)], right = judge.Rounded(i);
    if (value != RoundTo(value, bits)) return false;
    const Judgement judged = judge.Judge(i, value);
    if (!judged.accepted && !IsWithinRounding(judged, value == 0 ? right : value, bits)) return false;
    lost += right != RoundTo(right, bits) ? bits_lost : 0;
    if (!judged.finite) continue;
    squares += std::pow(value - RoundTo(right, bits), 2), squares_meant += std::pow(value - right, 2);
  }
  // Wide bounds let results through that other roundings made.
  return lost >= kLeastBitsLost && squares <= kMostLeft * squares_meant;
}

// Whether all values that should be below a limit are 0, and no others but those that should be 0. What tells it from
// zeros in some places is how unlikely so many of these are to be the least values by chance.
bool IsCutOff(bool by_sign, const ElementJudge& judge, std::span<const double> values,
              const std::function<void(int64_t, const Judgement&)>& hit) {
  constexpr double kLeastBits = 13;
  const auto size_of = [&](int64_t i) { return by_sign ? judge.Rounded(i) : std::fabs(judge.Rounded(i)); };
  double limit = by_sign ? 0 : -1, cut = 0, kept = 0;
  for (int64_t i = 0; i < std::ssize(values) && !by_sign; ++i) {
    const Judgement judged = judge.Judge(i, values[static_cast<size_t>(i)]);
    if (!judged.accepted && values[static_cast<size_t>(i)] == 0) limit = std::max(limit, size_of(i));
  }
  for (int64_t i = 0; i < std::ssize(values); ++i) {
    const double value = values[static_cast<size_t>(i)];
    Judgement judged = judge.Judge(i, value);
    const bool is_cut = by_sign ? size_of(i) < limit : size_of(i) <= limit;
    if (is_cut ? value != 0 : !judged.accepted) return false;
    ++(is_cut ? cut : kept);
    if (is_cut) judged.error = 0, hit(i, judged);
  }
  return (std::lgamma(cut + kept + 1) - std::lgamma(cut + 1) - std::lgamma(kept + 1)) / std::numbers::ln2 >= kLeastBits;
}

// Whether integers are right up to 2^24 and numbers of f32 near the right ones beyond.
bool IsInF32(const ElementJudge& judge, std::span<const double> values) {
  constexpr int kBits = 24;
  constexpr double kMostUnits = 8;
  int64_t lost = 0;
  for (int64_t i = 0; i < std::ssize(values); ++i) {
    const double value = values[static_cast<size_t>(i)], right = judge.Rounded(i);
    if (std::fabs(right) < std::ldexp(1, kBits) ? value != right : value != RoundTo(value, kBits)) return false;
    if (right != 0 && std::fabs(value - right) > std::ldexp(kMostUnits, std::ilogb(right) - kBits + 1)) return false;
    lost += right == RoundTo(right, kBits) ? 0 : 1;
  }
  return lost >= kLeastBitsLost;
}

// Whether numbers half way between two integers, and no others, became the one away from 0, or the larger one.
bool IsOfOtherTies(bool is_up, const ElementJudge& judge, std::span<const double> values) {
  int64_t turned = 0;
  for (int64_t i = 0; i < std::ssize(values); ++i) {
    const double value = values[static_cast<size_t>(i)], exact = judge.golden().value[static_cast<size_t>(i)];
    const double by_rule = is_up ? std::floor(exact + 0.5) : std::round(exact);
    const bool is_accepted = judge.Judge(i, value).accepted, is_tie = std::fabs(exact - std::trunc(exact)) == 0.5;
    if (is_tie ? value != by_rule : !is_accepted) return false;
    turned += is_accepted ? 0 : 1;
  }
  return turned > 1;
}

// Whether a wrong value is what such a change puts in place of what is no number of the type.
bool IsReplaced(const OutputChange& change, double right, double value, DType type, double operand) {
  if (change.kind == Kind::kAtEnds) {
    const IntegerLimits ends = LimitsOf(type);
    return value == static_cast<double>(ends.high) || value == static_cast<double>(ends.low);
  }
  return std::isnan(right) && value == (change.kind == Kind::kNumberForNan ? change.factor : operand);
}

bool AreReplaced(const OutputChange& change, const ElementJudge& judge, std::span<const double> values,
                 std::span<const double> operand, const std::function<void(int64_t, const Judgement&)>& hit) {
  double bits = 0;
  for (int64_t i = 0; i < std::ssize(values); ++i) {
    const double value = values[static_cast<size_t>(i)];
    Judgement judged = judge.Judge(i, value);
    if (judged.accepted) continue;
    const double beside = operand.empty() ? 0 : operand[static_cast<size_t>(i)];
    if (!IsReplaced(change, judge.Rounded(i), value, judge.dtype(), beside)) return false;
    judged.error = 0, hit(i, judged);
    bits += change.kind == Kind::kAtEnds ? 8 * static_cast<double>(SizeOf(judge.dtype())) - 1 : kLeastBitsLost;
  }
  return bits >= kLeastBitsLost;
}

void AddOtherOrders(const Shape& shape, bool is_complex, std::vector<OutputChange>& changes) {
  if (is_complex) changes.push_back({.kind = Kind::kConjugated}), changes.push_back({.kind = Kind::kPartsExchanged});
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] < 2) continue;
    if (shape[axis] > 2) changes.push_back({.kind = Kind::kReversed, .axis = axis});
    if (shape[axis] > 2 && shape[axis] % 2 == 0)
      changes.push_back({.kind = Kind::kShifted, .axis = axis, .by = shape[axis] / 2, .round = true});
    if (is_complex && IsBitReversible(shape[axis])) changes.push_back({.kind = Kind::kBitReversed, .axis = axis});
    int64_t columns = 1;
    for (size_t behind = axis + 1; axis + 2 < shape.size() && behind < shape.size(); ++behind) {
      columns *= shape[behind];
      const auto by = static_cast<int64_t>(behind - axis);
      if (columns > 1) changes.push_back({.kind = Kind::kOtherLayout, .axis = axis, .by = by});
    }
  }
}

}  // namespace

int64_t ReverseBits(int64_t i, int64_t extent) {
  int64_t reversed = 0;
  for (; extent > 1; extent /= 2, i /= 2) reversed = 2 * reversed + i % 2;
  return reversed;
}

std::string LayoutText(size_t axis, int64_t axes) {
  return axes == 1 ? fmt::format("axes {} and {} lay in the other order", axis, axis + 1)
                   : fmt::format("axis {} lay behind axis {}", axis, static_cast<int64_t>(axis) + axes);
}

bool IsSeenInAll(const OutputChange& change) {
  switch (change.kind) {
    case Kind::kRounded:
    case Kind::kNumberForNan:
    case Kind::kOperandForNan:
    case Kind::kAtEnds:
    case Kind::kTiesAway:
    case Kind::kTiesUp:
    case Kind::kInF32:
      return true;
    default:
      return false;
  }
}

bool MovesValues(const OutputChange& change) {
  switch (change.kind) {
    case Kind::kNeighbours:
    case Kind::kShifted:
    case Kind::kTransposed:
    case Kind::kReadTransposed:
    case Kind::kOtherLayout:
    case Kind::kReversed:
    case Kind::kInTurn:
    case Kind::kBehind:
      return true;
    default:
      return false;
  }
}

std::vector<OutputChange> ListOutputChanges(const Tensor& got, std::span<const double> factors,
                                            const std::set<int64_t>& parts) {
  std::vector<OutputChange> changes = {{Kind::kZeros}, {Kind::kNegated}, {Kind::kDoubled}, {Kind::kHalved}};
  for (const double factor : factors) changes.push_back({.kind = Kind::kScaled, .factor = factor});
  const Shape& shape = got.shape();
  for (size_t axis = shape.size(); axis-- > 0;) {
    if (shape[axis] < 2) continue;
    for (const bool round : {false, true}) {
      if (round && shape[axis] == 2) continue;  // they are neighbours
      for (const int64_t by : {1, -1}) changes.push_back({Kind::kShifted, axis, by, round});
    }
    for (const int64_t tile : {8, 16, 32, 64, 128}) {  // a tile that stands in another one's place
      if (tile >= shape[axis]) break;
      for (const int64_t by : {tile, -tile}) changes.push_back({.kind = Kind::kShifted, .axis = axis, .by = by});
    }
    for (const int64_t by : {0, 1}) {
      if (shape[axis] < 2 + by) continue;  // nothing would move
      changes.push_back({.kind = Kind::kNeighbours, .axis = axis, .by = by});
    }
  }
  if (shape.size() > 1 && shape.back() > 1 && shape[shape.size() - 2] > 1) {
    changes.push_back({.kind = Kind::kTransposed});
    if (shape.back() != shape[shape.size() - 2]) changes.push_back({.kind = Kind::kReadTransposed});
  }
  AddOtherOrders(shape, IsComplex(got.dtype()), changes);
  for (const Kind kind : {Kind::kNegativeAsZero, Kind::kSmallAsZero}) changes.push_back({.kind = kind});
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    for (const int64_t by : parts) {
      if (by < 2 || shape[axis] % by != 0 || shape[axis] <= by) continue;
      changes.push_back({.kind = Kind::kInTurn, .axis = axis, .by = by});
      if (!parts.contains(shape[axis] / by)) changes.push_back({.kind = Kind::kBehind, .axis = axis, .by = by});
    }
  }
  if (!IsFloat(got.dtype()) && !IsComplex(got.dtype())) {
    for (const Kind kind :
         {Kind::kTiesAway, Kind::kTiesUp, Kind::kAtEnds, Kind::kInF32, Kind::kOneMore, Kind::kOneLess})
      changes.push_back({.kind = kind});
    return changes;
  }
  const int sign = IsComplex(got.dtype()) ? 0 : 8 * static_cast<int>(SizeOf(got.dtype())) - 1;
  for (int bit = sign; bit-- > 0;) changes.push_back({.kind = Kind::kFlipped, .bits = bit});
  // The fewest bits that fit are what it was rounded to.
  for (int bits = 4; bits < FormatOf(got.dtype()).precision; ++bits)
    changes.push_back({.kind = Kind::kRounded, .bits = bits});
  return changes;
}

bool IsChanged(const OutputChange& change, const ElementJudge& judge, const Tensor& got, std::span<const double> values,
               std::span<const double> operand, const std::vector<int64_t>* places,
               const std::function<void(int64_t, const Judgement&)>& hit) {
  if (change.kind == Kind::kRounded) return IsRounded(change.bits, judge, values, places);
  if (change.kind == Kind::kNegativeAsZero || change.kind == Kind::kSmallAsZero)
    return places != nullptr || IsCutOff(change.kind == Kind::kNegativeAsZero, judge, values, hit);
  if (change.kind == Kind::kTiesAway || change.kind == Kind::kTiesUp)
    return places == nullptr && IsOfOtherTies(change.kind == Kind::kTiesUp, judge, values);
  if (change.kind == Kind::kInF32) return places == nullptr && IsInF32(judge, values);
  if (change.kind == Kind::kNumberForNan || change.kind == Kind::kOperandForNan || change.kind == Kind::kAtEnds)
    return AreReplaced(change, judge, values, operand, hit);
  const int64_t parts = std::ssize(values) / got.size();
  for (int64_t n = 0; n < CountPlaces(values, places); ++n) {
    const int64_t i = PlaceAt(n, places);
    const double value = values[static_cast<size_t>(i)];
    if (change.kind == Kind::kZeros || change.kind == Kind::kOperand) {
      if (value != (change.kind == Kind::kZeros ? 0 : operand[static_cast<size_t>(i)])) return false;
      Judgement zero = judge.Judge(i, value);
      zero.error = 0;
      hit(i, zero);
      continue;
    }
    const int64_t part = change.kind == Kind::kPartsExchanged ? 1 - i % parts : i % parts;
    const int64_t source = FindSource(change, got.shape(), i / parts) * parts + part;
    const double undone = change.kind == Kind::kFlipped ? FlipBit(got, i, change.bits) : Undo(change, value, part == 1);
    const Judgement judged = judge.Judge(source, undone);
    if (!judged.accepted || judge.IsOpen(source)) return false;
    hit(i, judged);
  }
  return true;
}

std::string DescribeOutputChange(const std::string& output, const OutputChange& change) {
  const std::string what = "the output " + output;
  switch (change.kind) {
    case Kind::kZeros:
      return what + " all 0";
    case Kind::kOperand:
      return fmt::format("operand {} in place of {}", change.input, what);
    case Kind::kNegativeAsZero:
      return what + " with 0 in place of negative values";
    case Kind::kSmallAsZero:
      return what + " with 0 in place of its smallest values";
    case Kind::kNumberForNan:
      return fmt::format("{} with {:.6g} in place of NaN", what, change.factor);
    case Kind::kOperandForNan:
      return fmt::format("operand {} in place of NaN in {}", change.input, what);
    case Kind::kAtEnds:
      return what + " with the ends of its type in place of what passes them";
    case Kind::kTiesAway:
      return what + " rounded with ties away from 0";
    case Kind::kTiesUp:
      return what + " rounded with ties up";
    case Kind::kInF32:
      return what + " computed in f32";
    case Kind::kOneMore:
      return what + " with 1 added";
    case Kind::kOneLess:
      return what + " with 1 subtracted";
    case Kind::kInTurn:
      return fmt::format("{} with {} parts along axis {} that lie in turn", what, change.by, change.axis);
    case Kind::kBehind:
      return fmt::format("{} with elements along axis {} taken apart into {} parts", what, change.axis, change.by);
    case Kind::kNegated:
      return what + " negated";
    case Kind::kDoubled:
      return what + " doubled";
    case Kind::kHalved:
      return what + " halved";
    case Kind::kScaled:
      return change.factor < 1 ? fmt::format("{} divided by {:.6g}", what, 1 / change.factor)
                               : fmt::format("{} multiplied by {:.6g}", what, change.factor);
    case Kind::kNeighbours:
      return fmt::format("{} with neighbours along axis {} exchanged", what, change.axis);
    case Kind::kOtherLayout:
      return fmt::format("{} stored as if {}", what, LayoutText(change.axis, change.by));
    case Kind::kReversed:
      return fmt::format("{} reversed along axis {}", what, change.axis);
    case Kind::kBitReversed:
      return fmt::format("{} in bit-reversed order along axis {}", what, change.axis);
    case Kind::kConjugated:
      return what + " conjugated";
    case Kind::kPartsExchanged:
      return what + " with real and imaginary parts exchanged";
    case Kind::kShifted:
      return fmt::format("{} shifted by {} along axis {}{}", what, change.by, change.axis,
                         change.round ? ", round the end" : "");
    case Kind::kTransposed:
      return what + " stored as its transpose lies";
    case Kind::kReadTransposed:
      return what + " read as if its transpose lay there";
    case Kind::kFlipped:
      return fmt::format("{} with bit {} flipped", what, change.bits);
    case Kind::kRounded:
      return fmt::format("{} rounded to {}", what,
                         change.bits == 8    ? "bf16"
                         : change.bits == 11 ? "f16"
                                             : fmt::format("{} bits", change.bits));
  }
  return what;
}

}  // namespace assay
