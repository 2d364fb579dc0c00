// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/core/base/text.h"
#include "harness/tools/import/extents.h"
#include "harness/tools/import/ggml_cases.h"

namespace assay {

Result<GgmlVars> GgmlVars::Parse(std::string_view text) {
  GgmlVars vars;
  while (!text.empty()) {
    const size_t equals = text.find_first_of("=,");
    if (equals == std::string_view::npos || text[equals] == ',') {  // a word alone is a flag
      vars.vars_.emplace_back(text.substr(0, equals), "1");
      text = equals == std::string_view::npos ? "" : text.substr(equals + 1);
      continue;
    }
    const std::string_view key = text.substr(0, equals);
    text.remove_prefix(equals + 1);
    const size_t end = text.starts_with('[') ? text.find(']') : text.find(',');
    if (end == std::string_view::npos && text.starts_with('[')) return UsageError(kNoForm);
    const size_t length = text.starts_with('[') ? end + 1 : std::min(end, text.size());
    vars.vars_.emplace_back(key, text.substr(0, length));
    text.remove_prefix(length);
    if (text.starts_with(',')) text.remove_prefix(1);
  }
  return vars;
}

const std::string_view* GgmlVars::Find(std::string_view key) const {
  const auto at = std::ranges::find_if(vars_, [&](const auto& var) { return var.first == key; });
  return at == vars_.end() ? nullptr : &at->second;
}

std::string_view GgmlVars::FindFirstUnknown(const std::vector<std::string_view>& known) const {
  for (const auto& [key, value] : vars_) {
    if (std::ranges::find(known, key) == known.end()) return key.empty() ? "''" : key;
  }
  return {};
}

std::string_view GgmlVars::Text(std::string_view key, std::string_view usual) const {
  const std::string_view* text = Find(key);
  return text == nullptr ? usual : *text;
}

bool GgmlVars::Flag(std::string_view key) const {
  return Text(key, "0") != "0";
}

Result<int64_t> GgmlVars::Int(std::string_view key, int64_t usual) const {
  const std::string_view* text = Find(key);
  if (text == nullptr) return usual;
  const auto value = ParseNumber<int64_t>(*text);
  if (!value || *value < 0 || *value > kLargestExtent)
    return UsageError(fmt::format("{} is not a number up to 2^31", key));
  return *value;
}

Result<double> GgmlVars::Float(std::string_view key, double usual) const {
  const std::string_view* text = Find(key);
  if (text == nullptr) return usual;
  const auto value = ParseNumber<double>(*text);
  if (!value || !std::isfinite(*value)) return UsageError(fmt::format("{} is not a finite number", key));
  return *value;
}

Result<DType> GgmlVars::Type(std::string_view key, std::string_view usual) const {
  static constexpr ForeignType kTypes[] = {{"f32", DType::kF32}, {"f16", DType::kF16}, {"bf16", DType::kBF16},
                                           {"f64", DType::kF64}, {"i8", DType::kI8},   {"i32", DType::kI32},
                                           {"i64", DType::kI64}};
  if (auto type = FindType(kTypes, Text(key, usual))) return type;
  return UsageError("types in blocks with scales (such as q4_0), or others that assay does not have");
}

Result<Shape> GgmlVars::List(std::string_view key, Shape usual) const {
  const std::string_view* text = Find(key);
  if (text == nullptr) return usual;
  if (text->size() < 2 || text->front() != '[' || text->back() != ']') return UsageError(kNoForm);
  Shape list;
  for (const std::string_view part : Split(text->substr(1, text->size() - 2), ',')) {
    const auto value = ParseNumber<int64_t>(part);
    if (!value || *value < 0 || *value > kLargestExtent) return UsageError(kNoExtent);
    list.push_back(*value);
  }
  if (list.size() > 4) return UsageError(kNoForm);
  if (!usual.empty() && list.size() != usual.size()) return UsageError(kNoForm);
  return list;
}

Result<Shape> GgmlVars::Extents(std::string_view key) const {
  auto list = List(key, {});
  if (!list) return list;
  if (list->size() < 2) return UsageError(kNoForm);
  if (std::ranges::any_of(*list, [](int64_t extent) { return extent < 1; })) {
    return UsageError(kNoExtent);
  }
  std::ranges::reverse(*list);
  return list;
}

}  // namespace assay
