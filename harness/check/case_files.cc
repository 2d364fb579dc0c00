// SPDX-License-Identifier: Apache-2.0
#include "harness/check/case_files.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "harness/base/atomic_file.h"
#include "harness/base/json_text.h"
#include "harness/base/whole_file.h"
#include "harness/check/tensor_args.h"
#include "harness/data/npy.h"
#include "harness/data/safetensors.h"
#include "harness/results/environment.h"
#include "harness/results/record_case.h"
#include "harness/run/trial/record_fields.h"

namespace assay {
namespace fs = std::filesystem;
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;
constexpr const char* kOutputFolder = "out";

const char* EndingOf(TensorFiles files) {
  return files == TensorFiles::kNpy ? ".npy" : ".safetensors";
}

Status MakeFolder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (!error) return {};
  return Fail(ErrorCode::kIo,
              fmt::format("cannot create {}: {}; give a writable --out", path.string(), error.message()));
}

Status CheckEmpty(const fs::path& dir) {
  std::error_code error;
  const fs::directory_iterator first(dir, error);
  if (error || first == fs::directory_iterator()) return {};
  return UsageError(fmt::format("--out {}: it is not empty (it has {}): give a new or an empty folder", dir.string(),
                                first->path().filename().string()));
}

Status WriteInput(const fs::path& folder, const Operand& operand, const Tensor& tensor, TensorFiles files) {
  const fs::path path = folder / (operand.name + EndingOf(files));
  const TensorRef ref{operand.name, operand.dtype, operand.shape, tensor.data()};
  return files == TensorFiles::kNpy ? WriteNpy(path, ref) : WriteSafetensors(path, {ref}, {});
}

// "u2" where a file says it instead of the type; "" where the file says the type itself.
std::string StoredAs(DType dtype, TensorFiles files) {
  if (files == TensorFiles::kSafetensors || IsComplex(dtype)) return "";
  if (dtype == DType::kBF16) return "u2";
  return dtype == DType::kE4M3 || dtype == DType::kE5M2 ? "u1" : "";
}

void AddFiles(Json& operands, const std::string& folder, TensorFiles files) {
  for (Json& operand : operands) {
    const auto dtype = ParseDType(operand["dtype"].get<std::string>());
    operand["file"] = fmt::format("{}/{}{}", folder, operand["name"].get<std::string>(), EndingOf(files));
    if (const std::string stored = StoredAs(*dtype, files); !stored.empty()) operand["stored_as"] = stored;
  }
}

Result<Json> WriteOneCase(const fs::path& dir, const PlannedCase& planned, TensorFiles files) {
  auto made = MakeSuiteCase(planned, Asker::kCommandLine);
  if (!made) return tl::unexpected(made.error());
  const std::string folder = planned.spec.IdHash();
  if (auto there = MakeFolder(dir / folder / kOutputFolder); !there) return tl::unexpected(there.error());
  const Problem& problem = made->data.problem;
  for (size_t i = 0; i < problem.inputs.size(); ++i) {
    auto written = WriteInput(dir / folder, problem.inputs[i], made->data.inputs[i], files);
    if (!written) return tl::unexpected(written.error());
  }
  Json json = DescribeSuiteCase(planned, made->data);
  json["folder"] = folder;
  json["input_hash"] = made->data.input_hash;
  AddFiles(json["inputs"], folder, files);
  AddFiles(json["outputs"], folder + "/" + kOutputFolder, files);
  return json;
}

Result<ReturnedCase> ReturnedCaseOf(const Json& json, const fs::path& dir) {
  auto planned = PlanAgain(json.at("id").get<std::string>(), json.at("requirement").get<std::string>());
  if (!planned) return tl::unexpected(planned.error());
  return ReturnedCase{*std::move(planned), (dir / json.at("folder").get<std::string>()).string(),
                      json.at("input_hash").get<std::string>()};
}

// The first of the files in which an output may have come.
std::string FileOf(const ReturnedCase& returned, const std::string& name) {
  for (const char* ending : {".npy", ".safetensors"}) {
    const fs::path path = fs::path(returned.folder) / kOutputFolder / (name + ending);
    std::error_code error;
    if (fs::exists(path, error)) return path.string();
  }
  return "";
}

