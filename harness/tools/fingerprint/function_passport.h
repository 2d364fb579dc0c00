// SPDX-License-Identifier: Apache-2.0
// How accurate a function of single elements is: of all numbers of a 16-bit type, or of 2^22 numbers of a wider one.
#pragma once

#include <cstdint>
#include <string>

#include "harness/core/base/json.h"
#include "harness/engine/device/prepared_plan.h"
#include "harness/tools/fingerprint/function_errors.h"
#include "ops/bound_case.h"

namespace assay {

// Whether the operator maps each element of one operand of floats to one of the output.
bool IsMap(const BoundCase& bound);
// Whether it does, and the case has FunctionSampleSize elements.
bool IsFunction(const BoundCase& bound);
// Elements of a case that holds a sample: 65,536 of 16-bit types, else 2^22.
int64_t FunctionSampleSize(DType type);

struct FunctionPassport {
  std::string case_id, implementation, contract;
  FunctionErrors errors;
  int parts_done = 1, parts = 1;  // of all inputs; fewer are done where other shards measure the rest
};

// Precondition: IsFunction. Errors: the backend's.
Result<FunctionPassport> TakeFunctionPassport(const BoundCase& bound, const PreparedPlan& plan,
                                              const std::string& implementation, const std::string& contract);

Json ToJson(const FunctionPassport& passport);
std::string TextOf(const FunctionPassport& passport);

}  // namespace assay
