// SPDX-License-Identifier: Apache-2.0
// Names and kernels that the user gave and that no case of the run asks for: whoever gave them expects a verdict of
// them, and "nothing is at fault" would be said of other results.
#pragma once

#include <string>
#include <vector>

#include "harness/engine/device/device.h"
#include "harness/plan/selection.h"

namespace assay {

// The operators of --op that none of the selected cases, of any shard, has: a text each, with what has them.
std::vector<std::string> FindUnmetOperators(const PlanOptions& options, const Selection& selection);

// Every kernel of --kernels has to meet a case, unless --case alone, --filter or --impl chooses the cases, --dtype
// those of its operator, or --op leaves that out. So has every operator in a --plugin's table of capabilities with the
// default suite, and one of them at least with another. A text for each kernel or operator that does not.
std::vector<std::string> FindUnmetKernels(const RunOptions& options, const std::vector<Device>& devices,
                                          const Selection& selection);

// Says which of the wanted implementations are kernels of --kernels, of operators that have no case here; "": none is.
std::string ExplainUnmetImplementations(const RunOptions& options, const std::vector<Device>& devices,
                                        const Selection& selection);

}  // namespace assay
