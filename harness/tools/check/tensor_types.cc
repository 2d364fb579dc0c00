// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/check/tensor_types.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "harness/tools/check/tensor_args.h"
#include "ops/definition_file.h"

namespace assay {
namespace {

bool IsOutput(const Operator& op, const Operand& operand) {
  return std::ranges::find(op.schema().outputs, operand.name) != op.schema().outputs.end();
}

// The problem where the operands have the types that `type` gives for them.
Result<Problem> BindAs(const Operator& op, CaseSpec spec, const std::vector<Operand>& operands,
                       const std::function<DType(DType)>& type) {
  for (const std::string& name : op.schema().operands) {
    const auto operand = std::ranges::find(operands, name, &Operand::name);
    if (operand == operands.end()) continue;  // may_lack
    spec.dtypes.push_back(type(operand->dtype));
  }
  return op.Bind(spec);
}

std::function<DType(DType)> Replacing(DType from, DType to) {
  return [=](DType type) { return type == from ? to : type; };
}

// The narrowest type that holds all values of the operands' floats; f32 for f16 beside bf16.
DType CommonFloat(const std::vector<Operand>& operands) {
  std::optional<DType> common;
  for (const Operand& operand : operands) {
    if (!IsFloat(operand.dtype)) continue;
    const DType type = operand.dtype, widest = common.value_or(type);
    const bool differ = type != widest && SizeOf(type) == SizeOf(widest);
    common = differ ? DType::kF32 : SizeOf(type) > SizeOf(widest) ? type : widest;
  }
  return common.value_or(DType::kF32);
}

// Advice for an operator that takes all floats in one type, as softmax does, where they are of several; "" if none
// helps.
std::string MixedFloatsAdvice(const Operator& op, const CaseSpec& spec, const std::vector<Operand>& operands) {
  const DType common = CommonFloat(operands);
  const auto widen = [&](DType type) { return IsFloat(type) ? common : type; };
  if (!BindAs(op, spec, operands, widen)) return "";
  std::vector<std::string> inputs, outputs;
  for (const Operand& operand : operands) {
    if (!IsFloat(operand.dtype) || operand.dtype == common) continue;
    (IsOutput(op, operand) ? outputs : inputs).push_back(operand.name);
  }
  std::string advice;
  if (!inputs.empty()) {
    advice += fmt::format("; give {} in {}, which holds all values exactly", fmt::join(inputs, " and "), Name(common));
  }
  if (!outputs.empty()) {
    advice += fmt::format("; give {} in {}, before the conversion to a narrower type", fmt::join(outputs, " and "),
                          Name(common));
  }
  return advice;
}

}  // namespace

bool IsRelabelled(DType from, DType to) {
  return (from == DType::kI32 && to == DType::kI64) || (from == DType::kBool && to == DType::kI8);
}

Result<Problem> BindTypes(const Operator& op, const CaseSpec& spec, const std::vector<Operand>& operands, Asker asker) {
  Result<Problem> problem = BindAs(op, spec, operands, Replacing(DType::kI64, DType::kI64));
  if (problem) return problem;
  // Places in i32, as frameworks may have them, are taken where the operator has them in i64, and bool where it has i8.
  const auto widest = [](DType type) {
    return IsRelabelled(type, DType::kI64) ? DType::kI64 : IsRelabelled(type, DType::kI8) ? DType::kI8 : type;
  };
  // Results of bool say whether, which sums and conversions of i8 do not: True + True is True.
  const auto is_test = [&](const Operand& o) { return o.dtype == DType::kBool && IsOutput(op, o); };
  const bool takes_bytes = std::ranges::none_of(operands, is_test) || !FindDefinition(op.schema().op).empty();
  std::vector<std::function<DType(DType)>> relabelled = {Replacing(DType::kI32, DType::kI64)};
  if (takes_bytes) relabelled.insert(relabelled.end(), {Replacing(DType::kBool, DType::kI8), widest});
  for (const auto& taken : relabelled) {
    if (auto other = BindAs(op, spec, operands, taken); other) return other;
  }
  const auto u8 = std::ranges::find(operands, DType::kU8, &Operand::dtype);
  std::string advice = MixedFloatsAdvice(op, spec, operands);
  if (u8 != operands.end() && BindAs(op, spec, operands, Replacing(DType::kU8, DType::kE4M3))) {
    advice = fmt::format("; {} is u8: say {} {}=e4m3 if its bytes are bits of another type", u8->name,
                         OptionName(asker, "dtype"), u8->name);
  }
  return Fail(problem.error().code, problem.error().message + advice);
}

}  // namespace assay
