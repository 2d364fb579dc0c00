// SPDX-License-Identifier: Apache-2.0
// Parts of the operator fft (fft.cc).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "golden/fft/fft.h"
#include "ops/operator.h"

namespace assay {

FftArgs FftArgsOf(const Problem& problem);

// Makes the half spectra x [batch, InputAxes, 2] those of real signals: terms that are their own mirror image get an
// imaginary part of zero, and pairs of mirror images within the given half become each other's conjugate.
void MakeHermitian(const FftArgs& fft, std::span<double> x);

// Error bound of the contract's algorithm, for every output: norm2 ||y||_2 + norm1 ||x||_1.
struct FftErrorCoefficients {
  double norm2 = 0, norm1 = 0;
};
FftErrorCoefficients FftErrors(const FftArgs& fft, const Contract& contract);

// Whether a transform along some axis is a convolution (Bluestein, Rader), whose errors reach all outputs alike.
bool IsFftConvolution(const FftArgs& fft, Algorithm algorithm);
// Whether the contract says enough for a deviation of the errors to be known.
bool HasFftStatistic(const Contract& contract);
// How many times larger the deviation of a stage is with twiddles of the contract's accuracy.
double FftTwiddleScale(const Contract& contract);

BoundModel FftBound(const FftArgs& fft, const Golden& golden, const Contract& contract, DType out);

std::optional<Twin> FftTwin(const Operator& op, const Problem& problem, const Contract& contract, int variant);
int FftTwinVariants(const Problem& problem, const Contract& contract);

// Twins of impulses, behind the others (fft_impulse.cc). Precondition of the second: variant < the first.
int FftImpulseVariants(const FftArgs& fft, const Contract& contract);
Twin FftImpulseTwin(const Operator& op, const Problem& problem, const Contract& contract, int variant);

// The standard deviation of an impulse's outputs over their modulus (fft_impulse_spread.cc); 0: the contract has none.
double FftImpulseDeviation(const FftArgs& fft, const Contract& contract);

std::vector<Mutant> FftOmittedTerms(const Problem& problem, const Tensor& x, std::span<const double> values,
                                    std::span<const int64_t> outputs);

std::vector<SliceAxes> FftSlices(const Problem& problem);
std::vector<Relation> FftRelations(const Operator& op, const Problem& problem);

CaseSpace FftSpace();

}  // namespace assay
