// SPDX-License-Identifier: Apache-2.0
#include "ops/bound_case.h"

#include <utility>

#include "ops/empty_operands.h"

namespace assay {

Result<SharedCase> BindCase(const CaseSpec& spec) {
  const Operator& op = *OperatorRegistry::Global().Find(spec.op);
  auto problem = op.Bind(spec);
  if (!problem) return tl::unexpected(problem.error());
  const Operator* answering = &OperatorFor(op, *problem);
  return std::make_shared<const BoundCase>(BoundCase{answering, *std::move(problem)});
}

}  // namespace assay
