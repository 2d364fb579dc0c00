// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/explain/holding_contract.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/judge/judge_output.h"
#include "harness/judge/mutation_power.h"

namespace assay {
namespace {

// From the tightest on.
constexpr std::string_view kUsual[] = {"acc=f32",           "acc=f32;mid=f16", "acc=f32;mid=bf16",
                                       "in=tf32rn;acc=f32", "in=bf16;acc=f32", "in=bf16;acc=f32;mid=bf16",
                                       "acc=f16",           "acc=bf16"};

bool HoldsBy(const WrongResult& result, const Contract& contract) {
  for (size_t k = 0; k < result.problem.outputs.size(); ++k) {
    const Golden golden =
        k == result.output ? result.golden : result.op.ComputeGolden(result.problem, k, result.inputs, result.tier);
    const BoundModel bound = result.op.Bound(result.problem, k, golden, contract);
    Tensor got = result.got[k].Clone();
    if (!Holds(JudgeOutput({result.op, result.problem, k, result.inputs, golden, bound, contract}, got))) return false;
  }
  return true;
}

double PowerBy(const WrongResult& result, const Contract& contract) {
  const BoundModel bound = result.op.Bound(result.problem, result.output, result.golden, contract);
  return MeasureMutationPower(result.op, result.problem, result.output, result.inputs, result.golden, bound, contract,
                              {})
      .power;
}

}  // namespace

std::optional<HoldingContract> FindHoldingContract(const WrongResult& result) {
  const std::string asked = result.op.TraitsOf(result.problem, result.output).required_fields;
  const bool stores = asked.find("mid=none") == std::string::npos;
  for (const std::string_view fields : kUsual) {
    const auto weaker = WithFields(result.contract, std::string(fields));
    if (!stores && fields.find("mid=") != std::string_view::npos) continue;  // no correct implementation needs it
    if (!weaker || Meets(*weaker, result.contract)) continue;                // no weaker one
    if (!CheckDeclared(result.op, result.problem.spec.dtypes, *weaker) || !HoldsBy(result, *weaker)) continue;
    const double power = PowerBy(result, *weaker);
    if (power >= kLeastPower) return HoldingContract{*weaker, power};
  }
  return std::nullopt;
}

std::string UsualContractsText() {
  return fmt::format("{}", fmt::join(kUsual, ", "));
}

}  // namespace assay
