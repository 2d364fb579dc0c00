// SPDX-License-Identifier: Apache-2.0
#include "harness/evidence/conform/verify_conformance.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/base/json_text.h"
#include "harness/base/text.h"
#include "harness/evidence/draw.h"
#include "harness/plan/catalog.h"

namespace assay {
namespace {

using StatedJson = nlohmann::ordered_json;

std::string TextOfFile(const BundleFiles& files, const char* name) {
  const auto it = files.find(name);
  return it == files.end() ? "" : it->second;
}

Result<std::vector<Record>> RecordsOf(const std::string& lines) {
  std::vector<Record> records;
  for (const std::string_view line : Split(lines, '\n')) {
    if (line.empty()) continue;
    auto record = FromJsonLine(std::string(line));
    if (!record) return tl::unexpected(record.error());
    records.push_back(*std::move(record));
  }
  return records;
}

std::string IdWithoutSeed(CaseSpec spec) {
  spec.seed = 0;
  return spec.Id();
}

// Whether the plan has each case of the profile once, and no other.
bool HasTheCasesOf(const Profile& profile, const Plan& plan) {
  const auto cases = LoadSuite(profile.cases.string(), Catalog());
  if (!cases) return false;
  std::set<std::string> wanted, planned;
  for (const PlannedCase& c : *cases) wanted.insert(IdWithoutSeed(c.spec));
  for (const PlanEntry& entry : plan.entries) {
    if (const auto spec = ParseId(entry.id)) planned.insert(IdWithoutSeed(*spec));
  }
  return wanted == planned && planned.size() == plan.entries.size();
}

// What is wrong with the seed; "": it was drawn.
std::string WrongSeed(const std::string& evidence, const Plan& plan, uint64_t stated) {
  const auto draws = ParseEvidence(evidence);
  if (!draws || draws->size() != 1) return "there is no draw that could have hidden the seed";
  const uint64_t seed = SeedOf(draws->front().secret, draws->front().challenge, kDrawnSeeds);
  if (seed != stated) return fmt::format("the draw gives seed {}, and it states {}", seed, stated);
  const std::string end = fmt::format("/seed={}", seed);
  const auto other = std::ranges::find_if(plan.entries, [&](const PlanEntry& e) { return !e.id.ends_with(end); });
  return other == plan.entries.end() ? "" : fmt::format("{} does not have the seed {} of the draw", other->id, seed);
}

}  // namespace

void VerifyConformance(const BundleFiles& files, const Plan& plan, const std::vector<Record>& records,
                       const std::string& own_profile, Verification& found) {
  const auto contradict = [&](const std::string& file, const std::string& why) {
    found.contradicted.push_back(file + ": " + why);
  };
  const std::string text = TextOfFile(files, kConformanceFile);
  if (text.empty()) return;
  const StatedJson stated = ParseOrderedJson(text);
  const bool is_whole = stated.is_object() && stated.contains("profile") && stated["profile"].is_string() &&
                        stated.contains("seed") && stated["seed"].is_number_unsigned();
  if (!is_whole) return contradict(kConformanceFile, "it is no statement of conformance");
  const std::string name = stated["profile"];
  const auto profile = LoadProfile(own_profile.empty() ? name : own_profile);
  if (!profile) {
    return contradict(kConformanceFile,
                      fmt::format("{}; the profile of this bundle is {}", profile.error().message, name));
  }
  const uint64_t seed = stated["seed"];
  if (const std::string wrong = WrongSeed(TextOfFile(files, kEvidenceFile), plan, seed); !wrong.empty()) {
    contradict(kConformanceFile, wrong);
  }
  if (!HasTheCasesOf(*profile, plan))
    contradict("plan.json", "its cases are not those of the profile " + profile->name);
  const auto control = RecordsOf(TextOfFile(files, kControlFile));
  if (!control) return contradict(kControlFile, control.error().message);
  const ConformanceFinding again = JudgeConformance(*profile, plan, records, JudgeControl(*profile, *control));
  if (ConformanceJson(*profile, again, seed) != stated) {
    return contradict(kConformanceFile,
                      fmt::format("from profile, records and control follows something else: {}", again.Sentence()));
  }
  found.confirmed.push_back(fmt::format("conformance, with a seed that follows from the draw: {}", again.Sentence()));
  found.open.push_back("that the control ran on the same machine in the same session");
}

}  // namespace assay
