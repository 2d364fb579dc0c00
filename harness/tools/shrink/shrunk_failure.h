// SPDX-License-Identifier: Apache-2.0
// The smallest case and the simplest data by which an implementation still fails as it does: by its bound, or by NaN
// and infinities, and by the same cause where one is known.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/engine/cases/prepared_case.h"
#include "harness/plan/suite.h"
#include "harness/tools/shrink/failing_numbers.h"

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

}  // namespace assay
