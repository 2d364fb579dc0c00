// SPDX-License-Identifier: Apache-2.0
// Normalisations of rows, groups and channels, gradients of softmax, running sums and products, of dense operands.
#include <algorithm>
#include <bit>

#include "backends/vulkan/operators.h"

namespace vulkan {
namespace {

// shaders/lines.comp numbers them alike.
constexpr std::string_view kLineKinds[] = {"layer_norm", "rms_norm",   "softmax_backward", "log_softmax_backward",
                                           "cumsum",     "batch_norm", "cumprod"};

// group_norm and instance_norm are a layer_norm of groups and channels.
uint32_t KindOf(const plugin::OpDesc& op) {
  const auto* found = std::ranges::find(kLineKinds, op.name());
  return found == std::end(kLineKinds) ? 0 : static_cast<uint32_t>(found - kLineKinds);
}

// Element i of line l has weight l % period * weight_step + i / inner.
struct LineParams {
  uint32_t n, period, weight_step, inner;
  uint64_t eps, more;
};

LineParams ParamsOf(const plugin::OpDesc& op) {
  const std::vector<int64_t>& shape = op.inputs()[0].shape;
  const auto extent = [&](size_t axis) { return static_cast<uint32_t>(shape[axis]); };
  LineParams p{
      .n = static_cast<uint32_t>(shape.back()), .period = 1, .weight_step = 0, .inner = 1, .eps = 0, .more = 0};
  if (op.name() == "group_norm") {  // [b,g,c,n] by gamma [g,c]
    p.n = extent(2) * extent(3), p.period = extent(1), p.weight_step = extent(2), p.inner = extent(3);
  } else if (op.name() == "instance_norm" || op.name() == "batch_norm") {  // [n,c,s] by gamma [c]
    p.period = extent(1), p.weight_step = 1, p.inner = p.n;
  }
  return p;
}

bool HasEps(const plugin::OpDesc& op) {
  return op.name().ends_with("_norm");
}

// Operands that a kind does not read are bound to its first one.
Recipe LineRecipe(const Facts& facts, const plugin::OpDesc& op) {
  const plugin::Tensor &x = op.inputs()[0], &y = op.outputs()[0];
  LineParams p = ParamsOf(op);
  if (HasEps(op)) {
    const double eps = op.AttrFloat("eps");
    const bool wide = VariantFor(op) == Variant::kF64;
    p.eps = wide ? std::bit_cast<uint64_t>(eps) : std::bit_cast<uint32_t>(static_cast<float>(eps));
  }
  const uint32_t kind = KindOf(op);
  const auto read = [&](size_t input) { return input < op.inputs().size() ? static_cast<int>(input) : 0; };
  const auto type = [&](size_t input) { return op.inputs()[static_cast<size_t>(read(input))].dtype; };
  const uint32_t lanes = LanesFor(facts, p.n);
  KernelSpec kernel{"lines", VariantFor(op),
                    Constants(lanes, {x.dtype, type(1), type(2), y.dtype, type(3), type(4)}, {kind})};
  const uint64_t turns = kind == 4 || kind == 6 ? Turns(p.n) : 3 * (Turns(CeilDiv(p.n, lanes)) + Turns(kMostHalvings));
  return {{{std::move(kernel),
            BytesOf(p),
            {In(0), In(read(1)), In(read(2)), Out(), In(read(3)), In(read(4))},
            static_cast<uint64_t>(x.Elements() / p.n),
            turns}},
          {}};
}

std::string LineWhyNot(const Facts&, const plugin::OpDesc& op) {
  op.MayIgnore({"rows", "n", "b", "g", "c", "s"});
  if (HasEps(op)) op.AttrFloat("eps");
  if (op.name() == "layer_norm" && op.AttrInt("stats") != 0) return "stats=1 is not offered";
  if (!op.AllDense()) return "operands have to be dense";
  const int64_t elements = op.inputs()[0].Elements();
  if (elements == 0 || elements > UINT32_MAX) return fmt::format("{} elements", elements);
  return FloatTypesWhyNot(op);
}

std::string LineContract(const Facts& facts, const plugin::OpDesc& op) {
  const bool has_exp = op.name() == "log_softmax_backward";
  return Declare(facts, op, {has_exp ? kOwnFunctionUlp : HasEps(op) ? kSquareRootUlp : 0, ""});
}

constexpr Row RowOf(const char* op, const char* name) {
  return {{op, plugin::kRealTypes, name, plugin::kDense}, LineContract, LineWhyNot, LineRecipe};
}

constexpr Row kLineRows[] = {
    RowOf("batch_norm", "workgroup"),
    RowOf("cumprod", "sequential"),
    RowOf("cumsum", "sequential"),
    RowOf("group_norm", "workgroup"),
    RowOf("instance_norm", "workgroup"),
    RowOf("layer_norm", "workgroup"),
    RowOf("log_softmax_backward", "workgroup"),
    RowOf("rms_norm", "workgroup"),
    RowOf("softmax_backward", "workgroup"),
};

}  // namespace

std::span<const Row> LineRows() {
  return kLineRows;
}

}  // namespace vulkan
