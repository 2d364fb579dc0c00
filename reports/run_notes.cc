// SPDX-License-Identifier: Apache-2.0
#include "reports/run_notes.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/core/base/amounts.h"
#include "harness/core/base/text.h"
#include "reports/environment.h"
#include "reports/pooled.h"
#include "reports/summary.h"

namespace assay {
namespace {

// Timed rounds that a result has.
int64_t RoundsIn(const Record& r) {
  return r.round_medians_s.empty() ? 1 : std::ranges::count(r.round_medians_s, ',') + 1;
}

// Counts that notes name. One pass finds all of them, since reading many records takes long.
struct Tally {
  int64_t asked = 1, timed = 0, fewer = 0, least = 0;  // rounds asked for; results that have fewer
  int64_t unjudged_results = 0, unjudged = 0;          // that passed, and their elements without a bound
  int64_t invalid = 0;                                 // also durations of zero, which are not shown as times

  Tally(const RecordView& records, const std::string& asked_text)
      : asked(ParseNumber<int64_t>(asked_text).value_or(1)), least(asked) {
    for (const Record& r : records) Add(r);
  }
  void Add(const Record& r) {
    invalid += r.timing_invalid.empty() ? 0 : 1;
    const int64_t without_bound = r.verdict == "pass" ? r.not_judged.value_or(0) : 0;
    unjudged_results += without_bound > 0 ? 1 : 0, unjudged += without_bound;
    if (!Timed(r)) return;
    ++timed;
    fewer += RoundsIn(r) < asked;
    least = std::min(least, RoundsIn(r));
  }
};

std::string RoundsNote(const Tally& tally) {
  if (tally.fewer == 0) return "";
  return fmt::format("The run asked for {} rounds of timing (--rounds {}), but {} of {} have fewer, down to {}.",
                     tally.asked, tally.asked, tally.fewer, Counted(tally.timed, "timed result"), tally.least);
}

// A pass says nothing of elements without a bound.
std::string UnjudgedNote(const Tally& tally) {
  if (tally.unjudged_results == 0) return "";
  return fmt::format(
      "{} of {} that passed {} not judged, as the contract bounds nothing there (where an intermediate may overflow, "
      "say); not_judged has the number of each.",
      Counted(tally.unjudged, "element"), Counted(tally.unjudged_results, "result"),
      tally.unjudged == 1 ? "was" : "were");
}

}  // namespace

std::vector<std::string> RunNotes(const RecordView& records, const std::string& environment_json) {
  const EnvironmentRows environment = FlattenEnvironment(environment_json);
  const Tally tally(records, EnvironmentValue(environment, "rounds"));
  std::vector<std::string> notes = PooledLines(records);
  if (std::string sentence = EnvironmentValue(environment, "conformance"); !sentence.empty()) {
    notes.push_back(std::move(sentence));
  }
  if (const std::string seed = EnvironmentValue(environment, "seed"); !seed.empty()) {
    notes.push_back(fmt::format("Every case ran with seed {} (--seed {}) in place of the suite's.", seed, seed));
  }
  if (EnvironmentValue(environment, "published_seed") == "true") {
    notes.emplace_back(
        "Suite conformance ran with its published seed: a backend that has learned the inputs passes too. `assay "
        "conform`, "
        "or --seed random, runs it with data that nobody knew before.");
  }
  if (std::string unknown = EnvironmentValue(environment, "unknown_processor"); !unknown.empty()) {
    notes.push_back(std::move(unknown));
  }
  if (const std::string sandbox = EnvironmentValue(environment, "sandbox"); !sandbox.empty() && sandbox != "full") {
    notes.push_back(fmt::format("The sandbox of workers is {}.", sandbox));
  }
  if (const std::string hidden = EnvironmentValue(environment, "hidden"); !hidden.empty()) {
    notes.push_back(fmt::format("Hidden by the sandbox: {}.", hidden));
  }
  if (const std::string launch_us = EnvironmentValue(environment, "launch_us"); !launch_us.empty()) {
    notes.push_back(fmt::format(
        "Times were believed where launching an execution took {} us beside it (--launch-us), more than is usual.",
        launch_us));
  }
  if (tally.invalid > 0) {
    notes.push_back(
        fmt::format("{} cannot be true and count{} nowhere; timing_invalid says why, and --strict fails the run.",
                    Counted(tally.invalid, "time"), tally.invalid == 1 ? "s" : ""));
  }
  if (std::string unjudged = UnjudgedNote(tally); !unjudged.empty()) notes.push_back(std::move(unjudged));
  if (std::string unnamed = EnvironmentValue(environment, "unnamed_libraries"); !unnamed.empty()) {
    notes.push_back(std::move(unnamed));
  }
  if (std::string crashes = EnvironmentValue(environment, "crashes_at_end"); !crashes.empty()) {
    notes.push_back(std::move(crashes));
  }
  if (EnvironmentValue(environment, "interrupted") == "true") {
    notes.emplace_back("The run was interrupted before its end.");
  }
  if (const std::string failures = EnvironmentValue(environment, "stopped_at_failures"); !failures.empty()) {
    notes.push_back(
        fmt::format("The run was told to stop at {} (--maxfail) and did; what is missing was not run.", failures));
  }
  if (const std::string absent = EnvironmentValue(environment, "required_absent"); !absent.empty()) {
    notes.push_back(fmt::format("Nothing ran. Required and absent: {}.", absent));
  }
  if (std::string rounds = RoundsNote(tally); !rounds.empty()) {
    notes.push_back(std::move(rounds));
  }
  return notes;
}

}  // namespace assay
