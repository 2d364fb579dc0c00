// SPDX-License-Identifier: Apache-2.0
// Data for twins whose sums lie half way between two numbers of the output, which the accumulator holds: y = c + r with
// a carrier c, a multiple of 4 between 2^p and 2^(p+1) for outputs of p bits, and r = +-1 from terms that cancel but
// for that. To even both round to c, c + 1 toward zero and c - 1 away from it; away from zero they round to c + 2 and
// c. What breaks ties any other way than the contract says is wrong in one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "harness/core/data/dtype.h"
#include "harness/core/model/contract.h"

namespace assay {

// Among the twins of operators that have one: behind those that name terms.
inline constexpr int kTieVariant = 2;

// The number of a type that is nearest to y, of two the one that the contract's ties go to. Precondition: it rounds to
// nearest.
double RoundToNearest(DType out, const Contract& contract, double y);

// "sums lie half way between two outputs, and round to the even one".
std::string DescribeTies(std::string_view what, const Contract& contract);

class TieCode {
 public:
  // nullopt: ties are no business of the contract's, or have no room in operand or accumulator.
  static std::optional<TieCode> Plan(int64_t terms, DType in, DType out, const Contract& contract);

  // Term k of line i, a row or a whole sum.
  double Term(int64_t i, int64_t k) const;
  // The sum of line i, rounded to the output.
  double Rounded(int64_t i) const { return RoundToNearest(out_, contract_, Carrier(i) + Rest(i)); }

 private:
  double Carrier(int64_t i) const { return base_ + step_ * static_cast<double>(1 + i / 2 % carriers_); }
  static double Rest(int64_t i) { return i % 2 == 0 ? 1 : -1; }

  DType out_ = DType::kF16;
  Contract contract_;
  int64_t terms_ = 2, carriers_ = 1;
  double base_ = 0, step_ = 4;
};

}  // namespace assay
