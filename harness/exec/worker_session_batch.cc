// SPDX-License-Identifier: Apache-2.0
// The one call that executes: what is judged and what is timed are asked for in the same way.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <numeric>

#include "backends/abi/assay_backend.h"
#include "harness/exec/worker_session.h"
#include "harness/exec/worker_session_plan.h"

namespace assay {

Call<Batch> WorkerSession::ExecuteBatch(Phase phase, const Plan& plan, const Work& work, int64_t& processor) {
  const Json message = {{"plan", plan.worker_plan},
                        {"sets", work.sets},
                        {"cache", work.cache == CacheState::kCold ? ASSAY_CACHE_COLD : ASSAY_CACHE_WARM},
                        {"processor", processor}};
  const Span span(phase);
  const Call<Json> json = Ask("execute", message, work.timeout_s);
  if (!json) return tl::unexpected(json.error());
  Reply reply(*json);
  Batch batch;
  batch.seconds = reply.SecondsList("seconds", work.sets.size());
  batch.clock_is_device = reply.Integer("clock_is_device") == 1;
  batch.cache_was_flushed = reply.Integer("cache_was_flushed") == 1;
  batch.call_s = reply.Seconds("call_s");
  processor = reply.Integer("processor");
  const Nanoseconds begin = reply.Integer("begin_ns");
  if (!reply.problem().empty()) return BadAnswer("execute", reply.problem());
  if (batch.seconds.size() != work.sets.size()) {
    return BadAnswer("execute", fmt::format("{} durations for {} executions", batch.seconds.size(), work.sets.size()));
  }
  const double own_s = std::accumulate(batch.seconds.begin(), batch.seconds.end(), 0.0);
  span.AddWorker(begin, batch.call_s, phase == Phase::kTimedLoop ? std::ssize(work.sets) : 0,
                 phase == Phase::kTimedLoop ? own_s : 0);
  return batch;
}

}  // namespace assay
