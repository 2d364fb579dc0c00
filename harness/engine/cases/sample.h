// SPDX-License-Identifier: Apache-2.0
// Some elements of large outputs, judged in place of all: slices along each axis whose slices are cases of their own.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/core/data/tensor.h"
#include "ops/subproblem.h"

namespace assay {

struct SampleRequest {
  int64_t elements = 0;  // of the first output, about so many; 0: all are judged
  uint64_t seed = 0;     // of what is drawn; 0: it follows from the operands
  // By output: elements that are always among those that are judged.
  std::vector<std::vector<int64_t>> wanted = {};
};

struct OutputSample {
  Problem whole;
  std::vector<SliceCut> cuts;
  uint64_t seed = 0;
  int64_t judged = 0, elements = 0;  // of all outputs
  int64_t unseen = 0;                // NaN and infinities of floats among the elements that are not judged

  // "judged 4,096 of 67,108,864 elements, drawn by seed 17".
  std::string Text() const;
  // The number that this element of the part has in the whole.
  int64_t ElementOf(size_t output, int64_t element) const;
  // A text in which places of the part's output are those of the whole.
  std::string Relocate(size_t output, const std::string& text) const;
};

// A case of slices that holds at most request.elements of the first output if two slices of each axis do. Always among
// them are the ends of each axis, both sides of borders of blocks, the elements of each output that are `wanted`, and
// elements 2^31 and 2^32 with those before them. nullopt: it would be the whole case.
struct DrawnPart {
  Subproblem part;
  OutputSample sample;
};
std::optional<DrawnPart> DrawPart(const Operator& op, const Problem& problem, std::span<const Tensor> inputs,
                                  const std::vector<std::vector<int64_t>>& wanted, const SampleRequest& request);

// The problem of such a part, whose slices need not be known; nullopt as above.
std::optional<Problem> BindSample(const Operator& op, const Problem& problem, int64_t elements);

// The seed where nobody states one: from the hash of all inputs, so that a kernel cannot know it beforehand.
uint64_t SampleSeedOf(const std::string& input_hash);

// `count` of `extent` indices: the first, the last, `wanted`, both sides of a border of blocks of 16, 32, 64, ... for
// at most half of them, and others at random places of equal stretches. Ascending; more than `count` if so many are
// wanted.
std::vector<int64_t> DrawIndices(int64_t extent, int64_t count, const std::vector<int64_t>& wanted, uint64_t seed,
                                 uint64_t stream);

}  // namespace assay
