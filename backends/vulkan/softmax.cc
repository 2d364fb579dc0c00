// SPDX-License-Identifier: Apache-2.0
// softmax and log-softmax, a workgroup per row.
#include <algorithm>

#include "backends/common/softmax_spec.h"
#include "backends/vulkan/operators.h"

namespace vulkan {
namespace {

using plugin::SoftmaxSpec;

enum SoftmaxForm : uint32_t { kDirect, kOnline, kBuiltin };  // as in shaders/softmax.comp

struct SoftmaxParams {
  uint32_t count, x_stride, y_stride, log;
  uint32_t others_count, unused[3];
  ShaderAxis others[kMaxAxes];
};

template <SoftmaxForm kForm>
Recipe SoftmaxRecipe(const Facts& facts, const plugin::OpDesc& op) {
  const SoftmaxSpec s = plugin::ParseSoftmax(op);
  SoftmaxParams p{};
  p.count = static_cast<uint32_t>(s.axis.size), p.log = s.log ? 1 : 0;
  p.x_stride = static_cast<uint32_t>(s.axis.x_stride), p.y_stride = static_cast<uint32_t>(s.axis.y_stride);
  p.others_count = static_cast<uint32_t>(s.others.size());
  std::ranges::transform(s.others, p.others, [](const SoftmaxSpec::Axis& axis) {
    return ShaderAxis{static_cast<uint32_t>(axis.size), static_cast<uint32_t>(axis.x_stride),
                      static_cast<uint32_t>(axis.y_stride), 0};
  });
  const uint32_t lanes = LanesFor(facts, s.axis.size);
  KernelSpec kernel{"softmax", VariantFor(op), Constants(lanes, {s.dtype, s.dtype}, {kForm})};
  const uint64_t turns = 3 * (Turns(CeilDiv(s.axis.size, lanes)) + Turns(kMostHalvings)) + Turns(kMaxAxes);
  return {{{std::move(kernel), BytesOf(p), {In(0), Out()}, static_cast<uint64_t>(s.rows), turns}}, {}};
}

std::string SoftmaxWhyNot(const Facts&, const plugin::OpDesc& op) {
  const SoftmaxSpec s = plugin::ParseSoftmax(op);
  if (std::string reason = plugin::FloatSoftmaxWhyNot(s, op); !reason.empty()) return reason;
  if (s.others.size() <= kMaxAxes) return "";
  return fmt::format("softmax over {} axes; at most {}", s.others.size(), kMaxAxes);
}

std::string BuiltinWhyNot(const Facts& facts, const plugin::OpDesc& op) {
  if (op.inputs()[0].dtype == plugin::kF64) return "Vulkan has no exp in f64: use direct or online";
  return SoftmaxWhyNot(facts, op);
}

// The result of a row of -inf is NaN, by the formula.
std::string SoftmaxContract(const Facts& facts, const plugin::OpDesc& op) {
  return Declare(facts, op, {std::max(kDivisionUlp, kOwnFunctionUlp), "masked=nan;"});
}

std::string BuiltinContract(const Facts& facts, const plugin::OpDesc& op) {
  return Declare(facts, op, {kDeviceExpUlp, "masked=nan;"});
}

constexpr Row kSoftmaxRows[] = {
    {{"softmax", plugin::kRealTypes, "direct"}, SoftmaxContract, SoftmaxWhyNot, SoftmaxRecipe<kDirect>},
    {{"softmax", plugin::kRealTypes, "online"}, SoftmaxContract, SoftmaxWhyNot, SoftmaxRecipe<kOnline>},
    {{"softmax", plugin::kNarrowTypes, "direct-builtin"}, BuiltinContract, BuiltinWhyNot, SoftmaxRecipe<kBuiltin>},
};

}  // namespace

std::span<const Row> SoftmaxRows() {
  return kSoftmaxRows;
}

}  // namespace vulkan
