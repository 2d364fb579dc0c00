// SPDX-License-Identifier: Apache-2.0
// Executes sums of a probe by one implementation on a device.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "harness/engine/device/prepared_plan.h"
#include "harness/tools/fingerprint/sum_probe.h"
#include "harness/tools/fingerprint/sum_tree.h"

namespace assay {

class Prober {
 public:
  // `problem` and `sums` outlive this.
  Prober(const Problem& problem, const SumProbe& sums, PreparedPlan plan)
      : problem_(problem), case_(sums), plan_(std::move(plan)) {}

  // The result of each sum, in as few executions as hold them. Errors: the backend's.
  Result<std::vector<double>> Execute(std::span<const ProbeSum> sums);
  Result<double> Execute(const ProbeSum& sum);
  // All results of each sum, which SumProbe::ReadAll takes from the output.
  Result<std::vector<std::vector<double>>> ExecuteAll(std::span<const ProbeSum> sums);
  // Whether the sum has the same bits wherever the output has it: in all rows and columns, of convolutions in several
  // images and channels.
  Result<bool> IsEqualEverywhere(const ProbeSum& sum);
  // The bits of the whole output for these sums.
  Result<std::string> HashOf(std::span<const ProbeSum> sums);

  int executions() const { return executions_; }
  const Problem& problem() const { return problem_; }
  const SumProbe& sums() const { return case_; }

 private:
  Result<Tensor> Output(const std::vector<Tensor>& inputs);
  // In as few executions as hold them; reads each sum by its number in an output.
  Status ForEachSum(std::span<const ProbeSum> sums, const std::function<void(const std::vector<double>&, int)>& read);

  const Problem& problem_;
  const SumProbe& case_;
  PreparedPlan plan_;
  int executions_ = 0;
};

// The order of the sums, by terms of sizes that the types allow. `keeps_all`: no term was absorbed by the largest
// number that the operands can make, so that the accumulator is wider than it can show, and no order is known.
struct RevealedOrder {
  SumTree tree;
  bool keeps_all = false;
};
Result<RevealedOrder> RevealOrder(Prober& prober);
// By the answers to single questions.
Result<RevealedOrder> RevealBy(int terms, const AskSubtrees& ask_subtrees);
// The order of terms that are all positive: exponentials, or squares.
Result<RevealedOrder> RevealOrderByThrees(Prober& prober);

}  // namespace assay
