// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/device/executions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "harness/engine/cases/prepared_case.h"
#include "harness/judge/verdict.h"

namespace assay {

InputSet PointersTo(const std::vector<Tensor>& tensors) {
  InputSet set;
  for (const Tensor& t : tensors) set.push_back(&t);
  return set;
}

bool SameBits(const Tensor& a, const Tensor& b) {
  return a.bytes() == b.bytes() && std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

bool SameBits(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return std::ranges::equal(a, b, [](const Tensor& x, const Tensor& y) { return SameBits(x, y); });
}

std::string HashOf(const Tensor& output) {
  return HashHex(HashBytes(output.data(), output.bytes()));
}

std::string HashOf(const std::vector<Tensor>& outputs) {
  return outputs.size() == 1 ? HashOf(outputs[0]) : HashInputs(outputs);
}

std::vector<Tensor> ClonesOf(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> clones;
  for (const Tensor& tensor : tensors) clones.push_back(tensor.Clone());
  return clones;
}

std::string SideEffect(const Execution& execution) {
  if (!execution.guard_violations.empty()) return execution.guard_violations[0];
  if (!execution.changed_inputs.empty()) return fmt::format("it changed an input: {}", execution.changed_inputs[0]);
  return "";
}

std::string DescribeFirstProblem(const ErrorMetrics& metrics, const Shape& shape) {
  if (!metrics.Holds()) return DescribeFailure(metrics, shape);
  return metrics.statistic.Holds() ? std::string() : "statistic channel: " + metrics.statistic.reason;
}

}  // namespace assay
