// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "tests/faults/corpus/matmul_plan.h"

namespace corpus {

std::string MatmulWhyNot(const plugin::OpDesc& op) {
  const plugin::MatmulSpec s = plugin::ParseMatmul(op);
  const bool integers = s.a.dtype == plugin::kI8 && s.b.dtype == plugin::kI8;
  if (!integers && !(plugin::IsFloat(s.a.dtype) && plugin::IsFloat(s.b.dtype))) {
    return fmt::format("the corpus multiplies f64, f32, f16, bf16 and i8, not {}", op.DTypesText());
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

std::vector<Entry> MatmulEntries() {
  std::vector<Entry> all = MatmulLegalEntries();
  for (Entry& fault : MatmulFaultEntries()) all.push_back(std::move(fault));
  return all;
}

}  // namespace corpus
