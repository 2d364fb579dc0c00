// SPDX-License-Identifier: Apache-2.0
// The numbers behind a contract's accumulator and inputs, for the bounds of golden/bound: u_acc, u_in, and
// the range that lambda_acc follows from.
#include <algorithm>
#include <cmath>

#include "harness/core/data/dtype.h"
#include "harness/core/model/contract.h"

namespace assay {
namespace {

// The accumulator's range; a matrix unit keeps sums with an f32 exponent. Precondition: not i32.
const FloatFormat& AccFormat(Accumulator acc) {
  switch (acc) {
    case Accumulator::kF64:
      return FormatOf(DType::kF64);
    case Accumulator::kF16:
      return FormatOf(DType::kF16);
    case Accumulator::kBF16:
      return FormatOf(DType::kBF16);
    default:
      return FormatOf(DType::kF32);
  }
}

}  // namespace

double Contract::AccUnitRoundoff() const {
  if (acc == Accumulator::kI32) return 0;
  const double u = AccFormat(acc).UnitRoundoff();
  return acc == Accumulator::kTensorCore ? std::max(std::ldexp(1.0, -tc_bits), 2 * u) : u;
}

double Contract::AccMaxFinite() const {
  return acc == Accumulator::kI32 ? 2147483647.0 : AccFormat(acc).max_finite;
}

double Contract::AccMinSubnormal() const {
  return acc == Accumulator::kI32 ? 0 : AccFormat(acc).MinSubnormal();
}

double Contract::AccMinNormal() const {
  return acc == Accumulator::kI32 ? 0 : AccFormat(acc).MinNormal();
}

int Contract::AccExactBits() const {
  if (acc == Accumulator::kI32) return 31;
  const int precision = AccFormat(acc).precision;
  return acc == Accumulator::kTensorCore ? std::min(tc_bits + 1, precision) : precision;
}

double Contract::InputUnitRoundoff() const {
  switch (in) {
    case InputRounding::kExact:
      return 0;
    case InputRounding::kBF16x3:
      return std::ldexp(3.0, -17);
    case InputRounding::kTF32RN:
      return std::ldexp(1.0, -11);
    case InputRounding::kTF32RZ:
      return std::ldexp(1.0, -10);
    case InputRounding::kBF16:
      return std::ldexp(1.0, -8);
    case InputRounding::kFP8:
      return std::ldexp(1.0, -4);
  }
  return 0;
}

}  // namespace assay
