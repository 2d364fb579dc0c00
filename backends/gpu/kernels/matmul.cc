// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/device/matmul.h"

#include "backends/gpu/device/matmul_unit.h"
#include "backends/gpu/kernels.h"
#include "backends/gpu/kernels/dispatch.h"

namespace gpu {
namespace {

template <class T, class Shape>
void LaunchTile(const MatmulParams& p, void* stream) {
  Launch(TiledMatmul<T, Shape>, TileCount<Shape>(p.m, p.n, p.batch * p.parts), kTileThreads,
         static_cast<Stream>(stream), p);
}

}  // namespace

void LaunchTiledMatmul(Tag operands, TileKind tile, const MatmulParams& p, void* stream) {
  ForFloatOrInt8(operands, [&](auto type) {
    using T = decltype(type);
    if (tile == TileKind::kSkinny) return LaunchTile<T, SkinnyTile>(p, stream);
    if constexpr (sizeof(T) < 8) {  // the host asks for no large tiles of f64
      if (tile == TileKind::kLarge) return LaunchTile<T, LargeTile>(p, stream);
    }
    LaunchTile<T, MediumTile>(p, stream);
  });
}

void LaunchCombineParts(Tag operands, const MatmulParams& p, void* stream) {
  const int64_t blocks = CeilDiv(p.batch * p.m * p.n, kTileThreads);
  if (operands == Tag::kF64) {
    Launch(CombineParts<double>, blocks, kTileThreads, static_cast<Stream>(stream), p);
  } else if (operands == Tag::kI8) {
    Launch(CombineParts<int32_t>, blocks, kTileThreads, static_cast<Stream>(stream), p);
  } else {
    Launch(CombineParts<float>, blocks, kTileThreads, static_cast<Stream>(stream), p);
  }
}

void LaunchUnitMatmul(Tag operands, int threads, const MatmulParams& p, void* stream) {
  ForHalf(operands, [&](auto type) {
    using T = decltype(type);
    const int64_t blocks = TileCount<UnitShape>(p.m, p.n, p.batch);
    Launch(p.b_along_k ? UnitMatmul<T, true> : UnitMatmul<T, false>, blocks, threads, static_cast<Stream>(stream), p);
  });
}

}  // namespace gpu
