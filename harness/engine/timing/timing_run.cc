// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/timing/timing_run.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "harness/core/base/statistics.h"
#include "harness/core/base/stopwatch.h"
#include "harness/engine/device/executions.h"

namespace assay {
namespace {

// The longest executions notice little of what they find in caches, and of threads that slept.
constexpr double kLong = 0.004;
// Before the first call: until the two fastest are alike and not slow, so that nothing has held them up.
constexpr size_t kMostRoundTrips = 20;
constexpr double kAlike = 1.25, kUsualRoundTrip = 200e-6;
constexpr double kShareForUploads = 2;          // of the time that was given, until there are so many
constexpr double kShareOfUnusedUploads = 0.05;  // of the time of all calls that execute, once there are some
constexpr double kMostUnusedBytes = 0x1p25;     // of a set that is not executed
constexpr double kPatience = 30;                // times the time that was given, until a call counts
constexpr double kTimeoutFactor = 20;  // a call may take this many times as long as expected, and a call's timeout

double Sum(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

size_t SetsOf(const TimedTrial& timed, const TimingRequest& request) {
  return NumberOfSets(*timed.problem, timed.cache_bytes, request.expected_seconds);
}

}  // namespace

std::string_view Name(StopReason reason) {
  constexpr std::string_view kNames[] = {"settled", "time limit", "repetitions", "not flushed"};
  return kNames[static_cast<size_t>(reason)];
}

TimingRun::TimingRun(Session& session, uint64_t plan, TimedTrial timed, TimingRequest request)
    : session_(session),
      plan_(plan),
      case_(std::move(timed)),
      request_(std::move(request)),
      sets_(session, plan, case_, SetsOf(case_, request_),
            !request_.cold_cache && BytesOfSet(*case_.problem) <= kMostUnusedBytes),
      plausibility_(0, request_.cold_cache),
      used_(sets_.size()),
      executed_at_(sets_.size()),
      durations_s_(sets_.size()),
      expected_s_(request_.expected_seconds),
      downloaded_(case_.contents.size()),
      kept_(case_, sets_, 1) {
  case_.known.resize(case_.contents.size());
}

Call<std::shared_ptr<TimingRun>> TimingRun::Begin(Session& session, uint64_t plan, TimedTrial timed,
                                                  TimingRequest request) {
  std::shared_ptr<TimingRun> run(new TimingRun(session, plan, std::move(timed), std::move(request)));
  if (Call<void> prepared = run->Prepare(); !prepared) return tl::unexpected(prepared.error());
  return run;
}

Call<void> TimingRun::Prepare() {
  if (Call<void> filled = sets_.Fill(random_, !IsLong()); !filled) return filled;
  round_trip_s_ = std::numeric_limits<double>::infinity();
  plausibility_ = Plausibility(round_trip_s_, request_.cold_cache, case_.launch_s);
  double second_s = round_trip_s_;
  for (size_t i = 0; i < kMostRoundTrips && !(second_s <= std::min(kAlike * round_trip_s_, kUsualRoundTrip)); ++i) {
    const double before_s = round_trip_s_;
    const Call<double> took_s = CallEmpty();
    if (!took_s) return tl::unexpected(took_s.error());
    second_s = std::min(second_s, std::max(before_s, *took_s));
  }
  return {};
}

Call<double> TimingRun::CallEmpty() {
  const Call<Batch> empty = session_.ExecuteBatch(plan_, {});
  if (!empty) return tl::unexpected(empty.error());
  round_trip_s_ = std::min(round_trip_s_, empty->elapsed_s);
  plausibility_.AddRoundTrip(empty->elapsed_s);
  return empty->elapsed_s;
}

Call<bool> TimingRun::Step(int64_t& processor) {
  if (Finished()) return false;
  const double until = timing_.host_seconds + request_.step_seconds;
  const size_t before = timing_.seconds.size();
  do {
    if (Call<void> done = CallOnce(processor); !done) return tl::unexpected(done.error());
    if (!plausibility_.Contradiction().empty() && !unaccounted_s_.empty() && timing_.seconds.empty()) {
      timing_.seconds.swap(unaccounted_s_);  // to be struck out, whatever a later call says
      timing_.contradiction = plausibility_.Contradiction();
      unaccounted_host_s_.clear();
    }
    // Nor does it go on for ever where the plugin tells the truth in one call alone.
    const bool late = HasSpentAll() || plausibility_.IsSettled() ||
                      timing_.host_seconds > until + kPatience * std::max(0.1, request_.max_seconds);
    if (late && !unaccounted_s_.empty() && timing_.seconds.size() == before) {
      // By the host's clock, which makes them too long where the machine is busy, and never too short.
      timing_.has_host_times = true;
      timing_.seconds.insert(timing_.seconds.end(), unaccounted_host_s_.begin(), unaccounted_host_s_.end());
      unaccounted_s_.clear(), unaccounted_host_s_.clear();
    }
    // A step in which nothing counted says nothing.
  } while ((timing_.host_seconds < until && !HasSpentAll()) || timing_.seconds.size() == before);
  const std::span<const double> all(timing_.seconds);
  const std::span<const double> now = all.subspan(before);
  timing_.step_medians_s.push_back(Quantile({now.begin(), now.end()}, 0.5));
  return true;
}

bool TimingRun::Stop(StopReason reason) {
  timing_.stop = reason;
  return true;
}

double TimingRun::SpentSeconds() const {
  return timing_.host_seconds + uploads_s_ + downloads_s_;
}

// Neither a suspicion nor slow transfers keep a run from its next case.
bool TimingRun::HasSpentAll() const {
  return SpentSeconds() >= kPatience * std::max(0.1, request_.max_seconds);
}

bool TimingRun::Finished() {
  const auto count = static_cast<int64_t>(timing_.seconds.size());
  if (count == 0) return false;
  if (request_.cold_cache && !timing_.cache_was_flushed) return Stop(StopReason::kNotFlushed);
  if (HasSpentAll()) return Stop(StopReason::kTimeLimit);
  const bool has_time = timing_.host_seconds < kShareForUploads * request_.max_seconds;
  const bool looked_at_uploads = !sets_.has_unused() || plausibility_.HasUploads() || !has_time;
  // Soon there is enough to be sure.
  if (IsUndecided() || !HasExecutedEveryContent() || !looked_at_uploads) return false;
  const bool complete = plausibility_.IsComplete() && downloads_ >= kEnoughDownloads;
  const bool plenty = count >= request_.min_repetitions && (request_.cold_cache || complete);
  if (plenty && request_.enough && request_.enough(timing_.seconds)) return Stop(StopReason::kSettled);
  if (count >= request_.max_repetitions) return Stop(StopReason::kRepetitions);
  const bool late = SpentSeconds() >= request_.most_seconds;
  return (late || timing_.host_seconds >= request_.max_seconds) && Stop(StopReason::kTimeLimit);
}

bool TimingRun::IsLong() const {
  return request_.cold_cache || expected_s_ >= kLong;
}

// A first call, of which nothing counts, shows whether the case's own data give the same bits as when it was judged.
bool TimingRun::BeginsWithCase() const {
  return executions_ == 0 && !IsLong();
}

// Different ones, in random order: what no set is executed twice in, nobody can leave out without being seen.
std::vector<size_t> TimingRun::DrawSets() {
  std::vector<size_t> order(sets_.size());
  std::iota(order.begin(), order.end(), 0);
  if (BeginsWithCase()) order.resize(case_.contents.size());
  std::shuffle(order.begin(), order.end(), random_);
  if (BeginsWithCase()) return order;
  double most = expected_s_ == 0 ? 2 : std::min(request_.call_seconds, request_.max_seconds) / expected_s_;
  const auto left = static_cast<double>(request_.max_repetitions) - static_cast<double>(timing_.seconds.size());
  most = std::clamp(std::min(most, left + 1), 1.0, static_cast<double>(sets_.size()));
  // A short execution needs one before it that wakes everything up.
  const size_t high = std::max<size_t>(static_cast<size_t>(most), IsLong() ? 1 : 2);
  const size_t low = Draw(random_, 0, 3) == 0 ? 1 : (high + 1) / 2;
  order.resize(Draw(random_, low, high));
  return order;
}

Call<void> TimingRun::CallOnce(int64_t& processor) {
  const bool begins = BeginsWithCase();
  const std::vector<size_t> order = DrawSets();
  if (Call<void> done = ChangeSome(order); !done) return done;
  BatchRequest request{order, request_.cold_cache ? CacheState::kCold : CacheState::kWarm, processor};
  request.expected_s = kTimeoutFactor * expected_s_ * static_cast<double>(order.size());
  const Call<Batch> batch = session_.ExecuteBatch(plan_, request);
  if (!batch) return tl::unexpected(batch.error());
  processor = batch->processor;
  Record(*batch, order);
  if (plausibility_.NeedsWaits()) {
    const Call<double> nothing_s = CallEmpty();
    if (!nothing_s) return tl::unexpected(nothing_s.error());
    plausibility_.AddWait(*nothing_s - round_trip_s_);
  }
  if (!begins) return DownloadSome(order);
  for (const size_t set : order) {
    if (Call<void> done = set == order[0] ? DownloadAtOnce(set) : DownloadOne(set); !done) return done;
  }
  return {};
}

// Changes most sets that were executed since their last change. The rest show whether unchanged data runs faster.
Call<void> TimingRun::ChangeSome(std::span<const size_t> order) {
  std::vector<Piece> pieces;
  for (size_t i = 0; i < order.size(); ++i) {
    const bool wakes_up = i == 0 && !IsLong();
    const int kept = wakes_up ? 8 : plausibility_.HasSeen() ? 1 : 4;  // of 16
    if (used_[order[i]] && Draw(random_, 0, 15) >= kept) {
      if (Call<void> done = sets_.Change(order[i], random_, pieces); !done) return done;
      used_[order[i]] = false;
      if (last_set_ == order[i]) last_set_.reset();
    }
    if (executed_at_[order[i]] > 0) sets_.Renew(order[i], pieces);
  }
  if (pieces.empty()) return {};
  return Send(pieces);
}

// Which uploads have another one beside them is drawn to the end: nobody can wait until it is over.
bool TimingRun::DrawsUploadPair() {
  if (!sets_.has_unused()) return false;
  if (plausibility_.IsSuspicious() && upload_pairs_ < 2 * kMostUploadPairs) return true;
  if (!plausibility_.HasUploads()) return Draw(random_, 0, 7) != 0;
  return Draw(random_, 0, 7) == 0 && unused_uploads_s_ <= kShareOfUnusedUploads * timing_.host_seconds;
}

Call<void> TimingRun::Send(std::span<const Piece> pieces) {
  std::optional<double> unused_s;
  if (DrawsUploadPair()) {
    ++upload_pairs_;
    std::vector<Piece> same(pieces.begin(), pieces.end());
    for (Piece& piece : same) piece.set = sets_.unused();
    const Call<double> sent = session_.Upload(plan_, same);
    if (!sent) return tl::unexpected(sent.error());
    unused_s = *sent;
    // The second of two calls waits where the first has used up the worker's share of a busy processor: a call of
    // nothing waits in its place.
    const Call<double> nothing_s = CallEmpty();
    if (!nothing_s) return tl::unexpected(nothing_s.error());
    uploads_before_ = UploadPair{0, *unused_s, *nothing_s - round_trip_s_};
  }
  const Call<double> sent = session_.Upload(plan_, pieces);
  if (!sent) return tl::unexpected(sent.error());
  if (unused_s) uploads_before_->changed_s = *sent;
  unused_uploads_s_ += unused_s.value_or(0);
  uploads_s_ += *sent + unused_s.value_or(0);
  return {};
}

void TimingRun::Record(const Batch& batch, std::span<const size_t> order) {
  const auto n = static_cast<double>(order.size());
  const bool first = executions_ == 0 && !IsLong();
  timing_.clock_is_device = batch.clock_is_device;
  timing_.cache_was_flushed = batch.cache_was_flushed;
  timing_.host_seconds += batch.elapsed_s;
  const double sum = Sum(batch.seconds);
  // Never more than the host saw: the next call's timeout follows from it.
  const double net = std::max(std::min(sum, batch.elapsed_s), batch.elapsed_s - round_trip_s_);
  calls_s_ += net;
  executions_ += order.size();
  expected_s_ = net / n;
  const size_t uncounted = first ? order.size() : IsLong() ? 0 : 1;
  std::optional<double> typical;
  if (uncounted < order.size()) typical = Quantile({batch.seconds.begin() + uncounted, batch.seconds.end()}, 0.5);
  const bool accounted = plausibility_.AddCall(batch.elapsed_s, sum, order.size(), batch.clock_is_device, typical);
  if (uploads_before_) {
    const UploadPair& pair = *uploads_before_;
    plausibility_.AddUploads(Quantile(batch.seconds, 0.5), pair.changed_s, pair.unused_s, pair.wait_s);
  }
  uploads_before_.reset();
  for (size_t i = 0; i < order.size(); ++i) {
    const bool changed = !used_[order[i]];
    used_[order[i]] = true, executed_at_[order[i]] = executions_ - order.size() + i + 1;
    durations_s_[order[i]] = batch.seconds[i];
    if (last_set_ == order[i]) last_set_.reset();
    if (i < uncounted) continue;
    plausibility_.AddExecution(batch.seconds[i], changed);
    if (changed) (accounted ? timing_.seconds : unaccounted_s_).push_back(batch.seconds[i]);
    if (changed && !accounted) unaccounted_host_s_.push_back(net / n);
  }
}

bool TimingRun::HasExecutedEveryContent() const {
  std::vector<bool> executed(case_.contents.size());
  for (size_t set = 0; set < sets_.size(); ++set) {
    if (executed_at_[set] > 0) executed[sets_.ContentOf(set)] = true;
  }
  return std::ranges::find(executed, false) == executed.end();
}

bool TimingRun::IsUndecided() const {
  return plausibility_.IsSuspicious() || (is_wary_ && !plausibility_.HasDownloads());
}

Call<Timing> TimingRun::End() {
  if (Call<void> done = DownloadLast(); !done) return tl::unexpected(done.error());
  if (Call<void> done = DownloadMissing(); !done) return tl::unexpected(done.error());
  if (Call<void> done = DownloadLater(); !done) return tl::unexpected(done.error());
  if (Call<void> done = CheckInputs(); !done) return tl::unexpected(done.error());
  timing_.wall_s = executions_ == 0 ? 0 : calls_s_ / static_cast<double>(executions_);
  timing_.transfers = session_.Transfers(plan_);
  timing_.outputs = kept_.Take();
  if (timing_.contradiction.empty()) timing_.contradiction = plausibility_.Contradiction();
  if (timing_.contradiction.empty() && HasSpentAll()) timing_.contradiction = plausibility_.Undecided();
  if (timing_.contradiction.empty()) {
    timing_.unsure = plausibility_.Doubt();
    timing_.at_most_s = timing_.has_host_times ? Quantile(timing_.seconds, 0.5) : plausibility_.AtMost();
  }
  return std::move(timing_);
}

Call<Timing> RunTiming(Session& session, uint64_t plan, TimedTrial timed, TimingRequest request) {
  const auto run = TimingRun::Begin(session, plan, std::move(timed), std::move(request));
  if (!run) return tl::unexpected(run.error());
  for (;;) {
    int64_t processor = -1;
    const Call<bool> more = (*run)->Step(processor);
    if (!more) return tl::unexpected(more.error());
    if (!*more) return (*run)->End();
  }
}

}  // namespace assay
