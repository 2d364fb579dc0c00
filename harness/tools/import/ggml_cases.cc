// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/import/ggml_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "harness/core/base/text.h"
#include "harness/tools/import/extents.h"

namespace assay {
namespace {

using GgmlResult = Result<GgmlMapped>;

// Types of a case: the stated ones if they are one type, else near ones.
struct Typed {
  std::vector<DType> types;
  bool replaced;
};
Result<Typed> OneType(std::vector<DType> stated, std::vector<DType> near, bool near_types) {
  if (stated == near) return Typed{std::move(near), false};
  if (near_types) return Typed{std::move(near), true};
  return UsageError(fmt::format("{} mixed, where operators here take one type: --near-types takes {}",
                                DTypeListText(stated), DTypeListText(near)));
}

// out[n][m] = b[n][k] a[m][k]: a's rows are weights, so that assay's a is theirs b.
GgmlResult MapMulMat(const GgmlVars& vars, bool near_types) {
  const auto weights = vars.Type("type_a"), x = vars.Type("type_b");
  if (!weights || !x) return tl::unexpected(weights ? x.error() : weights.error());
  const auto m = vars.Int("m", 32), n = vars.Int("n", 32), k = vars.Int("k", 32), o = vars.Int("o", 1);
  const auto bs = vars.List("bs", {10, 10}), nr = vars.List("nr", {2, 2});
  for (const auto* number : {&m, &n, &k, &o}) {
    if (!*number) return tl::unexpected(number->error());
  }
  if (!bs || !nr) return tl::unexpected(bs ? nr.error() : bs.error());
  if (*o > 1) return UsageError("o: a sum of several products");
  const auto batch = ElementsOf(*bs), repeats = ElementsOf(*nr);
  if (!batch || !repeats) return tl::unexpected(batch ? repeats.error() : batch.error());
  if (*repeats > 1 && *batch > 1) return UsageError("operands are repeated over the batch");
  const auto rows = ElementsOf(std::array{*n, *repeats});  // one a for all of them
  if (!rows) return tl::unexpected(rows.error());
  auto types = OneType({*x, *weights, DType::kF32}, {*weights, *weights, DType::kF32}, near_types);
  if (!types) return tl::unexpected(types.error());
  return GgmlMapped{{"matmul",
                     types->types,
                     {{"m", std::to_string(*rows)},
                      {"n", std::to_string(*m)},
                      {"k", std::to_string(*k)},
                      {"batch", std::to_string(*batch)},
                      {"transb", "1"}}},
                    types->replaced};
}

GgmlResult MapOutProd(const GgmlVars& vars, bool near_types) {
  const auto a = vars.Type("type_a"), b = vars.Type("type_b");
  if (!a || !b) return tl::unexpected(a ? b.error() : a.error());
  const auto m = vars.Int("m", 32), n = vars.Int("n", 32), k = vars.Int("k", 32);
  for (const auto* number : {&m, &n, &k}) {
    if (!*number) return tl::unexpected(number->error());
  }
  const auto bs = vars.List("bs", {10, 10}), nr = vars.List("nr", {2, 2});
  if (!bs || !nr) return tl::unexpected(bs ? nr.error() : bs.error());
  if (*nr != Shape{1, 1}) return UsageError("operands are repeated over the batch");
  const auto batch = ElementsOf(*bs);
  if (!batch) return tl::unexpected(batch.error());
  auto types = OneType({*b, *a, DType::kF32}, {*a, *a, DType::kF32}, near_types);
  if (!types) return tl::unexpected(types.error());
  return GgmlMapped{{"matmul",
                     types->types,
                     {{"m", std::to_string(*n)},
                      {"n", std::to_string(*m)},
                      {"k", std::to_string(*k)},
                      {"batch", std::to_string(*batch)},
                      {"transa", vars.Flag("trans_b") ? "0" : "1"}}},
                    types->replaced};
}

GgmlResult MapFlashAttention(const GgmlVars& vars, bool near_types) {
  if (vars.Flag("sinks")) return UsageError("sinks: weights that no key has");
  const auto bias = vars.Float("max_bias", 0), softcap = vars.Float("logit_softcap", 0);
  if (!bias || !softcap) return tl::unexpected(bias ? softcap.error() : bias.error());
  if (*bias != 0) return UsageError("max_bias: slopes of the mask for each head");
  std::map<std::string_view, int64_t> number;
  for (const char* key : {"hsk", "hsv", "nh", "kv", "nb"}) {
    const bool formerly = vars.Has("hs") && std::string_view(key).starts_with("hs");
    const auto value = vars.Int(formerly ? "hs" : key, 0);
    if (!value) return tl::unexpected(value.error());
    number[key] = *value;
  }
  const auto repeats = vars.List("nr23", vars.Has("nr23") ? Shape{1, 1} : Shape{});
  const auto k = vars.Type("type_K", vars.Text("type_KV", "f16")), v = vars.Type("type_V", vars.Text("type_KV", "f16"));
  if (!repeats || !k || !v) return tl::unexpected(!repeats ? repeats.error() : !k ? k.error() : v.error());
  const auto heads_each = repeats->empty() ? vars.Int("nr", 1) : Result<int64_t>((*repeats)[0]);
  if (!heads_each) return tl::unexpected(heads_each.error());
  const int64_t batch = repeats->empty() ? 1 : (*repeats)[1];
  if (vars.Flag("mask") && batch > 1) return UsageError("mask: one for each of the batch");
  if (number["hsk"] == 0) return UsageError("it lacks hsk");
  const auto heads = ElementsOf(std::array{number["nh"], *heads_each});
  if (!heads) return tl::unexpected(heads.error());
  auto types = OneType({DType::kF32, *k, *v, DType::kF32}, {*k, *k, *k, *k}, near_types);
  if (!types) return tl::unexpected(types.error());
  return GgmlMapped{{"attention",
                     types->types,
                     {{"b", std::to_string(batch)},
                      {"h", std::to_string(*heads)},
                      {"hkv", std::to_string(number["nh"])},
                      {"l", std::to_string(number["nb"])},
                      {"s", std::to_string(number["kv"])},
                      {"d", std::to_string(number["hsk"])},
                      {"dv", std::to_string(number["hsv"])},
                      {"softcap", fmt::format("{}", *softcap)},
                      {"mask", vars.Flag("mask") ? "add" : "none"}}},
                    types->replaced};
}

GgmlResult MapSoftMax(const GgmlVars& vars, bool) {
  auto shape = vars.Extents("ne");
  const auto repeats = vars.List("nr23", {1, 1});
  const auto type = vars.Type("type");
  const auto scale = vars.Float("scale", 1), bias = vars.Float("max_bias", 0);
  if (!shape || !repeats || !type)
    return tl::unexpected(!shape ? shape.error() : !type ? type.error() : repeats.error());
  if (!scale || !bias) return tl::unexpected(scale ? bias.error() : scale.error());
  if (vars.Flag("mask") || *bias != 0) return UsageError("mask: a softmax here has none");
  if (vars.Flag("sinks")) return UsageError("sinks: weights that no key has");
  if (*scale != 1) return UsageError("scale: a softmax here has none");
  if (shape->size() == 4) {
    (*shape)[1] *= (*repeats)[0];
    (*shape)[0] *= (*repeats)[1];
  }
  if (const auto elements = ElementsOf(*shape); !elements) return tl::unexpected(elements.error());
  return GgmlMapped{{"softmax", {*type}, {{"shape", DimsText(*shape)}}}};
}

// Reduces the last axis, or all axes.
GgmlResult MapReduce(const GgmlVars& vars, const char* kind, bool all, bool keepdims) {
  auto shape = vars.Extents("ne");
  const auto type = vars.Type("type");
  if (!shape || !type) return tl::unexpected(shape ? type.error() : shape.error());
  if (vars.Flag("slice") && shape->size() == 4) (*shape)[1] /= 2, (*shape)[0] -= 1;
  if (vars.Text("permute", "0") == "1" && shape->size() == 4)
    shape = Shape{(*shape)[1], (*shape)[2], (*shape)[0], (*shape)[3]};
  if (const auto elements = ElementsOf(*shape); !elements) return tl::unexpected(elements.error());
  std::string axes = std::to_string(static_cast<int64_t>(shape->size()) - 1);
  if (all) {
    axes = "0";
    for (size_t i = 1; i < shape->size(); ++i) axes += "+" + std::to_string(static_cast<int64_t>(i));
  }
  const bool index = std::string_view(kind) == "argmax";
  return GgmlMapped{
      {"reduce",
       index ? std::vector{*type, DType::kI64} : std::vector{*type},
       {{"shape", DimsText(*shape)}, {"axes", axes}, {"kind", kind}, {"keepdims", keepdims ? "1" : "0"}}}};
}

GgmlResult MapRows(const char* op, const GgmlVars& vars, const char* key, AttrList more = {}) {
  const auto shape = vars.Extents(key);
  const auto type = vars.Type("type");
  if (!shape || !type) return tl::unexpected(shape ? type.error() : shape.error());
  auto attrs = RowsOf(*shape);
  if (!attrs) return tl::unexpected(attrs.error());
  attrs->insert(attrs->end(), more.begin(), more.end());
  return GgmlMapped{{op, {*type}, *attrs}};
}

GgmlResult MapElements(const char* op, const GgmlVars& vars, AttrList more = {}) {
  const auto shape = vars.Extents(vars.Has("ne_a") ? "ne_a" : "ne");
  const auto type = vars.Type("type");
  if (!shape || !type) return tl::unexpected(shape ? type.error() : shape.error());
  const auto n = ElementsOf(*shape);
  if (!n) return tl::unexpected(n.error());
  more.insert(more.begin(), {"n", std::to_string(*n)});
  return GgmlMapped{{op, {*type}, more}};
}

GgmlResult MapSwiglu(const GgmlVars& vars, bool) {
  if (vars.Flag("split")) return UsageError("split: gates in a tensor of their own");
  if (vars.Flag("swapped")) return UsageError("swapped: gates in the second half");
  auto mapped = MapRows("silu_and_mul", vars, "ne_a");
  if (!mapped) return mapped;
  std::string& n = mapped->spec.attrs[1].second;
  const int64_t both = std::stoll(n);
  if (both % 2 != 0) return UsageError("rows of an odd length have no halves");
  n = std::to_string(both / 2);
  return mapped;
}

GgmlResult MapTopK(const GgmlVars& vars, bool) {
  const auto k = vars.Int("k", 4);
  if (!k) return tl::unexpected(k.error());
  return MapRows("top_k", vars, "ne", {{"k", std::to_string(*k)}, {"tie", "any"}});
}

GgmlResult MapArgsort(const GgmlVars& vars, bool) {
  const bool descending = vars.Flag("order");
  return MapRows("sort", vars, "ne", {{"descending", descending ? "1" : "0"}, {"tie", "any"}});
}

GgmlResult MapGetRows(const GgmlVars& vars, bool) {
  const auto type = vars.Type("type");
  const auto d = vars.Int("n", 10), rows = vars.Int("m", 5), picked = vars.Int("r", 3);
  const auto be1 = vars.Int("be1", 1), be2 = vars.Int("be2", 1), b = vars.Int("b", 1);
  for (const auto* number : {&d, &rows, &picked, &be1, &be2, &b}) {
    if (!*number) return tl::unexpected(number->error());
  }
  if (!type) return tl::unexpected(type.error());
  if (*be1 != 1 || *be2 != 1 || *b != 1) return UsageError("a table for each of the batch");
  return GgmlMapped{{"gather",
                     {*type, DType::kI32, DType::kF32},
                     {{"v", std::to_string(*rows)},
                      {"n", std::to_string(vars.Flag("v") ? *picked / 2 : *picked)},
                      {"d", std::to_string(*d)}}}};
}

GgmlResult MapRope(const GgmlVars& vars, bool) {
  constexpr int64_t kHalves = 2;  // GGML_ROPE_TYPE_NEOX
  const auto shape = vars.Extents("ne_a");
  const auto type = vars.Type("type");
  const auto mode = vars.Int("mode", 0), turned = vars.Int("n_dims", 10), offset = vars.Int("n_offs", 0);
  if (!shape || !type) return tl::unexpected(shape ? type.error() : shape.error());
  if (!mode || !turned || !offset) return UsageError(kNoForm);
  if (*mode != kHalves) return UsageError(fmt::format("mode={}: pairs other than of both halves", *mode));
  if (shape->size() != 4 || *turned != shape->back() || *offset != 0)
    return UsageError("a part of each head is turned");
  return GgmlMapped{{"rope",
                     {*type, DType::kF32, DType::kF32, *type},
                     {{"b", std::to_string((*shape)[0])},
                      {"l", std::to_string((*shape)[1])},
                      {"h", std::to_string((*shape)[2])},
                      {"d", std::to_string((*shape)[3])}}}};
}

Result<std::string> Pair(const GgmlVars& vars, const char* outer, const char* inner, int64_t usual) {
  const auto a = vars.Int(outer, usual), b = vars.Int(inner, usual);
  if (!a || !b) return tl::unexpected(a ? b.error() : a.error());
  return fmt::format("{}x{}", *a, *b);
}

// `groups`: each channel has a kernel of its own.
GgmlResult MapConv2d(const GgmlVars& vars, bool near_types, bool groups) {
  const auto x = vars.Extents("ne_input"), w = vars.Extents("ne_kernel");
  const auto type = vars.Type("type_kernel");
  if (!x || !w || !type) return tl::unexpected(!x ? x.error() : !w ? w.error() : type.error());
  if (x->size() != 4 || w->size() != 4) return UsageError(kNoForm);
  if ((*w)[1] != (groups ? 1 : (*x)[1])) return UsageError("input and kernel have different channels");
  auto types = OneType({DType::kF32, *type, DType::kF32}, {*type, *type, DType::kF32}, near_types);
  if (!types) return tl::unexpected(types.error());
  const auto stride = groups ? Pair(vars, "stride", "stride", 1) : Pair(vars, "stride1", "stride0", 1);
  const auto pad = groups ? Pair(vars, "padding", "padding", 0) : Pair(vars, "padding1", "padding0", 0);
  const auto dilation = groups ? Pair(vars, "dilation", "dilation", 1) : Pair(vars, "dilation1", "dilation0", 1);
  for (const auto* pair : {&stride, &pad, &dilation}) {
    if (!*pair) return tl::unexpected(pair->error());
  }
  return GgmlMapped{{"conv",
                     types->types,
                     {{"n", std::to_string((*x)[0])},
                      {"c", std::to_string((*x)[1])},
                      {"o", std::to_string((*w)[0])},
                      {"i", DimsText(std::span(*x).last(2))},
                      {"k", DimsText(std::span(*w).last(2))},
                      {"stride", *stride},
                      {"pad", *pad},
                      {"dilation", *dilation},
                      {"groups", std::to_string(groups ? (*x)[1] : 1)}}},
                    types->replaced};
}

GgmlResult MapConv3d(const GgmlVars& vars, bool near_types) {
  const auto type = vars.Type("type_kernel");
  if (!type) return tl::unexpected(type.error());
  std::map<std::string_view, std::string> number;
  for (const char* key :
       {"N", "IC", "ID", "IH", "IW", "OC", "KD", "KH", "KW", "s0", "s1", "s2", "p0", "p1", "p2", "d0", "d1", "d2"}) {
    const auto value = vars.Int(key, 1);
    if (!value) return tl::unexpected(value.error());
    number[key] = std::to_string(*value);
  }
  const auto list = [&](const char* d, const char* h, const char* w) {
    return fmt::format("{}x{}x{}", number[d], number[h], number[w]);
  };
  auto types = OneType({DType::kF32, *type, DType::kF32}, {*type, *type, DType::kF32}, near_types);
  if (!types) return tl::unexpected(types.error());
  return GgmlMapped{{"conv",
                     types->types,
                     {{"n", number["N"]},
                      {"c", number["IC"]},
                      {"o", number["OC"]},
                      {"i", list("ID", "IH", "IW")},
                      {"k", list("KD", "KH", "KW")},
                      {"stride", list("s2", "s1", "s0")},
                      {"pad", list("p2", "p1", "p0")},
                      {"dilation", list("d2", "d1", "d0")}}},
                    types->replaced};
}

GgmlResult MapSoftMaxBack(const GgmlVars& vars, bool) {
  const auto scale = vars.Float("scale", 1), bias = vars.Float("max_bias", 0);
  if (!scale || !bias) return tl::unexpected(scale ? bias.error() : scale.error());
  if (*scale != 1 || *bias != 0) return UsageError("scale: a softmax here has none");
  return MapRows("softmax_backward", vars, "ne");
}

struct GgmlOperator {
  std::string_view known;  // variables; one beside them may change what is computed
  GgmlResult (*map)(const GgmlVars& vars, bool near_types);
};

const std::map<std::string_view, GgmlOperator>& GgmlOperators() {
  using Vars = const GgmlVars&;
  static const std::map<std::string_view, GgmlOperator> operators = {
      {"MUL_MAT", {"type_a type_b m n k bs nr per k_v v o src_overlap", MapMulMat}},
      {"OUT_PROD", {"type_a type_b m n k bs nr trans_b", MapOutProd}},
      {"FLASH_ATTN_EXT",
       {"hs hsk hsv nh nr nr23 kv nb mask sinks max_bias logit_softcap prec type_KV type_K type_V permute kv_view "
        "v_is_view_of_k",
        MapFlashAttention}},
      {"SOFT_MAX", {"type ne mask sinks m_prec nr23 scale max_bias inplace", MapSoftMax}},
      {"SOFT_MAX_BACK", {"type ne scale max_bias", MapSoftMaxBack}},
      {"SUM", {"type ne permute", [](Vars vars, bool) { return MapReduce(vars, "sum", true, true); }}},
      {"SUM_ROWS", {"type ne permute slice", [](Vars vars, bool) { return MapReduce(vars, "sum", false, true); }}},
      {"MEAN", {"type ne", [](Vars vars, bool) { return MapReduce(vars, "mean", false, true); }}},
      {"ARGMAX", {"type ne", [](Vars vars, bool) { return MapReduce(vars, "argmax", false, false); }}},
      {"CUMSUM", {"type ne", [](Vars vars, bool) { return MapRows("cumsum", vars, "ne"); }}},
      {"ARGSORT", {"type ne order", MapArgsort}},
      {"TOP_K", {"type ne k ties", MapTopK}},
      {"GET_ROWS", {"type n m r be1 be2 b v", MapGetRows}},
      {"ROPE", {"type ne_a n_dims mode n_ctx fs ef af ff v inplace n_offs", MapRope}},
      {"CONV_2D",
       {"ne_input ne_kernel type_kernel stride0 stride1 padding0 padding1 dilation0 dilation1 cwhn",
        [](Vars vars, bool near) { return MapConv2d(vars, near, false); }}},
      {"CONV_2D_DW",
       {"ne_input ne_kernel type_kernel stride padding dilation cwhn",
        [](Vars vars, bool near) { return MapConv2d(vars, near, true); }}},
      {"CONV_3D", {"N IC ID IH IW OC KD KH KW s0 s1 s2 p0 p1 p2 d0 d1 d2 type_kernel", MapConv3d}},
      {"SWIGLU", {"type ne_a v split swapped", MapSwiglu}},
      {"EXP", {"type ne_a v", [](Vars vars, bool) { return MapElements("exp", vars); }}},
      {"LOG", {"type ne", [](Vars vars, bool) { return MapElements("log", vars); }}},
      {"TANH", {"type ne_a v", [](Vars vars, bool) { return MapElements("tanh", vars); }}},
      {"GELU",
       {"type ne_a v",
        [](Vars vars, bool) {
          return MapElements("gelu", vars, {{"approx", "tanh"}});
        }}},
      {"GELU_ERF", {"type ne_a v", [](Vars vars, bool) { return MapElements("gelu", vars); }}}};
  return operators;
}

}  // namespace

Result<GgmlMapped> MapGgml(std::string_view op, const GgmlVars& vars, bool near_types) {
  const auto at = GgmlOperators().find(op);
  if (at == GgmlOperators().end()) return UsageError(fmt::format("no operator {} here", op.substr(0, 40)));
  const std::vector<std::string_view> known = Split(at->second.known, ' ');
  if (const std::string_view key = vars.FindFirstUnknown(known); !key.empty()) {
    return UsageError(fmt::format("{}: a variable that is not known here", key.substr(0, 40)));
  }
  return at->second.map(vars, near_types);
}

}  // namespace assay
