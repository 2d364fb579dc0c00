// SPDX-License-Identifier: Apache-2.0
// The verbs of the command line, one file each. Each adds its subcommand with its options to `app`; main runs what
// was chosen and returns its exit code (README.md#verdicts-and-exit-codes).
#pragma once

#include <functional>
#include <string>

#include "harness/engine/results/exit_code.h"

namespace CLI {
class App;
}

namespace assay::cli {

// Set by the subcommand that the user named.
using Action = std::function<int()>;

void AddBackendsVerb(CLI::App& app, Action& action);
void AddListVerb(CLI::App& app, Action& action);
void AddRunVerb(CLI::App& app, Action& action);
void AddExploreVerb(CLI::App& app, Action& action);
void AddBisectVerb(CLI::App& app, Action& action);
void AddModelVerb(CLI::App& app, Action& action);
void AddInventoryVerb(CLI::App& app, Action& action);
void AddFingerprintVerb(CLI::App& app, Action& action);
void AddAlignVerb(CLI::App& app, Action& action);
void AddJudgeVerb(CLI::App& app, Action& action);
void AddCheckVerb(CLI::App& app, Action& action);
void AddExplainVerb(CLI::App& app, Action& action);
void AddDiffVerb(CLI::App& app, Action& action);
void AddHistoryVerb(CLI::App& app, Action& action);
void AddShrinkVerb(CLI::App& app, Action& action);
void AddInputsVerb(CLI::App& app, Action& action);
void AddDefineVerb(CLI::App& app, Action& action);
void AddImportVerb(CLI::App& app, Action& action);
void AddCheckPluginVerb(CLI::App& app, Action& action);
void AddPowerVerb(CLI::App& app, Action& action);
void AddReportVerb(CLI::App& app, Action& action);
void AddMergeVerb(CLI::App& app, Action& action);
void AddExpectationsVerb(CLI::App& app, Action& action);
void AddConformVerb(CLI::App& app, Action& action);
void AddBundleVerb(CLI::App& app, Action& action);
void AddVerifyVerb(CLI::App& app, Action& action);
void AddCompareVerb(CLI::App& app, Action& action);
void AddGoldenVerb(CLI::App& app, Action& action);
void AddWorkerVerb(CLI::App& app, Action& action);  // hidden: what a worker process runs

// The whole program: parses the command line and runs the verb that it names. Returns the exit code.
int Main(int argc, char** argv);

// "assay: message" on stderr, without what could control a terminal; returns the code.
int Complain(int exit_code, const std::string& message);

// Says that --json takes no file, and how `file` is written instead.
std::string ExplainJson(const std::string& file);

}  // namespace assay::cli
