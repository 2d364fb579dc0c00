// SPDX-License-Identifier: Apache-2.0
// Timed repetitions in batches, one call of the worker each. The batches are kept short, so that the stopping rule is
// asked often and the one whose output is judged can be any of them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <thread>

#include "backends/abi/assay_backend.h"
#include "harness/exec/worker_session.h"
#include "harness/exec/worker_session_plan.h"

namespace assay {
namespace {

constexpr double kCachesRefilledSeconds = 0.01;  // the longest repetitions notice little of the caches they begin with
constexpr double kTimeoutFactor = 20;  // a batch may take this many times as long as expected, and the call timeout

}  // namespace

TransferTimes WorkerSession::Plan::Transfers() const {
  TransferTimes times;
  const size_t output = layouts.size() - 1;
  for (size_t i = 0; i < output; ++i) {
    times.upload_s += upload_s[i];
    times.upload_bytes += layouts[i].total_bytes;
  }
  times.download_s = download_s[output];
  times.download_bytes = layouts[output].total_bytes;
  return times;
}

class WorkerSession::BatchedRun final : public TimingRun {
 public:
  BatchedRun(WorkerSession& session, Plan& plan, std::vector<InputSet> sets, TimingRequest request)
      : session_(session), plan_(plan), sets_(std::move(sets)), request_(std::move(request)) {
    // What ran beside executions made them look up to twice as long.
    if (request_.expected_seconds >= 2 * kCachesRefilledSeconds) expected_s_ = request_.expected_seconds;
    if (request_.cold_cache) return;
    unrecorded_ = static_cast<uint64_t>(std::clamp<int64_t>(request_.warmup, 0, kMaxWarmup));
    if (!EveryCounts()) unrecorded_ = std::max<uint64_t>(unrecorded_, sets_.size());
  }
  Call<bool> Step(int64_t& processor) override;
  Call<Timing> End() override;

 private:
  static constexpr int64_t kMaxWarmup = 1000;

  bool Finished();
  bool Stop(StopReason reason);
  uint64_t NextBatch() const;
  bool EveryCounts() const { return request_.cold_cache || expected_s_ >= kCachesRefilledSeconds; }
  bool ChooseForJudging(uint64_t batch);
  Call<void> JudgedBatch(uint64_t repetitions);
  Call<void> CheckInputs();
  Call<void> Batch(uint64_t repetitions);
  Call<void> Record(Reply& reply, uint64_t repetitions);

