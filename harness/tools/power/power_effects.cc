// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/power/power_effects.h"

namespace assay {

Problem ForEffects(const Problem& problem) {
  Problem exact = problem;
  ResolvedAttr type{.key = "result_dtype", .type = AttrType::kName, .s = {}, .list = {}};
  type.s = Name(problem.outputs[0].dtype);
  exact.attrs.push_back(std::move(type));
  for (Operand& output : exact.outputs) {
    output.dtype = IsComplex(output.dtype) ? DType::kC128 : DType::kF64;
    output.alias = 0;
  }
  return exact;
}

}  // namespace assay
