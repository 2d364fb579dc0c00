// SPDX-License-Identifier: Apache-2.0
// Some slices of a case as a case of its own: each output element has the terms that it has in the whole.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ops/operator.h"

namespace assay {

// Slices that are taken along one axis of the outputs.
struct SliceCut {
  std::vector<int64_t> inputs, outputs;  // the axis of each operand; -1: it has none, and stays whole
  std::vector<int64_t> indices;          // of the slices, ascending
};

// The slices of output `number` that all cuts have in common.
Tensor TakeOutput(std::span<const SliceCut> cuts, const Tensor& output, size_t number);

struct Subproblem {
  Problem problem;
  std::vector<Tensor> inputs;
  std::vector<SliceCut> cuts;  // one after the other

  Tensor TakeOutput(const Tensor& output, size_t number = 0) const { return assay::TakeOutput(cuts, output, number); }
};

// The slices that hold these output elements, and `more` others at even distances, along every axis that allows it,
// from the longest on. nullopt: the operator has no such axis, or none whose part would be below a quarter of it.
std::optional<Subproblem> TakePart(const Operator& op, const Problem& problem, size_t output,
                                   std::span<const Tensor> inputs, std::span<const int64_t> elements, int64_t more);

// An axis along which slices of all outputs need the same slices of the inputs alone.
struct SliceableAxis {
  SliceCut cut;  // without indices
  int64_t extent = 0;
};
std::vector<SliceableAxis> ListSliceableAxes(const Operator& op, const Problem& problem);

// Numbers of slices to compute instead of all: one, some beside whole vectors and tiles, half, and all but one;
// ascending.
std::vector<int64_t> ListPartialNumbers(int64_t extent);
// The last queries of causal attention alone see the keys that they see among all: a decoding step, or a chunk of a
// prefill. nullopt: the case is no such prefill.
std::optional<SliceableAxis> FindLastQueries(const Problem& problem);
// The attribute in which the part's problem is another one than the whole's; "slices": in none.
std::string ChangedAttribute(const Problem& whole, const Problem& part);

// The slices of all these cuts, which are along different axes of ListSliceableAxes, or, without axes of outputs, terms
// of their sums. nullopt: the operator has no case of their extents. BindSlices: the problem alone.
std::optional<Problem> BindSlices(const Operator& op, const Problem& problem, std::span<const SliceCut> cuts);
std::optional<Subproblem> TakeSlices(const Operator& op, const Problem& problem, std::span<const Tensor> inputs,
                                     std::vector<SliceCut> cuts);

}  // namespace assay
