// SPDX-License-Identifier: Apache-2.0
// Exponentials and their like as implementations have them: off by as many ulp as the contract declares, in a
// direction that the seed chooses.
#pragma once

#include <cmath>

#include "harness/core/data/fill/rng.h"
#include "tests/support/simulate/schedule.h"

namespace assay::test {

enum class Bias : uint8_t { kNone, kUp, kDown, kRandom };
inline constexpr Bias kBiases[] = {Bias::kNone, Bias::kUp, Bias::kDown, Bias::kRandom};

// The accumulator's arithmetic with functions of `math` ulp.
class FunctionUnit {
 public:
  FunctionUnit(const Contract& contract, Bias bias, uint64_t seed)
      : unit(ArithmeticOf(contract)), math_(contract.math_ulp), bias_(bias), random_(seed, 7) {}

  // exp(0) is 1 (ISO C, F.10.3.1), and so is what double cannot tell from it.
  double Exp(double x) const { return std::exp(x) == 1 ? 1 : Off(std::exp(x)); }
  double Log(double x) const { return Off(std::log(x)); }
  double Tanh(double x) const { return Off(std::tanh(x)); }
  // The sign of a quotient is found apart from its magnitude (IEEE 754-2019, 6.3): the error is the magnitude's.
  double Div(double x, double y) const {
    const double quotient = x / y;
    return std::copysign(Off(std::fabs(quotient)), quotient);
  }
  double Of(double exact) const { return Off(exact); }  // any other function of this exact value

  Arithmetic unit;

 private:
  // Rounding takes half an ulp of the declared ones; the rest is this function's error.
  double Off(double exact) const {
    const double rounded = unit.Round(exact);
    if (bias_ == Bias::kNone || math_ <= 1 || !std::isfinite(rounded) || rounded == 0) return rounded;
    double direction = bias_ == Bias::kUp ? 1 : -1;
    if (bias_ == Bias::kRandom) direction = static_cast<double>(random_.Below(count_++, 3)) - 1;
    // 0.9: at a power of two the spacing below is half of that above.
    const double steps = std::floor(math_ - 0.5);
    return unit.Round(rounded + direction * 0.9 * steps * UlpAt(FormatOf(unit.format), rounded));
  }

  double math_;
  Bias bias_;
  RandomStream random_;
  mutable uint64_t count_ = 0;
};

// x as it is stored in the contract's `mid` format.
inline double Narrowed(const Contract& contract, double x) {
  if (contract.mid == Intermediate::kNone) return x;
  return RoundTo(FormatOf(contract.mid == Intermediate::kF16 ? DType::kF16 : DType::kBF16), x);
}

}  // namespace assay::test
