// SPDX-License-Identifier: Apache-2.0
// Executions of one implementation on data of which bound or exceptional values prove that it is wrong.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "harness/engine/device/prepared_plan.h"
#include "harness/tools/explain/cause.h"

namespace assay {

struct WrongNumbers {
  Contract contract;
  std::vector<Tensor> outputs;  // canonical, of the first execution that failed
  std::vector<Golden> goldens;
  size_t output = 0;  // the first wrong one
  ErrorMetrics metrics;
  int executions = 0, failures = 0;

  bool IsNonFinite() const { return metrics.nonfinite_mismatch > 0; }
  // An element that is wrong.
  WorstElement Worst() const { return IsNonFinite() ? *metrics.nonfinite_example : metrics.worst.at(0); }
  // For causes; `op`, `problem` and `inputs` are those that were executed.
  WrongResult AsResult(const Operator& op, const Problem& problem, const std::vector<Tensor>& inputs) const;
};

enum class Executions : uint8_t { kUntilOneFails, kAll };

class NumbersProbe {
 public:
  // `device` outlives this. `repeat`: executions, of which one has to fail.
  NumbersProbe(const Device& device, std::string implementation, std::string tier, int repeat)
      : device_(device), implementation_(std::move(implementation)), tier_(std::move(tier)), repeat_(repeat) {}

  // nullopt: no execution fails, or the implementation does not take the problem or has died of it.
  std::optional<WrongNumbers> Execute(const Operator& op, const Problem& problem, const std::vector<Tensor>& inputs,
                                      Executions executions = Executions::kUntilOneFails);

  void RepeatAtLeast(int times) { repeat_ = std::max(repeat_, times); }

 private:
  bool Prepare(const Operator& op, const Problem& problem);  // once for problems that follow each other

  const Device& device_;
  std::string implementation_, tier_;
  int repeat_;
  std::optional<PreparedPlan> plan_;
  std::string prepared_id_;
  Contract contract_;
};

}  // namespace assay
