// SPDX-License-Identifier: Apache-2.0
// Errors that are one factor of each row, column or slice: they say one number each, however many elements these have.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/core/data/tensor.h"

namespace assay {

// An element beside what was meant, and beside a cause.
struct ExplainedElement {
  int64_t place = 0;   // of a value of the output, row-major
  double right = 0;    // as it was meant
  double error = 0;    // as it was meant
  double left = 0;     // the error by the cause, or how far off it may be by it
  double certain = 0;  // what errors are made of anyway, as by the output's rounding
};

// The fewest bits that these elements say for a cause, among all ways to take them together by a coordinate or along an
// axis by which their errors are a factor of what was meant. Infinity: there is none.
double CountBitsOfFactors(const Shape& shape, const std::vector<ExplainedElement>& elements);

// The bits that these elements say for a cause, if all of their errors are one factor of what was meant. Infinity: they
// are not.
double CountBitsOfOneFactor(const std::vector<ExplainedElement>& elements);

// Whether more than a third as many rows, columns or slices speak against a cause as speak for it: it explains a few of
// them, which are further off than what it predicts everywhere.
bool IsOfFewPlaces(const Shape& shape, const std::vector<ExplainedElement>& elements);

}  // namespace assay
