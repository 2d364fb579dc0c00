// SPDX-License-Identifier: Apache-2.0
// What every phase of a case asks of one execution: its operands, its side effects, and the first channel it breaks.
#pragma once

#include <string>
#include <vector>

#include "harness/exec/session.h"
#include "harness/judge/metrics.h"

namespace assay {

// Two runs with different prefills tell what was not written. Others begin with the third.
inline constexpr Prefill kPrefills[] = {Prefill::kNanPayload, Prefill::kSentinel};

InputSet PointersTo(const std::vector<Tensor>& tensors);

bool SameBits(const Tensor& a, const Tensor& b);
bool SameBits(const std::vector<Tensor>& a, const std::vector<Tensor>& b);
// As records have it: equal where the bits are. Of one output it is its bytes' hash, of several the hash of theirs.
std::string HashOf(const Tensor& output);
std::string HashOf(const std::vector<Tensor>& outputs);
std::vector<Tensor> ClonesOf(const std::vector<Tensor>& tensors);

// The first side effect that no correct implementation has, in words; "" when there is none.
std::string SideEffect(const Execution& execution);

// Which of the bound, the exceptional values and the statistic an output of this shape breaks, and where; "" when all
// hold.
std::string FirstProblem(const ErrorMetrics& metrics, const Shape& shape);

}  // namespace assay
