// SPDX-License-Identifier: Apache-2.0
// Differences between two runs, as plain data: harness/engine/perf finds them, reports/ shows them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/core/model/record.h"

namespace assay {

// In the order in which a reader should see them.
enum class Aspect : uint8_t {
  kVerdict,        // outcome after expectations
  kLost,           // the base has a result, the new run has no record
  kSupport,        // unsupported or unavailable now, or no longer so
  kPerformance,    // SLOWER or FASTER
  kInvalidTime,    // a time of either cannot be true, so that none is compared
  kEffectiveBits,  // of the accumulator
  kMargin,         // one of the *_margin fields
  kClass,          // bit_exact, within_class...
  kContract,       // declared or required; deterministic
  kBits,           // the output's hash, for equal inputs
  kNew,            // the new run has a result, the base has none
};
const char* Name(Aspect aspect);  // "verdict", "lost", "support"...

enum class Trend : uint8_t { kWorse, kBetter, kNeutral };
const char* Name(Trend trend);

struct Change {
  Aspect aspect = Aspect::kVerdict;
  Trend trend = Trend::kNeutral;
  std::string field;      // of the record: "outcome", "bound_margin", "time_median_s"
  std::string base, now;  // as shown; "" where there is none
  Number amount;          // margins and times: now / base; effective bits: now - base
  std::string detail;     // the new result's reason, or what else explains it
  bool regression = false;
  bool incomplete = false;  // a lost result that nothing permits
  bool reordered = false;   // other bits: same arithmetic, other order, as passports tell
};

enum class TimeVerdict : uint8_t { kNotTimed, kSame, kFaster, kSlower, kUnsure, kInvalid };
const char* Name(TimeVerdict verdict);  // "not timed", "SAME", "FASTER", "SLOWER", "UNSURE", "INVALID"

struct TimeComparison {
  TimeVerdict verdict = TimeVerdict::kNotTimed;
  double ratio = 1;           // new time / base time: the estimate over rounds that belongs to the test
  double low = 1, high = 1;   // its 90 % confidence interval; equal to `ratio` where there is none
  bool bounded = false;       // whether there is one
  Number p_slower, p_faster;  // one-sided, of this result alone; null where it was not tested
  size_t base_rounds = 0, new_rounds = 0;
  std::string why;  // it is unsure or invalid; "" otherwise
};

struct ResultComparison {
  std::string case_id, op, dtype, backend, device, implementation;
  std::string column;  // "cuda:direct", with the device where the backend has several
  bool in_both = false;
  TimeComparison time;
  std::vector<Change> changes;  // none: the same
  std::string reproduce;        // the new result's line, else the base's
};

// Results that were timed in turns, taken together: of each round their median ratio. It speaks of the typical one.
struct GroupComparison {
  std::string backend, device, op;  // no op: all of the backend's
  size_t results = 0;
  TimeComparison time;
  bool regression = false;  // of one operator alone: a policy may treat operators apart
};

struct RunComparison {
  std::string base, now;  // as the user named them
  std::vector<ResultComparison> results;
  std::vector<GroupComparison> groups;
  std::vector<std::string> notes;  // what a reader must know: other drivers, incomplete runs, too few rounds
  std::string never_slower;        // why times that were tested could not have turned out SLOWER; "" where some could

  size_t Regressions() const;  // results with at least one
  size_t CountRegressedGroups() const;
  size_t Incomplete() const;
  size_t TimesTested() const;   // results whose times were compared
  size_t TimesInvalid() const;  // results with a time that cannot be true
};

}  // namespace assay
