// SPDX-License-Identifier: Apache-2.0
// A reduce description as two loop nests: over the kept axes (one output each) and over the reduced axes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
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
  bool IsIntegerSum() const { return kind == ReduceKind::kSum && in == kI8 && out == kI32; }
  // The result is one of the elements, or its index: kinds that can pass over NaN.
  bool SelectsElement() const { return kind == ReduceKind::kMax || kind == ReduceKind::kMin || IsArg(); }
};

// Largest number of i8 whose sum always fits into 32 bits.
inline constexpr int64_t kMostI8Terms = int64_t{1} << 24;

// Throws Failure naming what contradicts the operator's definition.
ReduceSpec ParseReduce(const OpDesc& op);

// Why there is nothing to reduce, or more kept or reduced axes than a kernel's loops have; "" otherwise.
std::string ReduceShapeWhyNot(const ReduceSpec& spec, size_t most_axes = std::numeric_limits<size_t>::max());
// Why NaN cannot be passed over where the description asks for it; "" otherwise.
std::string NanPolicyWhyNot(const ReduceSpec& spec);

// Offsets of output `index` in elements of the input and of the output.
struct Offsets {
  int64_t in = 0, out = 0;
};
Offsets OffsetsOf(const ReduceSpec& spec, int64_t index);

}  // namespace plugin
