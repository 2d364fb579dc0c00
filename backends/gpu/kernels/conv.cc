// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/device/conv.h"

#include "backends/gpu/kernels.h"
#include "backends/gpu/kernels/dispatch.h"

namespace gpu {
namespace {

template <class T, class Shape>
void LaunchTile(const ConvParams& p, void* stream) {
  Launch(GemmConv<T, Shape>, ConvTiles<Shape>(p), kTileThreads, static_cast<Stream>(stream), p);
}

}  // namespace

void LaunchDirectConv(Tag x, const ConvParams& p, void* stream) {
  ForFloatOrInt8(x, [&](auto type) {
    Launch(DirectConv<decltype(type)>, ConvBlocks(p), kConvThreads, static_cast<Stream>(stream), p);
  });
}

void LaunchGemmConv(Tag x, TileKind tile, const ConvParams& p, void* stream) {
  ForFloatOrInt8(x, [&](auto type) {
    using T = decltype(type);
    if (tile == TileKind::kSkinny) return LaunchTile<T, SkinnyTile>(p, stream);
    LaunchTile<T, MediumTile>(p, stream);
  });
}

void LaunchUnitConv(Tag x, int threads, const ConvParams& p, void* stream) {
  ForHalf(x, [&](auto type) {
    Launch(UnitConv<decltype(type)>, ConvTiles<UnitShape>(p), threads, static_cast<Stream>(stream), p);
  });
}

}  // namespace gpu
