// SPDX-License-Identifier: Apache-2.0
// The report on the terminal.
#pragma once

#include <string>

#include "harness/core/model/record_list.h"

namespace assay {

struct ConsoleStyle {
  bool colour = false;
  size_t width = 0;  // of the terminal; 0: lines may have any length
  size_t performance_rows = 12;
  size_t failures = 20;          // most that are listed, the gravest first
  std::string all_file;          // where all of them stand
  std::string environment = "";  // text of environment.json
};

// The text a person reads at the end of a run: matrix, performance, reasons, failures last with one line each to
// paste, the gravest first, and who is at fault.
std::string ConsoleReport(const RecordView& records, const ConsoleStyle& style);

}  // namespace assay
