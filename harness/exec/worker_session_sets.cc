// SPDX-License-Identifier: Apache-2.0
// Sets of operands: shared memory for their images, and what travels between these and the device.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <thread>

#include "harness/core/base/check.h"
#include "harness/core/base/profile.h"
#include "harness/core/base/stopwatch.h"
#include "harness/exec/observations.h"
#include "harness/exec/shared_time.h"
#include "harness/exec/worker_session.h"
#include "harness/exec/worker_session_plan.h"

namespace assay {
namespace {

constexpr size_t kMostSets = 128;

// Initial bytes of a download: what the plugin does not deliver shows as damage, not as the previous result.
constexpr int kUndelivered = 0xDB;

}  // namespace

TransferTimes WorkerSession::Plan::Transfers() const {
  TransferTimes times;
  for (size_t i = 0; i < layouts.size(); ++i) {
    (IsInput(i) ? times.upload_s : times.download_s) += IsInput(i) ? upload_s[i] : download_s[i];
    (IsInput(i) ? times.upload_bytes : times.download_bytes) += layouts[i].total_bytes;
  }
  return times;
}

TransferTimes WorkerSession::Transfers(uint64_t plan) {
  const Call<Plan*> found = FindPlan(plan);
  return found ? (*found)->Transfers() : TransferTimes();
}

Call<void> WorkerSession::Bind(uint64_t plan, size_t sets) {
  const Call<Plan*> found = FindPlan(plan);
  if (!found) return tl::unexpected(found.error());
  return Bind(**found, sets);
}

Call<void> WorkerSession::Bind(Plan& plan, size_t sets) {
  const size_t first = plan.sets();
  if (sets <= first) return {};
  if (sets > kMostSets) return CallFailed(FailureKind::kError, fmt::format("more than {} sets of operands", kMostSets));
  const Span span(Phase::kBind);
  const size_t added = sets - first;
  const size_t room = added * plan.image_bytes <= kMostRoomBytes ? added : 1;
  Result<Plan::Memory> memory = spare_->TakeOrCreate(added * plan.image_bytes, room * plan.image_bytes);
  if (!memory) return CallFailed(FailureKind::kHost, memory.error().message);
  memory->first = first, memory->sets = added, memory->room = room;
  Json images = Json::array();
  for (size_t i = 0; i < plan.layouts.size(); ++i) {
    const BufferLayout& layout = plan.layouts[i];
    images.push_back(
        {{"at", plan.image_at[i]}, {"bytes", layout.total_bytes}, {"offset", layout.offset}, {"home", plan.home[i]}});
  }
  const int fds[] = {memory->upload.fd(), memory->download.fd()};
  const Call<Json> bound = Ask("bind",
                               {{"plan", plan.worker_plan},
                                {"sets", memory->sets},
                                {"room", memory->room},
                                {"size", plan.image_bytes},
                                {"inputs", plan.inputs},
                                {"images", std::move(images)}},
                               {static_cast<double>(plan.image_bytes), added}, fds);
  if (!bound) return tl::unexpected(bound.error());
  plan.memory.push_back(std::move(*memory));
  for (size_t set = first; set < sets; ++set) {
    for (size_t i = 0; i < plan.layouts.size(); ++i) WriteGuards(plan.layouts[i], plan.SentImage(set, i));
  }
  return {};
}

Call<std::span<std::byte>> WorkerSession::Staged(uint64_t plan, size_t set, size_t operand) {
  const Call<Plan*> found = FindPlan(plan);
  if (!found) return tl::unexpected(found.error());
  const BufferLayout& layout = (*found)->layouts[operand];
  ASSAY_CHECK(!layout.HasGaps());
  return (*found)->SentImage(set, operand).subspan(layout.offset, layout.span_bytes);
}

Call<double> WorkerSession::Transfer(Phase phase, const Plan& plan, Json pieces, size_t count,
                                     std::vector<double>& seconds) {
  const Span span(phase);
  const CallClock clock;
  const Call<Json> done = Ask(Name(phase), {{"plan", plan.worker_plan}, {"pieces", std::move(pieces)}},
                              {static_cast<double>(plan.image_bytes), count});
  if (!done) return tl::unexpected(done.error());
  const double elapsed_s = clock.Seconds();
  Reply reply(*done);
  seconds = reply.SecondsList("seconds", count);
  if (!reply.problem().empty()) return RejectAnswer(Name(phase), reply.problem());
  if (seconds.size() == count) return elapsed_s;
  return RejectAnswer(Name(phase), fmt::format("{} durations of {} transfers", seconds.size(), count));
}

Call<double> WorkerSession::Upload(uint64_t plan_number, std::span<const Piece> pieces) {
  const Call<Plan*> found = FindPlan(plan_number);
  if (!found) return tl::unexpected(found.error());
  Plan& plan = **found;
  std::vector<Piece> images(pieces.begin(), pieces.end());
  for (Piece& piece : images) {
    const BufferLayout& layout = plan.layouts[piece.operand];
    const bool all = piece.first == 0 && piece.bytes == layout.span_bytes;
    piece.first = all ? 0 : layout.offset + piece.first;
    if (all) piece.bytes = layout.total_bytes;
  }
  return Upload(plan, images);
}

Call<double> WorkerSession::Upload(Plan& plan, std::span<const Piece> images) {
  Json pieces = Json::array();
  for (const Piece& piece : images) pieces.push_back({piece.set, piece.operand, piece.first, piece.bytes});
  std::vector<double> seconds;
  const Call<double> done = Transfer(Phase::kUpload, plan, std::move(pieces), images.size(), seconds);
  for (size_t i = 0; i < seconds.size(); ++i) {
    double& fastest = plan.upload_s[images[i].operand];
    if (images[i].bytes == plan.layouts[images[i].operand].total_bytes) fastest = std::min(fastest, seconds[i]);
  }
  return done;
}

Call<double> WorkerSession::Download(uint64_t plan_number, size_t set, Part part, Execution& execution) {
  const Call<Plan*> found = FindPlan(plan_number);
  if (!found) return tl::unexpected(found.error());
  Plan& plan = **found;
  const auto fetch = [&](size_t first, size_t end) {
    const Fetch one[] = {{set, {first, end}, &execution}};
    return Download(plan, one);
  };
  if (part == Part::kOutputs) return fetch(plan.inputs, plan.layouts.size());
  if (plan.KeptAfterRelease()) return fetch(0, plan.inputs);
  // In a large case, operands take turns in the memory.
  double elapsed_s = 0;
  for (size_t i = 0; i < plan.inputs; ++i) {
    if (plan.IsOverwritten(i)) continue;
    const Call<double> done = fetch(i, i + 1);
    if (!done) return done;
    elapsed_s += *done;
    plan.MemoryOf(set).download.Discard(plan.image_at[i], plan.layouts[i].total_bytes);
  }
  return elapsed_s;
}

Call<void> WorkerSession::DownloadAll(uint64_t plan_number, std::span<const size_t> sets, Part part,
                                      std::span<Execution> executions) {
  const Call<Plan*> found = FindPlan(plan_number);
  if (!found) return tl::unexpected(found.error());
  Plan& plan = **found;
  const auto has_room = [&](const Plan::Memory& memory) { return memory.room == memory.sets; };
  if (!std::ranges::all_of(plan.memory, has_room)) return Session::DownloadAll(plan_number, sets, part, executions);
  const Operands which = part == Part::kInputs ? Operands{0, plan.inputs} : Operands{plan.inputs, plan.layouts.size()};
  std::vector<Fetch> fetches;
  for (size_t i = 0; i < sets.size(); ++i) fetches.push_back({sets[i], which, &executions[i]});
  if (const Call<double> done = Download(plan, fetches); !done) return tl::unexpected(done.error());
  return {};
}

Call<double> WorkerSession::Download(Plan& plan, std::span<const Fetch> fetches) {
  Json pieces = Json::array();
  size_t operands = 0;
  {
    const Span span(Phase::kImages);
    for (const auto& [set, which, execution] : fetches) {
      for (size_t i = which.first; i < which.end; ++i) {
        const std::span<std::byte> image = plan.ReturnedImage(set, i);
        std::memset(image.data(), kUndelivered, image.size());
      }
      pieces.push_back({set, which.first, which.end, plan.ReturnedAt(set)});
      operands += which.end - which.first;
    }
  }
  std::vector<double> seconds;
  const Call<double> done = Transfer(Phase::kDownload, plan, std::move(pieces), operands, seconds);
  if (!done) return done;
  const Span span(Phase::kObserve);
  std::span<const double> left = seconds;
  for (const Fetch& fetch : fetches) {
    Observe(plan, fetch, left);
    left = left.subspan(fetch.which.end - fetch.which.first);
  }
  return done;
}

void WorkerSession::Observe(Plan& plan, const Fetch& fetch, std::span<const double> seconds) {
  const auto& [set, which, of] = fetch;
  Execution& execution = *of;
  if (which.end == plan.layouts.size()) execution.outputs.clear(), execution.prefilled = 0;
  for (size_t i = which.first; i < which.end; ++i) {
    plan.download_s[i] = std::min(plan.download_s[i], seconds[i - which.first]);
    const std::span<std::byte> shared = plan.ReturnedImage(set, i), sent = plan.SentImage(set, i);
    const bool is_input = plan.IsInput(i);
    if (is_input && plan.IsOverwritten(i)) continue;  // it comes back as an output
    // The worker cannot change what was uploaded: an input that equals it, guards included, is as it was.
    if (is_input && std::memcmp(shared.data(), sent.data(), shared.size()) == 0) continue;
    // Copied before it is judged: a thread of the plugin may still write to the shared bytes.
    const std::vector<std::byte> image(shared.begin(), shared.end());
    for (const GuardViolation& violation : CheckGuards(plan.layouts[i], image)) {
      if (!is_input && execution.guard_violations.empty()) execution.damaged_output = i - plan.inputs;
      execution.guard_violations.push_back(violation.Text(plan.names[i]));
    }
    Tensor tensor = ReadImage(plan.layouts[i], image);
    if (!is_input) {
      if (!plan.IsInPlace(i)) execution.prefilled += FindPrefilledElements(tensor, execution.prefill).count;
      execution.outputs.push_back(std::move(tensor));
      continue;
    }
    const ElementReport changed = FindChangedElements(ReadImage(plan.layouts[i], sent), tensor);
    if (changed.count > 0) {
      execution.changed_inputs.push_back(ChangedText(plan.names[i], plan.layouts[i].shape, changed));
    }
  }
}

bool WorkerSession::AwaitIdle(double most_s) const {
  const Stopwatch watch;
  while (worker_.AnyThreadRuns()) {
    if (watch.Seconds() >= most_s) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return true;
}

}  // namespace assay
