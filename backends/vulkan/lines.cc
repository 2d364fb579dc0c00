// SPDX-License-Identifier: Apache-2.0
// Normalisations of rows, gradients of softmax and running sums, of dense operands.
#include <algorithm>
#include <bit>

#include "backends/vulkan/operators.h"

namespace vulkan {
namespace {

// shaders/lines.comp numbers them alike.
constexpr std::string_view kLineKinds[] = {"layer_norm", "rms_norm", "softmax_backward", "log_softmax_backward",
                                           "cumsum"};

struct LineParams {
  uint32_t n, unused[3];
  uint64_t eps, more;
};

bool HasEps(const plugin::OpDesc& op) {
  return op.name().ends_with("_norm");
}

// Operands that a kind does not read are bound to its first one.
Recipe LineRecipe(const Facts& facts, const plugin::OpDesc& op) {
  const plugin::Tensor &x = op.inputs()[0], &y = op.outputs()[0];
  LineParams p{};
  p.n = static_cast<uint32_t>(x.shape.back());
  if (HasEps(op)) {
    const double eps = op.AttrFloat("eps");
    const bool wide = VariantFor(op) == Variant::kF64;
    p.eps = wide ? std::bit_cast<uint64_t>(eps) : std::bit_cast<uint32_t>(static_cast<float>(eps));
  }
  const auto kind = static_cast<uint32_t>(std::ranges::find(kLineKinds, op.name()) - std::begin(kLineKinds));
  const int second = op.inputs().size() > 1 ? 1 : 0, third = op.inputs().size() > 2 ? 2 : 0;
  const auto type = [&](int input) { return op.inputs()[static_cast<size_t>(input)].dtype; };
  const uint32_t lanes = LanesFor(facts, p.n);
  KernelSpec kernel{"lines", VariantFor(op), Constants(lanes, {x.dtype, type(second), type(third), y.dtype}, {kind})};
  const uint64_t turns = kind == 4 ? Turns(p.n) : 3 * (Turns(CeilDiv(p.n, lanes)) + Turns(kMostHalvings));
  return {{{std::move(kernel),
            BytesOf(p),
            {In(0), In(second), In(third), Out()},
            static_cast<uint64_t>(x.Elements() / p.n),
            turns}},
          {}};
}

std::string LineWhyNot(const Facts&, const plugin::OpDesc& op) {
  op.MayIgnore({"rows", "n"});
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
    RowOf("cumsum", "sequential"),  RowOf("layer_norm", "workgroup"),       RowOf("log_softmax_backward", "workgroup"),
    RowOf("rms_norm", "workgroup"), RowOf("softmax_backward", "workgroup"),
};

}  // namespace

std::span<const Row> LineRows() {
  return kLineRows;
}

}  // namespace vulkan
