// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/results/finished_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "harness/core/base/json_text.h"
#include "harness/core/base/whole_file.h"
#include "harness/core/model/record_file.h"
#include "harness/engine/results/environment.h"
#include "harness/engine/results/missing.h"
#include "harness/plan/find_suite.h"
#include "harness/plan/plan.h"

namespace assay {
namespace fs = std::filesystem;
namespace {

// Where cases were joined to a suite, "--case" stands behind its name, which may have spaces of its own.
std::string_view SuiteAlone(std::string_view named) {
  constexpr std::string_view kCases = " --case";
  if (named.ends_with(kCases)) named.remove_suffix(kCases.size());
  return named;
}

// How the run ended, of its environment.json.
void ReadEnding(const fs::path& dir, FinishedRun& run) {
  const Json environment = ParseJson(ReadWholeFile(dir / "environment.json").value_or(""));
  if (!environment.is_object()) return;
  run.interrupted = environment.value(kInterruptedKey, Json()) == true;
  run.stopped = environment.contains(kStoppedKey);
  run.strict = environment.value(kStrictKey, Json()) == true;
  run.device_lost = environment.contains(kDeviceLostKey);
  const auto absent = environment.find(kRequiredAbsentKey);
  if (absent != environment.end() && absent->is_string()) run.required_absent = *absent;
}

Result<Plan> ReadPlan(const fs::path& file) {
  auto text = ReadWholeFile(file);
  if (!text) return tl::unexpected(text.error());
  auto plan = ParsePlanJson(*text);
  if (plan) return plan;
  return UsageError(
      fmt::format("{}: {}; without it only the records are reported", file.string(), plan.error().message));
}

}  // namespace

Status RefuseBundle(const fs::path& path) {
  std::error_code error;
  if (!path.native().ends_with(".tar.zst") || !fs::is_regular_file(path, error)) return {};
  return UsageError(
      fmt::format("{0} is a bundle; unpack it with `mkdir run && tar --zstd -xf {0} -C run` and give the folder run",
                  path.string()));
}

ExitFlags FlagsOf(const FinishedRun& run, bool strict) {
  ExitFlags flags;
  flags.interrupted = run.interrupted;
  flags.stopped = run.stopped;
  flags.device_lost = run.device_lost;
  flags.strict = strict || run.strict;
  return flags;
}

Result<FinishedRun> ReadRecordsAlone(const fs::path& jsonl) {
  if (auto fine = RefuseBundle(jsonl); !fine) return tl::unexpected(fine.error());
  auto file = ReadRecords(jsonl);
  if (!file) return tl::unexpected(file.error());
  FinishedRun run;
  run.records = std::move(file->records);
  run.torn = file->torn;
  if (!run.torn.empty()) run.notes.push_back(run.torn);
  return run;
}

Result<FinishedRun> ReadRun(const fs::path& dir) {
  if (auto fine = RefuseBundle(dir); !fine) return tl::unexpected(fine.error());
  auto read = ReadRecordsAlone(dir / "results.jsonl");
  if (!read) return read;
  FinishedRun run = std::move(*read);
  ReadEnding(dir, run);
  run.doubled = FindDoubled(run.records);
  if (!run.doubled.empty()) run.notes.push_back(DoubledText(run.doubled));
  if (!run.required_absent.empty()) {
    run.empty = fmt::format("nothing ran: required and absent: {}", run.required_absent);
    return run;
  }
  std::error_code error;
  if (!fs::exists(dir / "plan.json", error)) {
    run.notes.push_back(fmt::format("{} has no plan.json: missing results cannot be listed", dir.string()));
    return run;
  }
  auto plan = ReadPlan(dir / "plan.json");
  if (!plan) return tl::unexpected(plan.error());
  auto offers = ReadOffers(dir / kOffersFile, run.records);
  if (!offers) {
    run.notes.push_back(offers.error().message);
    offers = OffersIn(run.records);
  }
  run.strict = run.strict || IsConformance(SuiteAlone(plan->suite));
  run.definitions = DigestsOf(plan->definitions);
  run.records.Append(MakeMissingRecords(*plan, *offers, run.records));
  const auto in_shard = [&](const PlanEntry& entry) { return InShard(entry, plan->shard); };
  if (std::ranges::none_of(plan->entries, in_shard)) run.empty = EmptyShardText(plan->shard, plan->entries.size());
  return run;
}

std::vector<std::string> FindDoubled(const RecordView& records) {
  std::vector<std::string> doubled;
  std::unordered_set<size_t> seen;  // hashes: there may be a million
  seen.reserve(records.size());
  std::string key;
  for (const Record& r : records) {
    key.clear();
    for (const std::string* part : {&r.case_id, &r.backend, &PlannedDevice(r), &r.implementation}) key += *part + '\n';
    if (seen.insert(std::hash<std::string>()(key)).second) continue;
    doubled.push_back(fmt::format("{} of {} {}", r.case_id, r.backend, r.implementation));
  }
  return doubled;
}

std::string DoubledText(const std::vector<std::string>& doubled) {
  return fmt::format(
      "results.jsonl: {} {} the result of another record, the first {}: files were joined or changed. All count; "
      "assay run --resume runs results again whose records differ",
      doubled.size(), doubled.size() == 1 ? "record repeats" : "records repeat", doubled[0]);
}

}  // namespace assay
