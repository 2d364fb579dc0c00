// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/check/suite_case.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/core/base/text.h"
#include "harness/plan/catalog.h"

namespace assay {
namespace {

Json OperandsJson(const std::vector<Operand>& operands) {
  Json list = Json::array();
  for (const Operand& o : operands) list.push_back({{"name", o.name}, {"dtype", Name(o.dtype)}, {"shape", o.shape}});
  return list;
}

}  // namespace

Result<PlannedCase> PlanAgain(const std::string& id, const std::string& requirement) {
  PlanOptions options;
  options.cases = {id};
  auto run = PlanCases(options, [](const char*) -> const char* { return nullptr; });
  if (!run) return tl::unexpected(run.error());
  PlannedCase planned = std::move(run->selection.cases.at(0));
  if (RequirementOf(planned) != requirement) planned.requirement = requirement;
  return planned;
}

Result<UserTensors> MakeSuiteCase(const PlannedCase& planned, Asker asker) {
  auto data = PrepareInputs(*planned.Bound());
  if (!data) return tl::unexpected(data.error());
  UserTensors user;
  user.asker = asker;
  user.planned = planned;
  user.data = *std::move(data);
  return user;
}

Result<CheckRequest> BindOutputs(UserTensors& user, std::vector<NamedTensor> outputs, const std::string& contract) {
  const PlannedCase& planned = *user.planned;
  const Problem& problem = user.data.problem;
  auto got = TakeTensors(problem, problem.outputs, problem.outputs.size(), std::move(outputs), user.asker);
  if (!got) return tl::unexpected(got.error());
  CheckRequest request;
  request.op = planned.spec.op;
  request.contract = contract.empty() ? planned.requirement : contract;
  request.requirement = RequirementOf(planned);
  if (auto set = SetContracts(request, problem, user); !set) return tl::unexpected(set.error());
  user.contract_is_default = contract.empty() && planned.requirement.empty();
  user.got = *std::move(got);
  return request;
}

Result<CheckResult> JudgeOutputs(UserTensors& user, std::vector<NamedTensor> outputs, const std::string& contract) {
  const auto request = BindOutputs(user, std::move(outputs), contract);
  if (!request) return tl::unexpected(request.error());
  return JudgeUserCase(*request, user, {});
}

Result<JudgedSample> JudgeSample(const UserTensors& user, std::vector<NamedTensor> outputs, const std::string& contract,
                                 const SampleRequest& sample) {
  UserTensors own;
  own.asker = user.asker, own.planned = user.planned;
  own.data.op = user.data.op, own.data.problem = user.data.problem, own.data.input_hash = user.data.input_hash;
  for (size_t k = 0; k < own.data.problem.outputs.size(); ++k) own.data.outputs.push_back({k});
  for (const Tensor& input : user.data.inputs) {
    own.data.inputs.push_back(Tensor::Borrow(input.dtype(), input.shape(), input.data()));
  }
  auto request = BindOutputs(own, std::move(outputs), contract);
  if (!request) return tl::unexpected(request.error());
  request->sample = sample;
  if (auto fits = TakeSample(*request, own); !fits) return tl::unexpected(fits.error());
  auto result = JudgeUserCase(*request, own, {});
  if (!result) return tl::unexpected(result.error());
  return JudgedSample{std::move(own), *std::move(result)};
}

Json DescribeSuiteCase(const PlannedCase& planned, const PreparedCase& data) {
  const CaseSpec& spec = planned.spec;
  const OpSchema& schema = data.op->schema();
  const AttrReader reader(spec, schema);
  Json json = {{"id", spec.Id()},   {"op", spec.op},     {"dtype", DTypeListText(spec.dtypes)},
               {"fill", spec.fill}, {"seed", spec.seed}, {"requirement", RequirementOf(planned)}};
  json["attrs"] = Json::object();
  for (const AttrDef& attr : schema.attrs) {
    const std::string text(reader.Text(attr.key));
    // A word such as attention's scale=auto stands for a number, which backends get, and so does whoever gets the case.
    const bool is_word = attr.type == AttrType::kFloat && !ParseNumber<double>(text);
    json["attrs"][attr.key] = is_word ? fmt::format("{}", data.problem.Float(attr.key)) : text;
  }
  json["inputs"] = OperandsJson(data.problem.inputs);
  json["outputs"] = OperandsJson(data.problem.outputs);
  return json;
}

}  // namespace assay
