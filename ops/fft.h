// SPDX-License-Identifier: Apache-2.0
// Parts of the operator fft (fft.cc).
#pragma once

#include <span>
#include <vector>

#include "golden/fft.h"
#include "ops/op_info.h"

namespace assay {

FftCase FftCaseOf(const Problem& problem);

// Makes the half spectra x [batch, InputAxes, 2] those of real signals: terms that are their own mirror image get an
// imaginary part of zero, and pairs of mirror images within the given half become each other's conjugate.
void MakeHermitian(const FftCase& fft, std::span<double> x);

BoundModel FftBound(const FftCase& fft, const Golden& golden, const Contract& contract, DType out);

std::vector<Mutant> FftOmittedTerms(const Problem& problem, const Tensor& x, std::span<const double> values,
                                    std::span<const int64_t> outputs);

std::vector<Relation> FftRelations(const Operator& op, const Problem& problem);

}  // namespace assay
