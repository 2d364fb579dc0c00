// SPDX-License-Identifier: Apache-2.0
// A reduce description as two loop nests: over the kept axes (one output each) and over the reduced axes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "backends/common/op_desc.h"

namespace cpu {

enum class ReduceKind { kSum, kMean, kMax, kMin, kProd, kL2, kArgMax, kArgMin, kLogSumExp };

struct Axis {
  int64_t size = 1;
  int64_t in_stride = 0, out_stride = 0;  // elements
};

struct ReduceSpec {
  ReduceKind kind = ReduceKind::kSum;
  bool ignore_nan = false;
  plugin::DType in, out;
  std::vector<Axis> kept;
  std::vector<Axis> reduced;  // row-major; neighbours that form one run are merged, so the last is the longest run
  int64_t outputs = 1;        // product of kept
  int64_t count = 1;          // product of reduced

  bool IsArg() const { return kind == ReduceKind::kArgMax || kind == ReduceKind::kArgMin; }
  bool IsF64() const { return in == plugin::kF64 || out == plugin::kF64; }
};

// Throws Failure naming what contradicts the operator's definition.
ReduceSpec ParseReduce(const plugin::OpDesc& op);

// Offsets of output `index` in elements of the input and of the output.
struct Offsets {
  int64_t in = 0, out = 0;
};
Offsets OffsetsOf(const ReduceSpec& spec, int64_t index);

std::string ReduceWhyNot(const plugin::OpDesc& op);
// As ReduceWhyNot, for implementations that reorder a sum: argmax and argmin have none.
std::string FoldWhyNot(const plugin::OpDesc& op);
std::string ReduceContract(const plugin::OpDesc& op);

}  // namespace cpu
