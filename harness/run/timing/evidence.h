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

// A median that is surely larger than this, whatever else the machine does: a lower confidence bound of 99.9999 %
// between order statistics (David and Nagaraja, Order Statistics, 7.1), which asks nothing of how the values are
// distributed. -infinity for fewer than kFewestSamples, of which none is that sure.
double SurelyAbove(std::vector<double> values);
inline constexpr size_t kFewestSamples = 20;

// Of durations with warm and with cold caches: why the cold ones cannot be true; "" when nothing speaks against them.
std::string FindColdContradiction(std::span<const double> warm_s, std::span<const double> cold_s);

inline constexpr size_t kEnoughToSuspect = 10;   // of transfers, or to see that there is nothing to suspect
inline constexpr size_t kEnoughToClear = 4;      // of which not a single one speaks against the plugin
inline constexpr size_t kMostUploadPairs = 100;  // to decide a suspicion; more of them change nothing

class TimeEvidence {
 public:
  // `round_trip_s`: a call that does nothing. Flushes of cold caches are no part of durations. `launch_s`:
  // what a launch may take beside a duration where that is more than usual.
  TimeEvidence(double round_trip_s, bool cold, double launch_s = 0)
      : round_trip_s_(round_trip_s), cold_(cold), launch_s_(launch_s) {}

  // Whether the durations account for the call, and are alike. Else they say nothing of the work: where a machine is
  // busy that is another process, and where all are so it is the plugin. `typical_s`: the median of the executions that
  // count, none where none does.
  bool AddCall(double elapsed_s, double sum_s, uint64_t executions, bool clock_is_device,
               std::optional<double> typical_s);
  // By the kind of its data: changed since its last execution, or seen before.
  void AddExecution(double seconds, bool changed);
  // Of one output: how long its execution took, as the plugin says, and the downloads at once after it and again.
  void AddDownloads(double execution_s, double first_s, double again_s);
  // Whether a first download leaves no doubt, whatever others would take.
  bool IsFast(double execution_s, double first_s) const;
  // Of changed inputs, and of as many bytes to operands that are never executed; `execution_s`: the median
  // of the call that came next, as the plugin says.
  void AddUploads(double execution_s, double changed_s, double unused_s);

  // Why they cannot; "": nothing says so.
  std::string Contradiction() const;
  // Whether all that is there says so, but is too little to be sure: more of it decides.
  bool IsSuspicious() const;
  // What was suspicious when the time was over: transfers so slow that there were too few of them to be sure.
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
  // What a transfer took more than another one, which tells little where that one was held up.
  struct Surplus {
    double execution_s = 0, excess_s = 0;
    bool other_was_fast = false;
  };
  using Excesses = std::vector<Surplus>;
  Surplus Compare(double execution_s, double seconds, double other_s, double factor) const;
  bool IsEnough(const Excesses& excesses) const;
  std::string Find(bool sure) const;
  std::string InTransfers(bool sure) const;
  double Claimed() const;
  std::vector<double> InFastExecutions(const Excesses& excesses) const;
  bool IsStill() const;
  std::string Unaccounted(bool sure) const;
  std::string SeenBefore() const;

  double round_trip_s_;
  bool cold_;
  double launch_s_;
  std::string sum_too_large_;
  size_t accounted_ = 0;          // calls
  std::vector<double> called_s_;  // of all: per execution, by the host's clock
  std::vector<double> told_s_;    // the same as the plugin says
  std::vector<double> changed_s_, seen_s_;
  Excesses downloads_, uploads_;  // seconds that were left of an execution, or had been done before it
};

}  // namespace assay
