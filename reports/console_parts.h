// SPDX-License-Identifier: Apache-2.0
// Parts of the console report. The records are printable (reports/text.h) by then.
#pragma once

#include <string>

#include "reports/console.h"

namespace assay {

// The gravest first. More than style.failures are gathered by outcome, implementation and operator.
std::string ConsoleFailures(const RecordView& records, const ConsoleStyle& style);

}  // namespace assay
