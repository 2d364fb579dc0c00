// SPDX-License-Identifier: Apache-2.0
// The one call that executes: what is judged and what is timed are asked for in the same way.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <numeric>

#include "backends/abi/assay_backend.h"
#include "harness/exec/shared_time.h"
#include "harness/exec/worker_session.h"
#include "harness/exec/worker_session_plan.h"

namespace assay {

Call<Batch> WorkerSession::ExecuteBatch(uint64_t plan, const BatchRequest& request) {
  const Call<Plan*> found = FindPlan(plan);
  if (!found) return tl::unexpected(found.error());
  return ExecuteBatch(Phase::kTimedLoop, **found, request);
}

Call<Batch> WorkerSession::ExecuteBatch(Phase phase, const Plan& plan, const BatchRequest& request) {
  Json message = {{"plan", plan.worker_plan},
                  {"sets", request.sets},
                  {"cache", request.cache == CacheState::kCold ? ASSAY_CACHE_COLD : ASSAY_CACHE_WARM},
                  {"processor", request.processor}};
  const size_t count = request.sets.size();
  const Span span(phase);
  const CallClock clock;
  const Call<Json> json = Ask("execute", std::move(message), {plan.work, count}, {}, request.expected_s);
  if (!json) return tl::unexpected(json.error());
  Batch batch{.elapsed_s = clock.Seconds()};
  Reply reply(*json);
  batch.seconds = reply.SecondsList("seconds", count);
  batch.clock_is_device = reply.Integer("clock_is_device") == 1;
  batch.cache_was_flushed = reply.Integer("cache_was_flushed") == 1;
  batch.call_s = reply.Seconds("call_s");
  batch.processor = reply.Integer("processor");
  const Nanoseconds begin = reply.Integer("begin_ns");
  if (!reply.problem().empty()) return RejectAnswer("execute", reply.problem());
  if (batch.seconds.size() != count) {
    return RejectAnswer("execute", fmt::format("{} durations for {} executions", batch.seconds.size(), count));
  }
  const double own_s = std::accumulate(batch.seconds.begin(), batch.seconds.end(), 0.0);
  span.AddWorker(begin, batch.call_s, phase == Phase::kTimedLoop ? static_cast<int64_t>(count) : 0,
                 phase == Phase::kTimedLoop ? own_s : 0);
  return batch;
}

}  // namespace assay
