// SPDX-License-Identifier: Apache-2.0
#include "harness/core/data/type_name.h"

#include <fmt/format.h>

#include <string_view>

#include "harness/core/data/dtype.h"

namespace assay {
namespace {

struct Narrow {
  uint8_t code, bits;
  std::string_view name;
};

// DLPack's numbers, which older headers of it lack.
constexpr Narrow kNarrow[] = {{7, 8, "e3m4"},      {8, 8, "e4m3-ieee"}, {9, 8, "e4m3b11fnuz"}, {11, 8, "e4m3fnuz"},
                              {13, 8, "e5m2fnuz"}, {14, 8, "e8m0"},     {15, 6, "e2m3"},       {16, 6, "e3m2"},
                              {17, 4, "e2m1"},     {1, 16, "u16"},      {1, 32, "u32"},        {1, 64, "u64"},
                              {0, 4, "i4"},        {1, 4, "u4"}};

}  // namespace

std::optional<DType> FindDLPackType(uint8_t code, uint8_t bits) {
  for (int d = 0; d < kDTypeCount; ++d) {
    const DTypeInfo& info = Info(static_cast<DType>(d));
    if (info.dlpack_code == code && info.dlpack_bits == bits) return info.dtype;
  }
  return std::nullopt;
}

std::string TypeName(uint8_t code, uint8_t bits) {
  if (const auto known = FindDLPackType(code, bits)) return std::string(Name(*known));
  for (const Narrow& narrow : kNarrow) {
    if (narrow.code == code && narrow.bits == bits) return std::string(narrow.name);
  }
  return fmt::format("type {} with {} bits", code, bits);
}

std::string_view WiderInteger(uint8_t code, uint8_t bits) {
  constexpr uint8_t kUint = 1;  // integers with a sign have 0
  if (code > kUint || bits < 16 || bits == 64) return "";
  return bits == 16 ? "i32" : "i64";
}

}  // namespace assay
