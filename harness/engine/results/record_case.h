// SPDX-License-Identifier: Apache-2.0
// The fields of a record that its case and its verdict say.
#pragma once

#include <string>

#include "harness/core/model/case_spec.h"
#include "harness/core/model/record.h"
#include "harness/judge/verdict.h"

namespace assay {

void SetCase(Record& record, const CaseSpec& spec);  // what its id says
void SetVerdict(Record& record, Verdict verdict, ResultClass result_class, const std::string& reason);

}  // namespace assay
