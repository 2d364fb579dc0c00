// SPDX-License-Identifier: Apache-2.0
// Contradictions: reasons why a time cannot be true. Record::timing_invalid keeps every one. A record with a
// contradiction has no rate and no share of a ceiling, so that it is not ranked by them. Its times stay, to be struck
// out.
#pragma once

#include <string_view>

#include "harness/core/model/record.h"

namespace assay {

inline constexpr std::string_view kBetweenContradictions = " | ";

// Adds a reason to those that the record has, each once.
void AddContradiction(Record& record, std::string_view reason);

// Removes the reasons that begin with `begin`, for a check that repeats with better knowledge.
void WithdrawContradictions(Record& record, std::string_view begin);

// The rates that follow from its time (GetBelievedSeconds); none without a time that can be true.
void SetRates(Record& record);

}  // namespace assay
