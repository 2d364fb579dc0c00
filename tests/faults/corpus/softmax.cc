// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "tests/faults/corpus/softmax_plan.h"

namespace corpus {

SoftmaxShape SoftmaxShapeOf(Description op) {
  const plugin::Tensor& x = op.inputs()[0];
  const int64_t axis = op.AttrInt("axis"), at = axis < 0 ? axis + x.Rank() : axis;
  SoftmaxShape s;
  s.terms = x.shape[static_cast<size_t>(at)];
  for (size_t i = static_cast<size_t>(at) + 1; i < x.shape.size(); ++i) s.inner *= x.shape[i];
  s.rows = x.Elements() / std::max<int64_t>(1, s.terms);
  s.log = op.AttrInt("log") != 0, s.type = x.dtype;
  return s;
}

std::string SoftmaxWhyNot(Description op) {
  op.MayIgnore({"shape", "axis", "log"});  // x has the shape; the others are read when a plan is made
  const plugin::DType type = op.inputs()[0].dtype, out = op.outputs()[0].dtype;
  if (plugin::IsFloat(type) && (out == type || out == plugin::kF64)) return "";
  return fmt::format("the corpus has no softmax {}", op.DTypesText());
}

std::string SoftmaxClass(Description op, const std::string& acc, const std::string& more) {
  return fmt::format("{};math=2;masked=nan{}", SoftmaxShapeOf(op).type == plugin::kF64 ? "f64" : acc, more);
}

std::string SoftmaxContract(Description op) {
  return SoftmaxClass(op, "f32acc", ";det=yes;batchinv=yes");
}

}  // namespace corpus
