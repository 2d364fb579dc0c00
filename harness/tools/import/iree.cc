// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/import/iree.h"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "harness/core/base/text.h"
#include "harness/core/base/whole_file.h"
#include "harness/tools/import/extents.h"

namespace assay {
namespace {

// A case as one function states it.
struct IreeCall {
  ForeignCase from;         // the function's name
  std::string description;  // "Matmul shape (MxKxN): 1x10x10"
  std::string scale;        // "1.0"
  bool accumulates = false, transposes_rhs = false, has_scales = false;
};

// Text between the first `begin` and the next `end`.
std::string_view Between(std::string_view text, std::string_view begin, std::string_view end) {
  const size_t at = text.find(begin);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + begin.size());
  return text.substr(0, text.find(end));
}

void ReadCallLine(std::string_view line, IreeCall& call) {
  if (const auto text = Between(line, "description = \"", "\""); !text.empty()) call.description = text;
  if (const auto text = Between(line, "%scale = arith.constant ", " "); !text.empty()) call.scale = text;
  if (line.find("%transpose_rhs = arith.constant 1 ") != std::string_view::npos) call.transposes_rhs = true;
  if (line.find("%acc_dim0 = ") != std::string_view::npos) call.accumulates = true;
  if (line.find("%lhs_scale") != std::string_view::npos) call.has_scales = true;
}

// Functions that take nothing are calls of cases; others are what they call.
std::vector<IreeCall> ReadCalls(std::string_view text, const std::string& file) {
  std::vector<IreeCall> calls;
  size_t number = 0;
  for (const std::string_view line : Split(text, '\n')) {
    ++number;
    if (line.find("func @") != std::string_view::npos && line.find("()") != std::string_view::npos) {
      calls.push_back({{fmt::format("{}:{}", file, number), std::string(Between(line, "func @", "("))}, {}, {}});
    }
    if (!calls.empty()) ReadCallLine(line, calls.back());
  }
  return calls;
}

Result<DType> IreeType(std::string_view name) {
  static constexpr ForeignType kTypes[] = {{"f64", DType::kF64},   {"f32", DType::kF32},       {"f16", DType::kF16},
                                           {"bf16", DType::kBF16}, {"f8E4M3FN", DType::kE4M3}, {"f8E5M2", DType::kE5M2},
                                           {"i8", DType::kI8},     {"ui8", DType::kU8},        {"i32", DType::kI32}};
  return FindType(kTypes, name);
}

// Parses names such as matmul_1x10xf16_times_10x10xf16_into_1x10xf32_1_10_10_0.
Result<std::vector<DType>> MatmulTypes(std::string_view name) {
  const std::string_view into = Between(name, "_into_", "_");
  const std::array<std::string_view, 3> operands = {name.substr(0, name.find("_times_")),
                                                    Between(name, "_times_", "_into_"), into};
  std::vector<DType> types;
  for (const std::string_view operand : operands) {
    const auto type = IreeType(operand.substr(operand.rfind('x') + 1));
    if (!type) return tl::unexpected(type.error());
    types.push_back(*type);
  }
  return types;
}

// The extents behind ": ", where there are so many of them.
Result<Shape> ExtentsOf(const std::string& description, size_t count) {
  auto shape = ParseExtents(Between(description, ": ", " "));
  if (!shape) return shape;
  if (shape->size() != count) return UsageError("its description has another number of extents than it names");
  return shape;
}

Result<CaseSpec> MapMatmulCall(const IreeCall& call, bool batched) {
  if (call.has_scales) return UsageError("operands in blocks with scales");
  const auto shape = ExtentsOf(call.description, batched ? 4 : 3);
  if (!shape) return tl::unexpected(shape.error());
  const auto types = MatmulTypes(call.from.text);
  if (!types) return tl::unexpected(types.error());
  const int64_t* const mkn = shape->data() + (batched ? 1 : 0);
  return CaseSpec{"matmul",
                  *types,
                  {{"m", std::to_string(mkn[0])},
                   {"n", std::to_string(mkn[2])},
                   {"k", std::to_string(mkn[1])},
                   {"batch", std::to_string(batched ? shape->front() : 1)},
                   {"transb", call.transposes_rhs ? "1" : "0"},
                   {"beta", call.accumulates ? "1" : "0"}}};
}

Result<CaseSpec> MapAttentionCall(const IreeCall& call) {
  const auto shape = ExtentsOf(call.description, 6);  // batch, m, k1, k2, k1, n
  if (!shape) return tl::unexpected(shape.error());
  std::vector<DType> types;
  const auto names = Split(Between(call.from.text, "_dtype_", "\n"), '_');
  for (size_t i = 0; i < 4; ++i) {
    const auto type = IreeType(i < names.size() ? names[i] : "");
    if (!type) return tl::unexpected(type.error());
    types.push_back(*type);
  }
  const auto number = [&](size_t i) { return std::to_string((*shape)[i]); };
  CaseSpec spec{
      "attention",
      types,
      {{"b", number(0)}, {"h", "1"}, {"l", number(1)}, {"s", number(3)}, {"d", number(2)}, {"dv", number(5)}}};
  if (call.description.ends_with("(causal masked)")) {
    spec.attrs.insert(spec.attrs.end(), {{"causal", "1"}, {"align", "tl"}});
  }
  if (!call.scale.empty()) spec.attrs.emplace_back("scale", call.scale);
  return spec;
}

Result<CaseSpec> MapCall(const IreeCall& call) {
  const std::string_view text = call.description;
  if (text.starts_with("Matmul shape")) return MapMatmulCall(call, false);
  if (text.starts_with("Batch matmul shape")) return MapMatmulCall(call, true);
  if (text.starts_with("Attention shape")) return MapAttentionCall(call);
  if (text.empty()) return UsageError("a function without description");
  return UsageError(
      fmt::format("no operator for '{}' here", text.substr(0, std::min<size_t>(text.find(" shape"), 40))));
}

}  // namespace

Status ImportIree(const std::filesystem::path& file, Imports& imports) {
  const auto text = ReadStream(file);
  if (!text) return tl::unexpected(text.error());
  for (const IreeCall& call : ReadCalls(*text, file.string())) imports.Add(call.from, MapCall(call));
  return {};
}

}  // namespace assay
