// SPDX-License-Identifier: Apache-2.0
// The golden discrete Fourier transform: y_k = scale sum_j x_j e^(-+ 2 pi i sum_a j_a k_a / n_a), any lengths, any
// number of axes, batched. Complex tensors hold pairs (re, im).
#pragma once

#include <cstdint>
#include <span>

#include "golden/golden.h"

namespace assay {

enum class FftKind : uint8_t { kC2C, kR2C, kC2R };
enum class FftNorm : uint8_t { kNone, kOrtho, kBackward };  // scale 1; 1/sqrt(N); 1/N on the inverse only

struct FftArgs {
  FftKind kind = FftKind::kC2C;
  Shape n;  // of the full transform: the real side's shape for r2c and c2r
  int64_t batch = 1;
  bool inverse = false;  // the exponent's sign is +
  FftNorm norm = FftNorm::kNone;

  int64_t Points() const { return NumElements(n); }  // N
  Shape Half() const;                                // n with the last axis cut to n/2 + 1
  Shape InputAxes() const { return kind == FftKind::kC2R ? Half() : n; }
  Shape OutputAxes() const { return kind == FftKind::kR2C ? Half() : n; }
  int InputParts() const { return kind == FftKind::kR2C ? 1 : 2; }  // numbers per element
  int OutputParts() const { return kind == FftKind::kC2R ? 1 : 2; }
};

// c2r takes the half that it is given as one of a Hermitian whole; where the given part contradicts itself (a DC term
// that is not real), the result is the real part of the transform.
// Planes, per number of the output and constant over each transform: magnitude ||x||_1, extra "norm2" ||y||_2, extra
// "subnormal_mass" (the part of ||x||_1 below min_normal), sigma 0.6 max(sqrt(log2 N) ||y||_2 / sqrt(N), ||y||_max),
// all times scale. `wide`: the output has 64-bit parts; such cases are always computed in the reproducible tier.
// Non-finite inputs: fft_special.cc.
Golden GoldenFft(const FftArgs& fft, const Tensor& x, Tier tier, bool wide, double min_normal);

// Marks what the non-finite inputs x [InputParts per element] of transform `batch` make of its outputs.
void MarkNonFinite(const FftArgs& fft, std::span<const double> x, int64_t batch, Golden& golden);

// The flat index in the half spectrum of the element that a full-spectrum index stands for, and whether the full
// element is its conjugate. Row-major over n.
struct HalfIndex {
  int64_t index = 0;
  bool conjugate = false;
};
HalfIndex ToHalf(const Shape& n, int64_t full);

// Mirror image of a row (coordinates on all axes but the last, flat): every coordinate k becomes (n - k) mod n.
int64_t MirrorRow(const Shape& n, int64_t row);

}  // namespace assay
