// SPDX-License-Identifier: Apache-2.0
// Downloads of a timed loop: which outputs are judged, when, and how long their transfers take.
#include <algorithm>
#include <numeric>
#include <utility>

#include "harness/core/base/stopwatch.h"
#include "harness/engine/device/executions.h"
#include "harness/engine/timing/timing_run.h"

namespace assay {
namespace {

// Downloads may take this share of the time of all calls that execute. The first ones may take more, since some are
// needed.
constexpr double kShareOfDownloads = 0.2, kShareOfFirstDownloads = 1;
constexpr size_t kFewestDownloads = 2;
constexpr size_t kFirstOfCheap = 20;  // of cases where they cost little
constexpr size_t kMostOfOneCall = 4;
constexpr const char* kChangedLater = "the output changed after the execution had returned";

}  // namespace

bool TimingRun::HasTimeToDownload() const {
  const size_t first = IsCheapToRepeat(*case_.problem) ? kFirstOfCheap : kEnoughDownloads;
  const double share = downloads_ < first ? kShareOfFirstDownloads : kShareOfDownloads;
  return plausibility_.downloads() < kFewestDownloads || IsUndecided() || downloads_s_ <= share * timing_.host_seconds;
}

// Only the first download of a call shows whether work was left to it.
Call<void> TimingRun::DownloadSome(std::span<const size_t> order) {
  if (!HasTimeToDownload()) return {};
  std::vector<size_t> drawn(order.begin(), order.end());
  std::shuffle(drawn.begin(), drawn.end(), random_);
  drawn.resize(downloads_ < kEnoughDownloads ? Draw<size_t>(random_, 1, std::min(kMostOfOneCall, order.size())) : 1);
  for (size_t i = 0; i < drawn.size(); ++i) {
    if (Call<void> done = i == 0 ? DownloadAtOnce(drawn[i]) : DownloadOne(drawn[i]); !done) return done;
  }
  return {};
}

Call<double> TimingRun::Download(size_t set, Execution& execution) {
  return session_.Download(plan_, set, Part::kOutputs, execution);
}

Call<void> TimingRun::DownloadOne(size_t set) {
  const Stopwatch watch;
  Execution execution;
  if (const Call<double> done = Download(set, execution); !done) return tl::unexpected(done.error());
  Keep(set, std::move(execution));
  downloads_s_ += watch.Seconds();
  return {};
}

// At once. Where that took more than a round trip does, there are two more to hold it against: until nothing speaks
// against the plugin, and after that now and then.
Call<void> TimingRun::DownloadAtOnce(size_t set) {
  if (!IsUndecided() && plausibility_.HasDownloads() && Draw(random_, 0, 3) != 0) return DownloadOne(set);
  const Stopwatch watch;
  // Who has just used up its share of a busy processor waits for the next one: an empty call waits in its place.
  double wait_s = 0;
  if (is_wary_) {
    const Call<double> nothing_s = CallEmpty();
    if (!nothing_s) return tl::unexpected(nothing_s.error());
    wait_s = *nothing_s - round_trip_s_;
  }
  Execution execution;
  const Call<double> first_s = Download(set, execution);
  if (!first_s) return tl::unexpected(first_s.error());
  if (plausibility_.IsFast(durations_s_[set], *first_s)) {
    plausibility_.AddDownloads(durations_s_[set], *first_s, round_trip_s_);
  } else if (Call<void> done = DownloadAgain(set, execution, *first_s, wait_s); !done) {
    return done;
  }
  Keep(set, std::move(execution));
  downloads_s_ += watch.Seconds();
  return {};
}

// The second time nothing can be left to do. The first that is slow says only that those after it need a call of
// nothing before them.
Call<void> TimingRun::DownloadAgain(size_t set, const Execution& first, double first_s, double wait_s) {
  Execution again, last;
  const Call<double> again_s = Download(set, again);
  if (!again_s) return tl::unexpected(again_s.error());
  if (!SameBits(first.outputs, again.outputs)) timing_.changed_later = kChangedLater;
  if (!std::exchange(is_wary_, true)) return {};
  // A thread that works off what is left makes the second one wait as well.
  const Call<double> last_s = Download(set, last);
  if (!last_s) return tl::unexpected(last_s.error());
  plausibility_.AddDownloads(durations_s_[set], first_s, std::min(*again_s, *last_s), wait_s);
  return {};
}

void TimingRun::Keep(size_t set, Execution execution) {
  ++downloads_, ++downloaded_[sets_.ContentOf(set)];
  last_set_ = set;
  last_outputs_ = ClonesOf(execution.outputs);
  kept_.Add(set, std::move(execution), random_);
}

// Downloads one output of each content that was never drawn; its last execution may be some calls ago.
Call<void> TimingRun::DownloadMissing() {
  for (size_t set = 0; set < sets_.size(); ++set) {
    if (!used_[set] || downloaded_[sets_.ContentOf(set)] > 0) continue;
    if (Call<void> done = DownloadOne(set); !done) return done;
  }
  return {};
}

// Downloads the last output of each content: a plugin may change its behaviour after many executions, and twins of
// whole numbers alone may not show it.
Call<void> TimingRun::DownloadLast() {
  std::vector<std::optional<size_t>> last(case_.contents.size());
  for (size_t set = 0; set < sets_.size(); ++set) {  // a set may have got another content since
    std::optional<size_t>& of = last[sets_.ContentOf(set)];
    if (executed_at_[set] > (of ? executed_at_[*of] : 0)) of = set;
  }
  for (const std::optional<size_t>& set : last) {
    if (!set) continue;
    Execution execution;
    if (const Call<double> done = Download(*set, execution); !done) return tl::unexpected(done.error());
    kept_.AddUnsampled(*set, std::move(execution));
  }
  return {};
}

// Downloads the last output again: anything that ran on after its execution returned has had time to change it.
Call<void> TimingRun::DownloadLater() {
  if (!last_set_) return {};
  Execution later;
  const Call<double> done = session_.Download(plan_, *last_set_, Part::kOutputs, later);
  if (!done) return tl::unexpected(done.error());
  if (!SameBits(later.outputs, last_outputs_)) timing_.changed_later = kChangedLater;
  return {};
}

// Checks the inputs of one executed set for each content.
Call<void> TimingRun::CheckInputs() {
  std::vector<size_t> order(sets_.size()), checked;
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random_);
  std::vector<bool> done(case_.contents.size());
  for (const size_t set : order) {
    const size_t content = sets_.ContentOf(set);
    if (executed_at_[set] == 0 || done[content]) continue;
    done[content] = true;
    checked.push_back(set);
  }
  return kept_.AddInputs(session_, plan_, checked);
}

}  // namespace assay
