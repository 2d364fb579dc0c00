// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "golden/golden.h"
#include "harness/core/base/amounts.h"
#include "harness/engine/results/environment.h"
#include "harness/tools/bundle/bundle.h"
#include "harness/tools/bundle/conform/finding.h"
#include "harness/tools/bundle/statement.h"
#include "harness/tools/bundle/verify/bundle_contents.h"

namespace assay {
namespace {

std::vector<std::string> RecordFields(bool (*chosen)(const std::string&)) {
  std::vector<std::string> fields;
  const Record record;
  VisitFields(record, [&](const char* key, const auto&) {
    if (chosen(key)) fields.emplace_back(key);
  });
  return fields;
}

bool IsClaimedOfAll(const std::string& field) {
  return !IsFieldOfCase(field) && !IsFieldOfOutputs(field);
}
bool IsClaimedOfControl(const std::string& field) {
  constexpr const char* kChecked[] = {"schema_version",
                                      "case_id",
                                      "op",
                                      "dtype",
                                      "shape",
                                      "fill",
                                      "seed",
                                      "implementation",
                                      "backend",
                                      "tier",
                                      "flops",
                                      "bytes",
                                      "required_contract",
                                      "input_hash",
                                      "golden_hash",
                                      "tool_version"};
  return std::ranges::find(kChecked, field) == std::end(kChecked);
}

// Keys of environment.json that stand elsewhere too, or that others follow from.
constexpr const char* kAgreeing[] = {"tool_version",  "expectations", kHashesKey,  kEvidenceKey,   kStrictKey,
                                     kInterruptedKey, "sandbox",      kProfileKey, kConformanceKey};
// Keys of one of its devices that stand elsewhere too.
constexpr const char* kAgreeingOfDevice[] = {"backend", "plugin",          "device", "pool",
                                             "driver",  "library_version", "sandbox"};

template <size_t N>
void AddOthers(const Json& object, const char* const (&known)[N], const std::string& prefix,
               std::vector<std::string>& fields) {
  if (!object.is_object()) return;
  for (const auto& [key, value] : object.items()) {
    const std::string name = prefix + key;
    const bool is_new = std::ranges::find(fields, name) == fields.end();
    if (std::ranges::find(known, key) == std::end(known) && is_new) fields.push_back(name);
  }
}

}  // namespace

void ListClaimed(const BundleContents& bundle, const Recomputed& recomputed, Verification& found) {
  found.Claim("results.jsonl, every result: {}", fmt::join(RecordFields(IsClaimedOfAll), ", "));
  if (recomputed.judged < recomputed.results) {
    found.Claim("results.jsonl, {} not judged again: {}", Counted(recomputed.results - recomputed.judged, "result"),
                fmt::join(RecordFields(IsFieldOfOutputs), ", "));
  }
  found.Claim(
      "results.jsonl, results that fail or have no outputs: verdict, class, reason, output_hash, stat_margin, "
      "bound_margin, exceptional_margin");
  if (recomputed.differing > 0) {
    found.Claim("results.jsonl, {} whose executions differ: {}", Counted(recomputed.differing, "result"),
                fmt::join(RecordFields(IsFieldOfOutputs), ", "));
  }
  if (recomputed.has_random) {
    found.Claim(
        "results.jsonl, results that were judged on random data beside their own: bound_margin, stat_margin, "
        "exceptional_margin up to 1");
  }
  const bool has_fast =
      std::ranges::any_of(bundle.run.records, [](const Record& r) { return r.tier == Name(Tier::kFast); });
  if (has_fast) {
    found.Claim("results.jsonl, results of tier fast with other golden values than this machine's: golden_hash, {}",
                fmt::join(RecordFields(IsFieldOfOutputs), ", "));
  }
  if (recomputed.cases < recomputed.all_cases) {
    found.Claim("results.jsonl, {} of {} cases: tier, flops, bytes, input_hash, golden_hash",
                recomputed.all_cases - recomputed.cases, recomputed.all_cases);
  }
  if (!bundle.control.empty()) {
    found.Claim("{}: {}", kControlFile, fmt::join(RecordFields(IsClaimedOfControl), ", "));
  }
  found.Claim("plan.json: suite, filter, tags, source, where");
  found.Open("that the plan has every case of suite '{}' that was to be run", bundle.plan.suite);
  found.Claim("{}: that nothing else was offered", kOffersFile);
  std::vector<std::string> fields;
  AddOthers(bundle.environment, kAgreeing, "", fields);
  std::erase(fields, "backends");
  for (const Json& device : ListIn(bundle.environment, "backends")) {
    AddOthers(device, kAgreeingOfDevice, "backends[].", fields);
  }
  found.Claim("environment.json: {}", fmt::join(fields, ", "));
  found.Claim("environment.json, as {} has it too: {}, {}, {}", kStatementFile, kHashesKey, kStrictKey,
              kInterruptedKey);
  found.Claim("{}: made, before_the_run, at_bundling", kStatementFile);
}

}  // namespace assay
