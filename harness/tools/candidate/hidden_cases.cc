// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/candidate/hidden_cases.h"

#include <algorithm>
#include <random>

#include "harness/plan/cover/exploration.h"
#include "ops/bound_case.h"

namespace assay {
namespace {

constexpr uint64_t kSeedsBelow = 1'000'000'000;  // short enough to read
constexpr size_t kMostRefused = 200;  // cases in a row that the reference refuses, until there is no use in more

bool HasDType(const CaseSpec& spec, const std::vector<std::string>& wanted) {
  if (wanted.empty()) return true;
  const auto has = [&](const std::string& name) {
    return DTypeListText(spec.dtypes) == name ||
           std::ranges::any_of(spec.dtypes, [&](DType dtype) { return Name(dtype) == name; });
  };
  return std::ranges::any_of(wanted, has);
}

}  // namespace

std::vector<PlannedCase> WithSecretSeeds(std::span<const PlannedCase> visible, uint64_t secret) {
  std::mt19937_64 random(secret);
  std::vector<PlannedCase> cases;
  for (const PlannedCase& planned : visible) {
    CaseSpec spec = planned.spec;
    spec.seed = random() % kSeedsBelow;
    PlannedCase other = PlanUntimed(std::move(spec), planned.requirement);
    other.timed = planned.timed;
    other.thorough = planned.thorough;
    other.sample = planned.sample;
    cases.push_back(std::move(other));
  }
  return cases;
}

std::vector<PlannedCase> GenerateCases(const GeneratedSettings& settings) {
  std::vector<Exploration> explorations;
  for (const Operator* op : settings.ops) {
    if (!op->Space().dimensions.empty()) explorations.emplace_back(*op, settings.limits, settings.secret);
  }
  std::vector<PlannedCase> cases;
  size_t refused = 0, ended = 0;
  for (size_t turn = 0; cases.size() < settings.cases && refused < kMostRefused && ended < explorations.size();
       ++turn) {
    Exploration& exploration = explorations[turn % explorations.size()];
    std::optional<CaseSpec> spec = exploration.Next();
    ended = spec ? 0 : ended + 1;
    if (!spec) continue;
    PlannedCase planned = PlanUntimed(*spec, settings.requirement);
    const bool taken = HasDType(*spec, settings.dtypes) && settings.is_taken(planned);
    exploration.Judged(*spec, taken, std::nullopt);
    refused = taken ? 0 : refused + 1;
    if (taken) cases.push_back(std::move(planned));
  }
  return cases;
}

void TimeLargest(std::vector<PlannedCase>& cases, size_t most) {
  std::vector<PlannedCase*> timed;
  for (PlannedCase& planned : cases) {
    if (planned.timed) timed.push_back(&planned);
  }
  std::ranges::stable_sort(timed, std::ranges::greater(),
                           [](const PlannedCase* planned) { return planned->Bound()->problem.bytes; });
  for (size_t i = most; i < timed.size(); ++i) timed[i]->timed = false;
}

}  // namespace assay
