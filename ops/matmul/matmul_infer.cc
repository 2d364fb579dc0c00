// SPDX-License-Identifier: Apache-2.0
// The attributes of a matmul from the shapes of its operands.
#include <fmt/format.h>

#include "ops/binding.h"
#include "ops/matmul/matmul.h"

namespace assay {
namespace {

bool IsTransposed(const AttrList& given, std::string_view key) {
  const std::string* value = FindGiven(given, key);
  return value != nullptr && *value == "1";
}

}  // namespace

Result<AttrList> InferMatmul(const std::vector<Operand>& inputs, AttrList given) {
  const Operand* operands[] = {FindOperand(inputs, "a"), FindOperand(inputs, "b")};
  for (const Operand* operand : operands) {
    const size_t rank = operand->shape.size();
    if (rank == 2 || rank == 3) continue;
    return UsageError(fmt::format("matmul: {} has shape {}, expected rows and columns, or batch, rows and columns{}",
                                  operand->name, ShapeText(operand->shape),
                                  rank > 3 ? "; join the leading axes into one" : ""));
  }
  const Shape &a = operands[0]->shape, &b = operands[1]->shape;
  const bool transa = IsTransposed(given, "transa"), transb = IsTransposed(given, "transb");
  SetIfAbsent(given, "m", fmt::to_string(*(a.end() - (transa ? 1 : 2))));
  SetIfAbsent(given, "n", fmt::to_string(*(b.end() - (transb ? 2 : 1))));
  SetIfAbsent(given, "k", fmt::to_string(*(a.end() - (transa ? 2 : 1))));
  if (a.size() == 3) SetIfAbsent(given, "batch", fmt::to_string(a[0]));
  if (FindOperand(inputs, "bias") != nullptr) SetIfAbsent(given, "bias", "1");
  return given;
}

}  // namespace assay
