// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/resume.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/cli/terminal/output.h"
#include "harness/core/base/amounts.h"
#include "harness/core/base/json_text.h"
#include "harness/core/base/whole_file.h"
#include "harness/engine/results/environment.h"
#include "harness/tools/bundle/draw.h"

namespace assay::cli {
namespace {

constexpr const char* kResumed = "resumed";  // of environment.json: when, and what was another one than before

std::string TextOf(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() ? "" : found->is_string() ? found->get<std::string>() : DumpJson(*found);
}

void NoteChange(const std::string& what, const Json& was, const Json& is, const char* key,
                std::vector<std::string>& changes) {
  const std::string before = TextOf(was, key), now = TextOf(is, key);
  if (before != now) changes.push_back(fmt::format("{}{} was '{}' and is '{}'", what, key, before, now));
}

// Lists the options of a command line, each with its values: "--rounds 3".
std::set<std::string> OptionsIn(const Json& words) {
  std::vector<std::string> options;
  for (const Json& word : words.is_array() ? words : Json::array()) {
    const std::string text = word.is_string() ? word.get<std::string>() : DumpJson(word);
    if (options.empty() || text.starts_with("--")) {
      options.push_back(text);
    } else {
      options.back() += " " + text;
    }
  }
  return {options.begin(), options.end()};
}

void NoteOptions(const Json& was, const Json& is, std::vector<std::string>& changes) {
  const auto of = [](const Json& object) {
    return object.contains(kAsked) ? OptionsIn(object[kAsked]) : OptionsIn({});
  };
  const std::set<std::string> before = of(was), now = of(is);
  for (const std::string& option : before) {
    if (!now.contains(option)) changes.push_back(fmt::format("it began with {}, which is not given now", option));
  }
  for (const std::string& option : now) {
    if (!before.contains(option)) changes.push_back(fmt::format("it began without {}, which is given now", option));
  }
}

// Maps a device's name, which is equal in both parts of the run, to its description. Any device stands for its pool,
// since they are alike.
std::map<std::string, Json> DevicesOf(const Json& environment) {
  std::map<std::string, Json> backends;
  const auto found = environment.find("backends");
  if (found == environment.end() || !found->is_array()) return backends;
  for (const Json& device : *found) {
    if (!device.is_object()) continue;
    backends[TextOf(device, "backend") + " " + TextOf(device, device.contains("pool") ? "pool" : "device")] = device;
  }
  return backends;
}

std::vector<std::string> FindChanges(const Json& was, const Json& is) {
  std::vector<std::string> changes;
  NoteOptions(was, is, changes);
  for (const char* key : {"tool_version", "expectations", "variables", "cpu", "kernel"}) {
    NoteChange("", was, is, key, changes);
  }
  const auto before = DevicesOf(was);
  for (const auto& [name, device] : DevicesOf(is)) {
    const auto found = before.find(name);
    if (found == before.end()) continue;  // the plan would differ
    for (const char* key : {"plugin_hash", "version", "library_version", "driver"}) {
      NoteChange(name + ": ", found->second, device, key, changes);
    }
  }
  return changes;
}

}  // namespace

Result<Resumption> Resume(const FolderRequest& request, const RunPolicy& policy, const PreparedRun& prepared,
                          Json& environment) {
  if (!request.path) return UsageError("--resume continues the run in a folder: give it with --out");
  const std::filesystem::path& path = *request.path;
  // The secret was in the memory of the first part, and which outputs it kept is not known.
  std::error_code error;
  if (std::filesystem::exists(path / kEvidenceFile, error) || request.keeps_evidence) {
    return UsageError(
        "a run with --evidence cannot be continued: run it again with another --out, or continue it without evidence "
        "after you have removed evidence.json and outputs/");
  }
  ResumeTerms terms{.rounds = policy.rounds};
  if (policy.runner.perf_time_s > 0) {
    for (const PlannedCase& planned : prepared.selection.cases) {
      if (planned.timed) terms.timed.insert(planned.spec.Id());
    }
  }
  for (const Device& c : prepared.devices) {
    if (c.problem.empty()) terms.usable.insert({c.backend, c.PlannedName()});
  }
  const Json was = ParseJson(ReadWholeFile(path / "environment.json").value_or(""));
  const std::vector<std::string> changes =
      was.is_object()
          ? FindChanges(was, environment)
          : std::vector<std::string>{"environment.json was missing or damaged, so the earlier environment is unknown"};
  terms.same_environment = changes.empty();
  auto resumed = ReadResumedRun(path, prepared.plan, terms);
  if (!resumed) return tl::unexpected(resumed.error());
  if (!was.is_object() && !request.allow_changed) {
    return UsageError(fmt::format(
        "{}: environment.json is missing or damaged, so it is unknown whether machine, drivers and options are those "
        "of the run's beginning. Restore it from a copy, or give --allow-changed, which the reports will say",
        path.string()));
  }
  if (!changes.empty() && !request.allow_changed) {
    return UsageError(
        fmt::format("{}: the run began with other options or in another environment: {}. Run as before, or give "
                    "--allow-changed to mix "
                    "results of both, which the reports will say",
                    path.string(), fmt::join(changes, "; ")));
  }
  Json history = was.is_object() && was.contains(kResumed) && was[kResumed].is_array() ? was[kResumed] : Json::array();
  history.push_back({{"timestamp", TimestampUtc()}, {"results_before", resumed->records.size()}, {"changes", changes}});
  environment[kResumed] = std::move(history);
  if (was.is_object() && was.contains("timestamp")) environment["timestamp"] = was["timestamp"];  // when the run began
  for (const std::string& change : changes) Note("changed since the run began: " + change);
  if (!resumed->torn.empty()) Note(resumed->torn);
  auto folder = RunFolder::Continue(path, resumed->records, resumed->offers);
  if (!folder) return tl::unexpected(folder.error());
  const auto standing = static_cast<int64_t>(resumed->records.size());
  Note(fmt::format("{} of {} {}; the rest is run now", Counted(standing, "result"), path.string(),
                   standing == 1 ? "stands" : "stand"));
  return Resumption{*std::move(folder), std::make_shared<ResumedRun>(*std::move(resumed))};
}

}  // namespace assay::cli
