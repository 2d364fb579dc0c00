// SPDX-License-Identifier: Apache-2.0
// plan.json: every case that was selected, of all shards, with what it must meet, and the devices it is run on. Parts
// of one run have equal hashes; what lacks a record is found by it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "harness/core/base/text_sink.h"
#include "harness/plan/selection.h"

namespace assay {

struct PlanEntry {
  std::string id;
  std::string requirement;  // RequirementOf: never empty, the default is written out
  std::vector<std::string> tags;
  std::string source, where;
  int shard = -1;  // of the case in a merged run; -1: that of its hash
  bool operator==(const PlanEntry&) const = default;
};

// A device of a backend, several that share its cases (--devices pool: the name that they have in common), or a backend
// that has none (device "").
struct PlanDevice {
  std::string backend, device;
  int shard = -1;  // of a merged run: that only this shard's cases were run on it; -1: all cases
  bool operator==(const PlanDevice&) const = default;
};

// An operator of the cases that a user has defined (ops/definition_file.h).
struct PlanDefinition {
  std::string op;
  std::string text;  // the definition, a line of JSON
  bool operator==(const PlanDefinition&) const = default;

  std::string Digest() const;  // xxh3-64 of the text
};

// Plan::suite where cases are tried beyond any suite.
inline constexpr const char* kExploring = "explore";

struct Plan {
  std::string suite;  // as the user named it
  std::string filter;
  Shard shard;
  std::string hash;  // PlanHash(entries, definitions)
  std::vector<PlanEntry> entries;
  std::vector<PlanDefinition> definitions;  // by name
  std::vector<PlanDevice> devices;          // in order; devices of one name are listed once each
  // Versions that made inputs and golden values; "" and 0 in older plans.
  std::string tool_version;
  int generator_version = 0, golden_version = 0;
  bool operator==(const Plan&) const = default;
};

// xxh3-64 over the sorted lines "id<TAB>requirement", and lines "definition<TAB>operator<TAB>digest" behind them: the
// order, the tags, the shard and the devices do not count.
std::string PlanHash(const std::vector<PlanEntry>& entries, const std::vector<PlanDefinition>& definitions = {});

// Sets what follows from the entries: the definitions of their operators, as this process knows them, and the hash.
void CompletePlan(Plan& plan);

// Digests by operator.
std::map<std::string, std::string> DigestsOf(const std::vector<PlanDefinition>& definitions);

// xxh3-64 over all that is said of all cases: equal in parts of one run, and in none other.
std::string SuiteHash(const std::vector<PlanEntry>& entries);

// Whether the case is one of the shard: each is of a whole run.
bool InShard(const PlanEntry& entry, const Shard& shard);

Plan MakePlan(std::string suite, const SelectionOptions& options, const Selection& selection);

// The places of cases among the plan's, by their ids, which `entries` holds.
using CaseIndex = std::unordered_map<std::string_view, uint32_t>;
CaseIndex IndexOf(const std::vector<PlanEntry>& entries);

// plan.json, and the same part by part.
std::string PlanJson(const Plan& plan);
void WritePlanJson(const Plan& plan, const TextSink& write);

// Refuses another schema version and a text whose hash does not fit its entries.
Result<Plan> ParsePlanJson(std::string_view text);

}  // namespace assay
