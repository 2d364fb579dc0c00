// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/worker_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "harness/base/profile.h"
#include "harness/exec/observations.h"
#include "harness/exec/wire/wire.h"
#include "harness/exec/worker_session_plan.h"

namespace assay {
namespace {

constexpr size_t kMostSets = 64;
constexpr double kNever = std::numeric_limits<double>::infinity();

// What a download begins as: bytes that the plugin does not deliver then show as damage, not as the result of the
// execution before.
constexpr int kUndelivered = 0xDB;

Call<void> CheckInputs(std::span<const BufferLayout> layouts, std::span<const Tensor* const> inputs) {
  if (inputs.size() + 1 != layouts.size()) {
    return CallFailed(Outcome::kError, fmt::format("{} inputs given, {} expected", inputs.size(), layouts.size() - 1));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i]->dtype() == layouts[i].dtype && inputs[i]->shape() == layouts[i].shape) continue;
    return CallFailed(Outcome::kError,
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
  layouts.push_back(MakeLayout(problem.output.dtype, problem.output.shape, variant, layouts.size()));
  return layouts;
}

WorkerSession::WorkerSession(SessionOptions options)
    : options_(options), spare_(std::make_unique<SpareMemory>()), worker_(std::move(options.worker)) {}
WorkerSession::~WorkerSession() = default;

Call<Json> WorkerSession::Ask(const std::string& call, Json message, double timeout_s, std::span<const int> fds) {
  if (!worker_.running()) {
    plans_.clear();
    const Span span(Phase::kStart);
    if (Call<void> started = worker_.Start(); !started) {
      WorkerFailure failure = std::move(started.error());
      if (!device_.empty())
        failure.message = fmt::format("the worker of {} did not start: {}", device_, failure.message);
      return tl::unexpected(std::move(failure));
    }
    ++workers_started_;
  }
  return worker_.Request(call, std::move(message), timeout_s, fds);
}

void WorkerSession::Restart() {
  worker_.Stop();
  plans_.clear();
}

tl::unexpected<WorkerFailure> WorkerSession::BadAnswer(const std::string& call, const std::string& problem) {
  return CallFailed(Outcome::kError, fmt::format("{}: {}", call, problem));
}

Call<WorkerSession::Plan*> WorkerSession::FindPlan(uint64_t plan) {
  const auto it = plans_.find(plan);
  if (it != plans_.end() && worker_.running()) return it->second.get();
  return CallFailed(Outcome::kError,
                    fmt::format("plan {} was released, or its worker has ended; prepare it again", plan));
}

Call<Prepared> WorkerSession::Prepare(int64_t device, const Problem& problem, const std::string& implementation,
                                      const LayoutVariant& variant) {
  auto plan = std::make_unique<Plan>();
  plan->layouts = LayoutsOf(problem, variant);
  for (const Operand& input : problem.inputs) plan->names.push_back(input.name);
  plan->names.push_back(problem.output.name);
  for (const BufferLayout& layout : plan->layouts) {
    plan->image_at.push_back(plan->image_bytes);
    plan->image_bytes += layout.total_bytes;  // a multiple of the alignment
  }
  plan->upload_s.assign(plan->layouts.size(), kNever);
  plan->download_s = plan->upload_s;
  Json message = {
      {"device", device}, {"problem", EncodeProblem(problem, plan->layouts)}, {"implementation", implementation}};
  const Span span(Phase::kPrepare);
  const Call<Json> json = Ask("prepare", std::move(message), options_.prepare_timeout_s);
  if (!json) return tl::unexpected(json.error());
  Reply reply(*json);
  const Nanoseconds begin = reply.Integer("begin_ns");
  plan->worker_plan = reply.Count("plan", std::numeric_limits<uint64_t>::max());
  Prepared prepared{next_plan_, reply.Seconds("seconds")};
  if (json->contains("workspace_bytes")) {
    prepared.description = {reply.Count("workspace_bytes", std::numeric_limits<uint64_t>::max()),
                            reply.Text("algorithm", kMaxTextBytes), reply.Text("kernel", kMaxTextBytes)};
  }
  if (!reply.problem().empty()) return BadAnswer("prepare", reply.problem());
  span.AddWorker(begin, prepared.prepare_s);
  plans_[next_plan_++] = std::move(plan);
  return prepared;
}

Call<void> WorkerSession::Release(uint64_t plan) {
  const Call<Plan*> found = FindPlan(plan);
  if (!found) return {};  // it went with its worker
  const uint64_t worker_plan = (*found)->worker_plan;
  std::vector<Plan::Set> sets = std::move((*found)->sets);
  plans_.erase(plan);
  const Span span(Phase::kRelease);
  const Call<Json> released = Ask("release", {{"plan", worker_plan}}, options_.call_timeout_s);
  if (!released) return tl::unexpected(released.error());
  spare_->Keep(std::move(sets));
  return {};
}

Call<void> WorkerSession::Bind(Plan& plan, size_t set) {
  if (set < plan.sets.size()) return {};
  if (set >= kMostSets) return CallFailed(Outcome::kError, fmt::format("more than {} input sets", kMostSets));
  const Span span(Phase::kBind);
  Result<Plan::Set> memory = spare_->TakeOrCreate(plan.image_bytes);
  if (!memory) return CallFailed(Outcome::kError, memory.error().message);
  Json images = Json::array();
  for (size_t i = 0; i < plan.layouts.size(); ++i) {
    const BufferLayout& layout = plan.layouts[i];
    images.push_back({{"at", plan.image_at[i]}, {"bytes", layout.total_bytes}, {"offset", layout.offset}});
  }
  const int fds[] = {memory->upload.fd(), memory->download.fd()};
  const Call<Json> bound =
      Ask("bind", {{"plan", plan.worker_plan}, {"set", set}, {"size", plan.image_bytes}, {"images", std::move(images)}},
          options_.call_timeout_s, fds);
  if (!bound) return tl::unexpected(bound.error());
  plan.sets.push_back(std::move(*memory));
  return {};
}

Call<void> WorkerSession::Transfer(Phase call, Plan& plan, size_t set, Operands which) {
  const Json message = {{"plan", plan.worker_plan}, {"set", set}, {"first", which.first}, {"end", which.end}};
  const Span span(call);
  const Call<Json> done = Ask(Name(call), message, options_.call_timeout_s);
  if (!done) return tl::unexpected(done.error());
  Reply reply(*done);
  const std::vector<double> seconds = reply.SecondsList("seconds", which.end - which.first);
  std::vector<double>& fastest = call == Phase::kUpload ? plan.upload_s : plan.download_s;
  for (size_t i = 0; i < seconds.size(); ++i) {
    fastest[which.first + i] = std::min(fastest[which.first + i], seconds[i]);
  }
  if (!reply.problem().empty()) return BadAnswer(Name(call), reply.problem());
  return {};
}

void WorkerSession::WriteImages(Plan& plan, size_t set, std::span<const Tensor* const> inputs, Prefill prefill,
                                Operands which) {
  SharedMemory& memory = plan.sets[set].upload;
  for (size_t i = which.first; i < which.end; ++i) {
    const std::span<std::byte> image = plan.Image(memory, i);
    if (i == inputs.size()) {
      WriteOutputImage(plan.layouts[i], prefill, image);
    } else {
      WriteInputImage(plan.layouts[i], *inputs[i], image);
    }
  }
}

Call<void> WorkerSession::Upload(Plan& plan, size_t set, std::span<const Tensor* const> inputs, Prefill prefill,
                                 Operands which) {
  if (Call<void> fit = CheckInputs(plan.layouts, inputs); !fit) return fit;
  if (Call<void> bound = Bind(plan, set); !bound) return bound;
  {
    const Span span(Phase::kImages);
    WriteImages(plan, set, inputs, prefill, which);
  }
  return Transfer(Phase::kUpload, plan, set, which);
}

Call<void> WorkerSession::Download(Plan& plan, size_t set, std::span<const Tensor* const> inputs, Operands which,
                                   Execution& execution) {
  SharedMemory& memory = plan.sets[set].download;
  {
    const Span span(Phase::kImages);
    for (size_t i = which.first; i < which.end; ++i) {
      const std::span<std::byte> image = plan.Image(memory, i);
      std::memset(image.data(), kUndelivered, image.size());
    }
  }
  if (Call<void> done = Transfer(Phase::kDownload, plan, set, which); !done) return done;
  const Span span(Phase::kObserve);
  for (size_t i = which.first; i < which.end; ++i) {
    const std::span<std::byte> shared = plan.Image(memory, i);
    // The worker cannot change what was uploaded: an input that equals it, guards included, is as it was.
    const bool is_input = i < inputs.size();
    const std::byte* sent = plan.Image(plan.sets[set].upload, i).data();
    if (is_input && std::memcmp(shared.data(), sent, shared.size()) == 0) continue;
    // Copied before it is judged: a thread of the plugin may still write to the shared bytes.
    const std::vector<std::byte> image(shared.begin(), shared.end());
    for (const GuardViolation& violation : CheckGuards(plan.layouts[i], image)) {
      execution.guard_violations.push_back(violation.Text(plan.names[i]));
    }
    Tensor tensor = ReadImage(plan.layouts[i], image);
    if (!is_input) {
      execution.prefilled = PrefilledElements(tensor, execution.prefill).count;
      execution.output = std::move(tensor);
    } else if (const ElementReport changed = ChangedElements(*inputs[i], tensor); changed.count > 0) {
      execution.changed_inputs.push_back(ChangedText(plan.names[i], plan.layouts[i].shape, changed));
    }
  }
  return {};
}

Call<Execution> WorkerSession::Execute(uint64_t plan_number, std::span<const Tensor* const> inputs, Prefill prefill) {
  const Call<Plan*> found = FindPlan(plan_number);
  if (!found) return tl::unexpected(found.error());
  Plan& plan = **found;
  const Operands all{0, plan.layouts.size()};
  if (Call<void> done = Upload(plan, 0, inputs, prefill, all); !done) return tl::unexpected(done.error());
  Execution execution;
  execution.prefill = prefill;
  constexpr size_t kOnlySet[] = {0};
  int64_t processor = -1;
  const Work work{kOnlySet, CacheState::kWarm, options_.call_timeout_s};
  const Call<Batch> batch = ExecuteBatch(Phase::kExecute, plan, work, processor);
  if (!batch) return tl::unexpected(batch.error());
  execution.host_seconds = batch->call_s;
  if (Call<void> done = Download(plan, 0, inputs, all, execution); !done) return tl::unexpected(done.error());
  return execution;
}

}  // namespace assay
