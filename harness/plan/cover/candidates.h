// SPDX-License-Identifier: Apache-2.0
// Cases that an operator's declaration can make: one value of each knob, as a case, with the level of each dimension.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/base/result.h"
#include "harness/plan/cover/tuples.h"
#include "ops/operator.h"

namespace assay {

// Limits for the size of a design's cases.
struct CoverLimits {
  double elements = 0x1p16;  // of all operands together
  double flops = 0x1p22;
  auto operator<=>(const CoverLimits&) const = default;
};

using Choice = std::vector<int>;  // for each knob, the index of its value

// Largest number in a knob's long ascending list of numbers, which makes it a size; 0: the knob is no size.
int64_t LargestSize(const Knob& knob);

// Removes other types from the knob that decides the types; false: none is left.
bool NarrowTypes(CaseSpace& space, const std::vector<std::string>& dtypes);

class Candidates {
 public:
  // `op` outlives this. `dtypes`: as SelectsDTypes takes them. Precondition: the operator has values of these.
  Candidates(const Operator& op, const CoverLimits& limits, const std::vector<std::string>& dtypes = {});

  const CaseSpace& space() const { return space_; }
  const OpSchema& schema() const { return op_->schema(); }
  size_t knobs() const { return space_.knobs.size(); }
  int values(size_t knob) const { return static_cast<int>(space_.knobs[knob].values.size()); }
  // Returns the index of this value of a knob with one key, and adds the value to the knob's list if it is new.
  int Add(size_t knob, const std::string& value);
  bool IsSize(size_t knob) const { return is_size_[knob]; }
  // The knobs that decide a dimension.
  const std::vector<int>& KnobsOf(int dimension) const { return knobs_of_[static_cast<size_t>(dimension)]; }
  // The dimensions that a knob decides, alone or with others.
  const std::vector<int>& DimensionsOf(size_t knob) const { return dimensions_of_[knob]; }

  // Canonical; errors say why there is no such case.
  Result<CaseSpec> SpecOf(const Choice& choice) const;
  // Why the operator or the limits refuse this case; "": they do not.
  std::string Refusal(const CaseSpec& spec) const;
  // SpecOf and Refusal together: succeeds if neither the operator nor the limits refuse the case. The spec is written
  // as the operator's Bind returns it: canonical, as StartProblem makes it.
  Result<CaseSpec> CaseOf(const Choice& choice) const;

  // Infinite if the operator refuses the choice.
  CoverLimits CostOf(const Choice& choice) const;
  // Whether the refusal says that a case is too large, which holds for every larger one.
  bool IsLimit(std::string_view refusal) const { return refusal == too_many_elements_ || refusal == too_many_flops_; }

  // Explains why no case within the limits has this level if its declaration alone tells, else "".
  std::string ExplainTooLarge(const DimensionLevel& part) const;

  Levels LevelsOf(const CaseSpec& spec) const;
  // Faster overload for a choice whose case is known.
  Levels LevelsOf(const Choice& choice, const CaseSpec& spec) const;
  // Level of a choice, even if the operator refuses its case.
  int LevelOf(int dimension, const Choice& choice) const;
  // Overload that keeps the case in `written` between calls for one choice.
  int LevelOf(int dimension, const Choice& choice, std::optional<CaseSpec>& written) const;
  // Updates the levels of all dimensions that this knob decides.
  void UpdateLevels(const Choice& choice, size_t knob, Levels& levels) const;

 private:
  CaseSpec Write(const Choice& choice) const;
  // Refuses what the space excludes, too.
  Result<Problem> Bind(const CaseSpec& spec) const;
  std::string Refusal(const Problem& problem) const;

  const Operator* op_;
  CoverLimits limits_;
  std::string too_many_elements_, too_many_flops_;
  CaseSpace space_;
  std::vector<bool> is_size_;                         // of each knob
  std::vector<std::map<std::string, int>> index_of_;  // of the values of each knob, once one was added
  std::vector<std::vector<int>> knobs_of_, dimensions_of_;
  std::vector<std::vector<DType>> dtypes_;  // of each value of the knob that has them
  // Level for each value of the knob, for dimensions that a single knob decides.
  std::vector<std::vector<int>> table_;
};

// The levels of a case, for one that nobody's knobs have made.
Levels LevelsOfCase(const Operator& op, const CaseSpace& space, const CaseSpec& spec);

}  // namespace assay
