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

constexpr double kInstant = 1e-6;

bool SurvivedBy(FailureKind kind) {
  return kind == FailureKind::kUnsupported || kind == FailureKind::kUnavailable || kind == FailureKind::kError ||
         kind == FailureKind::kHost || kind == FailureKind::kOutOfMemory;
}

std::vector<Tensor> CopiesOf(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> copies;
  for (const Tensor& tensor : tensors) copies.push_back(tensor.Clone());
  return copies;
}

std::vector<Tensor> CopiesOf(std::span<const Tensor* const> inputs) {
  std::vector<Tensor> copies;
  for (const Tensor* input : inputs) copies.push_back(input->Clone());
  return copies;
}

bool AreEqual(const std::vector<Tensor>& a, std::span<const Tensor* const> b) {
  return std::ranges::equal(a, b,
                            [](const Tensor& x, const Tensor* y) { return FindChangedElements(x, *y).count == 0; });
}

auto KindOf(const FakeCall& call) {
  return std::tie(call.what, call.implementation, call.case_id, call.padded, call.cold);
}

std::vector<Tensor> RightOutputs(const Problem& problem, std::span<const Tensor* const> inputs) {
  const Operator& op = *OperatorRegistry::Global().Find(problem.spec.op);
  const std::vector<Tensor> copies = CopiesOf(inputs);
  std::vector<Tensor> outputs;
  for (size_t k = 0; k < problem.outputs.size(); ++k) {
    Tensor& output = outputs.emplace_back(problem.outputs[k].dtype, problem.outputs[k].shape);
    output.SetDoubles(op.ComputeGolden(problem, k, copies, Tier::kReproducible).value);
  }
  return outputs;
}

void Change(Tensor& output, size_t element, const std::function<float(float)>& change) {
  if (output.dtype() == DType::kF32) output.As<float>()[element] = change(output.As<float>()[element]);
}

void Spoil(std::vector<Tensor>& outputs, const Deed& deed, Prefill prefill) {
  Tensor& output = outputs.at(deed.output);
  if (deed.wrong) Change(output, deed.element, [](float value) { return 2 * value + 1; });
  if (deed.not_a_number) Change(output, deed.element, [](float) { return NAN; });
  if (deed.other_bits) {
    Change(output, deed.element, [](float value) { return std::nextafter(value, HUGE_VALF); });
  }
  if (deed.keeps_larger) {
    float lay = 0;
    std::memcpy(&lay, PrefillElement(DType::kF32, prefill).data(), sizeof lay);
    Change(output, deed.element, [lay](float value) { return std::fmax(value, lay); });
  }
  if (deed.unwritten) {
    const std::span<const std::byte> element = PrefillElement(output.dtype(), prefill);
    std::memcpy(output.data() + deed.element * element.size(), element.data(), element.size());
  }
}

}  // namespace

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
  if (offered.empty()) return CallFailed(FailureKind::kUnsupported, "nothing is offered");
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
  if (found == plans_.end()) return CallFailed(FailureKind::kError, "a plan that is not there");
  return &found->second;
}

FakeCall FakeSession::CallFor(Asked what, const Plan& plan) const {
  return {.what = what,
          .implementation = plan.implementation,
          .case_id = plan.problem.spec.Id(),
          .padded = plan.padded,
          .cold = plan.cold,
          .batch = plan.batch};
}

