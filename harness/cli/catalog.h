// SPDX-License-Identifier: Apache-2.0
// Operators and suites as this program finds them, and the cases that a selection plans.
#pragma once

#include <string>
#include <vector>

#include "harness/base/contract.h"
#include "harness/cli/options.h"
#include "harness/plan/selection.h"
#include "harness/plan/suite.h"

namespace assay::cli {

OpCatalog Catalog();  // the linked operators

// Where suites are looked up by name: $ASSAY_SUITES, the installed share/assay/suites beside the program, the source
// tree's ops/suites when the program runs from its build folder.
std::vector<std::string> SuiteDirectories();
std::string ExecutablePath();

// The selected cases. An empty selection is not an error here (Selection::empty); the verbs make it exit code 4.
Result<Selection> PlanCases(const CaseOptions& options, const std::vector<std::string>& backends = {});

}  // namespace assay::cli
