// SPDX-License-Identifier: Apache-2.0
// Relations between executions of one implementation (harness/judge/README.md#metamorphic-relations): what a second
// execution's output must be, given the first one's. They need no golden value, so they hold to the last bit where a
// bound cannot.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ops/operator.h"

namespace assay {

// Source of the claim that a relation holds. Without a claim it is a property: reported, never a failure.
enum class Claim : uint8_t {
  kNone,
  kBatchInvariant,  // batchinv=yes
  // Arithmetic that rounds to nearest and repeats itself treats x and -x alike: any order of det=yes.
  kSymmetric,
  // Arithmetic that rounds to nearest, repeats itself and flushes nothing: 2^k x gives 2^k y. The relation applies
  // where nothing over- or underflows.
  kScalable,
  kCopies,  // x times one plus zeros is x, where the contract's operands and accumulator hold x
  // The operator's definition, for an implementation that repeats itself: values that a mask hides have weight zero.
  // Not where operands are scaled to fp8 together with what is hidden.
  kDefinition,
  kBound,  // follows from the contract's bound, which holds for all data
};

// Whether the contract makes that claim. kCopies: for operands of type `in`.
bool IsClaimed(Claim claim, const Contract& contract, DType in);

// A case that was executed.
struct ExecutedSet {
  const Operator& op;
  const Problem& problem;
  size_t number;  // which of the problem's outputs golden value, bound and output are
  std::span<const Tensor> inputs;
  const Golden& golden;
  const BoundModel& bound;
  const Contract& contract;
  const Tensor& output;
};

// Another execution, and what its output must be.
struct OtherExecution {
  std::vector<Tensor> inputs;     // of the relation's problem; none: there is nothing to execute, `values` are compared
  std::vector<Tensor> first;      // inputs whose output is expected; none: `expected` is
  std::vector<double> expected;   // two per complex element. NaN equals NaN, signed zeros are equal
  std::vector<double> tolerance;  // of |got - expected|; empty: 0; infinite: nothing is said of the element
  std::vector<double> values;     // already known, instead of an execution's
};

struct Relation {
  std::string name;  // "negation": words of [a-z0-9_]
  Claim claim = Claim::kNone;
  std::optional<Problem> problem = {};  // what the other execution computes; none: the same
  bool needs_golden = false;            // `make` takes about as long as a golden value of the case
  // nullopt: it says nothing about this data.
  std::function<std::optional<OtherExecution>(const ExecutedSet&)> make;
};

}  // namespace assay
