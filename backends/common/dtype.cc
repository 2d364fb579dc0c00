// SPDX-License-Identifier: Apache-2.0
#include "backends/common/dtype.h"

#include <fmt/format.h>

namespace plugin {

std::string Name(DType dtype) {
  switch (dtype.code) {
    case ASSAY_TYPE_INT:
      return fmt::format("i{}", dtype.bits);
    case ASSAY_TYPE_UINT:
      return fmt::format("u{}", dtype.bits);
    case ASSAY_TYPE_FLOAT:
      return fmt::format("f{}", dtype.bits);
    case ASSAY_TYPE_BFLOAT:
      return fmt::format("bf{}", dtype.bits);
    case ASSAY_TYPE_COMPLEX:
      return fmt::format("c{}", dtype.bits);
    case ASSAY_TYPE_BOOL:
      return "bool";
    case ASSAY_TYPE_FLOAT8_E4M3FN:
      return "f8e4m3fn";
    case ASSAY_TYPE_FLOAT8_E5M2:
      return "f8e5m2";
    default:
      return fmt::format("type code {} with {} bits", dtype.code, dtype.bits);
  }
}

}  // namespace plugin
