// SPDX-License-Identifier: Apache-2.0
// The host's side of one case: operands, inputs, golden values of each output, twins. Prepared ahead while devices run.
#pragma once

#include <deque>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "golden/store/store.h"
#include "harness/engine/cases/cached_twin.h"
#include "harness/engine/cases/memory_need.h"
#include "harness/engine/cases/sample.h"
#include "harness/judge/mutation_power.h"
#include "ops/bound_case.h"

namespace assay {

// One output of a case.
struct PreparedOutput {
  size_t number = 0;  // in Problem::outputs
  Golden golden = {};
};

// The case that devices execute where a sample of it is judged.
struct ExecutedData {
  std::vector<Tensor> inputs;
  OutputSample sample;
};

struct PreparedCase {
  const Operator* op = nullptr;
  Problem problem;
  std::vector<Tensor> inputs;
  std::vector<PreparedOutput> outputs;
  std::string input_hash, golden_hash;
  double input_s = 0, golden_s = 0;
  std::string note;                   // of the golden store: a damaged file whose value was computed anew
  std::string unsaved;                // why the store did not take the golden value
  std::optional<ExecutedData> whole;  // `problem`, `inputs` and `outputs` are a sample of it; none: they are executed

  const Golden& golden() const { return outputs[0].golden; }  // of the first output
  const Problem& executed() const { return whole ? whole->sample.whole : problem; }
  const std::vector<Tensor>& executed_inputs() const { return whole ? whole->inputs : inputs; }
  // The sample of outputs of what is executed, and inputs to execute that have `sample` in its places and are the
  // case's own elsewhere. Precondition of both: `whole`.
  std::vector<Tensor> SampleOf(const std::vector<Tensor>& executed) const;
  std::vector<Tensor> InputsAround(const std::vector<Tensor>& sample) const;
};

// Data that also depend on an implementation's contract: bounds, twins, and the power to catch mutants.
struct ContractData {
  struct OfOutput {
    BoundModel bound;
    MutationPower power;
  };
  std::vector<OfOutput> outputs;
  std::deque<CachedTwin> twins;  // of each output none, or the operator's variants (0 and 1 of most)
  // Bounds of each output on the case's random set; empty if it has none, or no statistic applies.
  std::vector<BoundModel> random_bounds;

  // The twin that is the other data of many executions, or null: a twin says what one output is.
  const CachedTwin* FindSharedTwin() const { return outputs.size() == 1 && !twins.empty() ? &twins[0] : nullptr; }
};

// `tier` "auto" is reproducible where an output is f64 and fast otherwise.
Tier ChooseTier(const std::string& tier, const Problem& problem);
// Where a golden value of that output is kept.
GoldenKey KeyOf(const PreparedCase& data, size_t output, Tier tier);
// Hash of all outputs; of a single output it is the golden value's own.
std::string GoldenHashOf(const PreparedCase& data);
std::string HashInputs(const std::vector<Tensor>& inputs);

// The case without its golden value. Error: there is no memory to compute and judge with it.
Result<PreparedCase> PrepareInputs(const BoundCase& bound);
// Overload for an ad-hoc case (not from a plan). May also fail in Operator::Bind, as may PrepareCase for a CaseSpec.
Result<PreparedCase> PrepareInputs(const CaseSpec& spec);

// How much of a case is judged, and what that may take.
struct PrepareLimits {
  int64_t sample = 0;  // about so many elements of larger outputs, of which alone golden values are made; 0: all
  double most_bytes = std::numeric_limits<double>::infinity();  // of this host's memory
};

// `tier` as in ChooseTier. Errors: kUnsupported where it needs more than limits.most_bytes; it does not fit into
// memory, with what it is for.
Result<PreparedCase> PrepareCase(const BoundCase& bound, const std::string& tier, const GoldenStore& store,
                                 MemoryUse use = MemoryUse::kRun, const PrepareLimits& limits = {});
Result<PreparedCase> PrepareCase(const CaseSpec& spec, const std::string& tier, const GoldenStore& store);

// Data of a case that is not executed: it has neither inputs nor golden values.
PreparedCase WithoutData(const BoundCase& bound, const std::string& tier);

// Prepares the same problem with other data, for the second input set of a timed loop if the case has no twin. Uses the
// next seed, or a uniform fill if the case's fill does not depend on the seed. Error: the operator has no other data (a
// single constant). Its memory is part of the case's need.
Result<PreparedCase> PrepareSecondSet(const PreparedCase& data);

// Whether the statistic says of these data all that it can. Of patterns it says nothing; of few large, of special or of
// tiny numbers among the others less.
bool HasPlainData(const PreparedCase& data);
// Prepares the same problem with normal deviates, for a small case without plain data.
PreparedCase PrepareRandomSet(const PreparedCase& data);

// The operator's bound of an output, with a statistic where the data are random.
BoundModel BoundOf(const PreparedCase& data, const Contract& contract, size_t output = 0);

// `data` outlives what comes back.
ContractData PrepareContract(const PreparedCase& data, const Contract& contract);

}  // namespace assay
