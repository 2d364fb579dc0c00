// SPDX-License-Identifier: Apache-2.0
// Further cases that tell causes apart which explain one result equally well.
#pragma once

#include <string>
#include <vector>

#include "harness/tools/explain/cause.h"

namespace assay {

// Ids of cases in which one thing differs from this one: a stated real, which two causes change in other ways, an
// extent, which is no longer equal to another one or a whole number of blocks, or the data.
inline constexpr size_t kMostExperiments = 6;
std::vector<std::string> ListExperiments(const Operator& op, const Problem& problem);

// Whether some output is wrong: a right one says nothing of causes.
bool IsWrongResult(const WrongResult& result);

// Numbers of the causes that also explain another result of the same kernel, of those that are left.
std::vector<size_t> KeepCausesOf(const WrongResult& other, const std::vector<Cause>& causes,
                                 const std::vector<size_t>& left);

}  // namespace assay
