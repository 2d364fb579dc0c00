// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/arithmetic.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/gpu/kernels.h"

namespace gpu {

int64_t AccumulatorBytes(Tag operands) {
  return operands == Tag::kF64 ? 8 : 4;
}

std::string FloatTypesWhyNot(const plugin::OpDesc& op) {
  if (op.AllTypes([](plugin::DType d) { return d == plugin::kF64; })) return "";
  if (op.AllTypes([](plugin::DType d) { return plugin::IsFloat(d) && d != plugin::kF64; })) return "";
  return fmt::format("{} computes f64 alone, or f32, f16 and bf16, not {}", op.name(), op.DTypesText());
}

std::string BlocksWhyNot(const Traits& traits, double blocks, int threads) {
  const int64_t most = std::min(kMostBlocks, traits.grid_threads / threads);
  if (blocks <= static_cast<double>(most)) return "";
  return fmt::format("{:.0f} blocks of {} threads; a grid has at most {} such on {}", blocks, threads, most,
                     traits.name);
}

std::string ContractText(Tag operands, double math) {
  if (operands == Tag::kI8) return "acc=i32;det=yes;batchinv=yes";
  std::string text = operands == Tag::kF64 ? "f64" : "f32acc";
  if (math > 0) text += fmt::format(";math={:g}", math);
  return text + ";det=yes;batchinv=yes";
}

std::string UnitContractText(const Traits& traits, double math) {
  std::string text = "in=exact;" + traits.unit_accumulator;
  if (math > 0) text += fmt::format(";math={:g}", math);
  return text + ";det=yes;batchinv=yes";
}

std::string UnitWhyNot(const Traits& traits, plugin::DType dtype) {
  if (dtype != plugin::kF16 && dtype != plugin::kBF16) return "matrix units take operands in f16 or bf16 here";
  return traits.has_unit ? "" : fmt::format("{} has no matrix units that these kernels know", traits.name);
}

}  // namespace gpu
