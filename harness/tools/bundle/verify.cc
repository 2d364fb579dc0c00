// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/bundle/verify.h"

#include "golden/store/store.h"
#include "harness/core/base/amounts.h"
#include "harness/tools/bundle/conform/verify_conformance.h"
#include "harness/tools/bundle/verify/bundle_contents.h"

namespace assay {
namespace {

void CheckPlan(const BundleContents& bundle, Verification& found) {
  const Plan& plan = bundle.plan;
  if (plan.golden_version != kGoldenVersion || plan.generator_version != kGeneratorVersion) {
    found.Contradict(
        "plan.json: inputs and golden values are of versions {} and {}, this program has {} and {}: use assay {}",
        plan.generator_version, plan.golden_version, kGeneratorVersion, kGoldenVersion, plan.tool_version);
  } else {
    found.Confirm("plan: {} with hash {}", Counted(std::ssize(plan.entries), "case"), plan.hash);
  }
  for (const auto& [op, digest] : DigestsOf(plan.definitions)) {
    found.Confirm("definition of {}: the plan has it, with digest {}, and its cases were made by it", op, digest);
    found.Open(
        "that {} of plan.json is the formula that was to be judged: compare it with what assay define writes of "
        "yours",
        op);
  }
  if (!bundle.IsShard()) return;
  const int64_t own = bundle.CountOwnCases(), all = std::ssize(plan.entries);
  found.Confirm("shard: this is --shard {}/{}, {} of the {}", plan.shard.index, plan.shard.count, own,
                Counted(all, "planned case"));
  found.Open("the {} of the other shards: assay merge joins the folders of all, and a bundle of that has them",
             Counted(all - own, "planned case"));
}

// Returns whether the rest can be looked at: this program has the plan's inputs and golden values.
bool CheckAsRead(const BundleContents& bundle, Verification& found) {
  CheckPlan(bundle, found);
  if (!found.contradicted.empty()) return false;
  CheckForms(bundle, found);
  CheckPresence(bundle, found);
  CheckRecords(bundle, found);
  CheckAgreement(bundle, found);
  CheckWaivers(bundle, found);
  CheckSample(bundle, found);
  return true;
}

void CheckAll(const BundleContents& bundle, const VerifyOptions& options,
              const std::function<void(const std::string&, size_t, size_t)>& on_case, Verification& found) {
  if (!CheckAsRead(bundle, found)) return;
  const Recomputed recomputed = RecomputeCases(bundle, options.recompute_s, on_case, found);
  VerifyConformance(bundle, recomputed, options.own_profile, found);
  if (recomputed.judged < recomputed.results) {
    found.Open("the judgement of {} whose outputs the bundle does not have",
               Counted(recomputed.results - recomputed.judged, "result"));
  }
  found.Open("times, crashes, and what only a device can repeat");
  ListClaimed(bundle, recomputed, found);
}

template <class Check>
Verification FindBy(const Check& check, const BundleFiles& files, const std::filesystem::path& scratch) {
  Verification found;
  try {
    if (const auto bundle = ReadContents(files, scratch, found)) check(*bundle, found);
  } catch (const Json::exception&) {
    found.Contradict("a JSON file has a value of another type than assay writes");
  } catch (const tl::bad_expected_access<Error>& e) {
    found.Contradict("a file has something that assay does not write: {}", e.error().message);
  }
  return found;
}

}  // namespace

std::vector<std::string> FindContradictions(const BundleFiles& files, const std::filesystem::path& scratch) {
  return FindBy(CheckAsRead, files, scratch).contradicted;
}

Verification VerifyBundle(const BundleFiles& files, const std::filesystem::path& scratch, const VerifyOptions& options,
                          const std::function<void(const std::string&, size_t, size_t)>& on_case) {
  return FindBy([&](const BundleContents& bundle, Verification& found) { CheckAll(bundle, options, on_case, found); },
                files, scratch);
}

}  // namespace assay
