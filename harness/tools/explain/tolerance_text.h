// SPDX-License-Identifier: Apache-2.0
// Where the tolerance of one element comes from: each number with its formula, down to the one that decided.
#pragma once

#include <string>
#include <vector>

#include "golden/bound/bound.h"
#include "harness/judge/judge.h"
#include "ops/operator.h"

namespace assay {

struct DerivationLine {
  std::string symbol;   // "gamma"
  std::string formula;  // "2 h u / (1 - 2 h u)"
  double value = 0;
};

struct DerivedTolerance {
  std::string place;  // "y[3,5]"
  double got = 0, golden = 0;
  std::vector<DerivationLine> lines;  // the last ones are A, rounding and tolerance
  Judgement judged;
};

// An element of an output: "3,5" or "[3,5]", with "NAME" before it where there are several outputs.
struct ElementPlace {
  size_t output = 0;
  int64_t element = 0;
};
// Without a name it is of `output`. Errors say what is wrong with the place.
Result<ElementPlace> ParseElementPlace(const std::string& text, const Problem& problem, size_t output);

// Takes the part of a complex element that is further off. Preconditions: golden and bound are of the place's output,
// `got` is canonical.
DerivedTolerance DeriveTolerance(const Problem& problem, const ElementPlace& place, const Golden& golden,
                                 const BoundModel& bound, const Contract& contract, const Tensor& got);

std::string DerivationText(const DerivedTolerance& derived);

}  // namespace assay
