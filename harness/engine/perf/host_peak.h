// SPDX-License-Identifier: Apache-2.0
// Peak arithmetic of the host's processors. assay measures it by itself, so that no plugin takes part.
#pragma once

#include <cstdint>
#include <string>

#include "harness/core/data/dtype.h"
#include "harness/core/model/contract.h"
#include "harness/core/model/record.h"

namespace assay {

// Rates of fused multiply-adds in vector registers, on all threads at once; null if PeakKernelsOfHost() has none.
struct HostPeak {
  Number f32_gflops, f64_gflops;
  std::string f32_how, f64_how;  // "fused multiply-adds in avx3 vectors, 8 threads"
};

// The fastest of some short passes with each instruction set, since the wider one may have the slower clock; about
// 0.05 s. `threads`: as many as the host has processors, whatever assay itself may use.
HostPeak MeasureHostPeak(int threads);

// Units for narrow types, as CPUID names them.
struct NarrowUnits {
  bool amx = false, avx512_bf16 = false, avx512_fp16 = false, vnni = false;
};
NarrowUnits NarrowUnitsOfHost();

// An upper limit in this arithmetic, `in` being how operands are rounded first; null: none is known. For f32 and f64
// what was measured, else a generous multiple of it.
Number MostGflops(const HostPeak& peak, const NarrowUnits& units, DType arithmetic, InputRounding in);

// How fast the host's processors reach its memory.
struct HostBandwidth {
  double read_gbytes_per_s = 0;
  double copy_gbytes_per_s = 0;  // bytes read and bytes written
};

// The fastest of a few passes over `bytes` of memory, by `threads` threads at once. Takes some tenths of a second.
HostBandwidth MeasureHostBandwidth(uint64_t bytes, int threads);

}  // namespace assay
