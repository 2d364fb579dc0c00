// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "tests/faults/corpus/conv_kernel.h"

namespace corpus {

std::string ConvWhyNot(Description op) {
  const plugin::DType x = op.inputs()[0].dtype, w = op.inputs()[1].dtype, y = op.outputs()[0].dtype;
  const bool floats = plugin::IsFloat(x) && plugin::IsFloat(y);
  const bool integers = x == plugin::kI8 && (y == plugin::kI32 || y == plugin::kF64);
  return x == w && (floats || integers) ? "" : fmt::format("the corpus has no conv {}", op.DTypesText());
}

std::string ConvClass(Description op, const std::string& acc, const std::string& more) {
  const plugin::DType x = op.inputs()[0].dtype;
  return (x == plugin::kI8 ? "acc=i32" : x == plugin::kF64 ? "f64" : acc) + more;
}

std::string ConvContract(Description op) {
  return ConvClass(op, "f32acc", ";det=yes;batchinv=yes");
}

}  // namespace corpus
