// SPDX-License-Identifier: Apache-2.0
// The options that several verbs share, as they stand on the command line.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/plan/options.h"
#include "harness/plan/per_backend.h"

namespace CLI {
class App;
}

namespace assay::cli {

// --suite, --case, --contract, --filter, --op and --dtype; `usual`: the suite where neither of the first two is given.
void AddCaseChoice(CLI::App& app, PlanOptions& options, const std::string& usual);
void AddDTypes(CLI::App& app, PlanOptions& options);  // --dtype
// These, with `default` as the usual suite, and --shard, --balance and --seed.
void AddCases(CLI::App& app, PlanOptions& options);
void AddSeed(CLI::App& app, std::optional<uint64_t>& seed, const std::string& help);  // --seed, a number or random
void AddPython(CLI::App& app, BackendOptions& options);
void AddTimeout(CLI::App& app, BackendOptions& options);
void AddBackend(CLI::App& app, BackendOptions& options);
// --devices: whether those of one backend share the cases.
void AddSharing(CLI::App& app, RunOptions& options);
void AddSetAside(CLI::App& app, RunOptions& options);
void AddPerBackend(CLI::App& app, const PerBackendOption& option, std::vector<std::string>& texts,
                   const std::string& help);
void AddLaunches(CLI::App& app, RunOptions& options);
void AddTime(CLI::App& app, std::optional<std::string>& text, const std::string& doc);  // --for
// --no-sandbox and what opens the sandbox by parts.
void AddSandbox(CLI::App& app, SandboxOptions& options);
void AddImplementations(CLI::App& app, BackendOptions& options);
// --out and --jobs.
void AddOut(CLI::App& app, RunOptions& options);
// --strict and --expectations: what fails a run.
void AddStrictness(CLI::App& app, RunOptions& options);
void AddTier(CLI::App& app, RunOptions& options);
void AddColor(CLI::App& app, std::string& color);
void AddProgress(CLI::App& app, std::string& progress);

}  // namespace assay::cli
