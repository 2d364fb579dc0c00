// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/base/json_text.h"
#include "harness/data/tensor.h"

namespace assay {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchemaVersion = 2;  // 1 had no devices

}  // namespace

std::string PlanHash(const std::vector<PlanEntry>& entries) {
  std::vector<std::string> lines;
  for (const PlanEntry& entry : entries) lines.push_back(entry.id + "\t" + entry.requirement + "\n");
  std::ranges::sort(lines);
  std::string text;
  for (const std::string& line : lines) text += line;
  return HashHex(HashBytes(text.data(), text.size()));
}

Plan MakePlan(std::string suite, const SelectionOptions& options, const Selection& selection) {
  Plan plan{std::move(suite), options.filter, options.shard, "", {}, {}};
  for (const PlannedCase& planned : selection.all) {
    plan.entries.push_back({planned.spec.Id(), RequirementOf(planned), planned.tags, planned.source, planned.where});
  }
  plan.hash = PlanHash(plan.entries);
  return plan;
}

std::string PlanJson(const Plan& plan) {
  Json cases = Json::array();
  for (const PlanEntry& entry : plan.entries) {
    Json object = {{"id", entry.id}, {"requirement", entry.requirement}};
    if (!entry.tags.empty()) object["tags"] = entry.tags;
    if (!entry.source.empty()) object["source"] = entry.source;
    if (!entry.where.empty()) object["where"] = entry.where;
    cases.push_back(std::move(object));
  }
  Json json = {{"schema_version", kSchemaVersion},
               {"plan_hash", plan.hash},
               {"suite", plan.suite},
               {"filter", plan.filter},
               {"shard_index", plan.shard.index},
               {"shard_count", plan.shard.count},
               {"devices", Json::array()}};
  for (const PlanDevice& c : plan.devices) json["devices"].push_back({{"backend", c.backend}, {"device", c.device}});
  json["cases"] = std::move(cases);
  // A filter comes from a command line and may hold bytes that are not UTF-8.
  return DumpJson(json, 1) + "\n";
}

Result<Plan> ParsePlanJson(std::string_view text) {
  try {
    const Json json = ParseOrderedJson(text);
    if (const int version = json.at("schema_version"); version != kSchemaVersion) {
      return UsageError(
          fmt::format("plan.json has schema version {}, this program reads {}; use the version that wrote it", version,
                      kSchemaVersion));
    }
    Plan plan{json.at("suite"),
              json.at("filter"),
              {json.at("shard_index"), json.at("shard_count")},
              json.at("plan_hash"),
              {},
              {}};
    if (plan.shard.count < 1 || plan.shard.index < 0 || plan.shard.index >= plan.shard.count) {
      return UsageError(fmt::format(
          "plan.json was changed: shard_index {} of shard_count {} is no part of a plan; take it from a copy",
          plan.shard.index, plan.shard.count));
    }
    for (const Json& device : json.at("devices")) plan.devices.push_back({device.at("backend"), device.at("device")});
    for (const Json& object : json.at("cases")) {
      plan.entries.push_back({object.at("id"), object.at("requirement"),
                              object.value("tags", std::vector<std::string>()), object.value("source", ""),
                              object.value("where", "")});
    }
    if (PlanHash(plan.entries) != plan.hash) {
      return UsageError(fmt::format("plan.json was changed: its cases hash to {}, not to the {} it states",
                                    PlanHash(plan.entries), plan.hash));
    }
    return plan;
  } catch (const Json::exception&) {
    return UsageError("plan.json cannot be read: it was changed or damaged; take it from a copy");
  }
}

}  // namespace assay
