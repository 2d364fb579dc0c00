// SPDX-License-Identifier: Apache-2.0
// A reduce description as two loop nests: over the kept axes (one output each) and over the reduced axes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "backends/common/op_desc.h"

namespace plugin {

enum class ReduceKind { kSum, kMean, kMax, kMin, kProd, kL2, kArgMax, kArgMin, kLogSumExp };

struct Axis {
  int64_t size = 1;
  int64_t in_stride = 0, out_stride = 0;  // elements
};

struct ReduceSpec {
  ReduceKind kind = ReduceKind::kSum;
  bool ignore_nan = false;
  DType in, out;
  std::vector<Axis> kept;
  std::vector<Axis> reduced;     // row-major; neighbours that form one run are merged, so the last is the longest run
  std::vector<bool> is_reduced;  // per axis of the input
  std::vector<int64_t> out_strides;  // per axis of the input; those of reduced axes are 0
  int64_t outputs = 1;               // product of kept
  int64_t count = 1;                 // product of reduced

  bool IsArg() const { return kind == ReduceKind::kArgMax || kind == ReduceKind::kArgMin; }
  bool IsF64() const { return in == kF64 || out == kF64; }
};

// Throws Failure naming what contradicts the operator's definition.
ReduceSpec ParseReduce(const OpDesc& op);

// Offsets of output `index` in elements of the input and of the output.
struct Offsets {
  int64_t in = 0, out = 0;
};
Offsets OffsetsOf(const ReduceSpec& spec, int64_t index);

}  // namespace plugin
