// SPDX-License-Identifier: Apache-2.0
// matmul: register tiles over panels in shared memory, or a subgroup per block of outputs.
#include <algorithm>

#include "backends/common/matmul_spec.h"
#include "backends/vulkan/operators.h"

namespace vulkan {
namespace {

using plugin::MatmulSpec;
using plugin::Matrix;

constexpr uint32_t kScaled = 1, kRounded = 2, kAddend = 4, kBias = 8;

// Must match the layout in shaders/matmul.glsl.
template <class Real>
struct MatmulParams {
  uint32_t m, n, k, batch;
  uint32_t a[3], b[3], y[3], c[3], bias_column;
  uint32_t flags;
  Real alpha, beta;
};

template <class Real>
std::vector<std::byte> ParamsFor(const MatmulSpec& s) {
  MatmulParams<Real> p{};
  const auto set = [](const Matrix& x, uint32_t* strides) {
    strides[0] = static_cast<uint32_t>(x.batch_stride);
    strides[1] = static_cast<uint32_t>(x.row_stride);
    strides[2] = static_cast<uint32_t>(x.column_stride);
  };
  p.m = static_cast<uint32_t>(s.m), p.n = static_cast<uint32_t>(s.n), p.k = static_cast<uint32_t>(s.k);
  p.batch = static_cast<uint32_t>(s.batch);
  set(s.a, p.a), set(s.b, p.b), set(s.y, p.y), set(s.c, p.c);
  p.bias_column = static_cast<uint32_t>(s.bias.column_stride);
  p.flags = (s.alpha != 1 ? kScaled : 0) | (s.epilogue_rounded ? kRounded : 0) | (s.c.input >= 0 ? kAddend : 0) |
            (s.bias.input >= 0 ? kBias : 0);
  p.alpha = static_cast<Real>(s.alpha), p.beta = static_cast<Real>(s.beta);
  return BytesOf(p);
}

Step StepFor(const plugin::OpDesc& op, const MatmulSpec& s, const char* shader, uint32_t group_size,
             std::initializer_list<uint32_t> tile) {
  const plugin::DType c = s.c.input >= 0 ? s.c.dtype : s.a.dtype, bias = s.bias.input >= 0 ? s.bias.dtype : s.a.dtype;
  Step step;
  step.kernel = {shader, VariantFor(op), Constants(group_size, {s.a.dtype, s.b.dtype, c, bias, s.y.dtype}, tile)};
  const Variant variant = step.kernel.variant;
  step.params = variant == Variant::kF64   ? ParamsFor<double>(s)
                : variant == Variant::kI32 ? ParamsFor<int32_t>(s)
                                           : ParamsFor<float>(s);
  // Absent operands are bound to something that exists; the flags keep the kernel from reading them.
  step.slots = {In(0), In(1), In(std::max(s.c.input, 0)), In(std::max(s.bias.input, 0)), Out()};
  return step;
}

double WorkOf(const MatmulSpec& s) {
  return static_cast<double>(s.batch * s.m) * static_cast<double>(s.n) * static_cast<double>(s.k);
}

// Few rows take few registers, and a small tile compiles sooner. The order in which an element is summed is the same
// for every tile.
uint32_t TileRows(const MatmulSpec& s, uint32_t most) {
  if (IsSmall(WorkOf(s))) return kSmallRows;
  return s.m >= most ? most : s.m > 1 ? 4 : 1;
}

Recipe TileRecipe(const Facts&, const plugin::OpDesc& op) {
  constexpr uint32_t kLanes = 64, kColumns = 2, kDepth = 16;
  const MatmulSpec s = plugin::ParseMatmul(op);
  const uint32_t rows = TileRows(s, 8);
  Step step = StepFor(op, s, "matmul_tile", kLanes, {rows, kColumns, kDepth});
  step.groups = CeilDiv(s.m, rows) * CeilDiv(s.n, kColumns * kLanes) * static_cast<uint64_t>(s.batch);
  step.turns = Turns(CeilDiv(s.k, kDepth), Turns(CeilDiv(kDepth * rows, kLanes)) + Turns(kDepth)) + Turns(rows);
  return {{step}, {}};
}

constexpr uint32_t kSubgroups = 4;  // of a workgroup

Recipe SubgroupTileRecipe(const Facts& facts, const plugin::OpDesc& op) {
  constexpr uint32_t kColumns = 4;
  const MatmulSpec s = plugin::ParseMatmul(op);
  const uint32_t lanes = facts.subgroup_size, rows = TileRows(s, s.m >= 256 ? 16 : 8);
  Step step =
      StepFor(op, s, "matmul_subgroup_tile", lanes * kSubgroups, {lanes, rows, kColumns, facts.UnrolledSteps()});
  step.kernel.full_subgroups = true;
  step.groups = CeilDiv(s.m, rows * kSubgroups) * CeilDiv(s.n, kColumns * lanes) * static_cast<uint64_t>(s.batch);
  step.turns = Turns(CeilDiv(s.k, lanes), Turns(lanes / facts.UnrolledSteps())) + Turns(rows);
  return {{step}, {}};
}

Recipe SubgroupDotRecipe(const Facts& facts, const plugin::OpDesc& op) {
  constexpr uint32_t kColumns = 4;
  const MatmulSpec s = plugin::ParseMatmul(op);
  const uint32_t lanes = facts.subgroup_size, rows = TileRows(s, 4);
  Step step = StepFor(op, s, "matmul_subgroup_dot", lanes * kSubgroups, {lanes, rows, kColumns});
  step.kernel.full_subgroups = true;
  const uint64_t tiles = CeilDiv(s.m, rows) * CeilDiv(s.n, kColumns) * static_cast<uint64_t>(s.batch);
  step.groups = CeilDiv(static_cast<int64_t>(tiles), kSubgroups);
  step.turns = Turns(CeilDiv(s.k, lanes));
  return {{step}, {}};
}

std::string MatmulWhyNot(const Facts&, const plugin::OpDesc& op) {
  const MatmulSpec s = plugin::ParseMatmul(op);
  if (s.IsEmpty()) return "matmul with an extent below 1";
  return s.IsInteger() ? plugin::IntegerMatmulWhyNot(s) : FloatTypesWhyNot(op);
}

// Most multiply-adds of a case that a kernel not made for CPUs is offered for, if the device is the host's own CPU.
constexpr double kMostSlowWork = 1 << 23;

std::string TileWhyNot(const Facts& facts, const plugin::OpDesc& op) {
  const std::string reason = MatmulWhyNot(facts, op);
  return reason.empty() ? SlowWhyNot(facts, WorkOf(plugin::ParseMatmul(op)), kMostSlowWork) : reason;
}

std::string SubgroupWhyNot(const Facts& facts, const plugin::OpDesc& op) {
  const std::string reason = MatmulWhyNot(facts, op);
  return reason.empty() ? facts.SubgroupsWhyNot() : reason;
}

// Lavapipe multiplies few rows faster by dot products and many by tiles, up to five times.
constexpr int64_t kFewRows = 4;

std::string SubgroupTileWhyNot(const Facts& facts, const plugin::OpDesc& op) {
  const std::string reason = SubgroupWhyNot(facts, op);
  const MatmulSpec s = plugin::ParseMatmul(op);
  return reason.empty() && s.m <= kFewRows ? SlowWhyNot(facts, WorkOf(s), kMostSlowWork) : reason;
}

std::string SubgroupDotWhyNot(const Facts& facts, const plugin::OpDesc& op) {
  const std::string reason = SubgroupWhyNot(facts, op);
  const MatmulSpec s = plugin::ParseMatmul(op);
  return reason.empty() && s.m > kFewRows ? SlowWhyNot(facts, WorkOf(s), kMostSlowWork) : reason;
}

std::string MatmulContract(const Facts& facts, const plugin::OpDesc& op) {
  return Declare(facts, op, {});
}

constexpr Row kMatmulRows[] = {
    {{"matmul", plugin::kRealTypesAndI8, "tile"}, MatmulContract, TileWhyNot, TileRecipe},
    {{"matmul", plugin::kRealTypesAndI8, "subgroup-tile"}, MatmulContract, SubgroupTileWhyNot, SubgroupTileRecipe},
    {{"matmul", plugin::kRealTypesAndI8, "subgroup-dot"}, MatmulContract, SubgroupDotWhyNot, SubgroupDotRecipe},
};

}  // namespace

std::span<const Row> MatmulRows() {
  return kMatmulRows;
}

}  // namespace vulkan
