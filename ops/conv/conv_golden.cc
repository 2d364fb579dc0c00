// SPDX-License-Identifier: Apache-2.0
// Golden value and bound of conv: tiles of patches (im2col) into golden/gemm/gemm.h, one batch entry per group, then
// the bias. A tile is a part of one image, some groups and some output rows, so that memory stays bounded.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "golden/gemm/gemm.h"
#include "golden/sums/scaled_sum.h"
#include "harness/core/base/parallel.h"
#include "ops/binding.h"
#include "ops/conv/conv.h"
#include "ops/epilogue.h"

namespace assay {
namespace {

constexpr int64_t kPatchElements = int64_t{1} << 21;
constexpr double kBiasError = 0x1p-98;  // one double-double addition at 3 * 2^-106 of S', with margin

// Groups [group, group + groups) and output rows [row, row + rows) of one image; a row is along the last axis.
struct Tile {
  int64_t image = 0, group = 0, groups = 1, row = 0, rows = 1;
};

std::vector<Tile> TilesOf(const ConvArgs& op) {
  const int64_t all_rows = op.out[0] * op.out[1], row_size = op.Terms() * op.out[2];
  const int64_t rows = std::clamp<int64_t>(kPatchElements / row_size, 1, all_rows);
  const int64_t groups = std::clamp<int64_t>(kPatchElements / (row_size * rows), 1, op.groups);
  std::vector<Tile> tiles;
  for (int64_t image = 0; image < op.n; ++image) {
    for (int64_t group = 0; group < op.groups; group += groups) {
      for (int64_t row = 0; row < all_rows; row += rows) {
        tiles.push_back({image, group, std::min(groups, op.groups - group), row, std::min(rows, all_rows - row)});
      }
    }
  }
  return tiles;
}

// One (channel, tap) of a tile: rows * out[2] elements; padding stays zero.
template <class Bits>
void CopyTap(const ConvArgs& op, const Tile& tile, const Bits* channel, int64_t tap, Bits* to) {
  const ConvArgs::Extents t = ConvArgs::Split(tap, op.kernel);
  const ConvArgs::Range seen = op.Seeing(2, t[2]);
  for (int64_t row = tile.row; row < tile.row + tile.rows; ++row, to += op.out[2]) {
    const int64_t p0 = row / op.out[1], p1 = row % op.out[1];
    if (!op.Sees(0, p0, t[0]) || !op.Sees(1, p1, t[1])) continue;
    const Bits* line = channel + (op.Source(0, p0, t[0]) * op.in[1] + op.Source(1, p1, t[1])) * op.in[2];
    for (int64_t p2 = seen.begin; p2 < seen.end; ++p2) to[p2] = line[op.Source(2, p2, t[2])];
  }
}

// [groups, K, rows * out[2]]
template <class Bits>
void CopyPatches(const ConvArgs& op, const Tile& tile, const Tensor& x, Tensor& patches) {
  const Bits* from = x.As<Bits>().data() + (tile.image * op.c + tile.group * op.GroupInputs()) * op.Pixels();
  Bits* to = patches.As<Bits>().data();
  const int64_t taps = op.Taps(), size = tile.rows * op.out[2];
  ParallelFor(tile.groups * op.Terms(), 8, [&](int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; ++k) CopyTap(op, tile, from + k / taps * op.Pixels(), k % taps, to + k * size);
  });
}

Tensor Patches(const ConvArgs& op, const Tile& tile, const Tensor& x) {
  Tensor patches(x.dtype(), {tile.groups, op.Terms(), tile.rows * op.out[2]});
  std::memset(patches.data(), 0, patches.bytes());
  switch (SizeOf(x.dtype())) {
    case 1:
      CopyPatches<uint8_t>(op, tile, x, patches);
      break;
    case 2:
      CopyPatches<uint16_t>(op, tile, x, patches);
      break;
    case 4:
      CopyPatches<uint32_t>(op, tile, x, patches);
      break;
    default:
      CopyPatches<uint64_t>(op, tile, x, patches);
  }
  return patches;
}

// The weights of the tile's groups, a contiguous part of w.
Tensor Weights(const ConvArgs& op, const Tile& tile, const Tensor& w) {
  Tensor part(w.dtype(), {tile.groups, op.GroupOutputs(), op.Terms()});
  const int64_t first = tile.group * op.GroupOutputs() * op.Terms() * SizeOf(w.dtype());
  std::memcpy(part.data(), w.data() + first, part.bytes());
  return part;
}

void CopyPlane(const Plane& from, int64_t first, int64_t count, int64_t to, Plane& plane) {
  if (from.empty()) return;
  if (from.wide()) {
    std::copy_n(from.f64().begin() + first, count, plane.f64().begin() + to);
  } else {
    std::copy_n(from.f32().begin() + first, count, plane.f32().begin() + to);
  }
}

// Puts a tile's result [groups, o/groups, rows * out[2]] in its place in y.
void CopyTile(const ConvArgs& op, const Tile& tile, const Golden& part, bool wide, Golden& golden) {
  const Plane* mass = part.Extra("subnormal_mass");
  if (mass != nullptr && golden.Extra("subnormal_mass") == nullptr) golden.AddExtra("subnormal_mass", wide);
  const int64_t size = tile.rows * op.out[2];
  for (int64_t j = 0; j < tile.groups * op.GroupOutputs(); ++j) {
    const int64_t channel = tile.image * op.o + tile.group * op.GroupOutputs() + j;
    const int64_t to = channel * op.Positions() + tile.row * op.out[2], from = j * size;
    std::copy_n(part.value.begin() + from, size, golden.value.begin() + to);
    if (!golden.value_lo.empty()) std::copy_n(part.value_lo.begin() + from, size, golden.value_lo.begin() + to);
    CopyPlane(part.magnitude, from, size, to, golden.magnitude);
    CopyPlane(part.sigma, from, size, to, golden.sigma);
    CopyPlane(part.error, from, size, to, golden.error);
    if (mass != nullptr) CopyPlane(*mass, from, size, to, golden.extra.front().second);
  }
}

void AddBiasTo(Golden& golden, int64_t i, double bias) {
  const double plain = golden.value[i] + bias;
  const double magnitude = golden.magnitude[i] + (std::isfinite(bias) ? std::abs(bias) : 0);
  double error = golden.error[i] + kBiasError * magnitude;
  const DD y = DD{golden.value[i], golden.value_lo.empty() ? 0 : golden.value_lo[i]} + bias;
  error += SetElement(golden, i, y, plain);
  golden.magnitude.SetUp(i, magnitude);
  golden.error.SetUp(i, error);
}

void AddBias(const ConvArgs& op, const Tensor& bias, bool wide, Golden& golden) {
  const double min_normal = FormatOf(bias.dtype()).MinNormal();
  const std::vector<double> values = bias.ToDoubles();
  const auto is_subnormal = [&](double b) { return b != 0 && std::abs(b) < min_normal; };
  if (std::ranges::any_of(values, is_subnormal) && golden.Extra("subnormal_mass") == nullptr) {
    golden.AddExtra("subnormal_mass", wide);
  }
  ParallelFor(op.n * op.o, 1, [&](int64_t begin, int64_t end) {
    for (int64_t channel = begin; channel < end; ++channel) {
      const double b = values[static_cast<size_t>(channel % op.o)];
      for (int64_t i = channel * op.Positions(); i < (channel + 1) * op.Positions(); ++i) {
        AddBiasTo(golden, i, b);
        if (!is_subnormal(b)) continue;
        Plane& mass = golden.extra.front().second;
        mass.SetUp(i, mass[i] + std::abs(b));
      }
    }
  });
}

// Elements of f64 whose magnitude leaves double's range, once more.
void SumBeyondDouble(const ConvArgs& op, std::span<const Tensor> inputs, Golden& golden) {
  if (inputs[0].dtype() != DType::kF64) return;
  for (int64_t i = 0; i < golden.size(); ++i) {
    if (std::isfinite(golden.error[i])) continue;
    ScaledSum sum;
    for (const ConvTerm& term : VisibleTerms(op, i)) sum.Add(ValueAt(inputs[0], term.x), ValueAt(inputs[1], term.w));
    if (op.bias) sum.Add(ValueAt(inputs[2], i / op.Positions() % op.o));
    sum.Store(golden, i);
  }
}

// Winograd's algorithm on a shape that it does not fit, and transforms of integers, are held to the direct one's bound.
BoundModel FiniteBound(const ConvArgs& op, const Golden& golden, const Contract& contract, DType in, DType out) {
  if (contract.alg == Algorithm::kWinograd) {
    if (std::optional<BoundModel> bound = WinogradBound(op, golden, contract, in, out)) return *std::move(bound);
  }
  if (contract.alg == Algorithm::kFft) {
    if (std::optional<BoundModel> bound = FftConvBound(op, golden, contract, out)) return *std::move(bound);
  }
  const auto terms = static_cast<double>(op.Terms());
  const double bias = op.bias ? (AccumulatorHolds(contract, out) ? 1 : 2) : 0;  // added, where need be converted before
  const double height = PathRoundings(contract, terms, true, in) + bias;
  BoundModel bound = SumBound(golden, contract, out, {.terms = terms, .height = height, .type_a = in, .type_b = in});
  if (op.bias && !golden.exact) bound.constant += AdditionUnderflow(contract, out) * bound.growth;
  bound.statistic.constant = bound.constant;
  if (op.bias) bound.statistic.shared_addends = op.o;
  return bound;
}

// Applies NeedsWidePlanes to the largest S that these operands can have.
bool HasWidePlanes(const ConvArgs& op, const Problem& problem, std::span<const Tensor> inputs) {
  const DType out = problem.outputs[0].dtype;
  if (NeedsWidePlanes(out, 0) || IsInt(out)) return NeedsWidePlanes(out, 0);
  const double products = LargestFinite(inputs[0]) * LargestFinite(inputs[1]) * static_cast<double>(op.Terms());
  return NeedsWidePlanes(out, products + (op.bias ? LargestFinite(inputs[2]) : 0));
}

}  // namespace

