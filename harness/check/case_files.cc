// SPDX-License-Identifier: Apache-2.0
#include "harness/check/case_files.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "harness/base/json_text.h"
#include "harness/base/whole_file.h"
#include "harness/check/given_files.h"
#include "harness/check/manifest_parts.h"
#include "harness/check/tensor_args.h"
#include "harness/results/environment.h"
#include "harness/results/record_case.h"
#include "harness/run/trial/record_fields.h"

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

Result<ReturnedCase> ReturnedCaseOf(const Json& json, const fs::path& dir) {
  const bool given = json.value("given", false);
  const auto plan_again = given ? PlanGivenAgain : PlanAgain;
  auto planned = plan_again(json.at("id").get<std::string>(), json.at("requirement").get<std::string>());
  if (!planned) return tl::unexpected(planned.error());
  planned->tags = json.value("tags", std::vector<std::string>());
  return ReturnedCase{*std::move(planned), (dir / json.at("folder").get<std::string>()).string(),
                      json.at("input_hash").get<std::string>(), given};
}

// Where an output has come; "" where it has not.
std::string FileOf(const ReturnedCase& returned, const std::string& name) {
  return TensorFileOf(fs::path(returned.folder) / kOutputFolder, name);
}

Result<std::vector<NamedTensor>> LoadOutputs(const ReturnedCase& returned) {
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

Result<Record> Judge(const ReturnedCase& returned, const std::string& contract) {
  auto outputs = LoadOutputs(returned);
  if (!outputs) return tl::unexpected(outputs.error());
  auto user = returned.given ? LoadGivenCase(returned) : MakeSuiteCase(returned.planned, Asker::kCommandLine);
  if (!user) return tl::unexpected(user.error());
  if (user->data.input_hash != returned.input_hash) {
    return UsageError(returned.given
                          ? "its inputs are not those that were imported: import the cases anew"
                          : "this version of assay makes other inputs of the case: write the inputs anew with it");
  }
  auto judged = JudgeOutputs(*user, *std::move(outputs), contract);
  if (!judged) return tl::unexpected(judged.error());
  return judged->record;
}

}  // namespace

Status WriteCaseFiles(const fs::path& dir, const Plan& plan, const std::vector<PlannedCase>& cases, TensorFiles files,
                      const std::function<bool(const std::string& id)>& told) {
  if (auto empty = CheckEmptyFolder(dir); !empty) return empty;
  Json list = Json::array();
  for (const PlannedCase& planned : cases) {
    const std::string id = planned.spec.Id();
    if (!told(id)) return Fail(ErrorCode::kInternal, "interrupted: there is no manifest, and the folder is of no use");
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
  try {
    const Json json = ParseJson(*text);
    if (!json.is_object()) return bad("it is no JSON object, or nested too deep; write the inputs anew");
    if (json.at("format") != kManifestFormat) {
      return bad(fmt::format("its format is not {}; write the inputs anew", kManifestFormat));
    }
    auto plan = ParsePlanJson(json.at("plan").dump());
    if (!plan) return bad(plan.error().message);
    Returned returned{*std::move(plan), {}};
    std::map<std::string, std::string> requirements;
    for (const PlanEntry& entry : returned.plan.entries) requirements[entry.id] = entry.requirement;
    std::set<std::string> seen;
    for (const Json& one : json.at("cases")) {
      auto again = ReturnedCaseOf(one, dir);
      if (!again) return bad(again.error().message);
      const std::string id = again->planned.spec.Id();
      const auto planned = requirements.find(id);
      if (planned == requirements.end() || planned->second != RequirementOf(again->planned)) {
        return bad(fmt::format(
            "{} is not in its plan with that requirement: the manifest was changed; take the one that was sent out, or "
            "write the inputs anew",
            id));
      }
      if (!seen.insert(id).second) return bad(id + " is there twice: it would count twice; write the inputs anew");
      returned.cases.push_back(*std::move(again));
    }
    return returned;
  } catch (const Json::exception& e) {
    return bad(fmt::format("it is no manifest: {}; write the inputs anew", e.what()));
  }
}

bool HasReturned(const ReturnedCase& returned) {
  const SharedCase bound = returned.planned.Bound();
  for (const Operand& operand : bound->problem.outputs) {
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
