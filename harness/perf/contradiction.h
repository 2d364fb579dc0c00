// SPDX-License-Identifier: Apache-2.0
// What shows that a time cannot be true. Record::timing_invalid keeps every reason. While there is one, the record has
// no rate and no share of a ceiling, so that whatever sorts by these does not rank it; its times stay, to be struck
// out.
#pragma once

#include <string_view>

#include "harness/model/record.h"

namespace assay {

inline constexpr std::string_view kBetweenContradictions = " | ";

// Beside those that the record has already, each of them once.
void AddContradiction(Record& record, std::string_view reason);

// Takes back those that begin so, as a check does before it speaks again with better knowledge.
void WithdrawContradictions(Record& record, std::string_view begin);

// The rates that follow from its time (BelievedSeconds); none without a time that can be true.
void SetRates(Record& record);

}  // namespace assay
