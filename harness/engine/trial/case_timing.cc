// SPDX-License-Identifier: Apache-2.0
// The timing phase of a case, and the judgement of what the timed runs left.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "harness/core/base/profile.h"
#include "harness/core/base/text.h"
#include "harness/engine/cases/host_memory.h"
#include "harness/engine/device/executions.h"
#include "harness/engine/device/interpreter.h"
#include "harness/engine/perf/machine_state.h"
#include "harness/engine/perf/stopping.h"
#include "harness/engine/timing/ceilings.h"
#include "harness/engine/timing/timing_fields.h"
#include "harness/engine/timing/timing_run.h"
#include "harness/engine/timing/witnesses.h"
#include "harness/engine/trial/record_fields.h"
#include "harness/engine/trial/repeated_calls.h"
#include "harness/engine/trial/trial_runner.h"
#include "harness/judge/judge_output.h"

namespace assay {
namespace {

// Timing ends when the median is known to this relative accuracy, or when its time is over.
constexpr double kSettledMedian = 0.02;
// Where builds take turns: so short that what slows a machine down, for tens of milliseconds at a time, mostly meets
// both sides of a pair of slices; no more of them in a round than a record should hold.
constexpr double kSliceSeconds = 0.001, kMostSlices = 10;
// A worker's threads may spin for so long after its slice: libgomp's do for some milliseconds.
constexpr double kLongestSpin = 0.02;
// A flush takes longer than most repetitions: what it costs is bounded, not how well the median is known.
constexpr int64_t kColdRepetitions = 3, kMostColdRepetitions = 21;

TimingRequest WarmRequest(double seconds, double expected_s) {
  TimingRequest request;
  request.expected_seconds = expected_s;
  request.min_repetitions = 5;
  request.max_seconds = request.most_seconds = seconds;
  request.enough = [](std::span<const double> times) { return MedianIsSettled(times, kSettledMedian); };
  return request;
}

// Every build gets the same time, so nothing ends it early.
TimingRequest SliceRequest(double seconds, double expected_s) {
  TimingRequest request = WarmRequest(seconds, expected_s);
  request.enough = nullptr;
  request.most_seconds = std::numeric_limits<double>::infinity();
  request.max_repetitions = std::numeric_limits<int64_t>::max();
  request.step_seconds = std::max(kSliceSeconds, seconds / kMostSlices);
  return request;
}

TimingRequest ColdRequest(double seconds) {
  TimingRequest request = WarmRequest(seconds, 0);
  request.cold_cache = true;
  request.min_repetitions = kColdRepetitions;
  request.max_repetitions = kMostColdRepetitions;
  return request;
}

// Why a result whose bits change has no first output beside the timed one; "" where it has.
std::string ExplainMissingRun1(const Problem& problem, const Attempt& attempt) {
  if (!attempt.outputs.empty()) return "";
  return IsLarge(problem) ? "; run 1 was not kept because of its size, only its hash"
                          : "; run 1 is not kept for rounds after the first, only its hash";
}

// The first output whose bits are not those of the first run; the first one where only the hash of all is known.
size_t FindDifferingOutput(const std::vector<Tensor>& outputs, const Attempt& attempt) {
  for (size_t k = 0; k < attempt.outputs.size(); ++k) {
    if (!SameBits(outputs[k], attempt.outputs[k])) return k;
  }
  return 0;
}

// A right result whose bits are not those of the first run.
void NoteOtherBits(const Problem& problem, std::string_view where, const std::vector<Tensor>& outputs,
                   Attempt& attempt) {
  const size_t other = FindDifferingOutput(outputs, attempt);
  attempt.record.deterministic = false;
  // The record is filled from them.
  if (attempt.findings) attempt.findings->outputs[other].observed.bits_equal = false;
  if (!attempt.contract.deterministic || attempt.verdict == Verdict::kNondeterministic) return;  // one shows it
  // Large cases, and rounds after the first, have its hash alone.
  const bool has_first = !attempt.outputs.empty();
  if (has_first) attempt.kept.push_back({"run1", KeptOutputSet::kOwn, ClonesOf(attempt.outputs)});
  attempt.kept.push_back({"timed", KeptOutputSet::kOwn, ClonesOf(outputs)});
  attempt.SetVerdictOf(
      other, Verdict::kNondeterministic, ResultClass::kNone,
      fmt::format("{}the bits changed {} although the contract says det=yes{}",
                  has_first ? NamingOutput(problem, other) : "", where, ExplainMissingRun1(problem, attempt)));
}

// Time of a launch beyond the duration, unless the user stated one; 0: the default.
double UsualLaunchUs(const Device& device) {
  if (!IsKernelFile(device.path)) return 0;
  const double told_us = ParseNumber<double>(Property(device.device.properties, "launch_us")).value_or(0);
  return std::clamp(told_us, kInterpreterLaunchUs, kMostInterpreterLaunchUs);
}

}  // namespace

SpanContext TrialRunner::LabelOf(const Timed& timed) const {
  return SpanContext(context_.planned().spec.Id(), timed.device->selector, timed.attempt->implementation);
}

bool TrialRunner::Prepare(Timed& timed) {
  Attempt& attempt = *timed.attempt;
  Session& session = *timed.device->session;
  const PreparedCase& data = context_.data();
  timed.by = &context_.DataFor(attempt.contract);
  auto plan = PreparedPlan::Make(*timed.device, data.executed(), attempt.implementation);
  if (!plan) {
    attempt.SetFailure(plan.error());
    return false;
  }
  timed.plan = *std::move(plan);
  if (attempt.prepared_by == session.workers_started()) attempt.record.prepare_cached_s = timed.plan->seconds();
  SetContents(timed);
  attempt.record.second_set = attempt.second_set;
  if (IsLarge(data.executed())) ReturnFreedMemory();  // what making the twin took
  return true;
}

// The second set has other data, so that a kernel cannot get away with an old result.
void TrialRunner::SetContents(Timed& timed) {
  const PreparedCase& data = context_.data();
  const CachedTwin* twin = data.whole ? nullptr : timed.by->FindSharedTwin();  // it would be one of the sample
  const PreparedCase* second = twin == nullptr ? context_.SecondSet() : nullptr;
  timed.attempt->second_set = twin != nullptr ? "twin" : second != nullptr ? second->problem.spec.Id() : "same";
  if (twin != nullptr) timed.coded = twin->Inputs();
  const std::vector<Tensor>& other = timed.coded         ? *timed.coded
                                     : second != nullptr ? second->inputs
                                                         : data.executed_inputs();
  timed.contents = {PointersTo(data.executed_inputs()), PointersTo(other)};
}

Call<void> TrialRunner::Repeat(const Device& device, const PreparedPlan& plan, const ContractData& by,
                               Attempt& attempt) {
  const bool thorough = context_.planned().thorough;
  const size_t executions = thorough ? settings_.repetitions : (settings_.repetitions + 1) / 2;
  const size_t most_judged = thorough ? 6 : 2;  // of each content
  Timed timed{.device = &device, .attempt = &attempt, .by = &by};
  SetContents(timed);
  const auto outputs = RunRepeatedly(*device.session, plan.id(), CaseOf(timed), executions, most_judged);
  if (!outputs) return tl::unexpected(outputs.error());
  JudgeOutputs(*outputs, "", "in repeated executions", by, attempt);
  return {};
}

TimedTrial TrialRunner::CaseOf(const Timed& timed) const {
  const PreparedCase& data = context_.data();
  const Attempt& attempt = *timed.attempt;
  const std::string& second = attempt.second_set == "same" ? attempt.output_hash : attempt.second_hash;
  return {.op = data.op,
          .problem = &data.executed(),
          .contents = timed.contents,
          .known = {attempt.output_hash, second},
          .cache_bytes = CacheBytesOf(*timed.device),
          .launch_s =
              1e-6 * ForBackend(settings_.launches_us, timed.device->backend).value_or(UsualLaunchUs(*timed.device))};
}

void TrialRunner::Time(const Device& device, Attempt& attempt) {
  Timed timed{.device = &device, .attempt = &attempt};
  const SpanContext context = LabelOf(timed);
  const Span span(Phase::kTiming);
  if (!Prepare(timed)) return;
  const PackageState before = ReadPackageState();
  const auto timing = settings_.timing(*device.session, timed.plan->id(), CaseOf(timed),
                                       WarmRequest(settings_.perf_time_s, attempt.fastest_s));
  EndTiming(timed, timing, before);
  if (attempt.memory_fault) device.session->Restart();
}

void TrialRunner::TimeInTurns(std::vector<Timed>& results) {
  const Span span(Phase::kTiming);
  std::vector<Timed*> unfinished, begun;
  const PackageState before = ReadPackageState();
  std::shuffle(results.begin(), results.end(), random_);  // who starts its worker first, too
  for (Timed& timed : results) {
    const SpanContext context = LabelOf(timed);
    if (!Prepare(timed)) continue;
    auto run = TimingRun::Begin(*timed.device->session, timed.plan->id(), CaseOf(timed),
                                SliceRequest(settings_.perf_time_s, timed.attempt->fastest_s));
    if (!run) {
      EndTiming(timed, tl::unexpected(run.error()), before);
      continue;
    }
    timed.run = *run;
    begun.push_back(&timed);
  }
  unfinished = begun;
  while (!unfinished.empty()) {
    std::shuffle(unfinished.begin(), unfinished.end(), random_);
    int64_t processor = -1;  // where the first one happens to run
    std::vector<Timed*> going_on;
    for (Timed* timed : unfinished) {
      if (TakeTurn(*timed, processor)) going_on.push_back(timed);
    }
    unfinished = std::move(going_on);
  }
  // Downloads and judgement come last, since they would disturb the slices of other builds.
  for (Timed* timed : begun) {
    const SpanContext context = LabelOf(*timed);
    EndTiming(*timed, timed->failure ? tl::unexpected(*timed->failure) : timed->run->End(), before);
    if (timed->attempt->memory_fault) timed->device->session->Restart();
  }
}

// Whether there is more to time.
bool TrialRunner::TakeTurn(Timed& timed, int64_t& processor) {
  const SpanContext context = LabelOf(timed);
  const Call<bool> more = timed.run->Step(processor);
  // The threads of its pool would slow the next one down. Those that never sleep are not waited for again.
  timed.sleeps = timed.sleeps && timed.device->session->AwaitIdle(kLongestSpin);
  if (!more) timed.failure = more.error();
  return more && *more;
}

void TrialRunner::EndTiming(Timed& timed, const Call<Timing>& timing, const PackageState& before) {
  const Device& device = *timed.device;
  Attempt& attempt = *timed.attempt;
  const bool first = attempt.rounds.empty();
  const PackageState after = ReadPackageState();
  std::optional<Call<Timing>> cold;
  if (timing && first && settings_.cold) {
    cold = settings_.timing(*device.session, timed.plan->id(), CaseOf(timed), ColdRequest(settings_.perf_time_s));
  }
  const Call<void> freed = timed.plan->Release();
  const Call<Timing>* const cold_timing = cold ? &*cold : nullptr;
  for (const Call<Timing>* done : {&timing, cold_timing}) {
    if (done == nullptr) continue;
    if (!*done) return attempt.SetFailure(done->error());
    DoGuarded(attempt,
              [&] { JudgeOutputs((*done)->outputs, (*done)->changed_later, "in the timed loop", *timed.by, attempt); });
    if (!attempt.holds_as_declared) return;
  }
  if (!freed) return attempt.SetFailure(freed.error());
  attempt.rounds.push_back(Summarise(timing->seconds));
  SetTiming(attempt.record, attempt.rounds, timing->clock_is_device);
  if (timed.run != nullptr) AddSlices(attempt.record, timing->step_medians_s);
  AddWall(attempt.record, timing->wall_s);
  AddLimit(attempt.record, *timing);
  if (first) SetFirstRound(attempt.record, *timing);
  if (cold) SetCold(attempt.record, **cold);
  const auto is_by_plugin = [&](const Timing& t) {
    return !t.has_host_times && t.clock_is_device == timing->clock_is_device;
  };
  if (cold && (**cold).cache_was_flushed && is_by_plugin(*timing) && is_by_plugin(**cold)) {
    const std::string lie = FindColdContradiction(timing->seconds, (**cold).seconds);
    if (!lie.empty()) AddContradiction(attempt.record, lie);
  }
  if (!settings_.cold) attempt.record.cold_note = "left out; --cold asks for it";
  SetPackagePower(attempt.record, before, after, HardwareOf(device) == kHostHardware);
  SetLimits(device, attempt);
  for (const Call<Timing>* done : {&timing, cold_timing}) {
    if (done != nullptr && !(**done).contradiction.empty()) AddContradiction(attempt.record, (**done).contradiction);
  }
}

void TrialRunner::SetLimits(const Device& device, Attempt& attempt) const {
  Record& record = attempt.record;
  if (!settings_.ceilings) return;
  const Problem& problem = context_.problem();
  const double fewest_flops = FewestFlopsOf(problem, attempt.contract);
  const auto ceiling = [&](Above above) {
    return settings_.ceilings->FindCeiling(device, problem.inputs[0].dtype, attempt.contract.in, above);
  };
  const Above above = SetRoofline(record, ceiling({}), fewest_flops);
  if (above.memory || above.compute) SetRoofline(record, ceiling(above), fewest_flops);
  const auto launch_s = settings_.ceilings->LaunchSeconds(device);
  if (launch_s && record.time_wall_s.value_or(0) > 0) {
    record.launch_fraction = std::min(1.0, *launch_s / *record.time_wall_s);
  }
}

void TrialRunner::JudgeOutputs(std::span<const TimedOutput> timed_outputs, const std::string& changed_later,
                               std::string_view where, const ContractData& by, Attempt& attempt) const {
  const Span span(Phase::kCompare);
  const PreparedCase& data = context_.data();
  const bool differs = attempt.second_set != "same";
  const auto fail = [&](const OutputProblem& wrong, const std::vector<Tensor>& of, size_t content) {
    const int other = by.FindSharedTwin() == nullptr ? KeptOutputSet::kSecondSet : 0;
    attempt.kept.clear();
    if (!of.empty()) {
      attempt.kept.push_back({"timed", content == 1 && differs ? other : KeptOutputSet::kOwn, ClonesOf(of)});
    }
    attempt.SetVerdictOf(wrong.output, Verdict::kMismatch, ResultClass::kNone,
                         fmt::format("{}, after passing: {}", where, wrong.what));
    attempt.SetDecidedBy(attempt.memory_fault ? "memory" : kLaterExecutions);
  };
  for (const TimedOutput& timed : timed_outputs) {
    const Execution& execution = timed.execution;
    const std::vector<Tensor> sample = data.whole ? data.SampleOf(execution.outputs) : std::vector<Tensor>();
    const std::vector<Tensor>& outputs = data.whole ? sample : execution.outputs;
    if (const std::string effect = SideEffect(execution); !effect.empty()) {
      attempt.memory_fault = true;
      return fail({effect, execution.damaged_output}, outputs, timed.content);
    }
    const bool second = timed.content == 1 && differs;
    if (!changed_later.empty()) return fail({changed_later}, outputs, timed.content);
    std::vector<Tensor> judged = ClonesOf(outputs);
    OutputProblem problem = second ? context_.FindSecondSetProblem(by, attempt.contract, std::move(judged))
                                   : context_.FindFirstProblemOf(by, attempt.contract, judged);
    if (!problem.what.empty()) {
      const char* const moved = timed.own_order ? "" : "; parts of its inputs had changed places or got a factor";
      if (data.whole) problem.what = data.whole->sample.Relocate(problem.output, problem.what);
      problem.what = NamingOutput(data.problem, problem.output) + problem.what + moved;
      return fail(problem, outputs, timed.content);
    }
    if (!second && timed.own_order) NoteOtherBits(data.executed(), where, outputs, attempt);
  }
  if (!changed_later.empty()) fail({changed_later}, attempt.outputs, 0);
}

}  // namespace assay
