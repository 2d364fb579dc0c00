// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/worker_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "harness/core/base/profile.h"
#include "harness/exec/shared_time.h"
#include "harness/exec/wire/wire.h"
#include "harness/exec/worker_session_plan.h"

namespace assay {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr std::string_view kMayRefuse[] = {"describe", "query", "capabilities"};  // nothing has been offered yet

// `layouts`: of the inputs.
Call<void> CheckInputs(std::span<const BufferLayout> layouts, std::span<const Tensor* const> inputs) {
  if (inputs.size() != layouts.size()) {
    return CallFailed(FailureKind::kError, fmt::format("{} inputs given, {} expected", inputs.size(), layouts.size()));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i]->dtype() == layouts[i].dtype && inputs[i]->shape() == layouts[i].shape) continue;
    return CallFailed(FailureKind::kError,
                      fmt::format("input {} is {} {}, expected {} {}", i, Name(inputs[i]->dtype()),
                                  ShapeText(inputs[i]->shape()), Name(layouts[i].dtype), ShapeText(layouts[i].shape)));
  }
  return {};
}

}  // namespace

std::vector<BufferLayout> LayoutsOf(const Problem& problem, const LayoutVariant& variant) {
  std::vector<BufferLayout> layouts;
  for (const Operand& input : problem.inputs) {
    layouts.push_back(MakeLayout(input.dtype, input.shape, variant, layouts.size()));
  }
  for (const Operand& output : problem.outputs) {
    layouts.push_back(output.alias > 0 ? layouts[output.alias - 1]
                                       : MakeLayout(output.dtype, output.shape, variant, layouts.size()));
  }
  return layouts;
}

WorkerSession::WorkerSession(SessionOptions options)
    : limits_(options.call_timeout_s, options.prepare_timeout_s, options.timeouts_are_constant,
              /*compiles_in_calls=*/!options.worker.words.empty()),
      spare_(std::make_unique<SpareMemory>()),
      worker_(std::move(options.worker)) {}
WorkerSession::~WorkerSession() = default;

Call<Json> WorkerSession::Ask(const std::string& call, Json message, const CallWork& work, std::span<const int> fds,
                              double expected_s) {
  if (!worker_.running()) {  // the first call, or the first after a crash, a timeout or Restart()
    plans_.clear();
    if (hung_) return tl::unexpected(*hung_);  // its import would take the whole time of each case again
    const Span span(Phase::kStart);
    if (Call<void> started = worker_.Start(); !started) {
      WorkerFailure failure = std::move(started.error());
      if (!device_.empty())
        failure.message = fmt::format("the worker of {} did not start: {}", device_, failure.message);
      if (worker_.import_hung()) hung_ = failure;
      return tl::unexpected(std::move(failure));
    }
    ++workers_started_;
  }
  CallLimit limit = limits_.LimitFor(call, work);
  limit.seconds += expected_s;
  const CallClock clock;
  Call<Json> answer = worker_.Request(call, std::move(message), limit, fds);
  if (answer) {
    limits_.NoteEnd(call, work, clock.Seconds());
    return answer;
  }
  if (answer.error().kind == FailureKind::kTimeout) limits_.NoteTimeout(call);
  NoteChange(call, answer.error());
  return answer;
}

// A device that was there when the run began and is gone has failed: only what was never there is absent. In the same
// way only what was never offered is unsupported, or a plugin would be rid of a wrong result by refusing to hand it
// out.
void WorkerSession::NoteChange(const std::string& call, WorkerFailure& failure) {
  if (failure.kind == FailureKind::kUnavailable && !device_.empty()) {
    worker_.Stop();
    failure = {FailureKind::kDeviceLost,
               fmt::format("{} could be opened before, and is gone now: {}", device_, failure.message)};
  } else if (failure.kind == FailureKind::kUnsupported && std::ranges::find(kMayRefuse, call) == std::end(kMayRefuse)) {
    failure = {
        FailureKind::kError,
        fmt::format(
            "the plugin offered this and then returned unsupported: {}; return ASSAY_UNSUPPORTED from query instead",
            failure.message)};
  }
}

void WorkerSession::Restart() {
  worker_.Stop();
  plans_.clear();
}

Call<void> WorkerSession::Close() {
  if (!worker_.running()) return {};
  const Call<Json> closed = Ask("close", Json::object(), {});
  plans_.clear();
  if (!closed) return tl::unexpected(closed.error());
  return {};
}

tl::unexpected<WorkerFailure> WorkerSession::RejectAnswer(const std::string& call, const std::string& problem) {
  return CallFailed(FailureKind::kError, fmt::format("{}: {}", call, problem));
}

Call<WorkerSession::Plan*> WorkerSession::FindPlan(uint64_t plan) {
  const auto it = plans_.find(plan);
  if (it != plans_.end() && worker_.running()) return it->second.get();
  return CallFailed(FailureKind::kError,
                    fmt::format("plan {} was released, or its worker has ended; prepare it again", plan));
}

