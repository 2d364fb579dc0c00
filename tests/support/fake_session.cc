// SPDX-License-Identifier: Apache-2.0
#include "tests/support/fake_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <tuple>

#include "harness/exec/observations.h"

namespace assay::test {
namespace {

constexpr int kBatches = 3, kRepetitionsOfBatch = 5;
constexpr double kRepetitionSeconds = 0.001;

bool SurvivedBy(Outcome outcome) {
  return outcome == Outcome::kUnsupported || outcome == Outcome::kUnavailable || outcome == Outcome::kError ||
         outcome == Outcome::kOutOfMemory;
}

std::vector<Tensor> CopiesOf(std::span<const Tensor* const> inputs) {
  std::vector<Tensor> copies;
  for (const Tensor* input : inputs) copies.push_back(input->Clone());
  return copies;
}

bool AreEqual(const std::vector<Tensor>& a, std::span<const Tensor* const> b) {
  return std::ranges::equal(a, b, [](const Tensor& x, const Tensor* y) { return ChangedElements(x, *y).count == 0; });
}

auto KindOf(const FakeCall& call) {
  return std::tie(call.what, call.implementation, call.case_id, call.padded, call.cold);
}

Tensor RightOutput(const Problem& problem, std::span<const Tensor* const> inputs) {
  const Operator& op = *OperatorRegistry::Global().Find(problem.spec.op);
  const std::vector<Tensor> copies = CopiesOf(inputs);
  Tensor output(problem.output.dtype, problem.output.shape);
  output.SetDoubles(op.ComputeGolden(problem, copies, Tier::kReproducible).value);
  return output;
}

void ChangeFirst(Tensor& output, const std::function<float(float)>& change) {
  if (output.dtype() == DType::kF32) output.As<float>()[0] = change(output.As<float>()[0]);
}

}  // namespace

class FakeSession::BatchedRun final : public TimingRun {
 public:
  BatchedRun(FakeSession& session, uint64_t plan, std::vector<InputSet> sets, TimingRequest request)
      : session_(session), plan_(plan), sets_(std::move(sets)), request_(std::move(request)) {}

  Call<bool> Step(int64_t& processor) override {
    if (timing_.batch_medians_s.size() == kBatches) return false;
    const Call<Plan*> plan = session_.FindPlan(plan_);
    if (!plan) return tl::unexpected(plan.error());
    if (const auto deed = session_.Begin(CallOf(Asked::kStep, **plan)); !deed) return tl::unexpected(deed.error());
    if (processor < 0) processor = 0;
    timing_.seconds.insert(timing_.seconds.end(), kRepetitionsOfBatch, kRepetitionSeconds);
    timing_.batch_medians_s.push_back(kRepetitionSeconds);
    timing_.host_seconds += kRepetitionsOfBatch * kRepetitionSeconds;
    return true;
  }

  Call<Timing> End() override {
    timing_.stop = StopReason::kSettled;
    timing_.wall_s = kRepetitionSeconds;
    timing_.cache_was_flushed = request_.cold_cache && session_.flushes_caches;
    const Call<Plan*> plan = session_.FindPlan(plan_);
    if (!plan) return tl::unexpected(plan.error());
    (*plan)->last = RightOutput((*plan)->problem, sets_[0]);  // what a stale one is taken from
    for (size_t set = 0; set < sets_.size(); ++set) {
      FakeCall call = CallOf(Asked::kEnd, **plan);
      call.input_set = set;
      const auto deed = session_.Begin(call);
      if (!deed) return tl::unexpected(deed.error());
      timing_.judged.push_back(Compute(**plan, sets_[set], Prefill::kNanPayload, *deed));
    }
    return std::move(timing_);
  }

 private:
  FakeCall CallOf(Asked what, const Plan& plan) const {
    FakeCall call = session_.CallFor(what, plan);
    call.cold = request_.cold_cache;
    return call;
  }

