// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/explain/verb_case_on_devices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ranges>

#include "harness/cli/run_settings.h"
#include "harness/tools/check/tensor_args.h"
#include "harness/tools/check/tensor_set.h"

namespace assay::cli {

tl::expected<std::unique_ptr<CaseOnDevices>, Refusal> OpenCase(const std::string& id, RunOptions options) {
  options.selection.cases = {id};
  options.perf = false;
  RunSettings settings(options);
  auto prepared = Prepare(settings, PrepareRun);
  if (!prepared) return tl::unexpected(prepared.error());
  std::unique_ptr<CaseOnDevices> opened(new CaseOnDevices{*std::move(prepared), std::move(settings.policy), {}});
  opened->policy.runner.explain = nullptr;
  auto data = PrepareCase(*opened->planned().Bound(), options.tier, opened->policy.store);
  if (!data) return tl::unexpected(Refusal{kExitUsage, data.error().message});
  opened->data = *std::move(data);
  return opened;
}

Status GiveInputs(const std::vector<std::string>& inputs, const std::string& tier, PreparedCase& data) {
  for (const std::string& text : inputs) {
    auto file = ParseNamedFile(text, false);
    if (!file) return UsageError("--input " + file.error().message);
    const auto operand = std::ranges::find(data.problem.inputs, file->name, &Operand::name);
    if (operand == data.problem.inputs.end())
      return UsageError(fmt::format("--input {}: the case has no such input, but {}", text,
                                    fmt::join(data.problem.inputs | std::views::transform(&Operand::name), ", ")));
    auto tensor = LoadOperand(*file, std::string(Name(operand->dtype)));
    if (!tensor) return tl::unexpected(tensor.error());
    if (tensor->shape() != operand->shape) {
      return UsageError(fmt::format("--input {}: it is of shape {}, and the case's is {}", text,
                                    ShapeText(tensor->shape()), ShapeText(operand->shape)));
    }
    data.inputs[static_cast<size_t>(operand - data.problem.inputs.begin())] = *std::move(tensor);
  }
  if (inputs.empty()) return {};
  if (Status valid = data.op->CheckInputs(data.problem, data.inputs); !valid) return valid;
  data.input_hash = HashInputs(data.inputs);
  for (PreparedOutput& output : data.outputs) {
    output.golden = data.op->ComputeGolden(data.problem, output.number, data.inputs, ChooseTier(tier, data.problem));
  }
  data.golden_hash = GoldenHashOf(data);
  return {};
}

}  // namespace assay::cli
