// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/check/case_files.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "harness/core/base/json_fields.h"
#include "harness/core/base/json_text.h"
#include "harness/core/base/whole_file.h"
#include "harness/engine/results/environment.h"
#include "harness/engine/results/record_case.h"
#include "harness/engine/trial/record_fields.h"
#include "harness/tools/check/given_files.h"
#include "harness/tools/check/manifest_parts.h"
#include "harness/tools/check/tensor_args.h"

namespace assay {
namespace fs = std::filesystem;
namespace {

Result<Json> WriteOneCase(const fs::path& dir, const PlannedCase& planned, TensorFiles files) {
  auto made = MakeSuiteCase(planned, Asker::kCommandLine);
  if (!made) return tl::unexpected(made.error());
  const std::string folder = planned.spec.IdHash();
  if (auto there = MakeFolder(dir / folder / kOutputFolder); !there) return tl::unexpected(there.error());
  const Problem& problem = made->data.problem;
  for (size_t i = 0; i < problem.inputs.size(); ++i) {
    auto written = WriteTensorFile(dir / folder, problem.inputs[i], made->data.inputs[i], files);
    if (!written) return tl::unexpected(written.error());
  }
  Json json = DescribeSuiteCase(planned, made->data);
  json["input_hash"] = made->data.input_hash;
  AddFileNames(json, folder, files);
  return json;
}

Result<ReturnedTensors> ReturnedCaseOf(JsonFields& json, const fs::path& dir) {
  const bool given = json.Flag("given");
  const auto plan_again = given ? PlanGivenAgain : PlanAgain;
  const std::string id = json.Text("id"), requirement = json.Text("requirement"), folder = json.Text("folder");
  std::vector<std::string> tags = json.Texts("tags", JsonFields::Absent::kIsFine);
  std::string input_hash = json.Text("input_hash");
  if (!json.problem().empty()) return UsageError(json.problem());
  auto planned = plan_again(id, requirement);
  if (!planned) return tl::unexpected(planned.error());
  planned->tags = std::move(tags);
  return ReturnedTensors{*std::move(planned), (dir / folder).string(), std::move(input_hash), given};
}

// Where an output has come; "" where it has not.
std::string FileOf(const ReturnedTensors& returned, const std::string& name) {
  return TensorFileOf(fs::path(returned.folder) / kOutputFolder, name);
}

Result<std::vector<NamedTensor>> LoadOutputs(const ReturnedTensors& returned) {
  std::vector<NamedTensor> outputs;
  const SharedCase bound = returned.planned.Bound();
  for (const Operand& operand : bound->problem.outputs) {
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

// Adds a case of the manifest; the error says what is wrong with it.
Status TakeCase(JsonFields& one, const fs::path& dir, const std::map<std::string, std::string>& requirements,
                std::set<std::string>& seen, Returned& returned) {
  auto again = ReturnedCaseOf(one, dir);
  if (!again) return tl::unexpected(again.error());
  const std::string id = again->planned.spec.Id();
  const auto planned = requirements.find(id);
  if (planned == requirements.end() || planned->second != RequirementOf(again->planned)) {
    return UsageError(
        fmt::format("{} is not in its plan with that requirement: the manifest was changed; use the original, or write "
                    "the inputs anew",
                    id));
  }
  if (!seen.insert(id).second) {
    return UsageError(id + " is there twice: it would count twice; write the inputs anew");
  }
  returned.cases.push_back(*std::move(again));
  return {};
}

}  // namespace

Status WriteCaseFiles(const fs::path& dir, const Plan& plan, const std::vector<PlannedCase>& cases, TensorFiles files,
                      const std::function<bool(const std::string& id)>& on_case) {
  if (auto empty = CheckEmptyFolder(dir); !empty) return empty;
  Json list = Json::array();
  for (const PlannedCase& planned : cases) {
    const std::string id = planned.spec.Id();
    if (!on_case(id)) {
      return Fail(ErrorCode::kInternal,
                  "interrupted before the manifest was written; remove the folder and write the inputs anew");
    }
    auto json = WriteOneCase(dir, planned, files);
    if (!json) return Fail(json.error().code, id + ": " + json.error().message);
    list.push_back(*std::move(json));
  }
  return WriteManifest(dir, plan, std::move(list), files);
}

Result<Returned> ReadManifest(const fs::path& dir) {
  const fs::path path = dir / kManifestFile;
  const auto text = ReadWholeFile(path);
  if (!text) return UsageError(text.error().message + "; `assay inputs` writes it");
  const auto bad = [&](const std::string& what) { return UsageError(fmt::format("{}: {}", path.string(), what)); };
  const Json json = ParseJson(*text);
  JsonFields fields(json, path.string());
  const int64_t format = fields.Integer("format");
  if (fields.problem().empty() && format != kManifestFormat) {
    return bad(fmt::format("its format is not {}; write the inputs anew", kManifestFormat));
  }
  if (fields.problem().empty() && !json.contains("plan")) return bad("it has no plan; write the inputs anew");
  if (!fields.problem().empty()) return UsageError(fields.problem() + "; write the inputs anew");
  auto plan = ParsePlanJson(json["plan"].dump());
  if (!plan) return bad(plan.error().message);
  Returned returned{*std::move(plan), {}};
  std::map<std::string, std::string> requirements;
  for (const PlanEntry& entry : returned.plan.entries) requirements[entry.id] = entry.requirement;
  std::set<std::string> seen;
  Status taken;
  fields.VisitList("cases", [&](JsonFields& one) {
    if (taken) taken = TakeCase(one, dir, requirements, seen, returned);
  });
  if (!fields.problem().empty()) return UsageError(fields.problem() + "; write the inputs anew");
  if (!taken) return bad(taken.error().message);
  return returned;
}

bool HasReturned(const ReturnedTensors& returned) {
  const SharedCase bound = returned.planned.Bound();
  for (const Operand& operand : bound->problem.outputs) {
    if (!FileOf(returned, operand.name).empty()) return true;
  }
  return false;
}

Result<LoadedOutputs> LoadReturned(const ReturnedTensors& returned, const std::string& contract) {
  auto outputs = LoadOutputs(returned);
  if (!outputs) return tl::unexpected(outputs.error());
  auto user = returned.given ? LoadGivenCase(returned) : MakeSuiteCase(returned.planned, Asker::kCommandLine);
  if (!user) return tl::unexpected(user.error());
  if (user->data.input_hash != returned.input_hash) {
    return UsageError(returned.given
                          ? "its inputs are not those that were imported: import the cases anew"
                          : "this version of assay makes other inputs of the case: write the inputs anew with it");
  }
  auto request = BindOutputs(*user, *std::move(outputs), contract);
  if (!request) return tl::unexpected(request.error());
  return LoadedOutputs{*std::move(user), *std::move(request)};
}

Record JudgeReturned(const ReturnedTensors& returned, const std::string& contract, const std::string& backend) {
  const auto judge = [](LoadedOutputs loaded) { return JudgeUserCase(loaded.request, loaded.user, {}); };
  auto judged = LoadReturned(returned, contract).and_then(judge);
  Record record;
  if (judged) {
    record = std::move(judged->record);
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
