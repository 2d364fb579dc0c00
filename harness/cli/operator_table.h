// SPDX-License-Identifier: Apache-2.0
// assay list ops --markdown: which operator each device takes in which types of its first operand.
#pragma once

#include <string>
#include <vector>

#include "harness/cli/options.h"

namespace assay::cli {

struct OperatorLine {
  std::string op;
  std::vector<std::string> types;  // of the first operand, that the operator allows
};

// Prints a table of Markdown, a line for each operator and a column for each usable device, from what the devices state
// of themselves: nothing is tried. The last line counts operators. Returns an exit code.
int PrintOperatorTable(const std::vector<OperatorLine>& lines, const BackendOptions& backends);

}  // namespace assay::cli
