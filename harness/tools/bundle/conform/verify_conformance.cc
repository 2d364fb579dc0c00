// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/bundle/conform/verify_conformance.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/core/base/json_text.h"
#include "harness/engine/results/finished_run.h"
#include "harness/plan/catalog.h"
#include "harness/tools/bundle/draw.h"
#include "harness/tools/bundle/stored_outputs.h"

namespace assay {
namespace {

std::string IdWithoutSeed(CaseSpec spec) {
  spec.seed = 0;
  return spec.Id();
}

using CasesAsked = std::set<std::pair<std::string, std::string>>;  // ids without seed, and what they require

// Plans the suite like a run does and returns its cases.
Result<CasesAsked> CasesOfSuite(const std::filesystem::path& suite) {
  const auto run = PlanCases(PlanOptions{.suite = suite.string()}, [](const char*) -> const char* { return nullptr; });
  if (!run) return tl::unexpected(run.error());
  CasesAsked planned;
  for (const PlanEntry& entry : run->plan.entries) {
    planned.emplace(IdWithoutSeed(ParseId(entry.id).value()), entry.requirement);
  }
  return planned;
}

// Explains why the plan does not match; "" if it has each case of the profile once, with its requirement, and no other.
std::string FindPlanProblem(const Profile& profile, const Plan& plan) {
  const auto wanted = CasesOfSuite(profile.cases);
  if (!wanted) return wanted.error().message;
  CasesAsked planned;
  for (const PlanEntry& entry : plan.entries) {
    if (const auto spec = ParseId(entry.id)) planned.emplace(IdWithoutSeed(*spec), entry.requirement);
  }
  const bool same = *wanted == planned && planned.size() == plan.entries.size();
  return same ? "" : "its cases, or what they require, are not those of the profile " + profile.name;
}

bool IsKernelOf(const Profile& profile, const Record& r) {
  const ControlKernel kernel{r.op, r.implementation};
  return std::ranges::find(profile.sound, kernel) != profile.sound.end() ||
         std::ranges::find(profile.faulty, kernel) != profile.faulty.end();
}

// Says what is wrong with the records of the control; "": they are of its cases and kernels, each once, with the seed.
std::string FindControlProblem(const Profile& profile, const RecordView& records, uint64_t seed) {
  if (records.empty()) return "there is no record of the negative control";
  const auto wanted = CasesOfSuite(profile.control_cases);
  if (!wanted) return wanted.error().message;
  for (const Record& r : records) {
    const auto spec = ParseId(r.case_id);
    const bool is_of_it = spec && spec->seed == seed && r.backend == kControlBackend &&
                          wanted->contains({IdWithoutSeed(*spec), r.required_contract});
    // A kernel may have no implementation for a case, which is then without one.
    if (is_of_it && !r.implementation.empty() && !IsKernelOf(profile, r)) {
      return fmt::format("{} {} is not a kernel of the control", r.case_id, r.implementation);
    }
    if (!is_of_it)
      return fmt::format("{} of {} is not a result of the control with seed {}", r.case_id, r.backend, seed);
  }
  const std::vector<std::string> doubled = FindDoubled(records);
  return doubled.empty() ? "" : "a second record of " + doubled.front();
}

// Says what is wrong with the sample; "": it is as large as a statement needs, and nothing was kept from it for its
// size.
std::string FindSampleProblem(const BundleContents& bundle, size_t results) {
  const Sample& sample = *bundle.sample;
  const size_t least = std::min(kConformanceSample, results);
  if (sample.results.empty() || sample.results.size() < least) {
    return fmt::format("outputs of {} results were drawn, and a statement of conformance needs those of {}",
                       sample.results.size(), std::max<size_t>(least, 1));
  }
  if (sample.Count() != kConformanceSample) return "assay conform asks for a sample of another size";
  return FindKept(bundle.plan, bundle.run.records, sample.draws).most_bytes == kMostStoredBytes
             ? ""
             : "results could not be drawn that a statement of conformance needs";
}

// Explains why the seed does not match; "" if it follows from the draw.
std::string FindSeedProblem(const EvidenceDraw& draw, const Plan& plan, uint64_t stated) {
  const uint64_t seed = SeedOf(draw.secret, draw.challenge, kDrawnSeeds);
  if (seed != stated) return fmt::format("the draw gives seed {}, and it states {}", seed, stated);
  const std::string end = fmt::format("/seed={}", seed);
  const auto other = std::ranges::find_if(plan.entries, [&](const PlanEntry& e) { return !e.id.ends_with(end); });
  return other == plan.entries.end() ? "" : fmt::format("{} does not have the seed {} of the draw", other->id, seed);
}

bool IsWhole(const Json& stated) {
  return stated.is_object() && stated.contains("profile") && stated["profile"].is_string() && stated.contains("seed") &&
         stated["seed"].is_number_unsigned();
}

}  // namespace

void VerifyConformance(const BundleContents& bundle, const Recomputed& recomputed, const std::string& own_profile,
                       Verification& found) {
  const auto contradict = [&](const std::string& file, const std::string& why) {
    if (!why.empty()) found.contradicted.push_back(file + ": " + why);
  };
  const std::string text = TextOfFile(bundle.files, kConformanceFile);
  const std::string said = TextIn(bundle.environment, kConformanceKey);
  const std::string of_profile = TextIn(bundle.environment, kProfileKey);
  if (text.empty()) {
    if (!said.empty() || !of_profile.empty())
      contradict("environment.json", "it is of assay conform, and the bundle has no statement of conformance");
    if (bundle.files.contains(kControlFile)) contradict(kControlFile, "the bundle has no statement of conformance");
    return;
  }
  const Json stated = ParseJson(text);
  if (!IsWhole(stated)) return contradict(kConformanceFile, "it is not a statement of conformance");
  const std::string name = stated["profile"];
  const auto profile = LoadProfile(own_profile.empty() ? name : own_profile);
  if (!profile) {
    return contradict(kConformanceFile,
                      fmt::format("{}; the profile of this bundle is {}", profile.error().message, name));
  }
  const uint64_t seed = stated["seed"];
  if (!bundle.sample || bundle.sample->draws.size() != 1)
    return contradict(kEvidenceFile, "there is no draw that could have hidden the seed");
  const RecordView records = bundle.run.records;
  contradict(kConformanceFile, FindSeedProblem(bundle.sample->draws.front(), bundle.plan, seed));
  contradict(kEvidenceFile, FindSampleProblem(bundle, recomputed.results));
  contradict("plan.json", FindPlanProblem(*profile, bundle.plan));
  contradict(kControlFile, FindControlProblem(*profile, bundle.control, seed));
  if (of_profile != name) contradict("environment.json", "its profile is another one: " + of_profile);
  if (!bundle.run.strict) contradict("environment.json", "a run of assay conform is strict, and it is not");
  const bool is_certified = std::ranges::all_of(
      records, [](const Record& r) { return r.tier.empty() || r.tier == Name(Tier::kReproducible); });
  if (!is_certified) contradict("results.jsonl", "not all golden values are of tier reproducible");
  const ConformanceFinding again =
      JudgeConformance(*profile, bundle.plan, records, JudgeControl(*profile, bundle.control));
  if (DumpJson(ConformanceJson(*profile, again, seed), 2) + "\n" != text) {
    return contradict(kConformanceFile,
                      fmt::format("profile, records and control give another result: {}", again.Sentence()));
  }
  if (said != again.Sentence()) contradict("environment.json", "it differs about the conformance: " + said);
  if (!found.contradicted.empty()) return;
  found.Confirm("conformance, with a seed that follows from the draw: {}; outputs of {} were judged again",
                again.Sentence(), recomputed.ShareText());
  found.Open("that the control ran on the same machine in the same session");
  found.Open("that records and offers are all that the run made");
}

}  // namespace assay
