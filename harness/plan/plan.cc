// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <tuple>
#include <vector>

#include "golden/store/store.h"
#include "harness/core/base/build_facts.h"
#include "harness/core/base/json_list.h"
#include "harness/core/base/json_text.h"
#include "harness/core/data/tensor.h"
#include "ops/definition_file.h"

namespace assay {
namespace {

constexpr int kSchemaVersion = 2;  // 1 had no devices

Json EntryJson(const PlanEntry& entry) {
  Json object = {{"id", entry.id}, {"requirement", entry.requirement}};
  if (!entry.tags.empty()) object["tags"] = entry.tags;
  if (!entry.source.empty()) object["source"] = entry.source;
  if (!entry.where.empty()) object["where"] = entry.where;
  if (entry.shard >= 0) object["shard"] = entry.shard;
  return object;
}

bool AddEntry(const Json& object, std::vector<PlanEntry>& entries) try {
  entries.push_back({object.at("id"), object.at("requirement"), object.value("tags", std::vector<std::string>()),
                     object.value("source", ""), object.value("where", ""), object.value("shard", -1)});
  return true;
} catch (const Json::exception&) {
  return false;
}

// A definition and its digest, as plan.json has them. Throws where a member is missing or of another kind.
Json DefinitionJson(const PlanDefinition& definition) {
  return {{"op", definition.op}, {"digest", definition.Digest()}, {"definition", ParseJson(definition.text)}};
}
PlanDefinition ReadDefinition(const Json& object) {
  PlanDefinition definition{object.at("definition").at("op"), DumpJson(object.at("definition"))};
  if (DefinitionJson(definition) != object) throw Json::other_error::create(0, "another digest or member", &object);
  return definition;
}

tl::unexpected<Error> Damaged() {
  return UsageError("plan.json cannot be read: it was changed or damaged; take it from a copy");
}

// Results are found by the id of their case: two entries of one id would have one result.
Status CheckIds(const std::vector<PlanEntry>& entries) {
  std::vector<std::string_view> ids;
  ids.reserve(entries.size());
  for (const PlanEntry& entry : entries) ids.emplace_back(entry.id);
  std::ranges::sort(ids);
  const auto twice = std::ranges::adjacent_find(ids);
  if (twice == ids.end()) return {};
  return UsageError(
      fmt::format("plan.json was changed or damaged: it has the case {} more than once; take it from a copy", *twice));
}

}  // namespace

std::string SuiteHash(const std::vector<PlanEntry>& entries) {
  std::string text;
  for (PlanEntry entry : entries) {
    entry.where.clear();  // a suite may lie elsewhere on another machine
    text += DumpJson(EntryJson(entry)) + "\n";
  }
  return HashHex(HashBytes(text.data(), text.size()));
}

bool InShard(const PlanEntry& entry, const Shard& shard) {
  return shard.count <= 1 || (entry.shard < 0 ? InShard(entry.id, shard) : entry.shard == shard.index);
}

std::string PlanDefinition::Digest() const {
  return HashHex(HashBytes(text.data(), text.size()));
}

std::map<std::string, std::string> DigestsOf(const std::vector<PlanDefinition>& definitions) {
  std::map<std::string, std::string> digests;
  for (const PlanDefinition& definition : definitions) digests[definition.op] = definition.Digest();
  return digests;
}

void CompletePlan(Plan& plan) {
  std::set<std::string_view> ops;
  for (const PlanEntry& entry : plan.entries) ops.insert(std::string_view(entry.id).substr(0, entry.id.find('/')));
  plan.definitions.clear();
  for (const std::string_view op : ops) {
    if (std::string text = FindDefinition(op); !text.empty()) plan.definitions.push_back({std::string(op), text});
  }
  plan.hash = PlanHash(plan.entries, plan.definitions);
}

std::string PlanHash(const std::vector<PlanEntry>& entries, const std::vector<PlanDefinition>& definitions) {
  std::vector<const PlanEntry*> sorted;
  size_t bytes = 0;
  for (const PlanEntry& entry : entries) {
    sorted.push_back(&entry);
    bytes += entry.id.size() + entry.requirement.size() + 2;
  }
  // This is the order of the lines: no character of an id or requirement sorts before the ones that end them.
  std::ranges::sort(sorted, {}, [](const PlanEntry* entry) { return std::tie(entry->id, entry->requirement); });
  std::string text;
  text.reserve(bytes);
  for (const PlanEntry* entry : sorted) text.append(entry->id).append("\t").append(entry->requirement).append("\n");
  for (const auto& [op, digest] : DigestsOf(definitions)) text += fmt::format("definition\t{}\t{}\n", op, digest);
  return HashHex(HashBytes(text.data(), text.size()));
}

Plan MakePlan(std::string suite, const SelectionOptions& options, const Selection& selection) {
  Plan plan{.suite = std::move(suite), .filter = options.filter, .shard = options.shard};
  plan.entries.reserve(selection.is_own.size());
  selection.ForEach([&](const PlannedCase& planned) {
    plan.entries.push_back({planned.spec.Id(), RequirementOf(planned), planned.tags, planned.source, planned.where});
  });
  plan.tool_version = kVersion;
  plan.generator_version = kGeneratorVersion, plan.golden_version = kGoldenVersion;
  CompletePlan(plan);
  return plan;
}

CaseIndex IndexOf(const std::vector<PlanEntry>& entries) {
  CaseIndex index;
  index.reserve(entries.size());
  for (const PlanEntry& entry : entries) index.try_emplace(entry.id, static_cast<uint32_t>(index.size()));
  return index;
}

std::string PlanJson(const Plan& plan) {
  std::string text;
  WritePlanJson(plan, [&text](std::string_view part) { text += part; });
  return text;
}

void WritePlanJson(const Plan& plan, const TextSink& write) {
  Json json = {{"schema_version", kSchemaVersion},
               {"plan_hash", plan.hash},
               {"suite", plan.suite},
               {"filter", plan.filter},
               {"shard_index", plan.shard.index},
               {"shard_count", plan.shard.count},
               {"tool_version", plan.tool_version},
               {"generator_version", plan.generator_version},
               {"golden_version", plan.golden_version},
               {"devices", Json::array()}};
  for (const PlanDevice& c : plan.devices) {
    Json device = {{"backend", c.backend}, {"device", c.device}};
    if (c.shard >= 0) device["shard"] = c.shard;
    json["devices"].push_back(std::move(device));
  }
  for (const PlanDefinition& definition : plan.definitions) json["definitions"].push_back(DefinitionJson(definition));
  json["cases"] = Json::array();
  JsonListWriter cases(json, 1, write);
  for (const PlanEntry& entry : plan.entries) cases.Add(EntryJson(entry));
  cases.End();
  write("\n");
}

Result<Plan> ParsePlanJson(std::string_view text) {
  try {
    std::vector<PlanEntry> entries;
    bool damaged = false;
    const Json json =
        ParseJsonList(text, "cases", [&](const Json& object) { damaged = damaged || !AddEntry(object, entries); });
    if (const int version = json.at("schema_version"); version != kSchemaVersion) {
      return UsageError(
          fmt::format("plan.json has schema version {}, this program reads {}; use the version that wrote it", version,
                      kSchemaVersion));
    }
    Plan plan{.suite = json.at("suite"),
              .filter = json.at("filter"),
              .shard = {json.at("shard_index"), json.at("shard_count")},
              .hash = json.at("plan_hash"),
              .tool_version = json.value("tool_version", ""),
              .generator_version = json.value("generator_version", 0),
              .golden_version = json.value("golden_version", 0)};
    if (plan.shard.count < 1 || plan.shard.index < 0 || plan.shard.index >= plan.shard.count) {
      return UsageError(
          fmt::format("plan.json was changed: shard_index {} of shard_count {} is not valid; take it from a copy",
                      plan.shard.index, plan.shard.count));
    }
    for (const Json& device : json.at("devices")) {
      plan.devices.push_back({device.at("backend"), device.at("device"), device.value("shard", -1)});
    }
    for (const Json& one : json.value("definitions", Json::array())) plan.definitions.push_back(ReadDefinition(one));
    if (const Json& others = json.at("cases"); damaged || !others.is_array() || !others.empty()) return Damaged();
    plan.entries = std::move(entries);
    if (auto unique = CheckIds(plan.entries); !unique) return tl::unexpected(unique.error());
    if (const std::string hash = PlanHash(plan.entries, plan.definitions); hash != plan.hash) {
      return UsageError(fmt::format("plan.json was changed: its cases{} hash to {}, not to the {} it states",
                                    plan.definitions.empty() ? "" : " and definitions", hash, plan.hash));
    }
    return plan;
  } catch (const Json::exception&) {
    return Damaged();
  }
}

}  // namespace assay
