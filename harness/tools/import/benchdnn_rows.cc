// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "harness/core/base/text.h"
#include "harness/tools/import/benchdnn_choice.h"
#include "harness/tools/import/benchdnn_conv.h"
#include "harness/tools/import/extents.h"

namespace assay::benchdnn {
namespace {

// "mb" replaces the first axis.
Result<Shape> ShapeWith(std::string_view problem, std::string_view mb) {
  auto shape = ParseExtents(problem);
  if (!shape || mb == "0" || mb.empty()) return shape;
  const auto extent = ParseExtent(mb);
  if (!extent) return tl::unexpected(extent.error());
  shape->front() = *extent;
  return shape;
}

// Scale and shift of type ss_dt, and no statistics from outside.
Status CheckNormFlags(Chosen choice) {
  const std::string& flags = Value(choice, "flags");
  const auto has = [&](char flag) { return flags.find(flag) != std::string::npos; };
  if (has('G')) return UsageError("flags=G: mean and variance come from outside");
  if (has('C') && has('H')) return {};
  return UsageError(fmt::format("flags={}: a norm here has scale and shift", flags));
}

Types NormTypes(Chosen choice, size_t count) {
  const auto types = TypesOf(Value(choice, "dt"), 2);
  const auto scale = TypeOf(choice.contains("ss-dt") ? Value(choice, "ss-dt") : "f32");
  if (!types || !scale) return tl::unexpected(types ? scale.error() : types.error());
  std::vector<DType> all(count, *scale);
  all.front() = types->front();
  all.back() = types->back();
  return all;
}

}  // namespace

Result<CaseSpec> MapSoftmax(Chosen choice, std::string_view problem) {
  const auto shape = ShapeWith(problem, Value(choice, "mb"));
  if (!shape) return tl::unexpected(shape.error());
  const auto x = TypeOf(Value(choice, "sdt")), y = TypeOf(Value(choice, "ddt"));
  if (!x || !y) return tl::unexpected(x ? y.error() : x.error());
  const std::string& axis = Value(choice, "axis");
  const bool log = Value(choice, "alg") == "logsoftmax" || Value(choice, "alg") == "softmax_log";
  if (IsForward(choice)) {
    return CaseSpec{"softmax", {*x, *y}, {{"shape", DimsText(*shape)}, {"axis", axis}, {"log", log ? "1" : "0"}}};
  }
  if (log || axis != std::to_string(shape->size() - 1)) {
    return UsageError("dir=BWD_D: here is only the gradient of a softmax along the last axis");
  }
  const auto attrs = RowsOf(*shape);
  if (!attrs) return tl::unexpected(attrs.error());
  return CaseSpec{"softmax_backward", {*y, *y, *x}, *attrs};
}

Result<CaseSpec> MapReduction(Chosen choice, std::string_view problem) {
  const auto parts = Split(problem, ':');
  if (parts.size() != 2) return UsageError(kNoForm);
  const auto from = ParseExtents(parts[0]), to = ParseExtents(parts[1]);
  if (!from || !to) return tl::unexpected(from ? to.error() : from.error());
  if (from->size() != to->size()) return UsageError("the shapes of a reduction do not fit each other");
  std::string axes;
  for (size_t i = 0; i < from->size(); ++i) {
    if ((*from)[i] == (*to)[i]) continue;
    if ((*to)[i] != 1) return UsageError("the shapes of a reduction do not fit each other");
    axes += fmt::format("{}{}", axes.empty() ? "" : "+", i);
  }
  if (axes.empty()) return UsageError("no axis is reduced");
  std::string kind = Value(choice, "alg");
  if (kind == "mul") kind = "prod";
  if (kind == "norm_lp_sum" && Value(choice, "p") == "2" && Value(choice, "eps").empty()) kind = "l2";
  constexpr std::string_view kKinds[] = {"sum", "mean", "max", "min", "prod", "l2"};
  if (std::ranges::find(kKinds, kind) == std::end(kKinds)) return UsageError(fmt::format("no reduction {} here", kind));
  const auto x = TypeOf(Value(choice, "sdt")), y = TypeOf(Value(choice, "ddt"));
  if (!x || !y) return tl::unexpected(x ? y.error() : x.error());
  return CaseSpec{"reduce",
                  {*x, *y},
                  {{"shape", DimsText(*from)}, {"axes", axes}, {"kind", kind}, {"keepdims", "1"}},
                  kind == "prod" ? "near_one" : "normal"};
}

Result<CaseSpec> MapLayerNorm(Chosen choice, std::string_view problem) {
  const auto shape = ParseExtents(problem);
  if (!shape) return tl::unexpected(shape.error());
  if (auto flags = CheckNormFlags(choice); !flags) return tl::unexpected(flags.error());
  const auto attrs = RowsOf(*shape);
  if (!attrs) return tl::unexpected(attrs.error());
  const bool forward = IsForward(choice);
  if (!forward && Value(choice, "dir") != "BWD_DW") {
    return tl::unexpected(CheckForward(choice).error());
  }
  auto types = NormTypes(choice, forward ? 4 : 6);
  if (!types) return tl::unexpected(types.error());
  if (!forward) (*types)[1] = types->front();  // dy, x
  return CaseSpec{forward ? "layer_norm" : "layer_norm_backward", *types, *attrs};
}

Result<CaseSpec> MapGroupNorm(Chosen choice, std::string_view problem) {
  if (auto forward = CheckForward(choice); !forward) return tl::unexpected(forward.error());
  if (auto flags = CheckNormFlags(choice); !flags) return tl::unexpected(flags.error());
  const auto attrs = GroupNormAttrs(problem, Value(choice, "mb"));
  if (!attrs) return tl::unexpected(attrs.error());
  const auto types = NormTypes(choice, 4);
  if (!types) return tl::unexpected(types.error());
  return CaseSpec{"group_norm", *types, *attrs};
}

Result<CaseSpec> MapEltwise(Chosen choice, std::string_view problem) {
  if (auto forward = CheckForward(choice); !forward) return tl::unexpected(forward.error());
  const auto shape = ShapeWith(problem, Value(choice, "mb"));
  if (!shape) return tl::unexpected(shape.error());
  const auto n = ElementsOf(*shape);
  if (!n) return tl::unexpected(n.error());
  const auto type = TypesOf(Value(choice, "dt"), 1);
  if (!type) return tl::unexpected(type.error());
  const std::string& alg = Value(choice, "alg");
  const AttrList elements = {{"n", std::to_string(*n)}};
  if (alg == "exp" || alg == "log" || alg == "tanh") return CaseSpec{alg, *type, elements};
  if (alg == "gelu_erf" || alg == "gelu_tanh") {
    return CaseSpec{"gelu", *type, {elements[0], {"approx", alg == "gelu_erf" ? "none" : "tanh"}}};
  }
  return UsageError(fmt::format("no elementwise operator {} here", alg));
}

}  // namespace assay::benchdnn
