// SPDX-License-Identifier: Apache-2.0
// The part of assay explain that executes further cases to tell causes apart.
#pragma once

#include <string>
#include <vector>

#include "harness/cli/option_table.h"
#include "harness/core/base/json.h"
#include "harness/tools/explain/case_with_outputs.h"
#include "harness/tools/explain/cause.h"

namespace assay::cli {

struct NamedCauses {
  std::string result;  // NamedResult::name
  std::vector<Cause> causes;
  std::vector<std::string> texts;  // of each
};

struct ToldApart {
  std::string text;
  Json json;
};

// Has the implementation that computed the result compute cases in which its causes differ, until one of these is left
// that explains all results, or there are no more cases.
ToldApart TellCausesApart(const NamedCauses& named, const PreparedCase& data, const RunOptions& options,
                          const CheckRequest& request);

}  // namespace assay::cli
