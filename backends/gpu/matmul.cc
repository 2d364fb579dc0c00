// SPDX-License-Identifier: Apache-2.0
// matmul for any strides: `tiled` sums k in ascending order, `splitk` sums parts of k apart and adds them in order,
// `matrix-unit` multiplies f16 and bf16 on the units made for it.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "backends/common/matmul_spec.h"
#include "backends/gpu/arithmetic.h"
#include "backends/gpu/device/tile_shape.h"
#include "backends/gpu/kernel_plan.h"
#include "backends/gpu/kernels.h"

namespace gpu {
namespace {

using plugin::MatmulSpec;

constexpr int64_t kMostParts = 32;
constexpr int64_t kPartExtent = 256;  // of k that is worth a part, beyond the first two

// Depends on k alone, so that a row's bits do not depend on the rows beside it.
int64_t PartsOf(int64_t k) {
  return std::clamp<int64_t>(k / kPartExtent, 2, kMostParts);
}

MatmulParams MatmulParamsOf(const MatmulSpec& s, int64_t parts) {
  MatmulParams p;
  p.m = s.m, p.n = s.n, p.k = s.k, p.batch = s.batch;
  p.parts = parts, p.part = (s.k + parts - 1) / parts;
  p.a_batch = s.a.batch_stride, p.a_row = s.a.row_stride, p.a_column = s.a.column_stride;
  p.b_batch = s.b.batch_stride, p.b_row = s.b.row_stride, p.b_column = s.b.column_stride;
  p.c_batch = s.c.batch_stride, p.c_row = s.c.row_stride, p.c_column = s.c.column_stride;
  p.y_batch = s.y.batch_stride, p.y_row = s.y.row_stride, p.y_column = s.y.column_stride;
  p.bias_column = s.bias.column_stride;
  p.has_c = s.c.input >= 0, p.has_bias = s.bias.input >= 0, p.rounded = s.epilogue_rounded;
  p.y_type = TagOf(s.y.dtype);
  if (p.has_c) p.c_type = TagOf(s.c.dtype);
  if (p.has_bias) p.bias_type = TagOf(s.bias.dtype);
  p.alpha = s.alpha, p.beta = s.beta;
  // Along k unless the other direction is the one whose elements are neighbours.
  p.a_along_k = s.a.column_stride == 1 || s.a.row_stride != 1;
  p.b_along_k = s.b.row_stride == 1 && s.b.column_stride != 1;
  return p;
}

void BindMatmul(const Bound& at, const MatmulSpec& s, MatmulParams& p) {
  p.a = at.Input(s.a.input), p.b = at.Input(s.b.input), p.y = at.Output();
  if (p.has_c) p.c = at.Input(s.c.input);
  if (p.has_bias) p.bias = at.Input(s.bias.input);
}

template <class Shape>
int64_t TilesOf(const MatmulSpec& s) {
  return TileCount<Shape>(s.m, s.n, s.batch);
}

// Large tiles where they give every multiprocessor work, small ones else. 64 sums in f64 would take most of a thread's
// registers.
TileKind TileFor(const Traits& traits, const MatmulSpec& s) {
  if (s.m <= SkinnyTile::kRows) return TileKind::kSkinny;
  return !s.IsF64() && TilesOf<LargeTile>(s) >= traits.units ? TileKind::kLarge : TileKind::kMedium;
}

int64_t TilesOf(const MatmulSpec& s, TileKind kind) {
  if (kind == TileKind::kSkinny) return TilesOf<SkinnyTile>(s);
  return kind == TileKind::kLarge ? TilesOf<LargeTile>(s) : TilesOf<MediumTile>(s);
}

std::unique_ptr<plugin::Plan> CreateTiled(Device& device, const plugin::OpDesc& op) {
  const MatmulSpec s = plugin::ParseMatmul(op);
  const Tag type = TagOf(s.a.dtype);
  const TileKind tile = TileFor(device.traits(), s);
  auto plan = std::make_unique<KernelPlan>(device, op);
  plan->Add("TiledMatmul", [s, tile, type, p = MatmulParamsOf(s, 1)](const Bound& at) mutable {
    BindMatmul(at, s, p);
    LaunchTiledMatmul(type, tile, p, at.stream());
  });
  return plan;
}

std::unique_ptr<plugin::Plan> CreateSplitK(Device& device, const plugin::OpDesc& op) {
  const MatmulSpec s = plugin::ParseMatmul(op);
  const Tag type = TagOf(s.a.dtype);
  const TileKind tile = TileFor(device.traits(), s);
  MatmulParams p = MatmulParamsOf(s, PartsOf(s.k));
  auto plan = std::make_unique<KernelPlan>(device, op);
  p.sums = plan->Workspace(static_cast<uint64_t>(s.batch * p.parts * s.m * s.n * AccumulatorBytes(type)));
  plan->Add("TiledMatmul", [s, tile, type, p](const Bound& at) mutable {
    BindMatmul(at, s, p);
    LaunchTiledMatmul(type, tile, p, at.stream());
  });
  plan->Add("CombineParts", [s, type, p](const Bound& at) mutable {
    BindMatmul(at, s, p);
    LaunchCombineParts(type, p, at.stream());
  });
  return plan;
}

std::unique_ptr<plugin::Plan> CreateUnitMatmul(Device& device, const plugin::OpDesc& op) {
  const MatmulSpec s = plugin::ParseMatmul(op);
  auto plan = std::make_unique<KernelPlan>(device, op);
  plan->Add("UnitMatmul", [s, type = TagOf(s.a.dtype), threads = device.traits().ProductThreads(),
                           p = MatmulParamsOf(s, 1)](const Bound& at) mutable {
    BindMatmul(at, s, p);
    LaunchUnitMatmul(type, threads, p, at.stream());
  });
  return plan;
}

// Checks the conditions of every kernel except that its grid can be launched.
std::string MatmulWhyNot(const MatmulSpec& s, const plugin::OpDesc& op) {
  if (s.IsEmpty()) return "matmul with an extent below 1";
  if (s.IsInteger()) return plugin::IntegerMatmulWhyNot(s, std::numeric_limits<int16_t>::max());
  if (s.a.dtype != s.b.dtype) return fmt::format("matmul takes a and b of one type, not {}", op.DTypesText());
  return FloatTypesWhyNot(op);
}

std::string TiledWhyNot(const Traits& traits, const plugin::OpDesc& op) {
  const MatmulSpec s = plugin::ParseMatmul(op);
  if (std::string reason = MatmulWhyNot(s, op); !reason.empty()) return reason;
  return BlocksWhyNot(traits, static_cast<double>(TilesOf(s, TileFor(traits, s))), kTileThreads);
}

std::string SplitKWhyNot(const Traits& traits, const plugin::OpDesc& op) {
  const MatmulSpec s = plugin::ParseMatmul(op);
  if (s.k < 2) return "k=1 cannot be split";
  if (std::string reason = MatmulWhyNot(s, op); !reason.empty()) return reason;
  const auto parts = static_cast<double>(PartsOf(s.k));
  const double outputs = static_cast<double>(s.batch) * static_cast<double>(s.m) * static_cast<double>(s.n);
  const double bytes = parts * outputs * static_cast<double>(AccumulatorBytes(TagOf(s.a.dtype)));
  if (bytes > 0.25 * static_cast<double>(traits.memory_bytes)) {
    return fmt::format("its partial sums of {} bytes exceed a quarter of the memory of {}", bytes, traits.name);
  }
  const double tiles = parts * static_cast<double>(TilesOf(s, TileFor(traits, s)));
  return BlocksWhyNot(traits, std::max(tiles, outputs / kTileThreads), kTileThreads);
}

std::string UnitMatmulWhyNot(const Traits& traits, const plugin::OpDesc& op) {
  const MatmulSpec s = plugin::ParseMatmul(op);
  if (std::string reason = UnitWhyNot(traits, s.a.dtype); !reason.empty()) return reason;
  if (std::string reason = MatmulWhyNot(s, op); !reason.empty()) return reason;
  return BlocksWhyNot(traits, static_cast<double>(TilesOf<UnitShape>(s)), traits.ProductThreads());
}

std::string MatmulContract(const Traits&, const plugin::OpDesc& op) {
  return ContractText(TagOf(plugin::ParseMatmul(op).a.dtype), 0);
}

std::string UnitMatmulContract(const Traits& traits, const plugin::OpDesc&) {
  return UnitContractText(traits, 0);
}

constexpr Row kMatmulRows[] = {
    {{"matmul", plugin::kRealTypesAndI8, "tiled"}, MatmulContract, TiledWhyNot, CreateTiled},
    {{"matmul", plugin::kRealTypesAndI8, "splitk"}, MatmulContract, SplitKWhyNot, CreateSplitK},
    {{"matmul", plugin::kHalfTypes, "matrix-unit"}, UnitMatmulContract, UnitMatmulWhyNot, CreateUnitMatmul},
};

}  // namespace

std::span<const Row> MatmulRows() {
  return kMatmulRows;
}

}  // namespace gpu
