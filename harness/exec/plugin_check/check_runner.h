// SPDX-License-Identifier: Apache-2.0
// Host side: runs the checks of a plugin, each in a worker process of its own.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/exec/plugin_check/plugin_check.h"
#include "harness/exec/sandbox/sandbox.h"
#include "ops/operator.h"

namespace assay {

struct PluginToCheck {
  std::string executable;  // as in WorkerOptions
  std::string path;        // absolute
  double timeout_s = 60;   // of one check
  SandboxRequest sandbox;
  std::vector<Problem> problems;  // that it is asked to offer, the smallest first
};

// By name; what is skipped does not run even where it is among `only`.
struct WantedChecks {
  std::vector<std::string> only;  // empty: all
  std::vector<std::string> skip;
};

struct CheckedRule {
  const PluginCheck* check;
  std::string status;  // ok, FAIL, skip, crash, timeout
  std::string finding;
  bool Ended() const { return status == "crash" || status == "timeout"; }  // the process, not the check
  bool Failed() const { return status == "FAIL" || Ended(); }
};

bool IsPluginCheck(std::string_view name);

// In the order of PluginChecks(); `done` is called after each. What needs something that did not hold is skipped.
std::vector<CheckedRule> RunPluginChecks(const PluginToCheck& plugin, const WantedChecks& wanted,
                                         const std::function<void(const CheckedRule&)>& done);

}  // namespace assay
