// SPDX-License-Identifier: Apache-2.0
// Shorthands of the operator tests: bind an id, compute its golden, judge one element.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "golden/bound/bound.h"
#include "golden/element.h"
#include "ops/operator.h"

namespace assay::test {

inline const Operator& Op(std::string_view name) {
  const Operator* op = OperatorRegistry::Global().Find(name);
  if (op == nullptr) std::abort();
  return *op;
}

inline Result<Problem> TryBind(std::string_view id) {
  const Result<CaseSpec> spec = ParseId(id);
  if (!spec) return tl::unexpected(spec.error());
  return Op(spec->op).Bind(*spec);
}

inline Problem Bind(std::string_view id) {
  Result<Problem> problem = TryBind(id);
  if (!problem) {
    ADD_FAILURE() << id << ": " << problem.error().message;
    std::abort();
  }
  return *std::move(problem);
}

inline Contract Declared(std::string_view text) {
  const Result<Contract> contract = ParseDeclaration(text);
  if (!contract) {
    ADD_FAILURE() << contract.error().message;
    std::abort();
  }
  return *contract;
}

// Every twin that the operator has for the contract.
inline std::vector<Twin> TwinsOf(const Problem& problem, std::string_view declaration) {
  std::vector<Twin> twins;
  const Operator& op = Op(problem.spec.op);
  const Contract contract = Declared(declaration);
  for (int variant = 0; variant < op.TwinVariants(problem, contract); ++variant) {
    if (auto twin = op.MakeTwin(problem, contract, variant)) twins.push_back(*std::move(twin));
  }
  return twins;
}

// VERDICT.md 1, element by element: the test's own reading of it.
inline bool Accepts(const BoundModel& bound, const Golden& golden, int64_t i, double got) {
  const double y = golden.value[i];
  const unsigned also = AlsoAt(bound, i);
  const bool same_sign = y == 0 || (got < 0) == (y < 0);
  if ((also & kAnything) != 0) return true;
  if ((also & kAlsoNan) != 0 && std::isnan(got)) return true;
  if ((also & kAlsoInfinity) != 0 && std::isinf(got)) return true;
  if ((also & kAlsoSignedInfinity) != 0 && std::isinf(got) && same_sign) return true;
  if ((also & kAlsoSignedFinite) != 0 && std::isfinite(got) && (got == 0 || same_sign)) return true;
  if ((also & kAlsoValue) != 0 && got == (*bound.also_value)[i]) return true;
  if ((also & kAlsoIndex) != 0 && got == std::floor(got) && got >= 0 && got < bound.also_indices) return true;
  if ((also & kAlsoIntegerLimits) != 0 && (got == 0 || got == 0x1p31 - 1 || got == -0x1p31)) return true;
  if (std::isnan(y)) return std::isnan(got);
  if (bound.exact) return got == y;
  if (got == y) return true;
  if (!std::isfinite(got)) {
    const PartialOverflow partial = PartialOverflowAt(bound, golden, i);
    if (std::isnan(got)) return partial.up && partial.down;
    if (got > 0 ? partial.up : partial.down) return true;
    const double reach = std::abs(y) + AccumulatedBound(bound, golden, i);
    const bool sign = std::signbit(got) == std::signbit(y) || AccumulatedBound(bound, golden, i) >= std::abs(y);
    return reach >= bound.overflow_at && sign;
  }
  const double lo = golden.value_lo.empty() ? 0 : golden.value_lo[i];
  return std::abs((got - y) - lo) <= HardBound(bound, golden, i);
}

}  // namespace assay::test
