// SPDX-License-Identifier: Apache-2.0
// The smallest case and the simplest data by which an implementation still fails as it does: by its bound, or by NaN
// and infinities, and by the same cause where one is known.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/data/tensor.h"
#include "harness/engine/cases/prepared_case.h"
#include "harness/plan/suite.h"
#include "harness/tools/shrink/failing_numbers.h"
#include "ops/operator.h"

namespace assay {

struct ShrinkSettings {
  int most_cases = 400;     // that are tried
  double seconds = 60;      // after which the best so far is taken
  bool keeps_data = false;  // parts of the data are tried before those of other seeds
  std::function<bool()> interrupted;
};

struct ShrunkFailure {
  CaseSpec spec;
  SharedCase bound;
  std::vector<Tensor> inputs;
  WrongNumbers wrong;
  std::vector<Cause> causes;  // that were there before, and still are
  int tried_cases = 0, tried_data = 0;
  double seconds = 0;
};

// `data`: of the case `spec`, whose inputs may be others than its id makes. nullopt: it does not fail by its numbers,
// in none of the probe's executions.
std::optional<ShrunkFailure> ShrinkFailure(const PreparedCase& data, const CaseSpec& spec, NumbersProbe& probe,
                                           const ShrinkSettings& settings);

// A script for Python with NumPy that computes one element of an output exactly, without assay: sums, products and
// quotients in fractions, functions in 60 digits.
struct ScriptElement {
  size_t output = 0;
  int64_t element = 0;
  double got = 0, tolerance = 0;
};

// The script reads inputs.safetensors beside it, prints the exact value and exits with 1 where the result is further
// from it than its tolerance. nullopt: the case is not one of a formula that can be written so, as transforms,
// selections by data and complex or non-finite numbers are not. `outputs`: of the case, for their shapes.
std::optional<std::string> WriteExactScript(const Operator& op, const Problem& problem,
                                            const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs,
                                            const ScriptElement& element);

// Data with as many zeros and ones as can be that still do what some data do.
//
// Replaces numbers, many at once where that goes, by 0, else by 1, else by the nearest integer or power of two, as long
// as `does_it` holds. It is asked no more when `is_over`.
std::vector<Tensor> SimplifyData(std::vector<Tensor> data,
                                 const std::function<bool(const std::vector<Tensor>&)>& does_it,
                                 const std::function<bool()>& is_over);

struct DataCounts {
  int64_t elements = 0, zeros = 0, ones = 0;
};
DataCounts CountData(const std::vector<Tensor>& data);

}  // namespace assay
