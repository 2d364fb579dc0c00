// SPDX-License-Identifier: Apache-2.0
// What every phase of a case asks of one execution: its operands, its side effects, and the first channel it breaks.
#pragma once

#include <string>
#include <vector>

#include "harness/exec/session.h"
#include "harness/judge/metrics.h"
#include "harness/judge/verdict.h"

namespace assay {

struct Findings;  // attempt.h

// Two runs with different prefills tell what was not written.
inline constexpr Prefill kPrefills[] = {Prefill::kNanPayload, Prefill::kSentinel};

InputSet PointersTo(const std::vector<Tensor>& tensors);

bool SameBits(const Tensor& a, const Tensor& b);
bool SameBits(const std::vector<Tensor>& a, const std::vector<Tensor>& b);
// As records have it: equal where the bits are. Of one output it is its bytes' hash, of several the hash of theirs.
std::string HashOf(const Tensor& output);
std::string HashOf(const std::vector<Tensor>& outputs);
std::vector<Tensor> ClonesOf(const std::vector<Tensor>& tensors);

// Side effects that no correct implementation has, added to what is known of the output that they are about, or of the
// first; an operand is named once.
void AddObservations(const Execution& execution, Findings& findings);

// The first of these in words; "" when there are none.
std::string SideEffect(const Execution& execution);

// Where the bound, the exceptional values or the statistic break; "" when all hold.
std::string FirstProblem(const ErrorMetrics& metrics);
bool Holds(const ErrorMetrics& metrics);

}  // namespace assay
