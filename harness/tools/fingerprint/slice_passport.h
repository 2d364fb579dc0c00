// SPDX-License-Identifier: Apache-2.0
// Whether slices of a case (rows, columns, images, heads) have the bits that they have among all others when they are
// computed in other numbers or at other places.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/base/json.h"
#include "harness/core/base/result.h"
#include "harness/engine/device/prepared_plan.h"
#include "ops/bound_case.h"

namespace assay {

// How a maximum or minimum takes NaN and zeros of both signs, of which IEEE 754 knows several ways (maximum,
// maximumNumber).
inline constexpr const char *kNanWins = "the result is NaN", *kNanLoses = "it is left out";

struct Extremes {
  std::string nan, zeros, only_nan;  // of a row with a NaN; of -0 and +0; of a row of NaN alone
};

// reduce over the second of two axes with kind=max or min, of floats, with two columns at least.
bool TakesExtremes(const Problem& problem);

// Precondition: TakesExtremes. Errors: the backend's.
Result<Extremes> FindExtremes(const Problem& problem, const PreparedPlan& plan);

Json ToJson(const Extremes& extremes);
std::string TextOf(const Extremes& extremes);

struct SliceAxisPassport {
  std::string name;        // of the attribute that another number of slices changes: "m", "rows"
  int64_t extent = 0;      // slices of the case
  bool only_last = false;  // causal attention: the last queries alone see the keys that they see among all
  bool is_batch = false;   // slices of the first operand, which batchinv=yes speaks of: columns of a product are none
  // Numbers of slices, ascending, by whether their bits are those of the case or others, or it does not take so many.
  std::vector<int64_t> equal, other, not_taken;
};

struct SlicePassport {
  std::string case_id, implementation, contract;
  std::vector<SliceAxisPassport> axes;
  bool repeats = false;  // equal bits in each of kRepeats calls
  int executions = 0;
  std::optional<Extremes> extremes;         // of a maximum or minimum
  std::vector<std::string> contradictions;  // of the declared contract
  std::string why_no_order;  // of a softmax whose results show none; "": nothing is added, or nobody looks

  static constexpr int kRepeats = 4;
};

bool HasComparableSlices(const BoundCase& bound);

// Precondition: HasComparableSlices. On the case's own data. Each number of slices is taken from the last one back, and
// from the first one on. Errors: the backend's.
Result<SlicePassport> TakeSlicePassport(const Device& device, const BoundCase& bound, const std::string& implementation,
                                        const std::string& contract);

Json ToJson(const SlicePassport& passport);
std::string TextOf(const SlicePassport& passport);
// The axes alone, for a passport of sums of the same case.
Json AxesJson(const SlicePassport& passport);
std::string AxesText(const SlicePassport& passport);

}  // namespace assay
