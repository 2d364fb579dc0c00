// SPDX-License-Identifier: Apache-2.0
// Loops that do nothing but fused multiply-adds in vector registers.
#pragma once

#include <vector>

namespace assay {

// One block of them, some microseconds long.
struct PeakKernel {
  double (*run)(double seed) = nullptr;  // the result keeps the compiler from leaving it out
  double flops = 0;
};

// Kernels for one instruction set.
struct PeakKernels {
  const char* vectors;
  PeakKernel f32, f64;
};

// One of each that the processor has, whatever golden values are told to use (LimitVectors). Empty where none is
// certain to have the processor's fastest arithmetic: x86-64 without AVX2 and FMA (AVX alone has wider vectors than
// SSE2), and processors with units that assay does not know.
std::vector<PeakKernels> PeakKernelsOfHost();

}  // namespace assay
