// SPDX-License-Identifier: Apache-2.0
// Constants of a formula that other numbers than the usual ones stand for: an epsilon of 0.1, a scale that nobody would
// guess. Each is found from a few wrong elements, and then has to explain all of them.
#pragma once

#include <vector>

#include "harness/tools/explain/cause.h"
#include "ops/formula/graph.h"

namespace assay {

// Changes of one constant of `whole`, or of the attribute of `stated` that states it. None where fewer than
// kLeastFitted elements are wrong, since a number fits one of them whatever the mistake.
inline constexpr size_t kLeastFitted = 8;
std::vector<CaseChange> FitConstants(const WrongResult& result, const formula::Graph& whole, const Problem& stated);

}  // namespace assay
