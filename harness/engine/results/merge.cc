// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/results/merge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/core/base/amounts.h"
#include "harness/core/base/json_text.h"
#include "harness/core/base/whole_file.h"
#include "harness/core/model/record_file.h"
#include "harness/engine/results/environment.h"
#include "harness/plan/find_suite.h"

namespace assay {
namespace fs = std::filesystem;
namespace {

// Contents of a shard's folder.
struct RunPart {
  fs::path dir;
  Plan plan;
  std::string suite_hash;  // of the plan's cases
  RecordList records;
  std::vector<Offer> offers;
  std::string environment;  // environment.json
};

Json EnvironmentOf(const RunPart& part) {
  Json json = ParseJson(part.environment);
  return json.is_object() ? json : Json::object();
}

// Takes the hashes from "path xxh3:hash": equal lists may have other paths on another machine.
std::string ExpectationHashes(const Json& environment) {
  std::vector<std::string> hashes;
  for (const Json& file : environment.value("expectations", Json::array())) {
    const std::string text = file.is_string() ? file.get<std::string>() : "";
    hashes.push_back(text.substr(text.rfind(' ') + 1));
  }
  std::ranges::sort(hashes);
  return hashes.empty() ? "none" : fmt::format("{}", fmt::join(hashes, ", "));
}

// Values that have to be equal in all parts, by name.
std::vector<std::pair<std::string, std::string>> IdentityOf(const RunPart& part) {
  const Plan& plan = part.plan;
  std::string definitions;  // with their digests
  for (const auto& [op, digest] : DigestsOf(plan.definitions)) definitions += fmt::format("{} {}; ", op, digest);
  return {{"list of definitions", definitions},
          {"plan (cases and requirements)", plan.hash},
          {"suite (tags, sources)", part.suite_hash},
          {"version of assay", plan.tool_version},
          {"version of inputs", std::to_string(plan.generator_version)},
          {"version of golden values", std::to_string(plan.golden_version)},
          {"number of shards", std::to_string(plan.shard.count)},
          {"lists of known failures", ExpectationHashes(EnvironmentOf(part))}};
}

Status CheckSameRun(const RunPart& first, const RunPart& other) {
  const auto a = IdentityOf(first), b = IdentityOf(other);
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].second == b[i].second) continue;
    return UsageError(fmt::format("{} and {} do not belong to one run: the {} differs: {} and {}", first.dir.string(),
                                  other.dir.string(), a[i].first, a[i].second, b[i].second));
  }
  return {};
}

Status CheckOwnCases(const RunPart& part, const std::vector<PlanEntry>& entries, const CaseIndex& index) {
  for (const Record& r : part.records) {
    const auto at = index.find(r.case_id);
    if (at != index.end() && InShard(entries[at->second], part.plan.shard)) continue;
    return UsageError(fmt::format(
        "{} has a record of {}, which is {}", (part.dir / "results.jsonl").string(), r.case_id,
        at == index.end() ? "not in its plan"
                          : fmt::format("not of its shard {}/{}", part.plan.shard.index, part.plan.shard.count)));
  }
  return {};
}

int ShardOf(const PlanEntry& entry, int count) {
  for (int index = 0; index < count; ++index) {
    if (InShard(entry, Shard{index, count})) return index;
  }
  return 0;
}

// A shard that is not there would have run where the others did.
void AddAbsentShards(const std::vector<RunPart>& parts, MergedRun& merged, int count) {
  std::set<int> absent;
  for (int index = 0; index < count; ++index) absent.insert(index);
  for (const RunPart& part : parts) absent.erase(part.plan.shard.index);
  if (absent.empty()) return;
  const auto is_absent = [&](const PlanEntry& entry) { return absent.contains(entry.shard); };
  merged.notes.push_back(fmt::format("of {} shards these are missing: {}; results missing with them: {}", count,
                                     fmt::join(absent, ", "),
                                     Counted(std::ranges::count_if(merged.plan.entries, is_absent), "case")));
  for (const int index : absent) {
    for (PlanDevice device : parts[0].plan.devices) {
      device.shard = index;
      merged.plan.devices.push_back(device);
    }
  }
}

// Results of one backend by two versions of its library or driver are two results.
void NoteVersions(const MergedRun& run, std::vector<std::string>& notes) {
  std::map<std::string, std::set<std::string>> versions;
  for (const Record& r : run.records) {
    if (!r.implementation.empty()) versions[r.backend].insert(r.library_version + " on " + r.driver);
  }
  for (const auto& [backend, texts] : versions) {
    if (texts.size() > 1)
      notes.push_back(fmt::format("{} ran in several versions: {}", backend, fmt::join(texts, "; ")));
  }
}

Json MergedEnvironment(const std::vector<RunPart>& parts, MergedRun& merged) {
  Json environment = EnvironmentOf(parts[0]);
  Json list = Json::array();
  for (const RunPart& part : parts) {
    const Json own = EnvironmentOf(part);
    merged.strict = merged.strict || own.value(kStrictKey, Json()) == true;
    merged.interrupted = merged.interrupted || own.value(kInterruptedKey, Json()) == true;
    if (own.contains(kDeviceLostKey)) {
      merged.device_lost = true;
      environment[kDeviceLostKey] = own[kDeviceLostKey];
    }
    Json one = {{"folder", part.dir.filename().string()}, {"shard", part.plan.shard.index}};
    for (const char* key : {"timestamp", "cpu", "kernel", "os", kInterruptedKey, kEvidenceKey, "backends"}) {
      if (own.contains(key)) one[key] = own[key];
    }
    list.push_back(std::move(one));
  }
  if (merged.strict) environment[kStrictKey] = true;
  if (merged.interrupted) environment[kInterruptedKey] = true;
  environment["merged"] = std::move(list);
  return environment;
}

