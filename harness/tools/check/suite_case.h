// SPDX-License-Identifier: Apache-2.0
// A case of a suite whose outputs somebody else computes: its inputs go out, and what comes back is judged.
#pragma once

#include <string>
#include <vector>

#include "harness/core/base/json.h"
#include "harness/plan/suite.h"
#include "harness/tools/check/tensor_set.h"

namespace assay {

// The case of that id as a suite had it: what it stated of the case, where that is not the default.
Result<PlannedCase> PlanAgain(const std::string& id, const std::string& requirement);

// The case with its inputs. Precondition: it is bound.
Result<UserTensors> MakeSuiteCase(const PlannedCase& planned, Asker asker);

// Takes these outputs of a case that MakeSuiteCase made, and its contracts, to be judged as JudgeOutputs has it.
Result<CheckRequest> BindOutputs(UserTensors& user, std::vector<NamedTensor> outputs, const std::string& contract);

// Judges these outputs of a case that MakeSuiteCase made: by `contract` or, where it is "", by what the suite states
// for the case, else by what `assay check` takes for these types. What the case requires is required. Golden values
// stay with `user` for the next time.
Result<CheckResult> JudgeOutputs(UserTensors& user, std::vector<NamedTensor> outputs, const std::string& contract);

// Judges a sample of these outputs, or all where the case has none; golden values are those of the sample.
struct JudgedSample {
  UserTensors user;
  CheckResult result;
};
Result<JudgedSample> JudgeSample(const UserTensors& user, std::vector<NamedTensor> outputs, const std::string& contract,
                                 const SampleRequest& sample);

// Keys id, op, dtype, fill, seed, requirement, attrs (all, as texts), inputs and outputs (name, dtype, shape).
Json DescribeSuiteCase(const PlannedCase& planned, const PreparedCase& data);

}  // namespace assay
