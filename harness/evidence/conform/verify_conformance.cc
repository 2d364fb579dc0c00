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
#include "harness/results/missing.h"

namespace assay {
namespace {

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

using CasesAsked = std::set<std::pair<std::string, std::string>>;  // ids without seed, and what they require

// As a run of this suite plans them.
Result<CasesAsked> CasesOfSuite(const std::filesystem::path& suite) {
  const auto run = PlanCases(CaseOptions{.suite = suite.string(), .keeps_designs = false},
                             [](const char*) -> const char* { return nullptr; });
  if (!run) return tl::unexpected(run.error());
  CasesAsked planned;
  for (const PlanEntry& entry : run->plan.entries) {
    planned.emplace(IdWithoutSeed(ParseId(entry.id).value()), entry.requirement);
  }
  return planned;
}

// What is wrong with the plan; "": it has each case of the profile once, with its requirement, and no other.
std::string WrongPlan(const Profile& profile, const Plan& plan) {
  const auto wanted = CasesOfSuite(profile.cases);
  if (!wanted) return wanted.error().message;
  CasesAsked planned;
  for (const PlanEntry& entry : plan.entries) {
    if (const auto spec = ParseId(entry.id)) planned.emplace(IdWithoutSeed(*spec), entry.requirement);
  }
  const bool same = *wanted == planned && planned.size() == plan.entries.size();
  return same ? "" : "its cases, or what they require, are not those of the profile " + profile.name;
}

// What is wrong with the records of the control; "": they are of its cases, with the seed, and of the corpus.
std::string WrongControl(const Profile& profile, const RecordView& records, uint64_t seed) {
  const auto wanted = CasesOfSuite(profile.control_cases);
  if (!wanted) return wanted.error().message;
  for (const Record& r : records) {
    const auto spec = ParseId(r.case_id);
    const bool is_of_it = spec && spec->seed == seed && r.backend == kControlBackend &&
                          wanted->contains({IdWithoutSeed(*spec), r.required_contract});
    if (!is_of_it) return fmt::format("{} of {} is no result of the control with seed {}", r.case_id, r.backend, seed);
  }
  return "";
}

// What is wrong with the sample; "": it is as large as a statement needs, and every result of it has outputs.
std::string WrongSample(const EvidenceDraw& draw, const Plan& plan, const RecordView& records) {
  const size_t least = std::min(kConformanceSample, plan.entries.size());
  if (draw.cases.size() < least) {
    return fmt::format("outputs of {} cases were kept, and a statement needs those of {}", draw.cases.size(), least);
  }
  const std::set<std::string> drawn(draw.cases.begin(), draw.cases.end());
  for (const Record& r : records) {
    const bool has_result = r.verdict == "pass" || r.verdict == "inconclusive" || r.verdict == "below_contract";
    if (has_result && drawn.contains(r.case_id) && r.output_hash.empty()) {
      return fmt::format("{} of {} {} was drawn and has no hash of its outputs", r.case_id, r.backend,
                         r.implementation);
    }
  }
  return "";
}

// What is wrong with the seed; "": it was drawn.
std::string WrongSeed(const EvidenceDraw& draw, const Plan& plan, uint64_t stated) {
  const uint64_t seed = SeedOf(draw.secret, draw.challenge, kDrawnSeeds);
  if (seed != stated) return fmt::format("the draw gives seed {}, and it states {}", seed, stated);
  const std::string end = fmt::format("/seed={}", seed);
  const auto other = std::ranges::find_if(plan.entries, [&](const PlanEntry& e) { return !e.id.ends_with(end); });
  return other == plan.entries.end() ? "" : fmt::format("{} does not have the seed {} of the draw", other->id, seed);
}

// A text of environment.json; "" where there is none.
std::string EnvironmentText(const BundleFiles& files, const char* key) {
  const Json environment = ParseJson(TextOfFile(files, "environment.json"));
  const bool has = environment.is_object() && environment.contains(key) && environment[key].is_string();
  return has ? environment[key].get<std::string>() : "";
}

}  // namespace

void VerifyConformance(const BundleFiles& files, const Plan& plan, const RecordView& records,
                       const std::string& own_profile, Verification& found) {
  const auto contradict = [&](const std::string& file, const std::string& why) {
    found.contradicted.push_back(file + ": " + why);
  };
  const std::string text = TextOfFile(files, kConformanceFile), said = EnvironmentText(files, kConformanceKey);
  if (text.empty()) {
    const bool is_one = !said.empty() || !EnvironmentText(files, kProfileKey).empty();
    if (is_one)
      contradict("environment.json", "it is of assay conform, and the bundle has no statement of conformance");
    return;
  }
  const Json stated = ParseJson(text);
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
  const auto check = [&](const char* file, const std::string& wrong) {
    if (!wrong.empty()) contradict(file, wrong);
  };
  const auto draws = ParseEvidence(TextOfFile(files, kEvidenceFile));
  if (!draws || draws->size() != 1)
    return contradict(kEvidenceFile, "there is no draw that could have hidden the seed");
  const auto control = RecordsOf(TextOfFile(files, kControlFile));
  if (!control) return contradict(kControlFile, control.error().message);
  check(kConformanceFile, WrongSeed(draws->front(), plan, seed));
  check(kEvidenceFile, WrongSample(draws->front(), plan, records));
  check("plan.json", WrongPlan(*profile, plan));
  check(kControlFile, WrongControl(*profile, *control, seed));
  if (!files.contains(kOffersFile))
    contradict(kOffersFile, "without what was offered nobody sees that a result is missing");
  const bool is_certified = std::ranges::all_of(
      records, [](const Record& r) { return r.tier.empty() || r.tier == Name(Tier::kReproducible); });
  if (!is_certified) contradict("results.jsonl", "not all golden values are of tier reproducible");
  const ConformanceFinding again = JudgeConformance(*profile, plan, records, JudgeControl(*profile, *control));
  if (ConformanceJson(*profile, again, seed) != stated) {
    return contradict(kConformanceFile,
                      fmt::format("from profile, records and control follows something else: {}", again.Sentence()));
  }
  if (said != again.Sentence()) contradict("environment.json", "it says something else of the conformance: " + said);
  found.confirmed.push_back(fmt::format("conformance, with a seed that follows from the draw: {}", again.Sentence()));
  found.open.push_back("that the control ran on the same machine in the same session");
  found.open.push_back("that records and offers are all that the run made");
}

}  // namespace assay
