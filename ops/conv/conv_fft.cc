// SPDX-License-Identifier: Apache-2.0
// Error bound of a convolution by discrete Fourier transforms (Mathieu, Henaff, LeCun, arXiv 1312.5851; Vasilache
// et al., arXiv 1412.7580): y = F^-1 sum over c of F(x_c) F(w_c), in tiles of the image or of the whole of it,
// transforms of N points, each of one channel. With e the error of a transform relative to the norm of its result
// (golden/fft/fft_error.h), ||F z||_2 = sqrt(N) ||z||_2, |F z| <= ||z||_1, gamma of a sum of C complex products, and
// sums over the C channels c of one output channel o and image n:
// - Errors of F(x_c) and F(w_c), of their product and of the sum over c reach y through F^-1, whose every element is at
//   most the mean of its inputs. By Cauchy and Schwarz that is b P, b = 2 e + e^2 + gamma, P = sum ||x_c||_2
//   ||w_c||_2.
// - F^-1 adds e times the norm of its input: e ||y||_2 <= e sum ||x_c||_2 max |F(w_c)| <= e Q, Q = sum ||x_c||_2
//   ||w_c||_1, and of the errors before it e b sqrt(N) P.
// - Underflow costs lambda at each operation: 9 lambda an element and stage, of four products, two sums and two
//   flushed operands in each part, times sqrt(2). Stages double it, so that a transform is off by 18 N lambda = a at
//   most. In y that is a R + C a^2, R = sum (||x_c||_1 + ||w_c||_1), and (9 C + 20) N lambda, where products have been
//   divided by N.
// Tiles that overlap in the image have no larger norms than it has. Where tiles overlap in the output, up to two of
// them along an axis are added, whose norms together are at most sqrt(2) times the image's. The number of stages is
// that of radix 2, and twice that of other radices. The error does not depend on the place in the image: small outputs
// beside large ones are off by as much. An infinity or NaN spreads over its tile. Transforms that hold two channels as
// real and imaginary part are not covered: a small one would have the other's error. Tables of [n, o]: "fft_norms" = P,
// "fft_mixed" = Q, "fft_sums" = R, and "fft_peak", the largest number that a transform can come to, infinite where an
// element is infinite or NaN.
#include <algorithm>
#include <bit>
#include <cmath>

#include "golden/fft/fft_error.h"
#include "harness/core/base/parallel.h"
#include "harness/core/data/infinity.h"
#include "ops/conv/conv.h"

namespace assay {
namespace {

constexpr double kRoundUp = 1 + 0x1p-20;  // covers the sums of up to 2^30 terms that norms and tables are
constexpr uint64_t kLeastSide = 32;       // of tiles that libraries have, also along an axis of extent 1

struct Norms {
  double one = 0, two = 0;
  bool finite = true;
};

// Norms of `count` parts of `size` elements each.
std::vector<Norms> NormsOf(const Tensor& tensor, int64_t count, int64_t size) {
  const std::vector<double> values = tensor.ToDoubles();
  std::vector<Norms> norms(static_cast<size_t>(count));
  ParallelFor(count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      const std::span<const double> of(&values[static_cast<size_t>(part * size)], static_cast<size_t>(size));
      Norms& norm = norms[static_cast<size_t>(part)];
      double largest = 0, squares = 0;
      for (const double v : of) {
        if (!std::isfinite(v)) norm.finite = false;
        if (std::isfinite(v)) largest = std::max(largest, std::abs(v)), norm.one += std::abs(v);
      }
      for (const double v : of) {
        if (std::isfinite(v) && largest > 0) squares += v / largest * (v / largest);
      }
      norm.two = largest * std::sqrt(squares);
    }
  });
  return norms;
}

// N: the image with its padding and the kernel around it, in two dimensions at least.
double TransformPoints(const ConvArgs& op) {
  double points = 1;
  for (int axis = ConvArgs::kAxes - std::max(op.rank, 2); axis < ConvArgs::kAxes; ++axis) {
    const int64_t reach = op.in[axis] + 2 * op.pad[axis] + (op.kernel[axis] - 1) * op.dilation[axis];
    points *= static_cast<double>(std::bit_ceil(std::max(kLeastSide, static_cast<uint64_t>(reach))));
  }
  return points;
}

// A table of [n, o] for each element.
Plane Spread(const ConvArgs& op, const Plane& table, int64_t size) {
  Plane plane(size, table.wide());
  ParallelFor(size, 1024, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) plane.Set(i, table[i / op.Positions()]);
  });
  return plane;
}