  FakeSession& session_;
  uint64_t plan_;
  std::vector<InputSet> sets_;
  TimingRequest request_;
  Timing timing_;
};

FakeSession::FakeSession()
    : offer([](const Problem&, const LayoutVariant&) {
        return std::vector<ImplementationInfo>{{"plain", "f32acc"}};
      }) {}

Call<Deed> FakeSession::Begin(FakeCall call) {
  if (!running_) {
    running_ = true;
    ++workers_;
  }
  call.worker = workers_;
  call.number = static_cast<int>(
      std::ranges::count_if(calls, [&](const FakeCall& other) { return KindOf(other) == KindOf(call); }));
  calls.push_back(call);
  const Deed deed = behave(call);
  if (!deed.fails) return deed;
  if (!SurvivedBy(*deed.fails)) EndWorker();
  return CallFailed(*deed.fails, fmt::format("told to: {}", Name(*deed.fails)));
}

void FakeSession::EndWorker() {
  lost += static_cast<int>(plans_.size());
  plans_.clear();
  running_ = false;
}

void FakeSession::Restart() {
  EndWorker();
}

std::vector<FakeCall> FakeSession::CallsOf(Asked what) const {
  std::vector<FakeCall> found;
  std::ranges::copy_if(calls, std::back_inserter(found), [&](const FakeCall& call) { return call.what == what; });
  return found;
}

Call<BackendDescription> FakeSession::Describe() {
  if (const auto deed = Begin({.what = Asked::kDescribe}); !deed) return tl::unexpected(deed.error());
  BackendDescription description;
  description.name = "fake";
  description.devices.resize(1);
  return description;
}

Call<std::vector<ImplementationInfo>> FakeSession::Query(int64_t, const Problem& problem, const LayoutVariant& layout) {
  const FakeCall call{.what = Asked::kQuery, .case_id = problem.spec.Id(), .padded = layout != LayoutVariant()};
  if (const auto deed = Begin(call); !deed) return tl::unexpected(deed.error());
  auto offered = offer(problem, layout);
  if (offered.empty()) return CallFailed(Outcome::kUnsupported, "nothing is offered");
  return offered;
}

Call<Prepared> FakeSession::Prepare(int64_t, const Problem& problem, const std::string& implementation,
                                    const LayoutVariant& layout) {
  Plan plan{.problem = problem, .implementation = implementation, .padded = layout != LayoutVariant()};
  if (const auto deed = Begin(CallFor(Asked::kPrepare, plan)); !deed) return tl::unexpected(deed.error());
  plans_.emplace(next_plan_, std::move(plan));
  return Prepared{next_plan_++, 0.25};
}

Call<FakeSession::Plan*> FakeSession::FindPlan(uint64_t plan) {
  const auto found = plans_.find(plan);
  if (found == plans_.end()) return CallFailed(Outcome::kError, "a plan that is not there");
  return &found->second;
}

FakeCall FakeSession::CallFor(Asked what, const Plan& plan) const {
  return {
      .what = what, .implementation = plan.implementation, .case_id = plan.problem.spec.Id(), .padded = plan.padded};
}

Execution FakeSession::Compute(Plan& plan, std::span<const Tensor* const> inputs, Prefill prefill, const Deed& deed) {
  Execution execution;
  execution.prefill = prefill;
  execution.host_seconds = kRepetitionSeconds;
  const bool is_stale = deed.stale && plan.last.bytes() > 0;
  Tensor output = is_stale ? plan.last.Clone() : RightOutput(plan.problem, inputs);
  plan.last = output.Clone();
  if (deed.wrong) ChangeFirst(output, [](float value) { return 2 * value + 1; });
  if (deed.other_bits) ChangeFirst(output, [](float value) { return std::nextafter(value, HUGE_VALF); });
  if (deed.unwritten) {
    const std::span<const std::byte> element = PrefillElement(output.dtype(), prefill);
    std::memcpy(output.data(), element.data(), element.size());
  }
  execution.prefilled = PrefilledElements(output, prefill).count;
  if (deed.stray_write) execution.guard_violations.push_back("4 bytes behind y were written");
  if (deed.changed_input) execution.changed_inputs.push_back("1 of 32 elements of x were changed");
  execution.output = std::move(output);
  return execution;
}

Call<Execution> FakeSession::Execute(uint64_t plan_number, std::span<const Tensor* const> inputs, Prefill prefill) {
  const Call<Plan*> plan = FindPlan(plan_number);
  if (!plan) return tl::unexpected(plan.error());
  if ((*plan)->inputs.empty()) (*plan)->inputs = CopiesOf(inputs);
  FakeCall call = CallFor(Asked::kExecute, **plan);
  call.own = AreEqual((*plan)->inputs, inputs);
  const auto deed = Begin(call);
  if (!deed) return tl::unexpected(deed.error());
  return Compute(**plan, inputs, prefill, *deed);
}

Call<std::shared_ptr<TimingRun>> FakeSession::BeginTiming(uint64_t plan_number, std::vector<InputSet> sets,
                                                          TimingRequest request) {
  const Call<Plan*> plan = FindPlan(plan_number);
  if (!plan) return tl::unexpected(plan.error());
  FakeCall call = CallFor(Asked::kBegin, **plan);
  call.cold = request.cold_cache;
  if (const auto deed = Begin(call); !deed) return tl::unexpected(deed.error());
  return std::make_shared<BatchedRun>(*this, plan_number, std::move(sets), std::move(request));
}

Call<void> FakeSession::Release(uint64_t plan_number) {
  const auto plan = plans_.find(plan_number);
  if (plan == plans_.end()) {
    released_twice += released_.contains(plan_number);
    return {};  // it went with its worker
  }
  const FakeCall call = CallFor(Asked::kRelease, plan->second);
  plans_.erase(plan);
  released_.insert(plan_number);
  ++released;
  const auto deed = Begin(call);
  if (!deed) return tl::unexpected(deed.error());
  return {};
}

}  // namespace assay::test
