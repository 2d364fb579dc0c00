// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/explain/experiment.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/judge/judge_output.h"

namespace assay {
namespace {

// Other values of an attribute, in which causes differ: no factor of two, and no multiple of a block.
std::vector<std::string> ListOtherValues(const ResolvedAttr& attr) {
  constexpr double kFactor = 0.7;
  if (attr.type == AttrType::kFloat && attr.f != 0) return {fmt::format("{:.6g}", kFactor * attr.f)};
  if (attr.type == AttrType::kInt && attr.i > 1) return {std::to_string(attr.i + 3)};
  return {};
}

}  // namespace

std::vector<std::string> ListExperiments(const Operator& op, const Problem& problem) {
  std::vector<std::string> ids;
  const auto add = [&](CaseSpec spec) {
    const auto canonical = Canonicalise(std::move(spec), op.schema());
    if (!canonical || !op.Bind(*canonical) || ids.size() == kMostExperiments) return;
    const std::string id = canonical->Id();
    if (id != problem.spec.Id() && std::ranges::find(ids, id) == ids.end()) ids.push_back(id);
  };
  for (const AttrType type : {AttrType::kFloat, AttrType::kInt}) {
    for (const ResolvedAttr& attr : problem.attrs) {
      for (const std::string& value : attr.type == type ? ListOtherValues(attr) : std::vector<std::string>()) {
        CaseSpec spec = problem.spec;
        std::erase_if(spec.attrs, [&](const auto& stated) { return stated.first == attr.key; });
        spec.attrs.emplace_back(attr.key, value);
        add(std::move(spec));
      }
    }
    CaseSpec other = problem.spec;
    ++other.seed;
    add(std::move(other));
  }
  return ids;
}

bool IsWrongResult(const WrongResult& result) {
  for (size_t k = 0; k < result.got.size(); ++k) {
    const Golden golden = result.op.ComputeGolden(result.problem, k, result.inputs, result.tier);
    const BoundModel bound = result.op.Bound(result.problem, k, golden, result.contract);
    Tensor got = result.got[k].Clone();
    if (!Holds(JudgeOutput({result.op, result.problem, k, result.inputs, golden, bound, result.contract}, got)))
      return true;
  }
  return false;
}

std::vector<size_t> KeepCausesOf(const WrongResult& other, const std::vector<Cause>& causes,
                                 const std::vector<size_t>& left) {
  std::vector<size_t> kept;
  for (const size_t number : left) {
    if (IsCause(other, causes[number].change)) kept.push_back(number);
  }
  return kept;
}

}  // namespace assay
