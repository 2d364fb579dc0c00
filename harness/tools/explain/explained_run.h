// SPDX-License-Identifier: Apache-2.0
// Causes of the mismatches of a run, in their reasons.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "harness/engine/trial/trial_runner.h"
#include "harness/tools/explain/cause.h"

namespace assay {

// Names causes of the first kMostExplained mismatches of an operator by an implementation, whose cases are small, for
// kMostSeconds of work altogether: more would take longer than the run, and say the same.
inline constexpr int kMostExplained = 3;
inline constexpr double kMostSeconds = 10;
// Causes of the output that decides. Precondition: the attempt has findings and outputs.
std::vector<Cause> FindCausesOf(const PreparedCase& data, const Attempt& attempt, SearchWork& work);

// Stands in the reason where executions on the same inputs differ by more than any order of computation does: then no
// other cause is looked for, since none would make both. "": they do not differ by so much, or all are wrong in a case
// too large to be compared element by element.
inline constexpr std::string_view kOtherExecutions = "other executions on the same inputs give other results";
std::string ExplainExecutions(const PreparedCase& data, const Attempt& attempt);

std::function<std::string(const PreparedCase&, const Attempt&)> MakeRunExplainer();

}  // namespace assay
