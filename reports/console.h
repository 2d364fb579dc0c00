// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/model/record.h"

namespace assay {

struct ConsoleStyle {
  bool colour = false;
  size_t performance_rows = 24;
  size_t failures = 20;  // most that are listed, the gravest first
  std::string all_file;  // where all of them stand
};

// The text a person reads at the end of a run: matrix, performance, reasons, failures last with one line each to
// paste, the gravest first.
std::string ConsoleReport(const std::vector<Record>& records, const ConsoleStyle& style);

}  // namespace assay