  WorkerSession& session_;
  Plan& plan_;
  std::vector<InputSet> sets_;
  TimingRequest request_;
  Timing timing_;
  double repetitions_s_ = 0;  // of the last batch, as measured
  double expected_s_ = 0;     // of one repetition by the wall clock; 0: not known yet
  // Repetitions at the beginning of the next batch that do not count: the warm-up, and those after a transfer, which
  // finds the caches full of something else.
  uint64_t unrecorded_ = 0;
  double calls_s_ = 0;  // by the worker's clock
  uint64_t repetitions_ = 0;
  int64_t processor_ = -1;  // of the next batch, and then of the last
};

Call<bool> WorkerSession::BatchedRun::Step(int64_t& processor) {
  if (Finished()) return false;
  processor_ = processor;
  uint64_t repetitions = NextBatch();
  const bool judged = ChooseForJudging(repetitions);
  // Which repetition comes last is drawn too.
  if (judged) repetitions = std::uniform_int_distribution<uint64_t>(1, repetitions)(session_.random_);
  if (Call<void> done = judged ? JudgedBatch(repetitions) : Batch(repetitions); !done) {
    return tl::unexpected(done.error());
  }
  processor = processor_;
  return true;
}

Call<Timing> WorkerSession::BatchedRun::End() {
  if (Call<void> done = CheckInputs(); !done) return tl::unexpected(done.error());
  timing_.wall_s = calls_s_ / static_cast<double>(repetitions_);
  timing_.transfers = plan_.Transfers();
  return std::move(timing_);
}

bool WorkerSession::BatchedRun::Stop(StopReason reason) {
  timing_.stop = reason;
  return true;
}

bool WorkerSession::BatchedRun::Finished() {
  const auto count = static_cast<int64_t>(timing_.seconds.size());
  if (count == 0) return false;
  if (request_.cold_cache && !timing_.cache_was_flushed) return Stop(StopReason::kNotFlushed);
  const bool plenty = count >= request_.min_repetitions;
  if (plenty && request_.enough && request_.enough(timing_.seconds)) return Stop(StopReason::kSettled);
  if (count >= request_.max_repetitions) return Stop(StopReason::kRepetitions);
  return timing_.host_seconds >= request_.max_seconds && Stop(StopReason::kTimeLimit);
}

uint64_t WorkerSession::BatchedRun::NextBatch() const {
  if (expected_s_ == 0) return 1;
  const double by_time = std::min(request_.batch_seconds, request_.max_seconds - timing_.host_seconds) / expected_s_;
  const auto left = static_cast<double>(request_.max_repetitions) - static_cast<double>(timing_.seconds.size());
  const double most = static_cast<double>(kMaxRepetitionsPerCall / 2);  // the other half is for unrecorded ones
  return static_cast<uint64_t>(std::max(1.0, std::min({by_time, left, most})));
}

// Reservoir sampling: with probability (batch / all so far) it takes the place of the one chosen before, so that in
// the end each repetition was equally likely. The first batch is always taken.
bool WorkerSession::BatchedRun::ChooseForJudging(uint64_t batch) {
  const uint64_t all = timing_.seconds.size() + batch;
  return std::uniform_int_distribution<uint64_t>(1, all)(session_.random_) <= batch;
}

Call<void> WorkerSession::BatchedRun::JudgedBatch(uint64_t repetitions) {
  // The two prefills take turns over the sets: no constant output passes for both.
  const auto prefill_of = [](size_t set) { return set % 2 == 0 ? Prefill::kNanPayload : Prefill::kSentinel; };
  // Inputs stay on the device; CheckInputs() sees at the end whether they are what they were.
  const Operands output{plan_.layouts.size() - 1, plan_.layouts.size()};
  const Operands sent = timing_.judged.empty() ? Operands{0, output.end} : output;
  for (size_t set = 0; set < sets_.size(); ++set) {
    if (Call<void> done = session_.Upload(plan_, set, sets_[set], prefill_of(set), sent); !done) return done;
  }
  // Every set is written at least once.
  const bool every_counts = EveryCounts();
  if (every_counts) {
    if (unrecorded_ + repetitions < sets_.size()) repetitions = sets_.size() - unrecorded_;
  } else {
    unrecorded_ = std::max<uint64_t>(unrecorded_, sets_.size());
  }
  if (Call<void> done = Batch(repetitions); !done) return done;
  timing_.judged.clear();
  for (size_t set = 0; set < sets_.size(); ++set) {
    Execution execution;
    execution.prefill = prefill_of(set);
    if (Call<void> done = session_.Download(plan_, set, sets_[set], output, execution); !done) return done;
    timing_.judged.push_back(std::move(execution));
  }
  unrecorded_ = every_counts ? 0 : sets_.size();
  return {};
}

Call<void> WorkerSession::BatchedRun::CheckInputs() {
  for (size_t set = 0; set < sets_.size(); ++set) {
    for (size_t i = 0; i + 1 < plan_.layouts.size(); ++i) {
      Call<void> done = session_.Download(plan_, set, sets_[set], {i, i + 1}, timing_.judged[set]);
      if (!done) return done;
      // Of a large case, one operand after the other takes memory.
      if (!plan_.KeptAfterRelease()) plan_.sets[set].download.Discard(plan_.image_at[i], plan_.layouts[i].total_bytes);
    }
  }
  return {};
}

Call<void> WorkerSession::BatchedRun::Batch(uint64_t repetitions) {
  const uint64_t all = unrecorded_ + repetitions;
  const double call_timeout = session_.options_.call_timeout_s;
  const double timeout = expected_s_ == 0 ? call_timeout * static_cast<double>(all)
                                          : call_timeout + kTimeoutFactor * expected_s_ * static_cast<double>(all);
  const Json message = {{"plan", plan_.worker_plan},
                        {"sets", sets_.size()},
                        {"repetitions", all},
                        {"processor", processor_},
                        {"cache", request_.cold_cache ? ASSAY_CACHE_COLD : ASSAY_CACHE_WARM}};
  const auto begin = std::chrono::steady_clock::now();
  const Span span(Phase::kTimedLoop);
  const Call<Json> json = session_.Ask("time", message, timeout);
  if (!json) return tl::unexpected(json.error());
  const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  timing_.host_seconds += elapsed;
  expected_s_ = elapsed / static_cast<double>(all);
  Reply reply(*json);
  if (Call<void> done = Record(reply, all); !done) return done;
  const Nanoseconds at = reply.Integer("begin_ns");
  const double seconds = reply.Seconds("call_s");
  processor_ = reply.Integer("processor");
  if (!reply.problem().empty()) return session_.BadAnswer("time", reply.problem());
  calls_s_ += seconds;
  repetitions_ += all;
  span.AddWorker(at, seconds, static_cast<int64_t>(all), repetitions_s_);
  return {};
}

Call<void> WorkerSession::BatchedRun::Record(Reply& reply, uint64_t repetitions) {
  const std::vector<double> seconds = reply.SecondsList("seconds", repetitions);
  timing_.clock_is_device = reply.Integer("clock_is_device") == 1;
  timing_.cache_was_flushed = reply.Integer("cache_was_flushed") == 1;
  if (!reply.problem().empty()) return session_.BadAnswer("time", reply.problem());
  if (seconds.size() != repetitions) {
    return session_.BadAnswer("time", fmt::format("{} durations for {} repetitions", seconds.size(), repetitions));
  }
  repetitions_s_ = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  std::vector<double> recorded(seconds.begin() + static_cast<std::ptrdiff_t>(unrecorded_), seconds.end());
  timing_.seconds.insert(timing_.seconds.end(), recorded.begin(), recorded.end());
  const auto middle = recorded.begin() + static_cast<std::ptrdiff_t>(recorded.size() / 2);
  std::nth_element(recorded.begin(), middle, recorded.end());
  timing_.batch_medians_s.push_back(*middle);
  unrecorded_ = 0;
  return {};
}

Call<std::shared_ptr<TimingRun>> WorkerSession::BeginTiming(uint64_t plan, std::vector<InputSet> sets,
                                                            TimingRequest request) {
  const Call<Plan*> found = FindPlan(plan);
  if (!found) return tl::unexpected(found.error());
  if (sets.size() < 2) return CallFailed(Outcome::kError, "timing rotates at least two input sets");
  return std::make_shared<BatchedRun>(*this, **found, std::move(sets), std::move(request));
}

bool WorkerSession::AwaitIdle(double most_s) const {
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(most_s);
  while (worker_.AnyThreadRuns()) {
    if (std::chrono::steady_clock::now() >= until) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return true;
}

}  // namespace assay
