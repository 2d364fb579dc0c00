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
    case ASSAY_TYPE_FLOAT8_E3M4:
      return "f8e3m4";
    case ASSAY_TYPE_FLOAT8_E4M3:
      return "f8e4m3";
    case ASSAY_TYPE_FLOAT8_E4M3B11FNUZ:
      return "f8e4m3b11fnuz";
    case ASSAY_TYPE_FLOAT8_E4M3FN:
      return "f8e4m3fn";
    case ASSAY_TYPE_FLOAT8_E4M3FNUZ:
      return "f8e4m3fnuz";
    case ASSAY_TYPE_FLOAT8_E5M2:
      return "f8e5m2";
    case ASSAY_TYPE_FLOAT8_E5M2FNUZ:
      return "f8e5m2fnuz";
    case ASSAY_TYPE_FLOAT8_E8M0FNU:
      return "f8e8m0fnu";
    case ASSAY_TYPE_FLOAT6_E2M3FN:
      return "f6e2m3fn";
    case ASSAY_TYPE_FLOAT6_E3M2FN:
      return "f6e3m2fn";
    case ASSAY_TYPE_FLOAT4_E2M1FN:
      return "f4e2m1fn";
    default:
      return fmt::format("type code {} with {} bits", dtype.code, dtype.bits);
  }
}

}  // namespace plugin
