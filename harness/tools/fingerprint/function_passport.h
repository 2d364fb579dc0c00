// SPDX-License-Identifier: Apache-2.0
// How accurate a function of single elements is: of all numbers of a 16-bit type, or of 2^22 numbers of a wider one.
#pragma once

#include <cstdint>
#include <string>

#include "harness/core/base/json.h"
#include "harness/engine/device/prepared_plan.h"
#include "ops/bound_case.h"

namespace assay {

// Whether the operator maps each element of one operand of floats to one of the output, and takes this many.
bool IsFunction(const BoundCase& bound);
// The elements that a case has to have: 65,536 of 16-bit types, else 2^22.
int64_t FunctionInputs(DType type);

struct FunctionPassport {
  std::string case_id, implementation, contract;
  int64_t inputs = 0, finite = 0;        // finite: of exact and measured results, both
  double most_ulp = 0, worst_input = 0;  // of normal inputs and results; an ulp is the spacing at the exact result
  double most_subnormal_ulp = 0;         // of the others
  double correctly_rounded = 0;          // share of all finite results
  int64_t wrong_specials = 0;            // infinities and NaN, where they are not and where they should be
  double first_special = 0;              // the input of the first of these
  int64_t turns = 0;                     // neighbours whose results are in the wrong order
  std::string symmetry;                  // "odd", "even", or "" where the function is neither
  int64_t asymmetries = 0;
};

// Precondition: IsFunction, with FunctionInputs elements. Errors: the backend's.
Result<FunctionPassport> TakeFunctionPassport(const BoundCase& bound, const PreparedPlan& plan,
                                              const std::string& implementation, const std::string& contract);

Json ToJson(const FunctionPassport& passport);
std::string TextOf(const FunctionPassport& passport);

}  // namespace assay