void SortLikePlan(RecordList& records, const CaseIndex& index) {
  std::vector<std::pair<uint32_t, uint32_t>> sorted;  // place in the plan, and among the records
  for (const Record& r : records) sorted.emplace_back(index.at(r.case_id), static_cast<uint32_t>(sorted.size()));
  std::ranges::sort(sorted);
  std::vector<uint32_t> order;
  for (const auto& [place, at] : sorted) order.push_back(at);
  records.Reorder(order);
}

Result<Plan> ReadPlanOfPart(const fs::path& dir) {
  if (auto fine = RefuseBundle(dir); !fine) return tl::unexpected(fine.error());
  const auto text = ReadWholeFile(dir / "plan.json");
  if (!text) return UsageError(fmt::format("{}; give output folders of runs", text.error().message));
  auto plan = ParsePlanJson(*text);
  if (!plan) return UsageError(fmt::format("{}: {}", (dir / "plan.json").string(), plan.error().message));
  return plan;
}

// Notes of what is torn are added.
Result<RunPart> ReadPart(const fs::path& dir, std::vector<std::string>& notes) {
  RunPart part{.dir = dir.has_filename() ? dir : dir.parent_path()};
  auto plan = ReadPlanOfPart(dir);
  if (!plan) return tl::unexpected(plan.error());
  part.plan = *std::move(plan);
  part.suite_hash = SuiteHash(part.plan.entries);
  auto records = ReadRecords(dir / "results.jsonl");
  if (!records) return tl::unexpected(records.error());
  part.records = std::move(records->records);
  if (!records->torn.empty()) notes.push_back(records->torn);
  auto offers = ReadOffers(dir / kOffersFile, part.records);
  if (!offers) return tl::unexpected(offers.error());
  part.offers = *std::move(offers);
  part.environment = ReadWholeFile(dir / "environment.json").value_or("{}");
  return part;
}

// Merges the parts of one run. Only the first part still has the plan's cases.
Result<MergedRun> MergeParts(std::vector<RunPart> parts) {
  std::vector<PlanEntry> entries = std::move(parts[0].plan.entries);
  const CaseIndex index = IndexOf(entries);
  std::map<int, const RunPart*> by_shard;
  for (const RunPart& part : parts) {
    if (auto same = CheckSameRun(parts[0], part); !same) return tl::unexpected(same.error());
    const auto [known, is_new] = by_shard.emplace(part.plan.shard.index, &part);
    if (!is_new) {
      return UsageError(fmt::format("{} and {} overlap: both are shard {}/{}", known->second->dir.string(),
                                    part.dir.string(), part.plan.shard.index, part.plan.shard.count));
    }
    if (auto own = CheckOwnCases(part, entries, index); !own) return tl::unexpected(own.error());
  }
  MergedRun merged{.plan = parts[0].plan};
  merged.plan.entries = std::move(entries);  // which moves none of them, so that `index` holds
  const int count = merged.plan.shard.count;
  merged.plan.shard = Shard{};
  merged.plan.devices.clear();
  for (PlanEntry& entry : merged.plan.entries) entry.shard = ShardOf(entry, count);
  size_t offers = 0;
  for (const RunPart& part : parts) offers += part.offers.size();
  merged.offers.reserve(offers);
  for (RunPart& part : parts) {
    for (PlanDevice device : part.plan.devices) {
      device.shard = part.plan.shard.index;
      merged.plan.devices.push_back(std::move(device));
    }
    merged.records.Append(std::move(part.records));
    std::ranges::move(std::exchange(part.offers, {}), std::back_inserter(merged.offers));
  }
  SortLikePlan(merged.records, index);
  AddAbsentShards(parts, merged, count);
  NoteVersions(merged, merged.notes);
  merged.environment = DumpJson(MergedEnvironment(parts, merged), 2) + "\n";
  return merged;
}

}  // namespace

Result<MergedRun> MergeRuns(const std::vector<fs::path>& dirs) {
  std::vector<RunPart> parts;
  std::vector<std::string> notes;
  for (const fs::path& dir : dirs) {
    auto part = ReadPart(dir, notes);
    if (!part) return tl::unexpected(part.error());
    const bool same =
        !parts.empty() && part->plan.hash == parts[0].plan.hash && part->suite_hash == parts[0].suite_hash;
    if (same) part->plan.entries = {};
    parts.push_back(*std::move(part));
  }
  auto merged = MergeParts(std::move(parts));
  if (merged) merged->notes.insert(merged->notes.begin(), notes.begin(), notes.end());
  return merged;
}

FinishedRun Finish(MergedRun merged) {
  FinishedRun run;
  run.records = std::move(merged.records);
  run.strict = merged.strict || IsConformance(merged.plan.suite);
  run.interrupted = merged.interrupted;
  run.device_lost = merged.device_lost;
  run.notes = merged.notes;
  run.records.Append(MakeMissingRecords(merged.plan, merged.offers, run.records));
  return run;
}

}  // namespace assay
