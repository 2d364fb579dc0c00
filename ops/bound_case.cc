// SPDX-License-Identifier: Apache-2.0
#include "ops/bound_case.h"

#include <utility>

namespace assay {

Result<SharedCase> BindCase(const CaseSpec& spec) {
  const Operator* op = OperatorRegistry::Global().Find(spec.op);
  auto problem = op->Bind(spec);
  if (!problem) return tl::unexpected(problem.error());
  return std::make_shared<const BoundCase>(BoundCase{op, *std::move(problem)});
}

}  // namespace assay
