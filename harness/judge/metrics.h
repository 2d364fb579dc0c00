// SPDX-License-Identifier: Apache-2.0
// Judges every element of an output against its golden value and hard bound and gathers what a record says of its
// errors in one streaming pass. ElementJudge (judge.h) says when one element is right. All sums are formed in eight
// fixed lanes and fixed chunks, so a result has the same bits for every thread count and vector width.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "golden/bound/bound.h"
#include "golden/golden.h"
#include "harness/core/data/tensor.h"
#include "harness/core/model/contract.h"
#include "harness/judge/statistic/statistic.h"

namespace assay {

struct WorstElement {
  int64_t index = -1;  // row-major element
  int component = 0;   // of a complex element: 0 real, 1 imaginary
  double got = 0, golden = 0;
  double error = 0;      // got - golden
  double tolerance = 0;  // A and the rounding of `got`: |error| may be as much; 0 where the value must be exact
  double margin = 0;     // |error| without that rounding, over A; infinity where an exact value is wrong
  // The value that a policy of the contract requires instead of the golden value, and the name of the policy
  // (ValueWhere).
  std::optional<double> decided = {};
  std::string decided_by = {};
};

struct OutputRange {
  double zero_share = 0;  // of the finite outputs
  double min = 0, max = 0;
  bool constant = false;  // all outputs finite and equal, and more than one
};

struct ErrorMetrics {
  int64_t elements = 0;
  bool complex = false;  // two values per element
  int64_t finite = 0;    // values (two per complex element) that entered the sums: got and golden both finite
  double max_abs_err = 0, max_rel_err = 0, max_ulp_err = 0, rms_err = 0;
  std::optional<double> nmse;  // none when all golden values are zero
  double bound_margin = 0;     // the largest Judgement::Margin of finite values; infinity where an exact one is wrong
  int64_t violations = 0;      // finite values that are no rounding of anything within A of the golden value
  int64_t nonfinite_mismatch = 0;
  std::optional<WorstElement> nonfinite_example;  // the first one
  int64_t worst_index = -1;                       // -1: no error beyond the output's own rounding anywhere
  std::vector<WorstElement> worst;                // by margin, then index; up to kWorstCount
  bool bit_exact = false;                         // every output is the correctly rounded golden value
  StatisticFinding statistic;
  OutputRange range;
  std::string where;  // localised failures (localise.h); "" when there are none

  // The channels that prove a result wrong; the statistic is asked apart.
  bool Holds() const { return violations == 0 && nonfinite_mismatch == 0; }
};
inline constexpr size_t kWorstCount = 8;

// Whether bound, exceptional values and statistic all hold.
inline bool Holds(const ErrorMetrics& metrics) {
  return metrics.Holds() && metrics.statistic.Holds();
}

struct MeasureOptions {
  bool even_if_stagnating = false;  // as for StatisticApplies
  // Gathers only what the judging pass yields if the result breaks its bound: no statistic, worst elements or places.
  bool only_if_holds = false;
  bool of_sample = false;  // `got` are slices of a larger output
};

// Precondition: got has the golden's shape.
ErrorMetrics Measure(const Golden& golden, const BoundModel& bound, const Contract& contract, const Tensor& got,
                     const MeasureOptions& options = {});

}  // namespace assay
