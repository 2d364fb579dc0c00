// SPDX-License-Identifier: Apache-2.0
// The correctness phase of one implementation on one case: executed, judged step by step, kept where it fails.
#pragma once

#include <optional>
#include <vector>

#include "harness/engine/device/prepared_plan.h"
#include "harness/engine/trial/relations.h"
#include "harness/engine/trial/trial_context.h"

namespace assay {

class Trial {
 public:
  // All outlive this. `contract` is the attempt's own, with what it is judged by.
  Trial(TrialContext& context, const Device& device, const ContractData& by, Attempt& attempt);

  // Everything, down to the verdict of the attempt, whose findings are set. An error says that the worker did not
  // survive or refused.
  Call<void> Run(const PreparedPlan& plan, RelationEffort relations);

 private:
  // Run: the case's own inputs twice, with different prefills; those of its twins; other data where it has no twin;
  // random data where its own are not that.
  Call<void> RunOwnInputs(const PreparedPlan& plan);
  Call<void> RunTwins(const PreparedPlan& plan);
  bool HasSecondSet() const;
  Call<void> RunSecondSet(const PreparedPlan& plan);
  Call<void> RunRandomSet(const PreparedPlan& plan);
  Call<void> RunRelations(const PreparedPlan& plan, RelationEffort effort);
  Call<Execution> Execute(const PreparedPlan& plan, const std::vector<Tensor>& inputs, Prefill prefill);
  // Leaves the elements that are judged, and keeps what their bits do not tell of the others.
  void ReduceToSample(std::vector<Tensor>& outputs);
  // Judge: what the runs add to what is observed of each output.
  void JudgeRun(std::vector<Tensor> outputs);
  void JudgeOutputOf(size_t number, Tensor output);
  void JudgeBits();
  void NoteUnwritten(const std::vector<Tensor>& first, const std::vector<Tensor>& second);
  void FindWeakerArithmetics();
  // Keep: for the failure folder.
  void KeepRuns();

  TrialContext& context_;
  const PreparedCase& data_;
  const Device& device_;
  const ContractData& by_;
  Attempt& attempt_;
  Findings& found_;
  std::vector<std::vector<Tensor>> raw_;       // outputs of the own inputs as they came back, for bits and prefills
  std::vector<std::string> whole_hashes_;      // of a sample: of all elements, by run of the own inputs
  std::vector<Tensor> first_whole_;            // likewise: all elements of the first run, until there is a second one
  std::vector<std::optional<Tensor>> failed_;  // by output, canonical: the first of them that fails
  std::vector<std::vector<Tensor>> others_;    // of the twins, canonical what they tell of, and of the second set
  std::vector<Tensor> random_;                 // of the random set, canonical; empty where it holds
};

// Judges output `number` of the first execution on the case's own inputs: metrics, histogram and pooled tests. It
// becomes canonical. Stored outputs that are judged again take the same way.
void JudgeFirstRun(TrialContext& context, const ContractData& by, const Contract& contract, size_t number,
                   Tensor& output, OutputFindings& found);

}  // namespace assay
