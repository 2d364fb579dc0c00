// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/explain/verb_experiments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "harness/tools/check/check_case.h"
#include "harness/tools/explain/experiment.h"
#include "harness/tools/explain/verb_explain_sources.h"

namespace assay::cli {
namespace {

// The causes that are left by what the implementation makes of a case; nullopt: it does not compute the case, or is
// right there.
std::optional<std::vector<size_t>> Execute(const std::string& id, const NamedCauses& named,
                                           const std::vector<size_t>& left, const RunOptions& options,
                                           const std::string& tier) {
  CheckRequest request;
  request.tier = tier;
  const ReadCases read = ExecuteCase(id, options, request);
  if (!read || read->empty()) return std::nullopt;
  const CaseWithOutputs& of = read->front();
  const auto result = std::ranges::find(of.results, named.result, &NamedResult::name);
  if (result == of.results.end() || result->outputs.empty()) return std::nullopt;
  const auto contract = ParseDeclaration(result->judged_by.contract);
  if (!contract) return std::nullopt;
  const Golden& golden = of.data.outputs[0].golden;
  WrongResult other{.op = *of.data.op,
                    .problem = of.data.problem,
                    .inputs = of.data.inputs,
                    .got = result->outputs,
                    .contract = *contract,
                    .golden = golden,
                    .tier = golden.tier};
  if (!IsWrongResult(other)) return std::nullopt;
  return KeepCausesOf(other, named.causes, left);
}

std::string TextsOf(const NamedCauses& named, const std::vector<size_t>& numbers) {
  std::vector<std::string> texts;
  for (const size_t number : numbers) texts.push_back(named.texts[number]);
  return fmt::format("{}", fmt::join(texts, ", or "));
}

}  // namespace

ToldApart TellCausesApart(const NamedCauses& named, const PreparedCase& data, const RunOptions& options,
                          const CheckRequest& request) {
  ToldApart told;
  told.json = Json::array();
  std::vector<size_t> left(named.causes.size());
  std::iota(left.begin(), left.end(), size_t{0});
  int executed = 0;
  for (const std::string& id : ListExperiments(*data.op, data.problem)) {
    if (left.size() < 2) break;
    const auto kept = Execute(id, named, left, options, request.tier);
    if (!kept) continue;
    ++executed;
    Json of_case = {{"case_id", id}, {"explained_by", Json::array()}};
    for (const size_t number : *kept) of_case["explained_by"].push_back(named.texts[number]);
    told.json.push_back(std::move(of_case));
    if (kept->size() == left.size()) continue;
    left = *kept;
    told.text += left.empty() ? fmt::format("experiment: {}: none of these causes makes its result\n", id)
                              : fmt::format("experiment: {}: explained by {}\n", id, TextsOf(named, left));
  }
  if (executed > 0 && left.size() > 1)
    told.text += fmt::format("experiments: {} further cases do not tell apart {}\n", executed, TextsOf(named, left));
  return told;
}

}  // namespace assay::cli
