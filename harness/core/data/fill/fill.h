// SPDX-License-Identifier: Apache-2.0
// Input distributions, rounded to the operand's storage type, so that the golden value and every backend start from the
// same bits. Uniform, normal and special fills of f32 and of narrower floating types are made in float, of 32 random
// bits each: twice as many values from the same generator. All others are made as doubles.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/base/result.h"
#include "harness/core/data/tensor.h"

namespace assay {

enum class FillKind : uint8_t {
  kUniform,  // [-1, 1), rounded; integer dtypes: the whole range but the lowest value
  kNormal,  // N(0, 1), up to 8.57 in f64 and 6.76 in narrower types; integer dtypes: rounded N(0, (max/4)^2), saturated
  kLognormal,  // exp(N(0, 2^2)) with random sign
  kOutlier,    // N(0,1) with six channels of the last axis scaled by x40..x60 (LLM.int8(), arXiv 2208.07339)
  kCancel,     // cancel-K: pairs along the reduced axis cancel so that sum|terms| / |sum| is about K
  kRamp,       // small exact integers, first half of the reduced axis positive, second half negative
  kCoded,      // distinct small exact integers by position
  kSubnormal,  // a quarter subnormal, the rest within a few binades of the smallest normal
  kSpecial,    // N(0,1) with sparse NaN, +-Inf, +-0, subnormals, +-max_finite
  kPow2,       // +-2^e, e uniform in [-3, 3]
  kNearOne,    // powers of two in {1/2, 1, 2} times values within 2^-4 of one: products stay in range
  kEdges,      // N(0,1) with special values at the first, middle and last places of lines and where tails of 16 begin
  kMasked,     // N(0,1), three in 16 -Inf, and every fourth line nothing else
  kTies,       // integers in [-3, 3]; in each line 4 and -4 twice each, at first, middle, last and tail places
  kLarge,      // positive, within one binade: 512 to 1024; integers and narrow formats: the upper half of their range
  kNegative,   // as large, with the other sign; u8: the lower half but 0; bool: false
  kOffset,     // operand of role 0: N(100, 1), rounded for integers; others: normal
  kExtremes,   // integers: the lowest and the highest value, 0 and +-1; floats: +-0 and +-1
  kRepeated,   // N(0,1), each line along the last axis as the first; of one axis all elements alike
  kTosa,       // tosa-0 to tosa-5: the data sets of TOSA's dot product conformance
};

struct FillSpec {
  FillKind kind = FillKind::kNormal;
  double parameter = 0;  // K of cancel-K, number of a tosa set
  double terms = 0;      // of the sums that the operands enter, for tosa; 0: the extent of the reduced axis
  // special and edges of so few lines that one in four, or two, leaves kinds out: NaN, infinities and the largest
  // numbers in a line each, and small numbers besides. `parts` operands of a case have such lines; each of those with
  // as many lines spoils lines of its own, and all leave one alone. 0: one line in four, or two, whatever it leaves
  // out.
  int part = 0, parts = 0;
};

// "normal", "cancel-1e6". Errors list the known fills.
Result<FillSpec> ParseFill(std::string_view text);
// The one text of a fill that ids carry: K as the shortest decimal mantissa and its exponent, so that cancel-1000000
// and cancel-1e6 are one case.
std::string FillText(const FillSpec& fill);
std::vector<std::string> KnownFills();

// Whether terms are drawn at random, so that rounding errors behave like independent ones. Patterns of few distinct
// values repeat the same rounding error over and over.
bool IsRandomLike(const FillSpec& fill);

// Whether NaN stands among the numbers of floating types.
bool HasNaN(const FillSpec& fill);

// Fills `out` (rounded to its dtype). `stream` separates the operands of a case (below 2^32). Every fill but special,
// edges and masked is finite: values beyond the format's largest are clamped to it. Integers keep off their lowest
// value but in special, edges and extremes; u8 is i8 with 128 added, from 0 to 255, and bool whether i8 is above 0.
// `reduced_axis` is the axis that the operator sums over (-1: the last), along which the lines of cancel, ramp,
// near_one, special, edges, masked and ties run. `role` 0 is the operand that carries the pattern; for cancel the
// second operand of a product (role 1) gets factors near one, for ramp 1 or 2; tosa takes roles 0 and 1 as the factors,
// 2 as what is added. Bits do not depend on thread count. kEachElement: there is no such axis, and every element is a
// line of its own.
inline constexpr int kEachElement = std::numeric_limits<int>::min();
void FillTensor(const FillSpec& fill, uint64_t seed, uint64_t stream, int reduced_axis, int role, Tensor& out);

}  // namespace assay
