// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/explore/explorer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "harness/engine/results/exit_code.h"
#include "harness/engine/schedule.h"
#include "harness/plan/shrink.h"
#include "harness/tools/explain/still_fails.h"

namespace assay {
namespace {

constexpr int kMostTries = 150;        // smaller cases that are run for one failure
constexpr int kMostShrunkAlike = 5;    // failures of one kind that are made smaller; the others are kept as they are
constexpr int kMostAskedAlike = 20;    // failures of one kind and device that others of its pool are asked for
constexpr size_t kMostUntaken = 64;    // cases, of which no backend takes any, until there is no use in more
constexpr size_t kReasonLength = 160;  // of a comment

// The largest margin of a result: how close it came to a limit.
std::optional<double> MarginOf(const Record& r) {
  std::optional<double> largest;
  for (const Number& margin :
       {r.exact_margin, r.bound_margin, r.stat_margin, r.self_margin, r.exceptional_margin, r.metamorphic_margin}) {
    if (margin && std::isfinite(*margin)) largest = std::max(largest.value_or(0), *margin);
  }
  return largest;
}

bool Passes(const Record& r) {
  return r.outcome == Name(Verdict::kPass);
}

// On one line, as comments are.
std::string Short(const std::string& reason) {
  std::string text = reason.substr(0, reason.find('\n'));
  if (text.size() > kReasonLength) text = text.substr(0, kReasonLength) + "...";
  return text;
}

std::string KindOf(const CaseSpec& spec, const Record& record) {
  return fmt::format("{} {} {} {} {}", spec.op, DTypeListText(spec.dtypes), record.backend, record.implementation,
                     record.verdict);
}

// Each try of a timeout would last as long as the first. What failed after passing may pass the next time, and nothing
// would be known of what is smaller. A suspect (or what is inconclusive: what strict runs count alone) proves nothing,
// and a smaller one would show less.
bool MayBeSmaller(const Record& record) {
  return FailsRun(record) && record.verdict != Name(Verdict::kTimeout) && !HasFailedAfterPassing(record);
}

// Implementations seldom have a fault in common: then the case or what judges it may be at fault. "": not all give
// results that are wrong; ends of workers and contracts that promise too little say nothing of the case.
std::string ExplainAllFailing(std::span<const Record> records, const std::function<bool(const Record&)>& fails) {
  size_t results = 0, wrong = 0;
  for (const Record& record : records) {
    if (record.implementation.empty()) continue;
    const bool mismatch = record.verdict == Name(Verdict::kMismatch);
    if (!fails(record) || (!mismatch && record.verdict != Name(Verdict::kBelowContract))) return "";
    ++results, wrong += mismatch;
  }
  if (results < 2 || wrong == 0) return "";
  return fmt::format("\n# all {} implementations fail: suspect the case or its golden value", results);
}

}  // namespace

const Device* FindDeviceOf(const std::vector<Device>& devices, const Record& record) {
  const auto found = std::ranges::find_if(devices, [&](const Device& d) {
    return d.session && d.backend == record.backend && d.device.name == record.device;
  });
  return found == devices.end() ? nullptr : &*found;
}

Explorer::Explorer(const ExploreSettings& settings, const std::vector<Device>& devices, const RunPolicy& loop,
                   const RunFolder& folder)
    : settings_(settings), devices_(devices), loop_(loop), folder_(folder) {
  for (const Operator* op : settings_.ops) {
    operators_.push_back({op, Exploration(*op, settings_.limits, settings_.seed, settings_.dtypes)});
  }
}

// Cases that were made smaller run first, then a few cases of all operators in turn.
std::vector<PlannedCase> Explorer::Next() {
  std::vector<PlannedCase> cases;
  const auto add = [&](CaseSpec spec) {
    PlannedCase planned = Plan(std::move(spec));
    open_.emplace(planned.spec.Id(), planned);
    cases.push_back(std::move(planned));
  };
  for (; !smaller_.empty(); smaller_.pop_front()) add(std::move(smaller_.front()));
  if (!cases.empty() || settings_.is_time_over()) return cases;
  if (explored_ >= kMostUntaken && taken_ == 0) return cases;
  for (size_t without = 0; cases.size() < kMostCasesInStep && without < operators_.size();) {
    if (settings_.cases > 0 && explored_ == settings_.cases) break;
    std::optional<CaseSpec> spec = operators_[turn_++ % operators_.size()].exploration.Next();
    without = spec ? 0 : without + 1;
    if (!spec) continue;
    add(*std::move(spec));
    ++explored_;
  }
  return cases;
}

void Explorer::Judged(std::span<const std::string> ids, std::span<const Record> records, const PoolHealth& health) {
  while (!records.empty()) {
    const std::string& id = records.front().case_id;
    const auto other = std::ranges::find_if(records, [&](const Record& r) { return r.case_id != id; });
    const auto count = static_cast<size_t>(other - records.begin());
    const auto open = open_.extract(id);
    if (!open.empty()) JudgedCase(open.mapped(), records.first(count), health);
    records = records.subspan(count);
  }
  for (const std::string& id : ids) {
    if (const auto open = open_.extract(id); !open.empty()) JudgedCase(open.mapped(), {}, health);
  }
}

void Explorer::JudgedCase(const PlannedCase& planned, std::span<const Record> records, const PoolHealth& health) {
  std::optional<double> margin;
  bool taken = false, passed = true;
  for (const Record& record : records) {
    const bool is_result = !record.implementation.empty();
    taken = taken || is_result;
    passed = passed && (Passes(record) || !is_result);
    if (const auto own = MarginOf(record); own && Passes(record)) margin = std::max(margin.value_or(0), *own);
  }
  taken_ += taken;
  for (PerOperator& of : operators_) {
    if (of.op->schema().op != planned.spec.op) continue;
    of.exploration.Judged(planned.spec, taken, passed ? margin : std::nullopt);
  }
  // A pass that a rule does not expect fails the run, and shows no fault of the device.
  const auto is_failure = [&](const Record& r) {
    return FailsRun(r, settings_.strict) &&
           (r.verdict != Name(Verdict::kPass) || r.result_class == Name(ResultClass::kSuspect));
  };
  if (std::ranges::none_of(records, is_failure)) return;
  if (!saved_.contains(planned.spec.Id())) ++failed_;  // else it was made from another
  for (const Record& record : records) {
    if (is_failure(record)) Failed(planned, record, health);
  }
  if (const auto saved = saved_.find(planned.spec.Id()); saved != saved_.end()) {
    const std::string suspicion = ExplainAllFailing(records, is_failure);
    std::string& comment = saved->second.comment;
    if (comment.find(suspicion) == std::string::npos) comment += suspicion;
  }
  WriteSuite();
}

// Another device of the same pool, on which the case passes while it fails on the first one again: that one is at fault
// then, whatever the case. nullptr: none of them is known to. What was set aside may hang, and is not asked.
const Device* Explorer::FindSoundDevice(const PlannedCase& planned, const Device& first, const Record& record,
                                        const PoolHealth& health) const {
  for (size_t i = 0; i < devices_.size(); ++i) {
    const Device& other = devices_[i];
    const bool shares = !other.pool.empty() && other.pool == first.pool && other.backend == first.backend;
    if (!shares || !other.session || &other == &first || health.FindFor(i, planned.spec.op) != i) continue;
    if (!HasPassedOn(planned, other, record.implementation, loop_)) continue;
    // An intermittent failure would pass here on any device, so the first device must fail once more.
    return FailsAlike(planned, first, record, loop_) ? &other : nullptr;
  }
  return nullptr;
}

// Makes the case smaller, unless nothing comes of it or it takes too long.
void Explorer::Failed(const PlannedCase& planned, const Record& record, const PoolHealth& health) {
  const std::string id = planned.spec.Id();
  const std::string who = record.implementation.empty() ? record.backend : record.backend + ":" + record.implementation;
  const bool passed = record.verdict == Name(Verdict::kPass);
  const std::string what =
      fmt::format("{} of {}: {}", passed ? record.result_class : record.verdict, who, Short(record.reason));
  if (const auto known = saved_.find(id); known != saved_.end()) {  // of another implementation, or made from another
    if (known->second.comment.find(what) == std::string::npos) known->second.comment += "\n# " + what;
    return;
  }
  const Device* device = FindDeviceOf(devices_, record);
  const std::string kind = KindOf(planned.spec, record);
  // A sick device, however often it fails, leaves those alone that are made smaller.
  const bool asks = device != nullptr && MayBeSmaller(record) &&
                    (device->pool.empty() || ++asked_[kind + " " + record.device] <= kMostAskedAlike);
  const Device* sound = asks ? FindSoundDevice(planned, *device, record, health) : nullptr;
  const bool shrinks = asks && sound == nullptr && ++shrunk_[kind] <= kMostShrunkAlike;
  CaseSpec smallest = planned.spec;
  if (shrinks) {
    const OpSchema& schema = planned.Bound()->op->schema();
    const auto is_case = [&](const CaseSpec& spec) { return BindCase(spec).has_value(); };
    const auto fails = [&](const CaseSpec& spec) { return FailsAlike(Plan(spec), *device, record, loop_); };
    smallest = ShrinkCase(planned.spec, schema, kMostTries, is_case, fails);
  }
  if (smallest == planned.spec) {
    const std::string where = sound == nullptr ? "" : "\n# passes on " + sound->device.name;
    saved_.emplace(id, Saved{planned.spec, what + where});
    return;
  }
  const bool is_new =
      saved_.emplace(smallest.Id(), Saved{smallest, fmt::format("{}\n# found with {}", what, id)}).second;
  if (is_new) smaller_.push_back(std::move(smallest));
}

void Explorer::WriteSuite() {
  std::string text = fmt::format(
      "# SPDX-License-Identifier: Apache-2.0\n# Cases that failed in assay explore --seed {}.\n", settings_.seed);
  if (!settings_.requirement.empty()) text += fmt::format("require contract={}\n", settings_.requirement);
  for (const auto& [id, saved] : saved_) text += fmt::format("\n# {}\n{}\n", saved.comment, SuiteLineOf(saved.spec));
  if (const Status written = folder_.WriteText(kFailuresSuite, text); !written) {
    loop_.observer->Noted("the suite of failing cases is not written: " + written.error().message);
  }
}

size_t Explorer::CountRan(const RecordView& records) const {
  std::set<std::string> recorded;  // an interruption comes before the last of them are judged
  for (const Record& record : records) recorded.insert(record.case_id);
  const auto cut_off = std::ranges::count_if(
      open_, [&](const auto& open) { return !recorded.contains(open.first) && !saved_.contains(open.first); });
  return explored_ - static_cast<size_t>(cut_off);
}

std::vector<Explorer::OfOperator> Explorer::Coverage() const {
  std::vector<OfOperator> all;
  for (const PerOperator& of : operators_) all.push_back({of.op->schema().op, of.exploration.Coverage()});
  return all;
}

std::string Explorer::StatusText() const {
  int64_t covered = 0, possible = 0;
  for (const OfOperator& of : Coverage()) covered += of.sets[0].covered, possible += of.sets[0].possible;
  return fmt::format("{} of {} pairs", covered, possible);
}

}  // namespace assay
