// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "tests/faults/corpus/matmul_kernel.h"

namespace corpus {

std::string MatmulWhyNot(const plugin::OpDesc& op) {
  const plugin::MatmulSpec s = plugin::ParseMatmul(op);
  const bool integers = s.a.dtype == plugin::kI8 && s.b.dtype == plugin::kI8;
  const auto is_factor = [](plugin::DType d) { return plugin::IsFloat(d) || IsFp8(d); };
  if (!integers && !(is_factor(s.a.dtype) && is_factor(s.b.dtype))) {
    return fmt::format("the corpus multiplies f64, f32, f16, bf16, fp8 and i8, not {}", op.DTypesText());
  }
  if (!plugin::IsFloat(s.y.dtype) && !(integers && s.y.dtype == plugin::kI32)) {
    return fmt::format("the corpus has no product {}", op.DTypesText());
  }
  return "";
}

std::string MatmulContract(const plugin::OpDesc& op) {
  const plugin::MatmulSpec s = plugin::ParseMatmul(op);
  const char* acc = s.a.dtype == plugin::kI8 ? "acc=i32" : s.IsF64() ? "f64" : "f32acc";
  return fmt::format("{};det=yes;batchinv=yes", acc);
}

bool HasInputs(const plugin::OpDesc& op, plugin::DType dtype) {
  return op.inputs()[0].dtype == dtype;
}

plugin::Tensor LogicalTensor(const IoBug& bug, Description op) {
  const plugin::MatmulSpec s = plugin::ParseMatmul(op);
  plugin::Tensor tensor = TensorOf(bug, op);
  tensor.shape = {s.batch, bug.operand == 1 ? s.n : s.m, bug.operand == kOutput ? s.n : s.k};
  return tensor;
}

std::vector<Entry> MatmulPlaceBugs(std::span<const IoBug> bugs) {
  std::vector<Entry> all;
  for (const IoBug& bug : bugs) {
    const auto why_not = [bug](Description op) {
      const std::string reason = MatmulWhyNot(op);
      return reason.empty() ? IoBugWhyNot(bug, LogicalTensor(bug, op), op) : reason;
    };
    all.push_back({"matmul", bug.name, MatmulContract, why_not, [bug](Description op, bool exact) {
                     return WithCarrier(op, exact,
                                        [&]<class T>(std::type_identity<T>) -> std::unique_ptr<plugin::Plan> {
                                          return std::make_unique<StruckMatmul<T>>(bug, op, exact);
                                        });
                   }});
  }
  return all;
}

std::vector<Entry> MatmulIoBugs(std::span<const IoBug> bugs) {
  return IoEntries("matmul", MatmulContract, MatmulWhyNot, bugs,
                   []<class T>(std::type_identity<T>, const IoBug& bug, Description op, bool exact) {
                     return std::make_unique<Struck<CleanMatmul<T>>>(bug, op, exact);
                   });
}

}  // namespace corpus
