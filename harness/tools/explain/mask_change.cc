// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/explain/mask_change.h"

namespace assay {

void AddMasks(const Problem& problem, std::vector<CaseChange>& changes) {
  if (problem.spec.op != "attention" || problem.Int("causal") == 0) return;
  if (problem.Int("window") != 0 || problem.Text("mask") != "none") return;
  const int64_t last = problem.Text("align") == "tl" ? 0 : problem.Int("s") - problem.Int("l");
  changes.push_back({.kind = OperandChange::kSeesOneMore, .by = last + 1});
  changes.push_back({.kind = OperandChange::kSeesOneLess, .by = last - 1});
}

std::optional<Problem> BindMasked(const Operator& op, const Problem& problem) {
  CaseSpec spec = problem.spec;
  for (const char* key : {"causal", "align", "mask"}) {
    std::erase_if(spec.attrs, [key](const auto& attr) { return attr.first == key; });
  }
  spec.attrs.emplace_back("mask", "bool");
  const auto canonical = Canonicalise(spec, op.schema());
  if (!canonical) return std::nullopt;
  auto bound = op.Bind(*canonical);
  return bound && bound->inputs.size() == problem.inputs.size() + 1 ? std::optional(*std::move(bound)) : std::nullopt;
}

Tensor MakeMask(const std::vector<Tensor>& inputs, const CaseChange& change) {
  const int64_t queries = inputs[0].shape()[2], keys = inputs[1].shape()[2];
  std::vector<double> seen;
  for (int64_t query = 0; query < queries; ++query) {
    for (int64_t key = 0; key < keys; ++key) seen.push_back(key <= query + change.by ? 1 : 0);
  }
  Tensor mask(DType::kI8, {queries, keys});
  mask.SetDoubles(seen);
  return mask;
}

}  // namespace assay
