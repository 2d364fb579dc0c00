// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "harness/core/base/text.h"
#include "harness/engine/results/finished_run.h"
#include "harness/engine/trial/reproduction.h"
#include "harness/tools/explain/verb_bisect_settings.h"

namespace assay::cli {
namespace fs = std::filesystem;
namespace {

constexpr double kMostSeconds = 3600;

// The line that runs the result again under the setting.
std::string MakeLine(const BisectSetting& setting, const Record& record) {
  std::string line;
  for (const std::string& variable : setting.variables) {
    const size_t equals = variable.find('=');
    line += variable.substr(0, equals + 1) + Quoted(variable.substr(equals + 1)) + " ";
  }
  return line + record.reproduce;
}

std::vector<SettingResult> ReadResults(const BisectSetting& setting, const RecordList& records, std::string& why_none) {
  std::vector<SettingResult> results;
  for (const Record& r : records) {
    if (r.verdict == "unsupported" || r.verdict == "unavailable" || r.verdict == "missing") {
      why_none = fmt::format("{}: {}", r.verdict, r.reason);
    } else {
      results.push_back({r.backend + ":" + r.implementation, r.verdict, r.output_hash, r.reason, MakeLine(setting, r)});
    }
  }
  if (!results.empty()) why_none = "";
  return results;
}

SettingTrial RunOnce(const BisectSetting& setting, const std::vector<std::string>& words, const fs::path& folder) {
  std::vector<std::string> all{"env"};
  all.insert(all.end(), setting.variables.begin(), setting.variables.end());
  for (const std::string& word : {fs::read_symlink("/proc/self/exe").string(), std::string("run")}) all.push_back(word);
  all.insert(all.end(), words.begin(), words.end());
  all.insert(all.end(), setting.words.begin(), setting.words.end());
  for (const char* word : {"--no-perf", "--progress", "none", "--color", "never", "--out"}) all.emplace_back(word);
  all.push_back(folder.string());
  SettingTrial trial{.setting = setting.name, .results = {}, .not_tried = {}, .unsteady = {}};
  const LimitedOutput output = RunWithErrors(kMostSeconds, all);
  if (output.end == ProgramEnd::kLate) {
    trial.not_tried = "the run took more than an hour";
    return trial;
  }
  const auto run = ReadRun(folder);
  if (run) trial.results = ReadResults(setting, run->records, trial.not_tried);
  if (trial.results.empty() && trial.not_tried.empty()) trial.not_tried = LastLine(output.text);
  return trial;
}

std::string ListResults(const SettingTrial& trial) {
  std::string text;
  for (const SettingResult& r : trial.results) {
    text += fmt::format("{}{} {} {}", text.empty() ? "" : ", ", r.implementation, r.verdict, r.bits);
  }
  return text.empty() ? trial.not_tried : text;
}

}  // namespace

LimitedOutput RunWithErrors(double limit_s, const std::vector<std::string>& words) {
  std::vector<std::string> all{"sh", "-c", "exec \"$@\" 2>&1", "sh"};
  all.insert(all.end(), words.begin(), words.end());
  return RunWithin(limit_s, std::move(all));
}

std::string LastLine(const std::string& text) {
  std::string last;
  for (const std::string_view line : Split(text, '\n')) {
    if (!Trim(line).empty()) last = Trim(line);
  }
  return last;
}

SettingTrial TryCase(const BisectSetting& setting, const std::vector<std::string>& words, const fs::path& out) {
  if (!setting.problem.empty())
    return {.setting = setting.name, .results = {}, .not_tried = setting.problem, .unsteady = {}};
  std::string folder = setting.folder.empty() ? setting.name : setting.folder;
  std::ranges::replace(folder, '/', '_');
  // Values that differ in a '/' alone may not read each other's runs.
  std::error_code error;
  while (fs::exists(out / folder, error)) folder += '_';
  SettingTrial first = RunOnce(setting, words, out / folder);
  if (!first.not_tried.empty()) return first;
  const SettingTrial second = RunOnce(setting, words, out / (folder + ".again"));
  if (!std::ranges::equal(first.results, second.results, &SettingResult::IsSameAs)) {
    first.unsteady = fmt::format("{}; then {}", ListResults(first), ListResults(second));
  }
  return first;
}

}  // namespace assay::cli