Call<Prepared> WorkerSession::Prepare(int64_t device, const Problem& problem, const std::string& implementation,
                                      const LayoutVariant& variant) {
  auto plan = std::make_unique<Plan>();
  plan->layouts = LayoutsOf(problem, variant);
  plan->what = problem.spec.op + " " + implementation;
  plan->inputs = problem.inputs.size();
  for (const Operand& input : problem.inputs) plan->names.push_back(input.name);
  for (const Operand& output : problem.outputs) plan->names.push_back(output.name);
  for (size_t i = 0; i < plan->layouts.size(); ++i) {
    const uint32_t alias = plan->IsInput(i) ? 0 : problem.outputs[i - plan->inputs].alias;
    plan->home.push_back(alias > 0 ? alias - 1 : i);
    plan->image_at.push_back(alias > 0 ? plan->image_at[alias - 1] : plan->image_bytes);
    if (alias == 0) plan->image_bytes += plan->layouts[i].total_bytes;  // a multiple of the alignment
  }
  plan->work = problem.flops + static_cast<double>(plan->image_bytes);
  plan->upload_s.assign(plan->layouts.size(), kNever);
  plan->download_s = plan->upload_s;
  Json message = {
      {"device", device}, {"problem", EncodeProblem(problem, plan->layouts)}, {"implementation", implementation}};
  const Span span(Phase::kPrepare);
  const Call<Json> json = Ask("prepare", std::move(message), {plan->work});
  if (!json) return tl::unexpected(json.error());
  Reply reply(*json);
  const Nanoseconds begin = reply.Integer("begin_ns");
  plan->worker_plan = reply.Count("plan", std::numeric_limits<uint64_t>::max());
  Prepared prepared{next_plan_, reply.Seconds("seconds")};
  if (json->contains("workspace_bytes")) {
    prepared.description = {reply.Count("workspace_bytes", std::numeric_limits<uint64_t>::max()),
                            reply.Text("algorithm", kMaxTextBytes), reply.Text("kernel", kMaxTextBytes)};
  }
  if (!reply.problem().empty()) return RejectAnswer("prepare", reply.problem());
  span.AddWorker(begin, prepared.prepare_s);
  plans_[next_plan_++] = std::move(plan);
  return prepared;
}

// A plugin loads what an operator needs when it is asked for, if not before: once its first plan has run.
void WorkerSession::NoteLibraries(const std::string& of_plan) {
  if (looked_at_.insert(of_plan).second) libraries_.merge(worker_.LoadedLibraries());
}

Call<void> WorkerSession::Release(uint64_t plan) {
  const Call<Plan*> found = FindPlan(plan);
  if (!found) return {};  // it went with its worker
  NoteLibraries((*found)->what);
  const uint64_t worker_plan = (*found)->worker_plan;
  std::vector<Plan::Memory> memory = std::move((*found)->memory);
  plans_.erase(plan);
  const Span span(Phase::kRelease);
  const Call<Json> released = Ask("release", {{"plan", worker_plan}}, {});
  if (!released) return tl::unexpected(released.error());
  spare_->Keep(std::move(memory));
  return {};
}

Call<Execution> WorkerSession::Execute(uint64_t plan_number, std::span<const Tensor* const> inputs, Prefill prefill) {
  const Call<Plan*> found = FindPlan(plan_number);
  if (!found) return tl::unexpected(found.error());
  Plan& plan = **found;
  if (Call<void> fit = CheckInputs(std::span(plan.layouts).first(plan.inputs), inputs); !fit)
    return tl::unexpected(fit.error());
  if (Call<void> bound = Bind(plan, 1); !bound) return tl::unexpected(bound.error());
  std::vector<Piece> images;
  {
    const Span span(Phase::kImages);
    for (size_t i = 0; i < plan.layouts.size(); ++i) {
      if (plan.IsInPlace(i)) continue;  // the input is what it begins with
      if (plan.IsInput(i)) {
        WriteInputImage(plan.layouts[i], *inputs[i], plan.SentImage(0, i));
      } else {
        WriteOutputImage(plan.layouts[i], prefill, plan.SentImage(0, i));
      }
      images.push_back({0, i, 0, plan.layouts[i].total_bytes});
    }
  }
  if (Call<double> done = Upload(plan, images); !done) return tl::unexpected(done.error());
  Execution execution;
  execution.prefill = prefill;
  constexpr size_t kOnlySet[] = {0};
  const Call<Batch> batch = ExecuteBatch(Phase::kExecute, plan, {.sets = kOnlySet});
  if (!batch) return tl::unexpected(batch.error());
  execution.host_seconds = std::min(batch->call_s, batch->elapsed_s);
  const Fetch all[] = {{0, {0, plan.layouts.size()}, &execution}};
  const Call<double> done = Download(plan, all);
  if (!done) return tl::unexpected(done.error());
  return execution;
}

}  // namespace assay
