// SPDX-License-Identifier: Apache-2.0
// What `assay run` is about to do, checked as a whole before anything runs.
#pragma once

#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "harness/cli/catalog.h"
#include "harness/cli/column.h"
#include "harness/cli/expected.h"
#include "harness/plan/sweep.h"

namespace assay::cli {

struct PreparedRun {
  Selection selection;
  Plan plan;
  std::optional<Sweep> sweep;
  std::vector<Column> columns;
  std::vector<std::string> absent;  // required backends that are not there, already complained of
  ExpectationSet expectations;

  // A shard without cases leaves its folder behind like the others, since CI collects it.
  bool NoCase() const { return selection.empty == EmptyReason::kShardOnly; }
};

struct Refusal {
  int code;  // of the program's exit
  std::string message;
};

tl::expected<PreparedRun, Refusal> PrepareRun(const RunOptions& options);

}  // namespace assay::cli
