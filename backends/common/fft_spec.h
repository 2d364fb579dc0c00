// SPDX-License-Identifier: Apache-2.0
// An fft description with its shapes checked: y = scale * DFT(x) over all axes but the leading one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/common/op_desc.h"

namespace plugin {

enum class FftKind { kC2C, kR2C, kC2R };

struct FftSpec {
  FftKind kind = FftKind::kC2C;
  std::vector<int64_t> n;  // of the real side for r2c and c2r
  int64_t batch = 1;
  bool inverse = false;  // the exponent's sign is +
  double scale = 1;
  bool scaled = false;
  bool wide = false;                          // double precision
  std::vector<int64_t> x_strides, y_strides;  // batch first; in elements, a complex number being one

  int64_t Points() const;
  int64_t ComplexBytes() const { return wide ? 16 : 8; }
  // Elements of a row as the output, or the input, stores it: half a spectrum has n / 2 + 1.
  int64_t StoredRow(bool out) const;
};

// Throws Failure naming the operand or attribute that contradicts the operator's definition.
FftSpec ParseFft(const OpDesc& op);

// "" when both operands have the types of the transform's kind in one precision; else the reason.
std::string FftTypesWhyNot(const OpDesc& op, const FftSpec& spec);

// Why stages of radices up to `largest_radix` do not make the transform; "" when they do.
std::string RadixStagesWhyNot(const FftSpec& spec, int64_t largest_radix);

// Ascending; empty for 1.
std::vector<int64_t> PrimeFactors(int64_t n);
int64_t LargestPrimeFactor(int64_t n);  // 1 of 1

// Length of Bluestein's cyclic convolution: the smallest power of two >= 2n - 1.
int64_t PaddedLength(int64_t n);

// Complex numbers of the workspace that one transform takes. Bluestein's algorithm pads one axis at a time.
int64_t WorkPoints(const FftSpec& spec, bool bluestein);

}  // namespace plugin
