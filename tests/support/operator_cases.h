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
#include "harness/judge/judge.h"
#include "harness/judge/twin_check.h"
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

// Every twin that the operator has for the contract and an output.
inline std::vector<Twin> TwinsOf(const Problem& problem, std::string_view declaration, size_t output = 0) {
  std::vector<Twin> twins;
  const Operator& op = Op(problem.spec.op);
  const Contract contract = Declared(declaration);
  for (int variant = 0; variant < op.TwinVariants(problem, output, contract); ++variant) {
    if (auto twin = op.MakeTwin(problem, output, contract, variant)) twins.push_back(*std::move(twin));
  }
  return twins;
}

// A bound with what judging by it takes.
struct DeclaredBound : BoundModel {
  Contract contract;
  DType out;
};

inline DeclaredBound BoundOf(const Problem& problem, const Golden& golden, const Contract& contract,
                             size_t output = 0) {
  return {Op(problem.spec.op).Bound(problem, output, golden, contract), contract, problem.outputs[output].dtype};
}
inline DeclaredBound BoundOf(const Problem& problem, const Golden& golden, std::string_view declaration,
                             size_t output = 0) {
  return BoundOf(problem, golden, Declared(declaration), output);
}

// Judges single values as a run does. The result points to both arguments.
inline ElementJudge JudgeBy(const DeclaredBound& bound, const Golden& golden) {
  return {golden, bound, bound.contract, bound.out};
}
inline bool Accepts(const DeclaredBound& bound, const Golden& golden, int64_t i, double got) {
  return JudgeBy(bound, golden).Judge(i, got).accepted;
}
// A number of the output that is at least as far from y as x is: x itself, or the next one.
inline double HeldBeyond(DType out, double y, double x) {
  if (IsInt(out) || !std::isfinite(x)) return x;
  const FloatFormat& format = FormatOf(out);
  const double rounded = RoundTo(format, x);
  if (!std::isfinite(rounded) || std::abs(rounded - y) >= std::abs(x - y)) return rounded;
  return RoundTo(format, rounded + std::copysign(0.75 * UlpAt(format, rounded), x - y));
}
// Overload for element i of a twin.
inline bool Accepts(const Twin& twin, DType out, int64_t i, double got) {
  return TwinAccepts(twin.expected[i], got, twin.ToleranceAt(i), out);
}

}  // namespace assay::test
