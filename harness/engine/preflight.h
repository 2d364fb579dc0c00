// SPDX-License-Identifier: Apache-2.0
// Checks before a run: cases named by id have to fit into memory, some device has to offer what --impl names, and some
// case has to ask for each name and kernel that the user gave: whoever gave them expects a verdict of them, and
// "nothing is at fault" would be said of other results.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/engine/device/device.h"
#include "harness/plan/selection.h"
#include "harness/plan/suite.h"

namespace assay {

// An oversized case of a suite is an error of that case alone, but one that --case asks for is a mistake.
Status CheckNamedCasesFit(const std::vector<PlannedCase>& cases, const std::string& tier, double available_bytes,
                          int64_t sample = 0);

// Gives one problem after another; null: there are no more. Each is valid until the next.
using NextProblem = std::function<const Problem*()>;

// Asks about one problem after another until every wanted name was offered. A name that nobody offers is refused,
// unless a backend that cannot be asked now may know it: then `notes` get what is missing.
Status CheckImplementations(const std::vector<std::string>& wanted, const std::vector<Device>& devices,
                            const NextProblem& next, std::vector<std::string>& notes);

// The operators of --op that none of the selected cases, of any shard, has: a text each, with what has them.
std::vector<std::string> FindUnmetOperators(const PlanOptions& options, const Selection& selection);

// Every kernel of --kernels has to meet a case, unless --case alone or --filter chooses the cases, --dtype those of its
// operator, or --op leaves that out. So has every operator in a --plugin's table of capabilities with the default
// suite, and one of them at least with another. A text for each kernel or operator that does not.
std::vector<std::string> FindUnmetKernels(const PlanOptions& options, const std::vector<Device>& devices,
                                          const Selection& selection);

// Says which of the wanted implementations are kernels of --kernels, of operators that have no case here; "": none is.
std::string ExplainUnmetImplementations(const std::vector<std::string>& wanted, const PlanOptions& options,
                                        const std::vector<Device>& devices, const Selection& selection);

}  // namespace assay
