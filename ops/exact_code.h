// SPDX-License-Identifier: Apache-2.0
// Coded integer terms for exact twins (harness/judge/README.md#exact-twin): t_0 .. t_{K-1} with sum 1, the first half
// positive, the second negative, mirrored (t_{K-1-k} = -t_k) but for the middle, which is +1 (K odd) or +2, -1 (K
// even). The magnitudes carry digits of j = min(k, K-1-k), the sign tells the half, so a result r (1 - t) instead of r
// names its missing term. Twin data is r_i c_j t_k with small integer row and column factors; partial sums peak as high
// as exactness allows, which is what exposes an accumulator that is narrower than declared, in orders that follow k.
// Where the output has room for all bits of the accumulator, a climbing code exposes it in every order: no term is
// negative, and the sum itself is an odd number that narrower formats do not have (exact_climb.cc).
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/data/dtype.h"
#include "harness/core/model/contract.h"

namespace assay {

// |bias| and |c| of exact twins are 1 .. 3.
inline constexpr int64_t kLargestAddend = 3;

// The weight of x's lowest set bit: the largest power of two that x is a multiple of. Infinity for 0.
double LowestBit(double x);

struct CodeBudget {
  int64_t terms = 1;           // K
  int64_t first = 1;           // largest integer that the first operand holds exactly
  int64_t second = 0;          // ... the second one; 0: there is none, terms are r_i t_k
  double partial = 0;          // |r_i c_j * any partial sum| must stay below this
  double result = 0;           // |r_i c_j (1 - t_k)| must stay below this, so that a faulty result is read exactly
  double unscaled = HUGE_VAL;  // sums of t_k of one sign must not exceed this, whatever r_i and c_j are
  // Climbing codes: the sum exceeds this if the operands can reach it, at the price of fewer digits.
  double aim = 0;
  bool lowest = false;  // operands hold -(limit + 1) too, as two's complement does
};

class ExactCode {
 public:
  // nullopt when even terms of +-1 exceed the budget.
  static std::optional<ExactCode> Plan(const CodeBudget& budget);
  // Terms of one sign, whose sum is odd and nearly as large as the budget or the operands permit. All variants carry
  // what variant 1 of the other code does. nullopt: there is no room for terms.
  static std::optional<ExactCode> PlanClimbing(const CodeBudget& budget);

  int64_t terms() const { return terms_; }
  // Row and column factors are 1 .. factors(); of a climbing code 1 and -1.
  int64_t factors() const { return factors_; }
  // r_i of row or column i; `stream` as of TwinFactor.
  int64_t Factor(uint64_t stream, int64_t i) const;
  // M: digits per variant. 1 means that magnitudes carry nothing.
  int64_t digits() const { return static_cast<int64_t>(symbols_.size()); }
  int64_t Sum(int variant) const;  // of all t_k

  int64_t Term(int64_t k, int variant) const { return First(k, variant) * Second(k, variant); }  // t_k
  int64_t First(int64_t k, int variant) const;                                                   // s_k u_k
  int64_t Second(int64_t k, int variant) const;                                                  // v_k

  // The k with t_k = value, ascending.
  std::vector<int64_t> TermsOf(double value, int variant) const;

  // "|t| = m[j mod 6], m = 27-31,33, j = min(k, K-1-k), ...".
  std::string Describe(int variant) const;

 private:
  struct Symbol {
    int64_t first = 1, second = 1;  // |t| = first * second
    int64_t magnitude() const { return first * second; }
  };
  static std::vector<Symbol> Choose(const CodeBudget& budget, int64_t factors, int64_t wanted);
  static std::optional<ExactCode> Climb(const CodeBudget& budget, int64_t wanted);
  static std::optional<ExactCode> ClimbLowest(const CodeBudget& budget);
  const Symbol& SymbolOf(int64_t j, int variant) const;
  const Symbol& ClimbingSymbol(int64_t k) const;

  int64_t terms_ = 1;
  int64_t factors_ = 1;
  std::vector<Symbol> symbols_;  // ascending magnitudes
  // Climbing code: symbols change every stride_ k (0: no climbing code), and the last term makes the sum odd.
  int64_t stride_ = 0;
  Symbol last_;
  bool signs_ = true;  // whether operands may change their sign
};

// How many digits name every one of so many terms, when each of two variants has one digit and the sign tells the half.
int64_t DigitsToName(int64_t terms);

// A product of t as first * second with first <= limit, second <= other_limit: the smallest first; 0 when none exists.
int64_t SmallestFactor(int64_t t, int64_t limit, int64_t other_limit);

// The factor of row or column i, 1 .. factors; `stream` keeps rows, columns and epilogue operands apart.
int64_t TwinFactor(uint64_t stream, int64_t i, int64_t factors);

// Bits of the integers that survive the contract's rounding of an operand of this type: 24 for f32 as it is, 8 when
// it is cut to bf16. Integers below 2^bits (and at most 127 for i8) are exact.
int TwinInputBits(DType dtype, const Contract& contract);
int64_t TwinInputLimit(DType dtype, const Contract& contract);

// Bits of the narrowest place that may hold a partial sum: accumulator and declared intermediates.
int TwinPartialBits(const Contract& contract);
// Bits of integers in the output.
int TwinOutputBits(DType dtype);

// Whether an output can show every bit of a sum in the contract's accumulator, so that a climbing code says more than
// one whose terms cancel.
bool ShowsAllBits(const Contract& contract, DType out);

// Threshold that sums must exceed so that the next narrower accumulator cannot hold them, if operands may be too small
// to fill the declared one: 2^24 for i32.
double ClimbingAim(const Contract& contract);

// Largest sum of `terms` products of `factors` numbers of an integer type; 0 if the type is no integer type.
double LargestSumOfIntegers(DType dtype, int64_t terms, int factors);

}  // namespace assay
