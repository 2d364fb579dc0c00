// SPDX-License-Identifier: Apache-2.0
#include "backends/common/attention_spec.h"

#include <algorithm>

#include "backends/common/status.h"

namespace plugin {
namespace {

AttentionSpec::Strides StridesOf(const Tensor& tensor, const std::vector<int64_t>& expected) {
  if (tensor.shape != expected) {
    throw Failure("attention: operand '{}' has shape {}, but the attributes imply {}", tensor.name,
                  ShapeText(tensor.shape), ShapeText(expected));
  }
  return {tensor.strides[0], tensor.strides[1], tensor.strides[2], tensor.strides[3]};
}

void ParseMask(const OpDesc& op, AttentionSpec& spec) {
  const std::string& kind = op.AttrString("mask");
  if (kind != "none" && kind != "bool" && kind != "add") throw Unsupported("attention: unknown mask '{}'", kind);
  spec.mask_kind = kind == "bool" ? MaskKind::kBool : kind == "add" ? MaskKind::kAdd : MaskKind::kNone;
  const size_t wanted = spec.mask_kind == MaskKind::kNone ? 3 : 4;
  if (op.inputs().size() != wanted || op.outputs().size() != 1) {
    throw Failure("attention: {} inputs and {} outputs; expected {} and 1", op.inputs().size(), op.outputs().size(),
                  wanted);
  }
  op.MayIgnore({"mask_per_head"});  // nothing without a mask
  if (wanted == 3) return;
  const Tensor& mask = op.inputs()[3];
  spec.mask_dtype = mask.dtype;
  if (op.AttrInt("mask_per_head") != 0) {
    spec.mask = StridesOf(mask, {spec.batch, spec.heads, spec.l, spec.s});
  } else if (mask.shape == std::vector<int64_t>{spec.l, spec.s}) {
    spec.mask = {0, 0, mask.strides[0], mask.strides[1]};
  } else {
    throw Failure("attention: the mask has shape {}, but must be [{}, {}]", ShapeText(mask.shape), spec.l, spec.s);
  }
}

}  // namespace

AttentionSpec::Range AttentionSpec::KeysOf(int64_t i) const {
  const int64_t at = i + (top_left ? 0 : s - l);
  int64_t first = 0, last = s;
  if (causal) last = std::min(last, at + 1);
  const int64_t reach = std::min(window, l + s);  // beyond that every key is near enough; at + window could overflow
  if (window > 0) first = std::max(first, at - reach + 1), last = std::min(last, at + reach);
  last = std::max<int64_t>(last, 0);
  return {std::min(first, last), last};
}

AttentionSpec ParseAttention(const OpDesc& op) {
  AttentionSpec a;
  a.batch = op.AttrInt("b"), a.heads = op.AttrInt("h"), a.kv_heads = op.AttrInt("hkv");
  a.l = op.AttrInt("l"), a.s = op.AttrInt("s"), a.d = op.AttrInt("d"), a.dv = op.AttrInt("dv");
  a.causal = op.AttrInt("causal") != 0, a.window = op.AttrInt("window");
  a.top_left = op.AttrString("align") == "tl", a.masked_nan = op.AttrString("masked_rows") == "nan";
  a.scale = op.AttrFloat("scale"), a.softcap = op.AttrFloat("softcap");
  if (a.heads == 0) throw Unsupported("attention of no heads");
  if (a.kv_heads < 1 || a.heads % a.kv_heads != 0) {
    throw Failure("attention: hkv={} does not divide h={}", a.kv_heads, a.heads);
  }
  ParseMask(op, a);
  const auto& in = op.inputs();
  a.dtype = in[0].dtype;
  if (in[1].dtype != a.dtype || in[2].dtype != a.dtype || op.outputs()[0].dtype != a.dtype) {
    throw Unsupported("attention: q, k, v and o of one type are offered, not {}", op.DTypesText());
  }
  a.q = StridesOf(in[0], {a.batch, a.heads, a.l, a.d});
  a.k = StridesOf(in[1], {a.batch, a.kv_heads, a.s, a.d});
  a.v = StridesOf(in[2], {a.batch, a.kv_heads, a.s, a.dv});
  a.o = StridesOf(op.outputs()[0], {a.batch, a.heads, a.l, a.dv});
  return a;
}

std::string FloatAttentionWhyNot(const AttentionSpec& spec, const OpDesc& op) {
  if (!IsFloat(spec.dtype)) return fmt::format("attention computes f64, f32, f16 and bf16, not {}", op.DTypesText());
  const bool empty = spec.batch < 1 || spec.l < 1 || spec.s < 1 || spec.d < 1 || spec.dv < 1;
  return empty ? "attention with an extent below 1" : "";
}

}  // namespace plugin
