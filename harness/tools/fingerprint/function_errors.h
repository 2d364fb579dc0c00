// SPDX-License-Identifier: Apache-2.0
// Errors of a function of single elements, counted chunk by chunk against certified results.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "golden/golden.h"
#include "harness/core/base/json.h"
#include "harness/core/base/result.h"
#include "ops/bound_case.h"

namespace assay {

struct FunctionErrors {
  int64_t inputs = 0, finite = 0, correct = 0;  // finite: exact and measured result, both; correct: correctly rounded
  double most_ulp = 0, worst_input = 0;  // of normal inputs and results; an ulp is the spacing at the exact result
  double most_subnormal_ulp = 0, worst_subnormal_input = 0;  // of the others
  int64_t wrong_nan = 0, wrong_inf = 0, wrong_zero = 0;      // missing or unexpected; wrong_zero: of the other sign
  double first_special = 0;                                  // the smallest input with a wrong NaN or infinity
  int64_t turns = 0;                                         // neighbours whose results are in the wrong order
  int64_t pairs = 0, odd = 0, even = 0;                      // of x and -x; the exact function is odd, even there
  int64_t not_odd = 0, not_even = 0;                         // the measured one is not

  int64_t wrong_specials() const { return wrong_nan + wrong_inf; }
  std::string Symmetry() const;  // "odd", "even", or "" where the function is neither
  int64_t Asymmetries() const;
  // Adds the counts of other inputs; the result does not depend on the order.
  void Merge(const FunctionErrors& other);
};

Json ToJson(const FunctionErrors& errors);
// Errors: a member is missing or of another kind.
Result<FunctionErrors> ParseFunctionErrors(const Json& json, const std::string& place);

// Certified results for one chunk of FunctionInputs, from which any number of implementations is measured.
class ExactResults {
 public:
  // A half-open range of pairs to count; one pair outside of it may be a neighbour.
  struct Range {
    int64_t begin, end;
  };
  // `x` holds pairs as FunctionInputs fills them.
  ExactResults(const BoundCase& bound, const Tensor& x, Range counted);

  FunctionErrors Measure(const Tensor& y) const;

 private:
  // Evaluates results again with more digits where their error hides which number is nearest.
  void SettleCloseCalls(const BoundCase& bound, const Tensor& x);
  void MeasureRange(const std::vector<double>& got, Range range, FunctionErrors& to) const;
  double SideOfZero(int64_t i) const;
  bool IsTurned(const std::vector<double>& got, int64_t i) const;

  DType in_, out_;
  Range counted_;
  std::vector<double> x_, rounded_;  // rounded_: to the output's type
  Golden golden_;
};

}  // namespace assay
