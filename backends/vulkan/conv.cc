// SPDX-License-Identifier: Apache-2.0
// conv: tap after tap ("direct"), or as a matrix product whose second operand is read in place ("implicit-gemm").
#include <algorithm>

#include "backends/common/conv_spec.h"
#include "backends/vulkan/operators.h"

namespace vulkan {
namespace {

using plugin::ConvSpec;
using plugin::Extents;

// Must match the layout in shaders/conv.glsl.
struct ConvParams {
  uint32_t images, group_inputs, group_outputs, groups;
  uint32_t taps, positions, has_bias, bias_stride;
  int32_t extent[4], kernel[4], stride[4], pad[4], dilation[4], result[4];
  uint32_t x[4], w[4], y[4];
  uint32_t x_image, w_output, y_image, unused;
};

std::vector<std::byte> ParamsFor(const ConvSpec& s) {
  ConvParams p{};
  const auto u = [](int64_t x) { return static_cast<uint32_t>(x); };
  const auto set = [](const Extents& from, auto* to) {
    std::ranges::transform(from, to, [&](int64_t x) { return static_cast<std::decay_t<decltype(*to)>>(x); });
  };
  p.images = u(s.n), p.group_inputs = u(s.GroupInputs()), p.group_outputs = u(s.GroupOutputs()), p.groups = u(s.groups);
  p.taps = u(s.Taps()), p.positions = u(s.Positions());
  p.has_bias = s.has_bias ? 1 : 0, p.bias_stride = u(s.bias_stride);
  set(s.in, p.extent), set(s.kernel, p.kernel), set(s.stride, p.stride), set(s.pad, p.pad);
  set(s.dilation, p.dilation), set(s.out, p.result);
  set(s.x.strides, p.x), set(s.w.strides, p.w), set(s.y.strides, p.y);
  p.x[3] = u(s.x.inner_stride), p.w[3] = u(s.w.inner_stride), p.y[3] = u(s.y.inner_stride);
  p.x_image = u(s.x.outer_stride), p.w_output = u(s.w.outer_stride), p.y_image = u(s.y.outer_stride);
  return BytesOf(p);
}

Step StepFor(const plugin::OpDesc& op, const ConvSpec& s, const char* shader, uint32_t group_size,
             std::initializer_list<uint32_t> tile) {
  Step step;
  const plugin::DType bias = s.has_bias ? s.bias_dtype : s.x.dtype;
  step.kernel = {shader, VariantFor(op), Constants(group_size, {s.x.dtype, s.w.dtype, bias, s.y.dtype}, tile)};
  step.params = ParamsFor(s);
  step.slots = {In(0), In(1), In(s.has_bias ? 2 : 0), Out()};
  return step;
}

double WorkOf(const ConvSpec& s) {
  return static_cast<double>(s.n * s.o) * static_cast<double>(s.Positions()) * static_cast<double>(s.Terms());
}

uint32_t RowsFor(const ConvSpec& s, uint32_t most) {
  if (IsSmall(WorkOf(s))) return kSmallRows;
  return s.GroupOutputs() >= most ? most : s.GroupOutputs() > 1 ? 4 : 1;
}

Recipe DirectRecipe(const Facts&, const plugin::OpDesc& op) {
  constexpr uint32_t kLanes = 64;
  const ConvSpec s = plugin::ParseConv(op);
  const uint32_t outputs = RowsFor(s, 4);
  Step step = StepFor(op, s, "conv_direct", kLanes, {outputs});
  step.groups =
      CeilDiv(s.n * s.Positions(), kLanes) * CeilDiv(s.GroupOutputs(), outputs) * static_cast<uint64_t>(s.groups);
  const auto size = [](int64_t x) { return static_cast<uint64_t>(x); };
  step.turns =
      Turns(size(s.GroupInputs()), Turns(size(s.kernel[0]), Turns(size(s.kernel[1]), Turns(size(s.kernel[2])))));
  return {{step}, {}};
}

// Where each term lies in x and w, relative to its first, and how far its tap is from the first one.
std::vector<std::byte> TermsOf(const ConvSpec& s) {
  std::vector<uint32_t> terms;
  for (int64_t c = 0; c < s.GroupInputs(); ++c) {
    for (int64_t t = 0; t < s.Taps(); ++t) {
      const Extents tap{t / s.kernel[2] / s.kernel[1], t / s.kernel[2] % s.kernel[1], t % s.kernel[2]};
      int64_t in_x = c * s.x.inner_stride, in_w = c * s.w.inner_stride;
      for (size_t a = 0; a < 3; ++a) {
        in_x += tap[a] * s.dilation[a] * s.x.strides[a], in_w += tap[a] * s.w.strides[a];
      }
      const int64_t packed = tap[0] * s.dilation[0] << 16 | tap[1] * s.dilation[1];
      for (int64_t word : {in_x, in_w, packed, tap[2] * s.dilation[2]}) terms.push_back(static_cast<uint32_t>(word));
    }
  }
  std::vector<std::byte> bytes(terms.size() * sizeof(uint32_t));
  std::memcpy(bytes.data(), terms.data(), bytes.size());
  return bytes;
}

Recipe GemmRecipe(const Facts& facts, const plugin::OpDesc& op) {
  constexpr uint32_t kSubgroups = 4, kColumns = 4;
  const ConvSpec s = plugin::ParseConv(op);
  const uint32_t lanes = facts.subgroup_size, rows = RowsFor(s, 8);
  Step step = StepFor(op, s, "conv_gemm", lanes * kSubgroups, {lanes, rows, kColumns, facts.UnrolledSteps()});
  step.kernel.full_subgroups = true;
  step.slots.push_back(Work(0));
  const uint64_t tiles = CeilDiv(s.n * s.Positions(), lanes * kColumns) * CeilDiv(s.GroupOutputs(), rows) *
                         static_cast<uint64_t>(s.groups);
  step.groups = CeilDiv(static_cast<int64_t>(tiles), kSubgroups);
  step.turns = Turns(CeilDiv(s.Terms(), lanes), Turns(lanes / facts.UnrolledSteps())) + Turns(rows);
  return {{step}, {{0, TermsOf(s)}}};
}

std::string ConvWhyNot(const Facts&, const plugin::OpDesc& op) {
  const ConvSpec s = plugin::ParseConv(op);
  return s.IsInteger() ? plugin::IntegerConvWhyNot(s, false) : FloatTypesWhyNot(op);
}

std::string DirectWhyNot(const Facts& facts, const plugin::OpDesc& op) {
  if (std::string reason = ConvWhyNot(facts, op); !reason.empty()) return reason;
  return SlowWhyNot(facts, WorkOf(plugin::ParseConv(op)), 1 << 24);
}

std::string GemmWhyNot(const Facts& facts, const plugin::OpDesc& op) {
  if (std::string reason = ConvWhyNot(facts, op); !reason.empty()) return reason;
  constexpr int64_t kPacked = 1 << 16;
  const ConvSpec s = plugin::ParseConv(op);
  if (s.kernel[0] * s.dilation[0] >= kPacked || s.kernel[1] * s.dilation[1] >= kPacked) {
    return fmt::format("a kernel that reaches over {} elements or more", kPacked);
  }
  const uint64_t bytes = 16 * static_cast<uint64_t>(s.Terms());
  if (bytes > facts.MaxBinding()) return fmt::format("a table of {} bytes", bytes);
  return facts.SubgroupsWhyNot();
}

std::string ConvContract(const Facts& facts, const plugin::OpDesc& op) {
  return Declare(facts, op, {});
}

constexpr Row kConvRows[] = {
    {{"conv", plugin::kRealTypesAndI8, "direct"}, ConvContract, DirectWhyNot, DirectRecipe},
    {{"conv", plugin::kRealTypesAndI8, "implicit-gemm"}, ConvContract, GemmWhyNot, GemmRecipe},
};

}  // namespace

std::span<const Row> ConvRows() {
  return kConvRows;
}

}  // namespace vulkan
