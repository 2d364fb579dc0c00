// SPDX-License-Identifier: Apache-2.0
// Functions shared by the matrix engines. They fill a Golden whose value and planes already have their sizes.
#pragma once

#include <cstdint>

#include "golden/gemm/gemm_operand.h"
#include "golden/golden.h"

namespace assay {

// Products of the smallest and of the largest factors, with room for a sum, are normal floats: then a float product
// has relative errors only.
bool MagnitudeFitsFloat(const GemmOperand& a, const GemmOperand& b);

// Plain double, of values or floats; values alone where magnitudes do not fit float. With `planes` also magnitude,
// sigma and error; without, exact integer sums.
void FastGemm(const GemmOperand& a, const GemmOperand& b, bool planes, Golden& golden);

// value, value_lo, magnitude, sigma, error, without a library; the same bits on every machine. With anchors
// (gemm_anchor.h) where that is accurate enough, else in double-double (gemm_dd.cc).
void ReproducibleGemm(const GemmOperand& a, const GemmOperand& b, Golden& golden);

// sum_k |a_k b_k| (1 + gamma) in plain double, rounded up, in an order that does not depend on the machine. `plane`
// has batch * m * n elements; `add` adds to it.
void MagnitudeGemm(const GemmOperand& a, const BigBuffer<double>& a_values, const GemmOperand& b,
                   const BigBuffer<double>& b_values, bool add, Plane& plane);

}  // namespace assay
