// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "tests/faults/corpus/attention_kernel.h"

namespace corpus {

std::string AttentionWhyNot(Description op) {
  const auto& in = op.inputs();
  const plugin::DType type = in[0].dtype, out = op.outputs()[0].dtype;
  if (plugin::IsFloat(type) && in[1].dtype == type && in[2].dtype == type && (out == type || out == plugin::kF64)) {
    return "";
  }
  return fmt::format("the corpus has no attention {}", op.DTypesText());
}

AttentionSpec AttentionSpecOf(Description op) {
  AttentionSpec a;
  op.MayIgnore({"mask_per_head"});  // the mask has the shape that it says
  a.batch = op.AttrInt("b"), a.heads = op.AttrInt("h"), a.kv_heads = op.AttrInt("hkv");
  a.l = op.AttrInt("l"), a.s = op.AttrInt("s"), a.d = op.AttrInt("d"), a.dv = op.AttrInt("dv");
  a.causal = op.AttrInt("causal") != 0, a.window = op.AttrInt("window");
  a.top_left = op.AttrString("align") == "tl", a.masked_nan = op.AttrString("masked_rows") == "nan";
  a.scale = op.AttrFloat("scale"), a.softcap = op.AttrFloat("softcap");
  const std::string& mask = op.AttrString("mask");
  a.mask_kind = mask == "bool" ? MaskKind::kBool : mask == "add" ? MaskKind::kAdd : MaskKind::kNone;
  a.dtype = op.inputs()[0].dtype;
  return a;
}

std::string AttentionClass(Description op, const std::string& more) {
  const AttentionSpec s = AttentionSpecOf(op);
  return fmt::format("{};math=2{}{}", s.IsF64() ? "f64" : "f32acc", s.masked_nan ? ";masked=nan" : "", more);
}

std::string AttentionContract(Description op) {
  return AttentionClass(op, ";det=yes;batchinv=yes");
}

}  // namespace corpus
