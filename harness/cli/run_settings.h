// SPDX-License-Identifier: Apache-2.0
// Turns the options of a run into finished values: cases and devices to look up, the policy of the engine, and what
// frames them. Nothing that runs asks an option.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "harness/cli/option_table.h"
#include "harness/cli/profile_output.h"
#include "harness/cli/resume.h"
#include "harness/cli/terminal/progress.h"
#include "harness/core/base/json.h"
#include "harness/engine/prepared_run.h"
#include "harness/engine/schedule.h"

namespace assay::cli {

// Decides how a run ends, besides its results.
struct RunEnding {
  bool coloured = false;  // tables on the terminal
  bool strict = false;
  bool at_first_failure = false;  // --until-fails
  bool can_go_on = true;          // with --resume, if it is interrupted
};

struct RunSettings {
  // The options must have passed the checks of their table.
  explicit RunSettings(const RunOptions& options);

  RunRequest request;  // cases, devices and known failures; workers cannot read what ListHiddenFiles names
  RunPolicy policy;    // Prepare adds what follows from the plan
  int jobs = 0;        // host threads; 0: all cores
  FolderRequest folder;
  Json recorded;                         // the options in environment.json
  std::vector<std::string> launches_us;  // as they were given
  ProfileRequest profile;
  bool has_ceilings = false;                      // times are set beside what the hardware can do
  std::optional<std::filesystem::path> ceilings;  // data sheet for that
  EvidenceOptions evidence;
  Progress::Mode progress = Progress::Mode::kNone;
  bool coloured_notes = false;  // on standard error
  RunEnding ending;
};

std::set<std::string> BackendsOf(const std::vector<Device>& devices);

// "backends" of environment.json.
Json DescribeDevices(const std::vector<Device>& devices);

// Lists what no worker may read: the folders of runs, and the file of a secret.
std::vector<std::filesystem::path> ListHiddenFiles(const RunOptions& options);

using PrepareFunction =
    std::function<tl::expected<PreparedRun, Refusal>(const RunRequest&, std::vector<std::string>& notes)>;

// Prepares the run of these settings, prints its notes, and completes the policy. From then on it can be interrupted.
tl::expected<PreparedRun, Refusal> Prepare(RunSettings& settings, const PrepareFunction& prepare);

// Makes environment.json as it is before anything runs, and prints notes for the user.
Json RunEnvironment(const RunSettings& settings, const PreparedRun& prepared);

}  // namespace assay::cli