// e: twice what radix 2 costs, and a stage in which real numbers are packed as half as many complex ones, or taken
// apart.
double TransformError(const ConvArgs& op, const FftArithmetic& a) {
  return std::expm1(2 * std::log1p(RadixError(static_cast<int64_t>(TransformPoints(op)), a)) +
                    std::log1p(PackingError(a)));
}

// Bound on the joint norm of tiles that are added along each axis, relative to the image's norm.
double TileNorms(const ConvArgs& op) {
  return std::pow(2.0, 0.5 * std::max(op.rank, 2));
}

}  // namespace

void AddFftPlanes(const ConvArgs& op, std::span<const Tensor> inputs, Golden& golden) {
  const int64_t channels = op.GroupInputs();
  const std::vector<Norms> x = NormsOf(inputs[0], op.n * op.c, op.Pixels());
  const std::vector<Norms> w = NormsOf(inputs[1], op.o * channels, op.Taps());
  const double points = TransformPoints(op);
  Plane norms(op.n * op.o, true), mixed(norms), sums(norms), peak(norms);
  ParallelFor(op.n * op.o, 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t image = i / op.o, channel = i % op.o;
      const Norms* of_x = &x[static_cast<size_t>(image * op.c + channel / op.GroupOutputs() * channels)];
      const Norms* of_w = &w[static_cast<size_t>(channel * channels)];
      double p = 0, q = 0, r = 0, products = 0, largest = 0;
      for (int64_t c = 0; c < channels; ++c) {
        p += of_x[c].two * of_w[c].two, q += of_x[c].two * of_w[c].one;
        r += of_x[c].one + of_w[c].one, products += of_x[c].one * of_w[c].one;
        largest = std::max({largest, of_x[c].one, of_w[c].one});
        if (!of_x[c].finite || !of_w[c].finite) largest = kInfinity;
      }
      norms.SetUp(i, p * kRoundUp), mixed.SetUp(i, q * kRoundUp), sums.SetUp(i, r * kRoundUp);
      peak.SetUp(i, std::max({largest, products, points * p}) * kRoundUp);
    }
  });
  golden.extra.emplace_back("fft_norms", std::move(norms));
  golden.extra.emplace_back("fft_mixed", std::move(mixed));
  golden.extra.emplace_back("fft_sums", std::move(sums));
  golden.extra.emplace_back("fft_peak", std::move(peak));
}

std::optional<BoundModel> FftConvBound(const ConvArgs& op, const Golden& golden, const Contract& contract, DType out) {
  const Plane* peak = golden.Extra("fft_peak");
  if (peak == nullptr) return std::nullopt;
  const double u = contract.AccUnitRoundoff(), error = TransformError(op, ArithmeticOf(contract));
  const auto channels = static_cast<double>(op.GroupInputs());
  // SumBound's terms for a sum of complex products, with P in the place of S. No types: what is rounded are transforms.
  const double before = error * (2 + error) + SumError(2 * channels + 2, 2 * u);
  const double points = TransformPoints(op), tiles = TileNorms(op);
  BoundModel bound = SumBound(golden, contract, out,
                              {.terms = 2 * channels,
                               .height = 2 * channels + 2,
                               .extra_relative = error * (2 + error) + error * before * std::sqrt(points),
                               .mid_roundings = contract.mid == Intermediate::kNone ? 0 : 3});
  if (bound.exact) return bound;
  const auto spread = [&](const char* name) {
    const auto make = [&] { return Spread(op, *golden.Extra(name), golden.size()); };
    bound.owned.push_back(golden.derived.Get(std::string(name) + "_of_elements", make));
    return bound.owned.back().get();
  };
  for (BoundTerm& term : bound.terms) {
    if (term.plane != &golden.magnitude) continue;
    term.plane = spread("fft_norms"), term.coefficient *= tiles;
  }
  const double lambda = AccumulatorUnderflow(contract), each = 18 * points * lambda;
  const double grown = bound.growth * (1 + error) * (1 + error);
  bound.terms.push_back({spread("fft_mixed"), error * grown * tiles});
  bound.terms.push_back({spread("fft_sums"), each * grown * tiles});
  bound.constant += (channels * each * each + (9 * channels + 20) * points * lambda) * grown * tiles * tiles;
  if (op.bias) {
    bound.terms.push_back({&golden.magnitude, Gamma(3, 2 * u)});
    bound.constant += AdditionUnderflow(contract, out) * bound.growth;
  }
  // Half: errors of the numbers before are less than they are.
  for (int64_t i = 0; i < golden.size(); ++i) {
    const bool spreads = (*peak)[i / op.Positions()] >= bound.partial_overflow_at / 2;
    if (spreads) Admit(bound, golden.size(), i, kAlsoNan | kAlsoInfinity);
  }
  return bound;
}

}  // namespace assay
