// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/import/benchdnn_choice.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/core/base/text.h"
#include "harness/tools/import/extents.h"

namespace assay::benchdnn {

const std::string& Value(Chosen choice, std::string_view option) {
  return choice.find(option)->second;
}

Result<DType> TypeOf(std::string_view name) {
  static constexpr ForeignType kTypes[] = {{"f64", DType::kF64},   {"f32", DType::kF32},      {"f16", DType::kF16},
                                           {"bf16", DType::kBF16}, {"f8_e4m3", DType::kE4M3}, {"f8_e5m2", DType::kE5M2},
                                           {"s8", DType::kI8},     {"u8", DType::kU8},        {"s32", DType::kI32}};
  return FindType(kTypes, name);
}

Types TypesOf(std::string_view text, size_t count) {
  std::vector<DType> types;
  for (const std::string_view part : Split(text, ':')) {
    const auto type = TypeOf(part);
    if (!type) return tl::unexpected(type.error());
    types.push_back(*type);
  }
  if (types.size() == 1) types.resize(count, types[0]);
  if (types.size() != count) return UsageError(fmt::format("--dt has not one type or {}", count));
  return types;
}

Types TypesOfConfig(std::string_view text) {
  std::vector<DType> types;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of("fbsu", 1 + text.starts_with("bf")), text.size());
    const auto type = TypeOf(text.substr(0, end));
    if (!type) return tl::unexpected(type.error());
    types.push_back(*type);
    text.remove_prefix(end);
  }
  if (types.size() == 1) types.resize(3, types[0]);
  if (types.size() != 3) return UsageError("--cfg has not one type or three");
  return types;
}

bool IsForward(Chosen choice) {
  return Value(choice, "dir").starts_with("FWD");
}

Status CheckForward(Chosen choice) {
  if (IsForward(choice)) return {};
  return UsageError(fmt::format("dir={}: this gradient is no operator here", Value(choice, "dir")));
}

}  // namespace assay::benchdnn
