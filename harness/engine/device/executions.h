// SPDX-License-Identifier: Apache-2.0
// Helpers for a single execution, shared by all phases of a case: operands, side effects, first failed channel.
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
// Hash as stored in records; equal bits have equal hashes. One output is hashed by its bytes, several by their hashes.
std::string HashOf(const Tensor& output);
std::string HashOf(const std::vector<Tensor>& outputs);
std::vector<Tensor> ClonesOf(const std::vector<Tensor>& tensors);

// The first side effect that no correct implementation has, in words; "" when there is none.
std::string SideEffect(const Execution& execution);

// Which of the bound, the exceptional values and the statistic an output of this shape breaks, and where; "" when all
// hold.
std::string DescribeFirstProblem(const ErrorMetrics& metrics, const Shape& shape);

}  // namespace assay
