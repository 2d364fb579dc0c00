// SPDX-License-Identifier: Apache-2.0
// How far a discrete Fourier transform of length n in rounded arithmetic can be off, by class of algorithm.
// Relative to the norm of the whole result, ||dy||_2 <= error ||y||_2, hence |dy_k| <= error ||y||_2 for every k:
// an element has no error bound relative to itself.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/core/model/contract.h"

namespace assay {

struct FftArithmetic {
  double u = 0;        // unit roundoff of additions and multiplications
  double twiddle = 0;  // mu: relative error of a twiddle factor; u when both parts are correctly rounded
  double operand = 0;  // rounding of both factors of a product to a narrower format (in=tf32rn, ...)
  double stored = 0;   // rounding of what one stage hands to the next (mid=f16, ...)
};

// math= bounds the twiddles too: m ulp are a relative 2 m u. Correctly rounded ones (a table made in a wider type) are
// within u, which is the least assumed.
FftArithmetic ArithmeticOf(const Contract& contract);

// Primes up to this are taken by butterflies of their own; larger factors by a convolution (Bluestein, Rader).
inline constexpr int64_t kLargestButterfly = 31;

std::vector<int64_t> PrimeFactors(int64_t n);  // ascending, with repetition
int64_t PaddedLength(int64_t n);               // smallest power of two >= 2n - 1: Bluestein's M

// Cooley-Tukey in any order of radices. Higham, ASNA 2nd ed., theorem 24.2, for radix 2, and the same argument for
// stages of other primes.
double RadixError(int64_t n, const FftArithmetic& a);

// Bluestein: chirp, transform of the padded length M, product with the transformed chirp, transform back, chirp.
// |dy_k| <= BluesteinError ||y||_2 for every k; M is PaddedLength(n) or twice that.
double BluesteinError(int64_t n, const FftArithmetic& a);

// Error of the transform of an impulse: nothing cancels, and every output is a product of twiddles, so that each has an
// error relative to itself. |dy_k| <= ImpulseError |y_k| for n without primes above kLargestButterfly.
double ImpulseError(int64_t n, const FftArithmetic& a);
// DirectImpulseError: by the defining sum, one product with a twiddle.
double DirectImpulseError(const FftArithmetic& a);

// Real transforms packed into complex ones of half the length: even and odd parts are taken apart (an addition each),
// then one more radix-2 stage.
double PackingError(const FftArithmetic& a);

// The error of transforms and stages one after another, log_sum their log1p summed. `convolution`: one of them is
// Bluestein's, whose bound is one of the elements and not of their norm.
double Compose(double log_sum, int64_t points, bool convolution);

// The defining sum, in any order: |dy_k| <= DirectError ||x||_1.
double DirectError(int64_t n, const FftArithmetic& a);

}  // namespace assay
