// SPDX-License-Identifier: Apache-2.0
// Whether the durations that a plugin reports can be true, by what the host's own clock says of its calls (README.md).
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace assay {

// Lower confidence bound of 99.9999 % for the median, from order statistics (David and Nagaraja, Order Statistics,
// 7.1), for values of any distribution. -infinity for fewer than kFewestSamples, which do not allow this confidence.
double SurelyAbove(std::vector<double> values);
inline constexpr size_t kFewestSamples = 20;

// Explains why the cold-cache durations contradict the warm ones; "" if they do not.
std::string FindColdContradiction(std::span<const double> warm_s, std::span<const double> cold_s);

inline constexpr size_t kEnoughToSuspect = 10;   // samples needed to suspect the plugin, or to clear it
inline constexpr size_t kEnoughToClear = 4;      // transfers that clear it if each of them is fast
inline constexpr size_t kMostWaits = 60;         // empty calls measured at most, to see if the machine delays them too
inline constexpr size_t kMostUploadPairs = 100;  // upload pairs measured at most to settle a suspicion

class Plausibility {
 public:
  // `round_trip_s`: a call that does nothing. Flushes of cold caches are no part of durations. `launch_s`:
  // what a launch may take beside a duration where that is more than usual.
  Plausibility(double round_trip_s, bool cold, double launch_s = 0)
      : round_trip_s_(round_trip_s), cold_(cold), launch_s_(launch_s) {}

  // Whether the durations account for the call, and are alike. Else they say nothing of the work: where a machine is
  // busy that is another process, and where all are so it is the plugin. `typical_s`: the median of the executions that
  // count, none where none does.
  bool AddCall(double elapsed_s, double sum_s, uint64_t executions, bool clock_is_device,
               std::optional<double> typical_s);
  // Adds an execution by the kind of its data: changed since its last execution, or seen before.
  void AddExecution(double seconds, bool changed);
  // Adds the downloads of one output, at once after its execution and again. `execution_s`: as the plugin says.
  // `wait_s`: how much longer than a round trip an empty call took just before the first.
  void AddDownloads(double execution_s, double first_s, double again_s, double wait_s = 0);
  // Whether a first download leaves no doubt, whatever others would take.
  bool IsFast(double execution_s, double first_s) const;
  // Adds uploads of changed inputs, and of as many bytes to operands that are never executed. `execution_s`: the median
  // of the call that came next, as the plugin says. `wait_s`: of an empty call just before the changed ones.
  void AddUploads(double execution_s, double changed_s, double unused_s, double wait_s = 0);
  // Adds the wait of an empty call behind one that executes.
  void AddWait(double wait_s) { waits_s_.push_back(wait_s); }
  // Whether such calls are needed: nothing accounts for the calls so far.
  bool NeedsWaits() const { return accounted_ == 0 && called_s_.size() >= kEnoughToSuspect && !cold_; }

  // Why they cannot, whatever else the machine does; "": nothing says so.
  std::string Contradiction() const;
  // Why they may not, where empty calls had to wait as well, so that it may be the machine; "": nothing says so.
  std::string Doubt() const;
  // Whether no more calls would make a doubt about what they took a contradiction.
  bool IsSettled() const { return waits_s_.size() >= kMostWaits; }
  // Upper limit of an execution's time by the host's clock; 0: that confirms what the plugin says.
  double AtMost() const;
  // Whether all that is there says so, but is too little to be sure: more of it decides.
  bool IsSuspicious() const;
  // Names what was suspicious when the time was over: transfers so slow that there were too few of them to be sure.
  std::string Undecided() const;
  // A call that did nothing.
  void AddRoundTrip(double seconds) { round_trip_s_ = std::min(round_trip_s_, seconds); }
  // Whether there is enough of each kind to suspect what is wrong.
  size_t downloads() const { return downloads_.size(); }
  bool HasDownloads() const { return IsEnough(downloads_); }
  bool HasUploads() const { return IsEnough(uploads_); }
  bool HasSeen() const;
  bool IsComplete() const { return HasDownloads() && HasSeen(); }

 private:
  // The additional time of a transfer over another one, which tells little where that one was held up.
  struct Surplus {
    double execution_s = 0, excess_s = 0, wait_s = 0;
    bool other_was_fast = false;
  };
  using Excesses = std::vector<Surplus>;
  // Whether the wait of an empty call is subtracted: it stands for what the machine may have done.
  enum class Waits : uint8_t { kTakenOff, kLeft };
  Surplus Compare(double execution_s, double seconds, double other_s, double factor, double wait_s) const;
  bool IsEnough(const Excesses& excesses) const;
  std::string Find(bool sure) const;
  std::string FindInTransfers(bool sure, Waits waits) const;
  double Claimed() const;
  std::vector<double> SelectFastExecutions(const Excesses& excesses, Waits waits) const;
  double MostExcess(const Excesses& excesses) const;
  bool IsStill() const;
  bool IsHeldUp() const;
  std::string FindUnaccounted(bool sure) const;
  std::string FindSeenBefore() const;

  double round_trip_s_;
  bool cold_;
  double launch_s_;
  std::string sum_too_large_;
  size_t accounted_ = 0;          // calls
  std::vector<double> called_s_;  // of all: per execution, by the host's clock
  std::vector<double> told_s_;    // the same as the plugin says
  std::vector<double> beyond_s_;  // what calls took beyond all that is permitted, for each time that it may have waited
  std::vector<double> waits_s_;   // of empty calls between them
  std::vector<double> changed_s_, seen_s_;
  Excesses downloads_, uploads_;  // seconds that were left of an execution, or had been done before it
};

}  // namespace assay
