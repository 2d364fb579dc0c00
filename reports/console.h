// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/base/record.h"

namespace assay {

struct ConsoleStyle {
  bool colour = false;
  size_t performance_rows = 24;
};

// The text a person reads at the end of a run: matrix, performance, reasons, failures last with one line each to
// paste.
std::string ConsoleReport(const std::vector<Record>& records, const ConsoleStyle& style);

}  // namespace assay
