// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "harness/core/base/text.h"
#include "harness/core/base/whole_file.h"
#include "harness/core/data/safetensors.h"
#include "harness/tools/explain/case_with_outputs.h"
#include "ops/bound_case.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kInputs = "inputs", kGot = "got-", kEnding = ".safetensors";

// The value behind an option of a shell line, without its quotes; "": it is not there.
std::string OptionIn(const std::string& line, const std::string& option) {
  const size_t at = line.find(" " + option + " ");
  if (at == std::string::npos) return "";
  const size_t begin = at + option.size() + 2;
  const bool quoted = line[begin] == '\'';
  const size_t end = quoted ? line.find('\'', begin + 1) : line.find(' ', begin);
  return line.substr(begin + (quoted ? 1 : 0), end - begin - (quoted ? 1 : 0));
}

// How the run judged a file, by the line of reproduce.txt that judges it again.
CheckRequest RequestOf(const std::string& lines, const std::string& file) {
  CheckRequest request;
  for (const std::string_view one : Split(lines, '\n')) {
    const std::string line(one);
    if (line.starts_with('#') || line.find("=" + file + ":") == std::string::npos) continue;
    request.contract = OptionIn(line, "--contract");
    request.requirement = OptionIn(line, "--require");
    if (const std::string tier = OptionIn(line, "--tier"); !tier.empty()) request.tier = tier;
    request.exact_ulp = ParseNumber<double>(OptionIn(line, "--exact-ulp"));
  }
  return request;
}

// safetensors has no complex types: their parts lie along a last axis of 2.
std::pair<DType, Shape> StoredAs(const Operand& operand) {
  if (!IsComplex(operand.dtype)) return {operand.dtype, operand.shape};
  Shape shape = operand.shape;
  shape.push_back(2);
  return {operand.dtype == DType::kC64 ? DType::kF32 : DType::kF64, shape};
}

Result<std::vector<Tensor>> TakeOperands(const fs::path& path, SafetensorsFile& file,
                                         const std::vector<Operand>& operands) {
  std::vector<Tensor> taken;
  for (const Operand& operand : operands) {
    const auto found = std::ranges::find(file.tensors, operand.name, &NamedTensor::name);
    if (found == file.tensors.end()) {
      return UsageError(fmt::format("{} has no tensor {}", path.string(), operand.name));
    }
    Tensor& tensor = found->tensor;
    const auto [dtype, shape] = StoredAs(operand);
    if (tensor.dtype() != dtype || tensor.shape() != shape) {
      return UsageError(fmt::format("{}: {} is {} of {}, and the case has {} of {}; give the folder as the run left it",
                                    path.string(), operand.name, Name(tensor.dtype()), ShapeText(tensor.shape()),
                                    Name(dtype), ShapeText(shape)));
    }
    if (IsComplex(operand.dtype)) {
      Tensor complex(operand.dtype, operand.shape);
      complex.SetDoubles(tensor.ToDoubles());
      taken.push_back(std::move(complex));
    } else {
      taken.push_back(std::move(tensor));
    }
  }
  return taken;
}

// The case with the inputs of that file, and no result yet.
Result<CaseWithOutputs> ReadCase(const fs::path& path) {
  auto file = ReadSafetensors(path);
  if (!file) return tl::unexpected(file.error());
  auto spec = ParseId(file->metadata["case_id"]);
  if (!spec) return UsageError(fmt::format("{}: {}", path.string(), spec.error().message));
  if (OperatorRegistry::Global().Find(spec->op) == nullptr) {
    return UsageError(fmt::format("{}: there is no operator {}; give the file that defines it with --operators",
                                  path.string(), spec->op));
  }
  auto bound = BindCase(*spec);
  if (!bound) return UsageError(fmt::format("{}: {}", path.string(), bound.error().message));
  auto inputs = TakeOperands(path, *file, (*bound)->problem.inputs);
  if (!inputs) return tl::unexpected(inputs.error());
  if (const Status valid = (*bound)->op->CheckInputs((*bound)->problem, *inputs); !valid) {
    return UsageError(fmt::format("{}: {}", path.string(), valid.error().message));
  }
  CaseWithOutputs read;
  read.planned = PlannedCase{.spec = *spec};
  read.data.op = (*bound)->op, read.data.problem = (*bound)->problem;
  read.data.inputs = *std::move(inputs);
  read.data.input_hash = HashInputs(read.data.inputs);
  for (size_t k = 0; k < read.data.problem.outputs.size(); ++k) read.data.outputs.push_back({k});
  return read;
}

// "cpu naive", with "twin0" behind it.
std::string NameOfResult(const std::map<std::string, std::string>& metadata, const std::string& stem) {
  const auto text = [&](const char* key) {
    const auto found = metadata.find(key);
    return found == metadata.end() ? std::string() : found->second;
  };
  const std::string name = text("backend") + " " + text("implementation");
  const size_t dashes = static_cast<size_t>(std::ranges::count(stem, '-'));
  return dashes > 1 ? name + " " + stem.substr(stem.rfind('-') + 1) : name;
}

Result<NamedResult> ReadResult(const fs::path& folder, const std::string& stem, const Problem& problem,
                               const std::string& lines) {
  const std::string name = fmt::format("{}{}{}", kGot, stem, kEnding);
  auto file = ReadSafetensors(folder / name);
  if (!file) return tl::unexpected(file.error());
  auto outputs = TakeOperands(folder / name, *file, problem.outputs);
  if (!outputs) return tl::unexpected(outputs.error());
  return NamedResult{.name = NameOfResult(file->metadata, stem),
                     .outputs = *std::move(outputs),
                     .judged_by = RequestOf(lines, name),
                     .said = file->metadata["verdict"] + ": " + file->metadata["reason"]};
}

std::vector<std::string> StemsIn(const fs::path& folder) {
  std::vector<std::string> stems;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kGot) || !name.ends_with(kEnding)) continue;
    stems.push_back(name.substr(kGot.size(), name.size() - kGot.size() - kEnding.size()));
  }
  std::ranges::sort(stems);
  return stems;
}

}  // namespace

Result<std::vector<CaseWithOutputs>> ReadFailureFolder(const fs::path& folder) {
  const std::vector<std::string> stems = StemsIn(folder);
  const fs::path common = folder / fmt::format("{}{}", kInputs, kEnding);
  if (stems.empty() || !fs::exists(common)) {
    return UsageError(
        fmt::format("{} is no failure folder with tensors; a run writes failures/<hash>, which the record "
                    "of each failure names as failure_dir",
                    folder.string()));
  }
  const std::string lines = ReadWholeFile(folder / "reproduce.txt").value_or("");
  std::vector<CaseWithOutputs> cases;
  auto add = [&](const fs::path& inputs) -> Status {
    auto read = ReadCase(inputs);
    if (!read) return tl::unexpected(read.error());
    cases.push_back(*std::move(read));
    return {};
  };
  if (Status read = add(common); !read) return tl::unexpected(read.error());
  for (const std::string& stem : stems) {
    const fs::path own = folder / fmt::format("{}-{}{}", kInputs, stem, kEnding);
    const bool has_own = fs::exists(own);
    if (has_own) {
      if (Status read = add(own); !read) return tl::unexpected(read.error());
    }
    CaseWithOutputs& of = has_own ? cases.back() : cases.front();
    auto result = ReadResult(folder, stem, of.data.problem, lines);
    if (!result) return tl::unexpected(result.error());
    of.results.push_back(*std::move(result));
  }
  return cases;
}

}  // namespace assay