Execution FakeSession::Compute(Plan& plan, std::span<const Tensor* const> inputs, Prefill prefill, const Deed& deed) {
  Execution execution;
  execution.prefill = prefill;
  execution.host_seconds = times.kernel_s;
  const bool is_stale = deed.stale && !plan.last.empty();
  execution.outputs = is_stale ? CopiesOf(plan.last) : RightOutputs(plan.problem, inputs);
  plan.last = CopiesOf(execution.outputs);
  Spoil(execution.outputs, deed, prefill);
  for (const Tensor& output : execution.outputs) execution.prefilled += FindPrefilledElements(output, prefill).count;
  if (deed.stray_write) execution.guard_violations.push_back("4 bytes behind y were written");
  if (deed.changed_input) execution.changed_inputs.push_back("1 of 32 elements of x were changed");
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

Call<void> FakeSession::Bind(uint64_t plan_number, size_t sets) {
  const Call<Plan*> plan = FindPlan(plan_number);
  if (!plan) return tl::unexpected(plan.error());
  if (const auto deed = Begin(CallFor(Asked::kBind, **plan)); !deed) return tl::unexpected(deed.error());
  const Problem& problem = (*plan)->problem;
  while ((*plan)->sets.size() < sets) {
    Set& set = (*plan)->sets.emplace_back();
    for (std::vector<Tensor>* operands : {&set.staged, &set.there}) {
      for (const Operand& input : problem.inputs) operands->emplace_back(input.dtype, input.shape);
      for (const Operand& output : problem.outputs) operands->emplace_back(output.dtype, output.shape);
    }
  }
  return {};
}

Call<std::span<std::byte>> FakeSession::Staged(uint64_t plan_number, size_t set, size_t operand) {
  const Call<Plan*> plan = FindPlan(plan_number);
  if (!plan) return tl::unexpected(plan.error());
  Tensor& tensor = (*plan)->sets.at(set).staged.at(operand);
  return std::span(tensor.data(), tensor.bytes());
}

// Writes the outputs of a set that is there.
double FakeSession::Run(Plan& plan, Set& set) {
  const std::span<const Tensor> inputs = std::span<const Tensor>(set.there).first(plan.problem.inputs.size());
  const bool spares = cheat == Cheat::kSparesLast && ++plan.runs == 30;
  const auto write = [&](const std::vector<Tensor>& outputs) {
    for (size_t k = 0; k < outputs.size(); ++k) {
      Tensor& there = set.there[inputs.size() + k];
      const size_t spared = spares ? SizeOf(there.dtype()) : 0;
      std::memcpy(there.data(), outputs[k].data(), there.bytes() - spared);
      if (const uint32_t alias = plan.problem.outputs[k].alias; alias > 0) set.there[alias - 1] = outputs[k].Clone();
    }
  };
  const bool remembers = cheat == Cheat::kRemembers || cheat == Cheat::kSamples;
  uint64_t seen = 0;
  for (const Tensor& input : inputs) {
    seen = 31 * seen + HashBytes(input.data(), cheat == Cheat::kSamples ? SizeOf(input.dtype()) : input.bytes());
  }
  if (remembers && plan.remembered.contains(seen)) {
    write(plan.remembered.at(seen));
    return kInstant;
  }
  std::vector<const Tensor*> pointers;
  for (const Tensor& input : inputs) pointers.push_back(&input);
  std::vector<Tensor> outputs = RightOutputs(plan.problem, pointers);
  write(outputs);
  if (remembers) plan.remembered[seen] = std::move(outputs);
  return times.kernel_s;
}

Call<double> FakeSession::Upload(uint64_t plan_number, std::span<const Piece> pieces) {
  const Call<Plan*> plan = FindPlan(plan_number);
  if (!plan) return tl::unexpected(plan.error());
  if (const auto deed = Begin(CallFor(Asked::kUpload, **plan)); !deed) return tl::unexpected(deed.error());
  double seconds = times.round_trip_s + times.copy_s + times.jitter();
  std::set<size_t> touched;
  for (const Piece& piece : pieces) {
    Set& set = (*plan)->sets.at(piece.set);
    const Tensor& from = set.staged.at(piece.operand);
    if (piece.first + piece.bytes > from.bytes()) return CallFailed(FailureKind::kError, "a piece that is not there");
    std::memcpy(set.there[piece.operand].data() + piece.first, from.data() + piece.first, piece.bytes);
    if (set.executed) touched.insert(piece.set);
  }
  if (cheat != Cheat::kIsEager) return seconds;
  for (const size_t set : touched) seconds += Run(**plan, (*plan)->sets[set]);
  return seconds;
}

Call<Batch> FakeSession::ExecuteBatch(uint64_t plan_number, const BatchRequest& request) {
  const Call<Plan*> plan = FindPlan(plan_number);
  if (!plan) return tl::unexpected(plan.error());
  Batch batch{.elapsed_s = times.round_trip_s + times.jitter(), .processor = 0};
  if (request.sets.empty()) return batch;
  (*plan)->cold = request.cache == CacheState::kCold;
  if (!request.sets.empty()) (*plan)->batch = request.sets.size();
  const auto deed = Begin(CallFor(Asked::kBatch, **plan));
  if (!deed) return tl::unexpected(deed.error());
  batch.cache_was_flushed = (*plan)->cold && flushes_caches;
  bool skipped = false;
  for (const size_t number : request.sets) {
    Set& set = (*plan)->sets.at(number);
    skipped = !skipped && cheat == Cheat::kSkips;
    const bool waits = cheat == Cheat::kIsLazy || cheat == Cheat::kFinishesLater;
    const bool is_done = cheat == Cheat::kIsEager && set.executed;
    double taken_s = kInstant, told_s = kInstant;
    set.pending = waits;
    if (!waits && !is_done && !skipped && !deed->stale) taken_s = told_s = Run(**plan, set);
    if (cheat == Cheat::kForges) told_s /= 100;
    set.executed = true;
    batch.seconds.push_back(told_s);
    batch.elapsed_s += taken_s;
  }
  return batch;
}

Call<double> FakeSession::Download(uint64_t plan_number, size_t number, Part part, Execution& execution) {
  const Call<Plan*> plan = FindPlan(plan_number);
  if (!plan) return tl::unexpected(plan.error());
  FakeCall call = CallFor(Asked::kDownload, **plan);
  call.set = number;
  const auto deed = Begin(call);
  if (!deed) return tl::unexpected(deed.error());
  double seconds = times.round_trip_s + times.copy_s + times.jitter();
  if (deed->changed_input) execution.changed_inputs.push_back("1 of 32 elements of x were changed");
  if (part == Part::kInputs) return seconds;
  Set& set = (*plan)->sets.at(number);
  if (set.pending && cheat == Cheat::kIsLazy) seconds += Run(**plan, set);
  const std::span<const Tensor> there = std::span<const Tensor>(set.there).subspan((*plan)->problem.inputs.size());
  execution.outputs.clear();
  for (const Tensor& output : there) execution.outputs.push_back(output.Clone());
  for (const Tensor& output : execution.outputs) {
    execution.prefilled += FindPrefilledElements(output, execution.prefill).count;
  }
  if (set.pending && cheat == Cheat::kFinishesLater) Run(**plan, set);
  set.pending = false;
  Spoil(execution.outputs, *deed, Prefill::kNanPayload);
  if (deed->stray_write) execution.guard_violations.push_back("4 bytes behind y were written");
  return seconds;
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
