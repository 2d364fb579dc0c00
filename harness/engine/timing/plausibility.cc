// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/timing/plausibility.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "harness/core/base/statistics.h"

namespace assay {
namespace {

// A device's clock may run this much faster than the host's, and it ticks in steps.
constexpr double kClockRate = 1.01, kClockStep = 1e-6;
// Extra time of a call beyond a warm round trip: both processes may have slept.
constexpr double kCallSlack = 100e-6;
// Permitted gap between executions, on top of a share of their duration. By the host's clock a duration includes the
// launch, so only a loop remains. A device's clock excludes the launch, which takes drivers some tens of microseconds.
constexpr double kGapShare = 0.25, kLoopSlack = 5e-6, kLaunchSlack = 100e-6;
// If this many calls in a row are slow, the plugin is slow, not the machine.
constexpr double kManyCalls = 40;
// Tolerance for transfers that find caches in different states. An output is downloaded again from the same memory;
// inputs go to other memory than the uploads that they are compared with.
constexpr double kTransferSlack = 20e-6, kDownloadFactor = 1, kUploadFactor = 2;
// Data that was executed before may be closer to the processors than new data.
constexpr double kSeenFactor = 3, kSeenSlack = 10e-6;

// A device's clock rate may have risen meanwhile, but empty caches make nothing faster.
constexpr double kColdFactor = 6, kColdSlack = 10e-6;
constexpr size_t kFewestWarm = 10, kFewestCold = 3;

// Executions of a call are alike, but for the first, which wakes threads up.
constexpr double kEvenFactor = 1.5, kWakeSlack = 100e-6;

// Calls confirm what the plugin says up to this ratio.
constexpr double kConfirmed = 2;

constexpr double kNothing = -std::numeric_limits<double>::infinity();

// A sign is what the median says: more of them decide.
double Lower(const std::vector<double>& values, bool sure) {
  constexpr size_t kMostSamples = 200;
  if (sure) return SurelyAbove(values);
  if (values.empty() || values.size() >= kMostSamples) return kNothing;
  return Quantile(values, 0.5);
}

// Upper confidence limit of the median.
double SurelyBelow(std::vector<double> values) {
  for (double& x : values) x = -x;
  return -SurelyAbove(std::move(values));
}

}  // namespace

double SurelyAbove(std::vector<double> values) {
  if (values.size() < kFewestSamples) return kNothing;
  // The largest rank k with P(fewer than k of n below the median) <= 1e-6: from the normal approximation, one rank to
  // the safe side; of twenty values the smallest.
  constexpr double kNormal = 4.75;
  const auto n = static_cast<double>(values.size());
  const auto rank = static_cast<std::ptrdiff_t>(std::max(0.0, std::floor(n / 2 - kNormal * std::sqrt(n) / 2) - 1));
  std::nth_element(values.begin(), values.begin() + rank, values.end());
  return values[static_cast<size_t>(rank)];
}

std::string FindColdContradiction(std::span<const double> warm_s, std::span<const double> cold_s) {
  if (warm_s.size() < kFewestWarm || cold_s.size() < kFewestCold) return "";
  const double fastest = std::ranges::min(warm_s), cold = Quantile({cold_s.begin(), cold_s.end()}, 0.5);
  if (!(fastest > kColdFactor * cold + kColdSlack)) return "";
  return fmt::format("with cold caches an execution took {:.3g} s, with warm ones never less than {:.3g} s", cold,
                     fastest);
}

bool Plausibility::AddCall(double elapsed_s, double sum_s, uint64_t executions, bool clock_is_device,
                           std::optional<double> typical_s) {
  if (sum_s > kClockRate * elapsed_s + kClockStep && sum_too_large_.empty()) {
    sum_too_large_ = fmt::format(
        "the durations of one call add up to {:.3g} s, and it took {:.3g} s by the host's clock", sum_s, elapsed_s);
  }
  if (!typical_s) return true;  // whoever tells the truth in these alone has gained nothing
  const auto n = static_cast<double>(executions);
  called_s_.push_back((elapsed_s - round_trip_s_) / n);
  told_s_.push_back(sum_s / n);
  const double permitted = kGapShare * sum_s / n + std::max(clock_is_device ? kLaunchSlack : kLoopSlack, launch_s_);
  // The host's clock bounds the sum, whatever the plugin makes of it: a call counts where it is divided evenly.
  const bool even = sum_s <= kEvenFactor * n * *typical_s + kWakeSlack;
  const double beyond_s = elapsed_s - sum_s - round_trip_s_ - kCallSlack - n * permitted;
  const bool accounted = cold_ || beyond_s <= 0;
  accounted_ += accounted ? 1 : 0;
  beyond_s_.push_back(beyond_s / (clock_is_device ? n + 1 : 1));  // who waits for a device wakes up each time
  return accounted && (even || cold_);
}

void Plausibility::AddExecution(double seconds, bool changed) {
  (changed ? changed_s_ : seen_s_).push_back(seconds);
}

// Both transfers move the same number of bytes.
Plausibility::Surplus Plausibility::Compare(double execution_s, double seconds, double other_s, double factor,
                                            double wait_s) const {
  const double copied_s = std::max(0.0, other_s - round_trip_s_);
  return {execution_s, seconds - other_s - factor * copied_s, std::max(0.0, wait_s), copied_s <= kCallSlack};
}

void Plausibility::AddDownloads(double execution_s, double first_s, double again_s, double wait_s) {
  downloads_.push_back(Compare(execution_s, first_s, again_s, kDownloadFactor, wait_s));
}

// Uses half of what is permitted, so that the answer holds when the median of the executions changes later.
bool Plausibility::IsFast(double execution_s, double first_s) const {
  return first_s - round_trip_s_ <= kTransferSlack + std::min(execution_s, Claimed()) / 2;
}

void Plausibility::AddUploads(double execution_s, double changed_s, double unused_s, double wait_s) {
  uploads_.push_back(Compare(execution_s, changed_s, unused_s, kUploadFactor, wait_s));
}

// Keeps transfers of executions that are said to be as fast as most: a plugin that leaves every other execution to a
// transfer is honest in the rest.
std::vector<double> Plausibility::SelectFastExecutions(const Excesses& excesses, Waits waits) const {
  const double most_s = kEvenFactor * Claimed() + kTransferSlack;
  std::vector<double> found_s;
  for (const Surplus& surplus : excesses) {
    const double waited_s = waits == Waits::kTakenOff ? surplus.wait_s : 0;
    if (surplus.execution_s <= most_s) found_s.push_back(surplus.excess_s - waited_s);
  }
  return found_s;
}

double Plausibility::MostExcess(const Excesses& excesses) const {
  const std::vector<double> found_s = SelectFastExecutions(excesses, Waits::kLeft);
  if (found_s.empty()) return 0;
  return std::max(0.0, found_s.size() < kFewestSamples ? std::ranges::max(found_s) : SurelyBelow(found_s));
}

double Plausibility::Claimed() const {
  return changed_s_.empty() ? 0 : Quantile(changed_s_, 0.5);
}

bool Plausibility::IsStill() const {
  return changed_s_.size() >= kFewestSamples && Claimed() <= 0;
}

// Whether empty calls wait as long as calls are held up beyond what is permitted, or there are too few to say that
// they do not. The medians of both, each with its bound of 99.9999 %.
bool Plausibility::IsHeldUp() const {
  return !(SurelyAbove(beyond_s_) > SurelyBelow(waits_s_));
}

// Calls whose durations are not alike do not count, which is enough: a device may start slowly.
std::string Plausibility::FindUnaccounted(bool sure) const {
  if (accounted_ > 0 || called_s_.empty() || cold_) return "";
  const bool many = static_cast<double>(called_s_.size()) >= kManyCalls;
  if (sure ? !many || IsHeldUp() : many) return "";
  return fmt::format(
      "an execution took {:.3g} s by the host's clock around its call, and {:.3g} s as the plugin says; where "
      "launching one takes that long, say so with --launch-us",
      Quantile(called_s_, 0.5), Quantile(told_s_, 0.5));
}

std::string Plausibility::FindSeenBefore() const {
  const double changed = SurelyAbove(changed_s_), seen = SurelyBelow(seen_s_);
  if (!(changed > kSeenFactor * seen + kSeenSlack)) return "";
  return fmt::format("executions on data that it had seen before took {:.3g} s, on changed data {:.3g} s",
                     Quantile(seen_s_, 0.5), Claimed());
}

// An honest transfer waits like the empty call before it, be it ever so long: which of them takes longer is
// chance, so that the median of what is left of their difference is no more than the transfers' own.
std::string Plausibility::FindInTransfers(bool sure, Waits waits) const {
  const double permitted = Claimed() + kTransferSlack;
  if (const std::vector<double> left_s = SelectFastExecutions(downloads_, waits); Lower(left_s, sure) > permitted) {
    return fmt::format("{:.3g} s of work were left to the download of an output", Quantile(left_s, 0.5));
  }
  const std::vector<double> done_s = SelectFastExecutions(uploads_, waits);
  const bool uploads_go_on = sure || done_s.size() < kMostUploadPairs;
  if (uploads_go_on && Lower(done_s, sure) > permitted) {
    return fmt::format("{:.3g} s of work were done by the upload of inputs", Quantile(done_s, 0.5));
  }
  return "";
}

std::string Plausibility::Find(bool sure) const {
  if (!sum_too_large_.empty()) return sure ? sum_too_large_ : "";
  if (IsStill()) {
    return sure ? "most executions took 0 s as the plugin says: its clock stands still, or is too coarse" : "";
  }
  if (std::string text = FindUnaccounted(sure); !text.empty()) return text;
  if (std::string text = FindInTransfers(sure, Waits::kTakenOff); !text.empty()) return text;
  return sure ? FindSeenBefore() : "";
}

std::string Plausibility::Undecided() const {
  const std::string text = FindInTransfers(false, Waits::kTakenOff);
  return text.empty() ? "" : text + ", in all of the few that there was time for";
}

std::string Plausibility::Contradiction() const {
  return Find(true);
}

std::string Plausibility::Doubt() const {
  const bool unaccounted = accounted_ == 0 && static_cast<double>(called_s_.size()) >= kManyCalls && !cold_;
  std::string text = unaccounted ? "no call accounts for the durations in it" : FindInTransfers(true, Waits::kLeft);
  if (text.empty()) text = FindInTransfers(false, Waits::kLeft);
  return text.empty() ? ""
                      : "the host was busy: empty calls waited as long as what speaks against the time (" + text + ")";
}

// Half the truth is permitted: a claim that is no more than half of what calls took is not confirmed. Where transfers
// are in doubt, their additional time may have been work.
double Plausibility::AtMost() const {
  if (called_s_.empty() || cold_) return 0;
  const double called_s = Quantile(called_s_, 0.5);
  if (!Doubt().empty()) return called_s + MostExcess(downloads_) + MostExcess(uploads_);
  return called_s > kConfirmed * Quantile(told_s_, 0.5) ? called_s : 0;
}

bool Plausibility::IsSuspicious() const {
  return !Find(false).empty();
}

// A plugin that leaves work to transfers in every second call alone shows it in one of the first four, mostly; that the
// median of ten does is as likely as not.
bool Plausibility::IsEnough(const Excesses& excesses) const {
  if (excesses.size() >= kEnoughToSuspect) return true;
  const double permitted = Claimed() + kTransferSlack;
  const auto is_clear = [&](const Surplus& s) { return s.excess_s <= permitted && s.other_was_fast; };
  return excesses.size() >= kEnoughToClear && std::ranges::all_of(excesses, is_clear);
}

// Where the first few took about as long as others do, more of them say nothing else.
bool Plausibility::HasSeen() const {
  if (seen_s_.size() < kEnoughToClear) return false;
  return seen_s_.size() >= kFewestSamples || Claimed() <= kSeenFactor * Quantile(seen_s_, 0.5) + kSeenSlack;
}

}  // namespace assay
