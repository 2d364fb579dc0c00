// SPDX-License-Identifier: Apache-2.0
// Transforms as correct implementations compute them, in single precision, and faulty ones.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace assay::test {

struct C32 {
  float re = 0, im = 0;
};
using Signal = std::vector<C32>;

// e^(sign 2 pi i j / n) as an implementation has it.
using Twiddles = std::function<C32(int64_t j, int64_t n)>;
C32 RoundedTwiddle(int64_t j, int64_t n);  // forward, correctly rounded parts
// Repeated multiplication by w_1, known to f32 or to a multiple of 2^-bits: the error grows with j.
C32 RecurrentTwiddle(int64_t j, int64_t n, int bits);

// One line, forward, unscaled.
using LineTransform = std::function<Signal(const Signal&, const Twiddles&)>;
Signal DecimatedInTime(const Signal& x, const Twiddles& w);           // mixed radix, smallest factor first
Signal DecimatedByThreeProducts(const Signal& x, const Twiddles& w);  // the same with products of three, not four
Signal DecimatedInFrequency(const Signal& x, const Twiddles& w);      // mixed radix, largest factor first
Signal Stockham2(const Signal& x, const Twiddles& w);                 // radix 2, powers of two only
Signal BluesteinLine(const Signal& x, const Twiddles& w);
Signal DirectSequential(const Signal& x, const Twiddles& w);
Signal DirectPairwise(const Signal& x, const Twiddles& w);
Signal ShortConvolution11(const Signal& x, const Twiddles& w);  // 11 points with 20 products
// A real signal (imaginary parts zero) of even length by a complex transform of half the length.
Signal RealPacked(const Signal& x, const Twiddles& w);

struct NamedLine {
  const char* name;
  const char* algorithm;  // alg= of its contract
  LineTransform run;
};
const std::vector<NamedLine>& LegalLines();

}  // namespace assay::test
