// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/bundle/verify/bundle_contents.h"

#include <algorithm>

#include "harness/core/base/atomic_file.h"
#include "harness/core/model/record_file.h"
#include "harness/engine/results/environment.h"
#include "harness/tools/bundle/bundle.h"
#include "harness/tools/bundle/conform/finding.h"
#include "harness/tools/bundle/statement.h"
#include "ops/definition_file.h"

namespace assay {
namespace fs = std::filesystem;
namespace {

// "": it is of this version.
std::string FindVersionProblem(const Json& statement) {
  if (!statement.is_object() || !statement.contains("format")) return "it is not a statement of a bundle";
  if (statement["format"] == kBundleFormat) return "";
  return fmt::format(
      "the bundle has format {}, and this version of assay verifies only format {}: make it again from a run of this "
      "version",
      statement["format"].dump(), kBundleFormat);
}

// Makes the operators known that the plan defines: its cases are of them.
Status AddPlannedDefinitions(const Plan& plan) {
  std::vector<std::string> texts;
  for (const PlanDefinition& definition : plan.definitions) texts.push_back(definition.text);
  if (!texts.empty()) {
    const auto added = AddDefinitions(JoinDefinitions(texts), "plan.json: definitions");
    if (!added) return tl::unexpected(added.error());
  }
  for (const PlanEntry& entry : plan.entries) {
    const std::string_view op = std::string_view(entry.id).substr(0, entry.id.find('/'));
    if (OperatorRegistry::Global().Find(op) != nullptr) continue;
    return UsageError(fmt::format("plan.json: there is no operator {}, and the plan does not define it", op));
  }
  Plan again = plan;
  CompletePlan(again);
  if (again.definitions == plan.definitions) return {};
  return UsageError("plan.json: its definitions are not those of the operators of its cases");
}

Result<BundleContents> Read(const BundleFiles& files, const fs::path& folder) {
  BundleContents bundle{.files = files, .folder = folder};
  bundle.statement = ParseJson(TextOfFile(files, kStatementFile));
  if (const std::string wrong = FindVersionProblem(bundle.statement); !wrong.empty()) {
    return UsageError(fmt::format("{}: {}", kStatementFile, wrong));
  }
  bundle.environment = ParseJson(TextOfFile(files, "environment.json"));
  if (!bundle.environment.is_object()) return UsageError("environment.json: it is not an object");
  if (!files.contains(kOffersFile)) {
    return UsageError(fmt::format("{}: without the list of offers missing results cannot be found", kOffersFile));
  }
  auto plan = ParsePlanJson(TextOfFile(files, "plan.json"));
  if (!plan) return UsageError("plan.json: " + plan.error().message);
  bundle.plan = *std::move(plan);
  if (auto added = AddPlannedDefinitions(bundle.plan); !added) return tl::unexpected(added.error());
  auto run = ReadRun(folder);
  if (!run) return tl::unexpected(run.error());
  bundle.run = *std::move(run);
  auto offers = ReadOffers(folder / kOffersFile, bundle.run.records);
  if (!offers) return tl::unexpected(offers.error());
  bundle.offers = *std::move(offers);
  if (files.contains(kControlFile)) {
    auto control = ReadRecords(folder / kControlFile);
    if (!control) return tl::unexpected(control.error());
    bundle.control = control->records.ToVector();
  }
  if (!files.contains(kEvidenceFile)) return bundle;
  auto sample = ParseEvidence(TextOfFile(files, kEvidenceFile));
  if (!sample) return tl::unexpected(sample.error());
  bundle.sample = *std::move(sample);
  return bundle;
}

}  // namespace

int64_t BundleContents::CountOwnCases() const {
  return std::ranges::count_if(plan.entries, [&](const PlanEntry& entry) { return InShard(entry, plan.shard); });
}

bool HoldsAsDeclared(const Record& r) {
  return r.verdict == "pass" || r.verdict == "inconclusive" ||
         (r.verdict == "below_contract" && r.lower_class_name.empty());
}

std::optional<BundleContents> ReadContents(const BundleFiles& files, const fs::path& folder, Verification& found) {
  for (const auto& [name, contents] : files) {
    if (auto written = WriteFileAtomically(folder / name, {{contents.data(), contents.size()}}, Durability::kWhenever);
        !written) {
      found.contradicted.push_back(written.error().message);
      return {};
    }
  }
  auto bundle = Read(files, folder);
  if (!bundle) {
    found.contradicted.push_back(bundle.error().message);
    return {};
  }
  for (const PlanEntry& entry : bundle->plan.entries) bundle->entries[entry.id] = &entry;
  return *std::move(bundle);
}

}  // namespace assay
