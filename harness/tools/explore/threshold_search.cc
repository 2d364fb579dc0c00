// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/explore/threshold_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <utility>

#include "harness/core/base/text.h"
#include "harness/engine/cases/prepared_case.h"
#include "harness/engine/device/prepared_plan.h"
#include "harness/plan/cover/draws.h"

namespace assay {
namespace {

// Large enough for vectors and small tiles, so that an extent decides by itself which plan is made. Sums are longer
// where cases stay small, as orders of few terms may have equal bits.
constexpr int64_t kUsualExtents[] = {16, 32};
constexpr CoverLimits kUsualCost{.elements = 0x1p15, .flops = 0x1p20};
constexpr uint64_t kDataSeeds = 1000000;

std::string JoinKernel(const Record& record) {
  if (record.algorithm.empty() || record.kernel.empty()) return record.algorithm + record.kernel;
  return record.algorithm + " " + record.kernel;
}

std::optional<size_t> FindTypesKnob(const CaseSpace& space) {
  const auto has = [](const Knob& knob) { return std::ranges::find(knob.keys, "dtypes") != knob.keys.end(); };
  const auto found = std::ranges::find_if(space.knobs, has);
  return found == space.knobs.end() ? std::nullopt : std::optional(static_cast<size_t>(found - space.knobs.begin()));
}

// A plain case of usual sizes, as far as the operator has such a case.
Choice FindUsualSizes(Candidates& candidates, Choice choice) {
  for (const int64_t extent : kUsualExtents) {
    for (size_t knob = 0; knob < candidates.knobs(); ++knob) {
      if (!candidates.IsSize(knob)) continue;
      Choice with = choice;
      with[knob] = candidates.Add(knob, fmt::to_string(extent));
      const CoverLimits cost = candidates.CostOf(with);
      const bool is_small = cost.elements <= kUsualCost.elements && cost.flops <= kUsualCost.flops;
      if ((is_small || extent == kUsualExtents[0]) && candidates.CaseOf(with)) choice = std::move(with);
    }
  }
  return choice;
}

std::unique_ptr<ExtentLadder> MakeLadder(Candidates& candidates, const Choice& base, size_t knob, uint64_t seed) {
  const auto case_of = [&candidates, base, knob, seed](int64_t extent) {
    Choice choice = base;
    choice[knob] = candidates.Add(knob, fmt::to_string(extent));
    Result<CaseSpec> spec = candidates.CaseOf(choice);
    if (spec) spec->seed = seed % kDataSeeds;
    return spec;
  };
  const auto ends_at = [&candidates, case_of](int64_t extent) {
    const Result<CaseSpec> spec = case_of(extent);
    return !spec && candidates.IsLimit(spec.error().message);
  };
  const CaseSpec usual = candidates.CaseOf(base).value();
  auto ladder = std::make_unique<ExtentLadder>(ExtentLadder{
      .op = usual.op,
      .dtypes = DTypeListText(usual.dtypes),
      .extent = candidates.space().knobs[knob].keys[0],
      .base = "",
      .case_of = case_of,
      .ladder = ThresholdLadder([case_of](int64_t extent) { return case_of(extent).has_value(); }, ends_at)});
  const std::string& usually = candidates.space().knobs[knob].values[static_cast<size_t>(base[knob])][0];
  if (const auto spec = case_of(ParseNumber<int64_t>(usually).value())) ladder->base = spec->Id();
  if (const auto few = case_of(SliceBits::kSlices)) ladder->bits = SliceBits::Make(BindCase(*few).value());
  return ladder;
}

// Seconds of the fastest of a few executions; 0: it cannot be executed.
double FindSeconds(const Device& device, const std::string& implementation, const BoundCase& bound) {
  constexpr int kExecutions = 9;
  const auto data = PrepareInputs(bound);
  if (!data) return 0;
  const auto plan = PreparedPlan::Make(device, bound.problem, implementation);
  if (!plan) return 0;
  double fastest = 0;
  for (int i = 0; i < kExecutions; ++i) {
    const auto execution = plan->Execute(data->inputs, Prefill::kNanPayload);
    if (!execution) return 0;
    fastest = i == 0 ? execution->host_seconds : std::min(fastest, execution->host_seconds);
  }
  return fastest;
}

}  // namespace

ThresholdSearch::ThresholdSearch(const ExploreSettings& settings, const std::vector<Device>& devices)
    : settings_(settings), devices_(devices) {
  for (const Operator* op : settings_.ops) operators_.push_back(MakeLadders(*op));
}

ThresholdSearch::OfOperator ThresholdSearch::MakeLadders(const Operator& op) const {
  OfOperator of{std::make_unique<Candidates>(op, settings_.limits, settings_.dtypes), {}};
  Candidates& candidates = *of.candidates;
  std::mt19937_64 random(settings_.seed);
  const Choice plain = FindBase(candidates, random);
  const auto types_knob = FindTypesKnob(candidates.space());
  for (int types = 0; types < (types_knob ? candidates.values(*types_knob) : 1); ++types) {
    Choice base = plain;
    if (types_knob) base[*types_knob] = types;
    base = FindUsualSizes(candidates, std::move(base));
    if (!candidates.CaseOf(base)) continue;
    for (size_t knob = 0; knob < candidates.knobs(); ++knob) {
      if (candidates.IsSize(knob)) of.ladders.push_back(MakeLadder(candidates, base, knob, settings_.seed));
    }
  }
  return of;
}

std::vector<PlannedCase> ThresholdSearch::Next() {
  std::vector<PlannedCase> cases;
  if (settings_.is_time_over() || operators_.empty()) return cases;
  for (size_t without = 0; cases.size() < kMostCasesInStep && without < operators_.size();) {
    if (settings_.cases > 0 && given_ == settings_.cases) break;
    std::optional<PlannedCase> planned = NextOf(operators_[turn_++ % operators_.size()]);
    without = planned ? 0 : without + 1;
    if (!planned) continue;
    cases.push_back(*std::move(planned));
    ++given_;
  }
  return cases;
}

std::optional<PlannedCase> ThresholdSearch::NextOf(OfOperator& of) {
  while (of.at < of.ladders.size()) {
    ExtentLadder& climbed = *of.ladders[of.at];
    const std::optional<int64_t> extent = climbed.ladder.IsTaken() ? climbed.ladder.Next() : std::nullopt;
    if (!extent && climbed.ladder.IsWaiting()) return std::nullopt;
    if (!extent) {
      if (settings_.times) ConfirmTimes(climbed);
      ++of.at;
      continue;
    }
    PlannedCase planned = PlanUntimed(climbed.case_of(*extent).value(), settings_.requirement);
    const std::string id = planned.spec.Id();
    std::vector<Open>& open = open_[id];
    open.push_back({&climbed, *extent});
    if (const auto shared = shared_records_.find(id); shared != shared_records_.end()) {
      SetPlans(id, shared->second);
    } else if (open.size() == 1) {
      return planned;
    }
  }
  return std::nullopt;
}

void ThresholdSearch::Judged(std::span<const std::string> ids, std::span<const Record> records,
                             const PoolHealth& /*health*/) {
  std::map<std::string, std::vector<Record>> by_case;
  for (const std::string& id : ids) by_case[id];
  for (const Record& record : records) by_case[record.case_id].push_back(record);
  for (auto& [id, of_case] : by_case) {
    const auto open = open_.find(id);
    if (open == open_.end()) continue;
    const bool is_shared = open->second.front().ladder->base == id;
    SetPlans(id, of_case);
    if (is_shared) shared_records_[id] = std::move(of_case);
  }
}

void ThresholdSearch::SetPlans(const std::string& id, std::span<const Record> records) {
  const auto open = open_.extract(id);
  for (const Open& waiting : open.mapped()) {
    PlansAt plans;
    const SharedCase bound = BindCase(waiting.ladder->case_of(waiting.extent).value()).value();
    for (const Record& record : records) {
      if (record.implementation.empty()) continue;
      const std::string& device = record.pool.empty() ? record.device : record.pool;
      const Device* at = record.verdict == Name(Verdict::kPass) ? FindDeviceOf(devices_, record) : nullptr;
      const bool has_bits = at != nullptr && waiting.ladder->bits && record.deterministic.value_or(false);
      plans[{record.backend, device, record.implementation}] = {
          .kernel = JoinKernel(record),
          .contract = record.contract,
          .verdict = record.verdict,
          .bits = has_bits ? waiting.ladder->bits->HashOn(*at, record.implementation, *bound) : "",
          .seconds = at != nullptr && settings_.times ? FindSeconds(*at, record.implementation, *bound) : 0,
          .work = std::max(1.0, bound->problem.flops)};
    }
    waiting.ladder->ladder.SetPlans(waiting.extent, std::move(plans));
  }
}

void ThresholdSearch::ConfirmTimes(ExtentLadder& climbed) const {
  for (const Threshold& t : climbed.ladder.FindThresholds()) {
    if (std::ranges::find(t.changes, PlanChange::kTime) == t.changes.end()) continue;
    const auto device = std::ranges::find_if(devices_, [&](const Device& d) {
      return d.session && d.backend == t.key.backend && d.PlannedName() == t.key.device;
    });
    if (device == devices_.end()) continue;
    for (const int64_t extent : {t.before, t.after, t.before, t.after}) {
      const SharedCase bound = BindCase(climbed.case_of(extent).value()).value();
      const double seconds = FindSeconds(*device, t.key.implementation, *bound);
      if (seconds > 0) climbed.ladder.AddSeconds(extent, t.key, seconds);
    }
  }
}

std::vector<const ExtentLadder*> ThresholdSearch::Ladders() const {
  std::vector<const ExtentLadder*> begun;
  for (const OfOperator& of : operators_) {
    for (const auto& ladder : of.ladders) {
      if (!ladder->ladder.known().empty()) begun.push_back(ladder.get());
    }
  }
  return begun;
}

size_t ThresholdSearch::planned_ladders() const {
  size_t ladders = 0;
  for (const OfOperator& of : operators_) ladders += of.ladders.size();
  return ladders;
}

std::string ThresholdSearch::StatusText() const {
  size_t behind = 0;
  for (const OfOperator& of : operators_) behind += of.at;
  return fmt::format("{} of {} ladders", behind, planned_ladders());
}

}  // namespace assay
