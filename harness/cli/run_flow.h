// SPDX-License-Identifier: Apache-2.0
// The way of every verb that runs cases, from its options to its exit code: BeginRun, RunAll, EndRun. A verb adds
// between them what is its own.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "harness/cli/run_settings.h"
#include "harness/cli/terminal/run_watch.h"
#include "harness/core/base/json.h"
#include "harness/engine/prepared_run.h"
#include "harness/engine/run_loop.h"

namespace assay::cli {

// A run whose folder is there and which nothing stands in the way of.
struct BegunRun {
  PreparedRun prepared;
  RunFolder folder;
  Json environment;
  RunPolicy policy;  // observed by `watch`
  RunEnding ending;
  RunWatch watch;

  const std::vector<Device>& devices() const { return prepared.devices; }

  // `cases`: those of the plan, which it need not keep, or a CaseSource.
  template <class Cases>
  LoopResult RunAll(Cases&& cases) {
    LoopResult result = RunCases(std::forward<Cases>(cases), prepared.devices, policy, folder);
    watch.End();
    return result;
  }
};

// Prepares it, and writes plan.json and environment.json, the latter with `verb_environment` at its end. Without a run
// the exit code, of which the user was told the reason.
tl::expected<std::unique_ptr<BegunRun>, int> BeginRun(RunSettings settings, const PrepareFunction& prepare,
                                                      const Json& verb_environment = Json::object());

// plan.json and environment.json, as they are now.
Status WritePlan(const BegunRun& run);

// Writes what only the whole run tells and the reports, prints the tables, lets the verb `say_more` and returns the
// exit code. Adds to the result's records one for each that is missing, and takes the plan's entries away, which
// nothing needs then. `profile`: null where nothing is measured.
int EndRun(BegunRun& run, LoopResult& result, ProfileOutput* profile, const std::function<void()>& say_more);

}  // namespace assay::cli