Result<std::vector<NamedTensor>> LoadOutputs(const ReturnedCase& returned) {
  std::vector<NamedTensor> outputs;
  for (const Operand& operand : returned.planned.bound->problem.outputs) {
    const std::string file = FileOf(returned, operand.name);
    if (file.empty()) {
      return UsageError(fmt::format("{}/{} has no {}.npy and no {}.safetensors, but other outputs of the case",
                                    returned.folder, kOutputFolder, operand.name, operand.name));
    }
    auto tensor = LoadOperand({operand.name, file}, std::string(Name(operand.dtype)));
    if (!tensor) return tl::unexpected(tensor.error());
    outputs.push_back({operand.name, *std::move(tensor)});
  }
  return outputs;
}

Result<Record> Judge(const ReturnedCase& returned, const std::string& contract) {
  auto outputs = LoadOutputs(returned);
  if (!outputs) return tl::unexpected(outputs.error());
  auto user = MakeSuiteCase(returned.planned, Asker::kCommandLine);
  if (!user) return tl::unexpected(user.error());
  if (user->data.input_hash != returned.input_hash) {
    return UsageError("this version of assay makes other inputs of the case: write the inputs anew with it");
  }
  auto judged = JudgeOutputs(*user, *std::move(outputs), contract);
  if (!judged) return tl::unexpected(judged.error());
  return judged->record;
}

}  // namespace

Status WriteCaseFiles(const fs::path& dir, const Plan& plan, const std::vector<PlannedCase>& cases, TensorFiles files,
                      const std::function<bool(const std::string& id)>& told) {
  if (auto empty = CheckEmpty(dir); !empty) return empty;
  Json list = Json::array();
  for (const PlannedCase& planned : cases) {
    const std::string id = planned.spec.Id();
    if (!told(id)) return Fail(ErrorCode::kInternal, "interrupted: there is no manifest, and the folder is of no use");
    auto json = WriteOneCase(dir, planned, files);
    if (!json) return Fail(json.error().code, id + ": " + json.error().message);
    list.push_back(*std::move(json));
  }
  const Json manifest = {{"format", kFormat},
                         {"tool_version", ToolVersion()},
                         {"tensors", files == TensorFiles::kNpy ? "npy" : "safetensors"},
                         {"plan", ParseOrderedJson(PlanJson(plan))},
                         {"cases", std::move(list)}};
  const std::string text = DumpJson(manifest, 1) + "\n";
  return WriteFileAtomically(dir / kManifestFile, {{text.data(), text.size()}});
}

Result<Returned> ReadManifest(const fs::path& dir) {
  const fs::path path = dir / kManifestFile;
  const auto text = ReadWholeFile(path);
  if (!text) return UsageError(text.error().message + "; `assay inputs` writes it");
  const auto bad = [&](const std::string& what) { return UsageError(fmt::format("{}: {}", path.string(), what)); };
  try {
    const Json json = ParseOrderedJson(*text);
    if (!json.is_object()) return bad("it is no JSON object, or nested too deep; write the inputs anew");
    if (json.at("format") != kFormat) return bad(fmt::format("its format is not {}; write the inputs anew", kFormat));
    auto plan = ParsePlanJson(json.at("plan").dump());
    if (!plan) return bad(plan.error().message);
    Returned returned{*std::move(plan), {}};
    std::set<std::string> seen;
    for (const Json& one : json.at("cases")) {
      auto again = ReturnedCaseOf(one, dir);
      if (!again) return bad(again.error().message);
      const std::string id = again->planned.spec.Id();
      if (!seen.insert(id).second) return bad(id + " is there twice: it would count twice; write the inputs anew");
      returned.cases.push_back(*std::move(again));
    }
    return returned;
  } catch (const Json::exception& e) {
    return bad(fmt::format("it is no manifest: {}; write the inputs anew", e.what()));
  }
}

bool HasReturned(const ReturnedCase& returned) {
  for (const Operand& operand : returned.planned.bound->problem.outputs) {
    if (!FileOf(returned, operand.name).empty()) return true;
  }
  return false;
}

Record JudgeReturned(const ReturnedCase& returned, const std::string& contract, const std::string& backend) {
  auto judged = Judge(returned, contract);
  Record record;
  if (judged) {
    record = *std::move(judged);
  } else {
    SetCase(record, returned.planned.spec);
    record.required_contract = RequirementOf(returned.planned);
    record.tool_version = ToolVersion();
    record.timestamp = TimestampUtc();
    SetVerdict(record, Verdict::kError, ResultClass::kNone, judged.error().message);
  }
  record.backend = backend;
  return record;
}

}  // namespace assay
