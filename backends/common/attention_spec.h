// SPDX-License-Identifier: Apache-2.0
// An attention description with its operands found and its shapes checked.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "backends/common/op_desc.h"

namespace plugin {

enum class MaskKind { kNone, kBool, kAdd };

struct AttentionSpec {
  int64_t batch = 1, heads = 1, kv_heads = 1, l = 1, s = 1, d = 1, dv = 1;
  bool causal = false, top_left = false, masked_nan = false;
  int64_t window = 0;
  double scale = 1, softcap = 0;
  MaskKind mask_kind = MaskKind::kNone;
  DType dtype, mask_dtype;
  using Strides = std::array<int64_t, 4>;  // elements
  Strides q{}, k{}, v{}, o{}, mask{};      // a mask that is shared by batch and heads has zeros there

  // The keys [first, last) that causality and window leave to query i.
  struct Range {
    int64_t first = 0, last = 0;
  };
  Range KeysOf(int64_t i) const;
  bool IsF64() const { return dtype == kF64; }
  double Work() const {  // multiplications, masked ones included
    return static_cast<double>(batch * heads) * static_cast<double>(l) * static_cast<double>(s) *
           static_cast<double>(d + dv);
  }
};

// Throws Failure naming the operand or attribute that contradicts the operator's definition.
AttentionSpec ParseAttention(const OpDesc& op);

// Why it is no attention over floats with extents of at least 1; "" when it is.
std::string FloatAttentionWhyNot(const AttentionSpec& spec, const OpDesc& op);

}  // namespace plugin
