// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "harness/cli/run_pair.h"
#include "harness/core/data/safetensors.h"
#include "harness/engine/results/exit_code.h"
#include "harness/plan/selection.h"
#include "harness/tools/bundle/stored_outputs.h"
#include "harness/tools/check/case_files.h"
#include "harness/tools/check/tensor_args.h"
#include "harness/tools/explain/verb_explain_sources.h"
#include "reports/compare/between_backends.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

CaseWithOutputs CaseOf(UserTensors user) {
  CaseWithOutputs read;
  read.data = std::move(user.data), read.planned = std::move(user.planned), read.defaults = std::move(user.defaults);
  return read;
}

Status CheckCount(const fs::path& folder, size_t count, std::string_view none) {
  if (count == 0) return UsageError(fmt::format("{}: {}", folder.string(), none));
  if (count <= kMostCasesOfFolder) return {};
  return UsageError(fmt::format("{} has {} such cases, and at most {} are explained at once; choose with --filter",
                                folder.string(), count, kMostCasesOfFolder));
}

// Outputs that a run has kept (--evidence), beside the records of their results.
class RunReader {
 public:
  RunReader(fs::path folder, const std::string& filter) : folder_(std::move(folder)), filter_(filter) {}

  Result<std::vector<CaseWithOutputs>> Read() const {
    auto run = ReadRunToCompare(folder_);
    if (!run) return tl::unexpected(run.error());
    std::map<std::string, std::vector<const Record*>> kept;
    for (const Record& record : run->records) {
      if (IsWanted(record) && fs::exists(folder_ / StoredOutputFile(record))) kept[record.case_id].push_back(&record);
    }
    const Status counted =
        CheckCount(folder_, kept.size(),
                   filter_.empty() ? "no failing result has kept outputs; run with --evidence 1 (what "
                                     "crashes, hangs or ends in an error has none)"
                                   : "no result of these cases has kept outputs; run with "
                                     "--evidence 1, or give another --filter");
    if (!counted) return tl::unexpected(counted.error());
    std::vector<CaseWithOutputs> cases;
    for (const auto& [id, records] : kept) {
      auto read = ReadCase(id, records);
      if (!read) return UsageError(fmt::format("{}: {}: {}", folder_.string(), id, read.error().message));
      cases.push_back(*std::move(read));
    }
    return cases;
  }

 private:
  bool IsWanted(const Record& record) const {
    if (!filter_.empty()) return MatchesFilter(filter_, record.case_id);
    const auto verdict = ParseVerdict(record.verdict);
    return verdict && IsFailingResult(*verdict);
  }

  Result<CaseWithOutputs> ReadCase(const std::string& id, const std::vector<const Record*>& records) const {
    auto planned = PlanAgain(id, records[0]->required_contract);
    if (!planned) return tl::unexpected(planned.error());
    auto user = MakeSuiteCase(*planned, Asker::kCommandLine);
    if (!user) return tl::unexpected(user.error());
    if (user->data.input_hash != records[0]->input_hash)
      return UsageError("this version of assay makes other inputs of the case: run it again");
    CaseWithOutputs read = CaseOf(*std::move(user));
    for (const Record* record : records) {
      auto outputs = ReadOutputs(*record, read.data.problem);
      if (!outputs) return tl::unexpected(outputs.error());
      NamedResult result{.name = NameBetween(*record),
                         .outputs = *std::move(outputs),
                         .said = record->verdict + (record->reason.empty() ? "" : ": " + record->reason)};
      result.judged_by.contract = ContractToJudgeBy(record->contract);
      result.judged_by.requirement = record->required_contract;
      if (!record->tier.empty()) result.judged_by.tier = record->tier;
      read.results.push_back(std::move(result));
    }
    return read;
  }

  Result<std::vector<Tensor>> ReadOutputs(const Record& record, const Problem& problem) const {
    const fs::path path = folder_ / StoredOutputFile(record);
    auto file = ReadSafetensors(path);
    if (!file) return tl::unexpected(file.error());
    std::vector<Tensor> outputs;
    for (const Operand& operand : problem.outputs) {
      const Tensor* const found = file->Find(operand.name);
      if (found == nullptr) return UsageError(fmt::format("{} has no output {}", path.string(), operand.name));
      auto output = ConvertTensor(found->Clone(), operand.dtype);
      if (!output) return tl::unexpected(output.error());
      if (output->size() != NumElements(operand.shape))
        return UsageError(fmt::format("{}: {} has another size than the case's output", path.string(), operand.name));
      output->Reshape(operand.shape);
      outputs.push_back(*std::move(output));
    }
    return outputs;
  }

  fs::path folder_;
  const std::string& filter_;
};

Result<std::vector<CaseWithOutputs>> ReadManifestCases(const fs::path& folder, const std::string& filter) {
  auto returned = ReadManifest(folder);
  if (!returned) return tl::unexpected(returned.error());
  std::erase_if(returned->cases, [&](const ReturnedTensors& one) {
    return !HasReturned(one) || (!filter.empty() && !MatchesFilter(filter, one.planned.spec.Id()));
  });
  const Status counted = CheckCount(folder, returned->cases.size(), "no outputs of these cases have come back");
  if (!counted) return tl::unexpected(counted.error());
  std::vector<CaseWithOutputs> cases;
  for (const ReturnedTensors& one : returned->cases) {
    auto loaded = LoadReturned(one, "");
    if (!loaded) return UsageError(fmt::format("{}: {}", one.planned.spec.Id(), loaded.error().message));
    NamedResult result{
        .name = one.folder, .outputs = std::move(loaded->user.got), .judged_by = std::move(loaded->request)};
    cases.push_back(CaseOf(std::move(loaded->user)));
    cases.back().results.push_back(std::move(result));
  }
  return cases;
}

}  // namespace

ReadCases ReadFolder(const fs::path& folder, const std::string& filter) {
  const auto read = [&] {
    if (fs::exists(folder / kManifestFile)) return ReadManifestCases(folder, filter);
    if (fs::exists(folder / "results.jsonl")) return RunReader(folder, filter).Read();
    return ReadFailureFolder(folder);
  };
  auto cases = read();
  if (!cases) return tl::unexpected(Refusal{kExitUsage, cases.error().message});
  return *std::move(cases);
}

}  // namespace assay::cli
