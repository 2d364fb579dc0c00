// SPDX-License-Identifier: Apache-2.0
// Mistakes that explain a wrong result: the same tensors are the right result of another case (case_change.h). A cause
// is named only where all outputs hold by the same contract then, in bound, exceptional values and statistic, so that
// no single element contradicts it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "harness/tools/explain/case_change.h"

namespace assay {

// A result, and what it is held against.
struct WrongResult {
  const Operator& op;
  const Problem& problem;
  const std::vector<Tensor>& inputs;
  const std::vector<Tensor>& got;  // of each output
  const Contract& contract;
  const Golden& golden;  // of the wrong output
  Tier tier = Tier::kFast;
  // An output that is wrong, and some elements where it shows: a change is tried on slices around them first.
  size_t output = 0;
  std::vector<int64_t> elements;
};

// Changes that explain the result, in the order of ListChanges, at most kMostCauses and one of each attribute; none if
// nothing is wrong with it, or too little to say why.
// Another one is tried only as long as fewer than `seconds` have passed.
inline constexpr size_t kMostCauses = 3;
std::vector<CaseChange> FindCauses(const WrongResult& result, double seconds);

// "; it is the right result of causal=1, or of the operand k all 0"; "" where no cause is found. `attribute` writes an
// attribute and its value, as in a command of whoever asks.
std::string DescribeCauses(const WrongResult& result, double seconds,
                           const std::function<std::string(const CaseChange&)>& attribute);

// Judged, and searched for causes, in a moment.
bool IsSmall(const Problem& problem);

}  // namespace assay
