// SPDX-License-Identifier: Apache-2.0
// From the command line of `assay check` to a bound problem with its tensors.
#include <fmt/format.h>

#include <algorithm>

#include "harness/tools/check/check_case.h"
#include "harness/tools/check/tensor_args.h"
#include "harness/tools/check/tensor_set.h"

namespace assay {
namespace {

using Files = std::vector<NamedFile>;

std::vector<std::string> NamesOf(const Files& files) {
  std::vector<std::string> names;
  for (const NamedFile& file : files) names.push_back(file.name);
  return names;
}

Result<Files> InputFiles(const CheckRequest& request) {
  Files files;
  for (const std::string& text : request.inputs) {
    auto file = ParseNamedFile(text, false);
    if (!file) return UsageError("--input " + file.error().message);
    files.push_back(*std::move(file));
  }
  return files;
}

Result<Files> OutputFiles(const OpSchema& schema, const CheckRequest& request) {
  Files files;
  for (const std::string& text : request.outputs) {
    auto output = ParseNamedFile(text, request.outputs.size() == 1);
    if (!output) return UsageError("--output " + output.error().message);
    if (output->name.empty()) output->name = schema.outputs[0];
    files.push_back(*std::move(output));
  }
  return files;
}

Result<std::vector<NamedTensor>> Load(const Files& files, std::map<std::string, std::string>& dtypes) {
  std::vector<NamedTensor> loaded;
  for (const NamedFile& file : files) {
    auto tensor = LoadOperand(file, dtypes[file.name]);
    if (!tensor) return tl::unexpected(tensor.error());
    loaded.push_back({file.name, *std::move(tensor)});
  }
  return loaded;
}

Result<TensorSet> LoadTensors(const OpSchema& schema, const CheckRequest& request) {
  const auto inputs = InputFiles(request);
  if (!inputs) return tl::unexpected(inputs.error());
  const auto outputs = OutputFiles(schema, request);
  if (!outputs) return tl::unexpected(outputs.error());
  auto dtypes = ParsePairs(request.dtypes, "--dtype");
  if (!dtypes) return tl::unexpected(dtypes.error());
  const std::vector<std::string> input_names = NamesOf(*inputs), output_names = NamesOf(*outputs);
  if (auto fine = CheckOperandNames(schema, input_names, output_names, Asker::kCommandLine); !fine) {
    return tl::unexpected(fine.error());
  }
  for (const auto& [name, dtype] : *dtypes) {
    const auto is_name = [&name = name](const std::string& other) { return other == name; };
    if (std::ranges::any_of(input_names, is_name) || std::ranges::any_of(output_names, is_name)) continue;
    return UsageError(fmt::format("--dtype {}={}: unknown tensor '{}'", name, dtype, name));
  }
  auto loaded_inputs = Load(*inputs, *dtypes);
  if (!loaded_inputs) return tl::unexpected(loaded_inputs.error());
  auto loaded_outputs = Load(*outputs, *dtypes);
  if (!loaded_outputs) return tl::unexpected(loaded_outputs.error());
  return TensorSet{*std::move(loaded_inputs), *std::move(loaded_outputs)};
}

}  // namespace

Result<UserTensors> BindUserCase(const CheckRequest& request) {
  const auto op = FindOperator(request.op);
  if (!op) return tl::unexpected(op.error());
  auto set = LoadTensors((*op)->schema(), request);
  if (!set) return tl::unexpected(set.error());
  return BindTensors(request, *std::move(set), Asker::kCommandLine);
}

}  // namespace assay
