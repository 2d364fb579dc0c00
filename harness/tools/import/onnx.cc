// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/import/onnx.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/core/base/whole_file.h"
#include "harness/tools/import/onnx_nodes.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr const char* kModelFile = "model.onnx";

// Folders with a model, in order of their names, and not below one of them.
std::vector<fs::path> TestFolders(const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder / kModelFile, error)) return {folder};
  std::vector<fs::path> found;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().filename() == kModelFile) found.push_back(it->path().parent_path());
  }
  std::ranges::sort(found);
  return found;
}

std::vector<fs::path> DataSets(const fs::path& folder) {
  std::vector<fs::path> sets;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().filename().string().starts_with("test_data_set_")) sets.push_back(it->path());
  }
  std::ranges::sort(sets);
  return sets;
}

// input_0.pb, input_1.pb, ... of a data set, as far as they are there; the graph's names count, not those in the files.
Status LoadTensors(const fs::path& set, const char* kind, const std::vector<std::string>& names,
                   std::vector<OnnxTensor>& tensors) {
  for (size_t i = 0; i < names.size(); ++i) {
    const fs::path path = set / fmt::format("{}_{}.pb", kind, i);
    std::error_code error;
    if (!fs::exists(path, error)) continue;
    const auto bytes = ReadWholeFile(path);
    if (!bytes) return tl::unexpected(bytes.error());
    auto tensor = ParseOnnxTensor(*bytes);
    if (!tensor) return UsageError(fmt::format("{}_{}.pb: {}", kind, i, tensor.error().message));
    tensor->name = names[i];
    tensors.push_back(*std::move(tensor));
  }
  return {};
}

const OnnxTensor* FindTensor(const std::vector<OnnxTensor>& tensors, const std::string& name) {
  const auto at = std::ranges::find(tensors, name, &OnnxTensor::name);
  return name.empty() || at == tensors.end() ? nullptr : &*at;
}

// Copies in the operands' shapes; false where the elements are not as many.
bool TakeOperands(const std::vector<OnnxOperand>& operands, const std::vector<const OnnxTensor*>& tensors,
                  std::vector<NamedTensor>& taken) {
  for (const OnnxOperand& operand : operands) {
    const OnnxTensor* tensor = operand.position < tensors.size() ? tensors[operand.position] : nullptr;
    if (tensor == nullptr) return false;
    int64_t elements = 1;
    for (const int64_t extent : operand.shape) elements *= extent;
    if (elements != tensor->data.size()) return false;
    taken.push_back({operand.name, tensor->data.Clone()});
    taken.back().tensor.Reshape(operand.shape);
  }
  return true;
}

void AddDataSet(const OnnxModel& model, const fs::path& set, const ForeignCase& from, std::string_view label,
                OnnxData data, Imports& imports) {
  std::vector<OnnxTensor> inputs, outputs;
  const auto loaded = LoadTensors(set, "input", model.inputs, inputs);
  if (!loaded) return imports.Refuse(from, loaded.error().message);
  if (auto read = LoadTensors(set, "output", model.outputs, outputs); !read) {
    return imports.Refuse(from, read.error().message);
  }
  OnnxCall call{model.nodes[0], model.opset, {}, {}};
  for (const std::string& name : call.node.inputs) {
    const OnnxTensor* tensor = FindTensor(inputs, name);
    call.inputs.push_back(tensor != nullptr ? tensor : FindTensor(model.initializers, name));
  }
  for (const std::string& name : call.node.outputs) call.outputs.push_back(FindTensor(outputs, name));
  auto mapped = MapOnnxNode(call);
  if (!mapped) return imports.Refuse(from, mapped.error().message);
  if (data == OnnxData::kShapesAlone) return imports.Add(from, std::move(mapped->spec), label);
  CaseTensors tensors;
  if (!TakeOperands(mapped->inputs, call.inputs, tensors.inputs) ||
      !TakeOperands(mapped->outputs, call.outputs, tensors.outputs)) {
    return imports.Refuse(from, "tensors that do not fit the node's attributes");
  }
  imports.AddWithTensors(from, std::move(mapped->spec), label, std::move(tensors));
}

void AddTest(const fs::path& folder, OnnxData data, Imports& imports) {
  const std::string name = folder.filename().string();
  const ForeignCase from{folder.string(), name};
  const auto bytes = ReadWholeFile(folder / kModelFile);
  if (!bytes) return imports.Refuse(from, "a model that cannot be read");
  const auto model = ParseOnnxModel(*bytes);
  if (!model) return imports.Refuse(from, model.error().message);
  if (model->nodes.size() != 1) return imports.Refuse(from, "a graph of other than one node");
  if (auto known = CheckOnnxOperator(model->nodes[0]); !known) return imports.Refuse(from, known.error().message);
  const std::vector<fs::path> sets = DataSets(folder);
  if (sets.empty()) return imports.Refuse(from, "no test_data_set_0 with its tensors");
  for (const fs::path& set : sets) AddDataSet(*model, set, from, name, data, imports);
}

}  // namespace

Status ImportOnnx(const fs::path& folder, OnnxData data, Imports& imports) {
  const std::vector<fs::path> tests = TestFolders(folder);
  if (tests.empty()) {
    return UsageError(fmt::format(
        "{}: there is no model.onnx in it; give a folder of ONNX's node tests, or one of them", folder.string()));
  }
  for (const fs::path& test : tests) AddTest(test, data, imports);
  return {};
}

}  // namespace assay