Golden ConvGolden(const ConvArgs& op, const Problem& problem, std::span<const Tensor> inputs, Tier tier) {
  const bool wide = HasWidePlanes(op, problem, inputs);
  Golden golden{.tier = tier};
  golden.shape = problem.outputs[0].shape;
  const int64_t size = NumElements(golden.shape);
  golden.value.resize(static_cast<size_t>(size));
  for (const Tile& tile : TilesOf(op)) {
    const GemmShape shape{.m = op.GroupOutputs(), .n = tile.rows * op.out[2], .k = op.Terms(), .batch = tile.groups};
    const Golden part = GoldenGemm(shape, Weights(op, tile, inputs[1]), Patches(op, tile, inputs[0]), tier, wide);
    if (golden.magnitude.empty()) {
      golden.magnitude = Plane(size, wide);
      if (!part.exact) golden.sigma = golden.error = Plane(size, wide);
      if (!part.value_lo.empty()) golden.value_lo.resize(static_cast<size_t>(size));
    }
    golden.exact = part.exact;
    golden.tier = part.tier;
    CopyTile(op, tile, part, wide, golden);
  }
  if (golden.exact) return golden;
  Plane padded = SkipPaddedNonFinite(op, inputs[0], inputs[1], golden);
  if (op.bias) AddBias(op, inputs[2], wide, golden);
  SumBeyondDouble(op, inputs, golden);
  if (!padded.empty()) golden.extra.emplace_back("padded_nonfinite", std::move(padded));
  AddLostInfinities(op, inputs, golden);
  AddLargestOperands(op, inputs, golden);
  return golden;
}

BoundModel ConvBound(const ConvArgs& op, const Golden& golden, const Contract& contract, DType in, DType out) {
  BoundModel bound = FiniteBound(op, golden, contract, in, out);
  if (IsInt(out)) return bound;
  const bool flushes = contract.FlushesInputs();
  if (const Plane* lost = golden.Extra("lost_infinity"); lost != nullptr && flushes) {
    AdmitWhere(bound, *lost, 1, kAlsoNan);
  }
  AdmitOperandOverflow(bound, golden, contract, in);
  // The zeros of the padding may be multiplied as well as skipped.
  if (const Plane* padded = golden.Extra("padded_nonfinite"); padded != nullptr)
    AdmitWhere(bound, *padded, 1, kAlsoNan);
  return bound;
}

}  // namespace assay
