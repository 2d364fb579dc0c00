// SPDX-License-Identifier: Apache-2.0
// A case as its operator has taken it: bound once, when it is planned, and shared by whatever works on it.
#pragma once

#include <memory>

#include "harness/core/base/result.h"
#include "ops/operator.h"

namespace assay {

struct BoundCase {
  const Operator* op = nullptr;
  Problem problem;
};
using SharedCase = std::shared_ptr<const BoundCase>;

// Precondition: `spec` is canonical and of a registered operator. Errors come from Operator::Bind.
Result<SharedCase> BindCase(const CaseSpec& spec);

}  // namespace assay
