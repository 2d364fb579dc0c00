// SPDX-License-Identifier: Apache-2.0
// A judgement in words, for people and for programs that write kernels.
#pragma once

#include <string>

#include "harness/tools/candidate/ruling.h"

namespace assay {

// In one line each.
std::string RejectedLine(const Ruling& ruling);
std::string AcceptedLine(const Ruling& ruling);

std::string ExplainRejection(const Ruling& ruling);
std::string ExplainAcceptance(const Ruling& ruling);
std::string ExplainError(const Ruling& ruling);

// "1.42 times as fast as the reference (1.38 to 1.47)", or why that is not known.
std::string SpeedText(const CandidateSpeed& speed);

}  // namespace assay
