// SPDX-License-Identifier: Apache-2.0
// The weaker arithmetics that FindWeakerArithmetic tries: one row for each, with what it makes of operands, sums and
// results.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/judge/judge.h"
#include "harness/judge/metrics.h"
#include "ops/operator.h"

namespace assay {

struct Hypothesis {
  std::string field, name;
  std::function<void(Contract&)> weaken;         // makes the class of a contract
  std::function<double(DType, double)> operand;  // what the unit makes of an operand; none: nothing
  std::function<void(Contract&)> judge_by;       // changes the declared contract to the one that judges; none: nothing
  std::function<bool(const ElementJudge&, const Tensor&, const ErrorMetrics&)> fills;  // besides bound and statistic
  // Instead of `operand`: the golden value of what the unit computes. nullopt: it does not compute such a thing.
  std::function<std::optional<Golden>(const Operator&, const Problem&, size_t output, std::span<const Tensor>, Tier)>
      golden = {};
  double roundings = 1;  // of the accumulator, for each that the declared contract has
  // The format of partial sums, or of the operator's own intermediates, that are formed and compared. Where the class
  // has no statistic, their errors make it.
  std::optional<DType> partials = std::nullopt;
  // The accumulator's type: sums are formed in it. Where they are not recognised, statistic and `fills` have to tell.
  std::optional<DType> accumulator = std::nullopt;
  // Significant bits of every result of the class, whatever the data; 0: those of the output.
  int precision = 0;
  // Whether it is there for a golden value of its own, with which at least half of the squared errors are gone.
  bool halves_errors = false;
  // Whether all results are numbers that the class makes, unless its sums are recognised; none: any.
  std::function<bool(const Tensor&)> results = {};
};

std::vector<Hypothesis> ListHypotheses();  // from tight to loose

}  // namespace assay
