// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/check/given_files.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "harness/core/base/json.h"
#include "harness/tools/check/manifest_parts.h"
#include "harness/tools/check/tensor_args.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr const char* kGivenFill = "user";
constexpr const char* kTheirsFolder = "theirs";

// The case with these inputs. Errors name the operand that does not fit.
Result<UserTensors> MakeUserCase(const PlannedCase& planned, std::vector<NamedTensor> inputs) {
  UserTensors user;
  user.planned = planned;
  const SharedCase bound = planned.Bound();
  user.data.op = bound->op;
  user.data.problem = bound->problem;
  const Problem& problem = user.data.problem;
  auto taken = TakeTensors(problem, problem.inputs, 0, std::move(inputs), user.asker);
  if (!taken) return tl::unexpected(taken.error());
  if (auto valid = user.data.op->CheckInputs(problem, *taken); !valid) return tl::unexpected(valid.error());
  for (size_t k = 0; k < problem.outputs.size(); ++k) user.data.outputs.push_back({k});
  user.data.inputs = *std::move(taken);
  user.data.input_hash = HashInputs(user.data.inputs);
  return user;
}

Status WriteTensors(const fs::path& folder, const std::vector<Operand>& operands, const std::vector<Tensor>& tensors,
                    TensorFiles files) {
  if (auto made = MakeFolder(folder); !made) return made;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (auto written = WriteTensorFile(folder, operands[i], tensors[i], files); !written) return written;
  }
  return {};
}

Result<Json> WriteOneGiven(const fs::path& dir, GivenTensors& given, TensorFiles files, GivenOutputs outputs) {
  auto user = MakeUserCase(given.planned, std::move(given.inputs));
  if (!user) return tl::unexpected(user.error());
  const Problem& problem = user->data.problem;
  const std::string folder = given.planned.spec.IdHash();
  if (auto made = MakeFolder(dir / folder / kOutputFolder); !made) return tl::unexpected(made.error());
  if (auto done = WriteTensors(dir / folder, problem.inputs, user->data.inputs, files); !done) {
    return tl::unexpected(done.error());
  }
  auto theirs = TakeTensors(problem, problem.outputs, problem.outputs.size(), std::move(given.outputs), user->asker);
  if (!theirs) return tl::unexpected(theirs.error());
  const fs::path place = dir / folder / (outputs == GivenOutputs::kJudged ? kOutputFolder : kTheirsFolder);
  if (auto done = WriteTensors(place, problem.outputs, *theirs, files); !done) return tl::unexpected(done.error());
  Json json = DescribeSuiteCase(given.planned, user->data);
  json["given"] = true;
  json["tags"] = given.planned.tags;
  json["input_hash"] = user->data.input_hash;
  AddFileNames(json, folder, files);
  return json;
}

}  // namespace

Status WriteGivenFiles(const fs::path& dir, const std::string& suite, std::vector<GivenTensors> cases,
                       TensorFiles files, GivenOutputs outputs) {
  if (auto empty = CheckEmptyFolder(dir); !empty) return empty;
  Json list = Json::array();
  Selection selection;
  for (GivenTensors& given : cases) {
    given.planned.spec.fill = kGivenFill;
    given.planned.spec.seed = selection.cases.size();
    auto json = WriteOneGiven(dir, given, files, outputs);
    if (!json) return Fail(json.error().code, given.planned.spec.Id() + ": " + json.error().message);
    list.push_back(*std::move(json));
    selection.Add(given.planned);
  }
  return WriteManifest(dir, MakePlan(suite, {}, selection), std::move(list), files);
}

Result<PlannedCase> PlanGivenAgain(const std::string& id, const std::string& requirement) {
  auto spec = ParseId(id);
  if (!spec) return tl::unexpected(spec.error());
  const std::string fill = std::exchange(spec->fill, "normal");
  const uint64_t seed = std::exchange(spec->seed, 0);
  auto planned = PlanAgain(spec->Id(), requirement);
  if (!planned) return planned;
  planned->held = planned->Bound();  // of a fill that has data
  planned->spec.fill = fill;
  planned->spec.seed = seed;
  return planned;
}

Result<UserTensors> LoadGivenCase(const ReturnedTensors& returned) {
  std::vector<NamedTensor> inputs;
  const SharedCase bound = returned.planned.Bound();
  for (const Operand& operand : bound->problem.inputs) {
    const std::string file = TensorFileOf(returned.folder, operand.name);
    if (file.empty()) {
      return UsageError(fmt::format("{} has no {}.npy and no {}.safetensors, an input of the case: import it anew",
                                    returned.folder, operand.name, operand.name));
    }
    auto tensor = LoadOperand({operand.name, file}, std::string(Name(operand.dtype)));
    if (!tensor) return tl::unexpected(tensor.error());
    inputs.push_back({operand.name, *std::move(tensor)});
  }
  return MakeUserCase(returned.planned, std::move(inputs));
}

}  // namespace assay
