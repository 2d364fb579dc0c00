// SPDX-License-Identifier: Apache-2.0
// Data for twins whose sums lie half way between two numbers of the output, which the accumulator holds: y = c + r with
// a carrier c, a multiple of 4 between 2^p and 2^(p+1) for outputs of p bits, and r = +-1 from terms that cancel but
// for that. Both round to c, c + 1 toward zero and c - 1 away from it: what breaks ties any other way is wrong in one.
#pragma once

#include <cstdint>
#include <optional>

#include "harness/core/data/dtype.h"
#include "harness/core/model/contract.h"

namespace assay {

// Among the twins of operators that have one: behind those that name terms.
inline constexpr int kTieVariant = 2;

class TieCode {
 public:
  // nullopt: ties are no business of the contract's, or have no room in operand or accumulator.
  static std::optional<TieCode> Plan(int64_t terms, DType in, DType out, const Contract& contract);

  // Term k of line i, a row or a whole sum.
  double Term(int64_t i, int64_t k) const;
  // The sum of line i, rounded to the output: its carrier.
  double Rounded(int64_t i) const { return base_ + step_ * static_cast<double>(1 + i / 2 % carriers_); }
  static const char* Describe() { return "sums lie half way between two outputs, and round to the even one"; }

 private:
  int64_t terms_ = 2, carriers_ = 1;
  double base_ = 0, step_ = 4;
};

}  // namespace assay
