// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/cover/coverage.h"

#include <fmt/format.h>

#include <algorithm>

namespace assay {
namespace {

// Limits that hold for all of an operator's lines, and the highest strength.
std::map<std::string, CoverOptions> OptionsByOperator(const std::vector<PlannedCase>& cases,
                                                      const std::vector<CoverLine>& covers, const OpCatalog& ops) {
  std::map<std::string, CoverOptions> options;
  for (const CoverLine& line : covers) {
    const auto [it, is_new] = options.try_emplace(line.op, line.options);
    if (is_new) continue;
    CoverOptions& known = it->second;
    known.strength = std::max(known.strength, line.options.strength);
    known.limits.elements = std::max(known.limits.elements, line.options.limits.elements);
    known.limits.flops = std::max(known.limits.flops, line.options.limits.flops);
  }
  for (const PlannedCase& planned : cases) {
    const Operator* op = ops.op ? ops.op(planned.spec.op) : nullptr;
    if (op != nullptr && !op->Space().dimensions.empty()) options.try_emplace(planned.spec.op);
  }
  return options;
}

// Counts the combinations that a suite has, even those that the design held for impossible.
Coverage Compare(const std::string& op, const CoverOptions& options, const CaseSpace& space, const CoveredSet& set,
                 const std::vector<Levels>& cases) {
  Coverage coverage{.op = op, .strength = set.strength, .limits = options.limits, .cases = cases.size()};
  coverage.combinations = set.tuples.size();
  std::vector<int> state = set.reason;
  std::ranges::replace(state, kCovered, kNotFound);
  for (const Levels& levels : cases) {
    set.tuples.Each(levels, [&](int64_t index) { state[static_cast<size_t>(index)] = kCovered; });
  }
  for (int64_t index = 0; index < set.tuples.size(); ++index) {
    const int at = state[static_cast<size_t>(index)];
    if (at == kCovered) {
      ++coverage.covered;
      continue;
    }
    std::string text = TupleText(space, set.tuples.At(index));
    (at == kNotFound ? coverage.missing : coverage.impossible[set.reasons[static_cast<size_t>(at)]])
        .push_back(std::move(text));
  }
  return coverage;
}

}  // namespace

std::vector<Coverage> CoverageOf(const std::vector<PlannedCase>& cases, const std::vector<CoverLine>& covers,
                                 const OpCatalog& ops) {
  std::vector<Coverage> all;
  for (const auto& [name, options] : OptionsByOperator(cases, covers, ops)) {
    const Operator& op = *ops.op(name);
    const CaseSpace space = op.Space();
    std::vector<Levels> levels;
    for (const PlannedCase& planned : cases) {
      if (planned.spec.op == name) levels.push_back(LevelsOfCase(op, space, planned.spec));
    }
    for (const CoveredSet& set : MakeCover(op, options).sets) {
      all.push_back(Compare(name, options, space, set, levels));
    }
  }
  return all;
}

}  // namespace assay
