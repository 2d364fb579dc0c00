// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/fingerprint/function_passport.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/tools/fingerprint/function_inputs.h"
#include "ops/subproblem.h"

namespace assay {

int64_t FunctionSampleSize(DType type) {
  return 2 * FunctionInputs::MakeSample(type).pairs();
}

bool IsMap(const BoundCase& bound) {
  const Problem& problem = bound.problem;
  return problem.inputs.size() == 1 && problem.outputs.size() == 1 && problem.inputs[0].shape.size() == 1 &&
         problem.inputs[0].shape == problem.outputs[0].shape && IsFloat(problem.inputs[0].dtype) &&
         IsFloat(problem.outputs[0].dtype) && !ListSliceableAxes(*bound.op, problem).empty();
}

bool IsFunction(const BoundCase& bound) {
  return IsMap(bound) && bound.problem.inputs[0].shape[0] == FunctionSampleSize(bound.problem.inputs[0].dtype);
}

Result<FunctionPassport> TakeFunctionPassport(const BoundCase& bound, const PreparedPlan& plan,
                                              const std::string& implementation, const std::string& contract) {
  const Problem& problem = bound.problem;
  std::vector<Tensor> inputs;
  inputs.emplace_back(problem.inputs[0].dtype, problem.inputs[0].shape);
  FunctionInputs::MakeSample(problem.inputs[0].dtype).Fill(0, inputs[0]);
  const auto execution = plan.Execute(inputs, Prefill::kNanPayload);
  if (!execution) return Fail(ErrorCode::kUnavailable, execution.error().message);
  FunctionPassport passport;
  passport.case_id = problem.spec.Id(), passport.implementation = implementation, passport.contract = contract;
  passport.errors = ExactResults(bound, inputs[0], {0, inputs[0].size() / 2}).Measure(execution->outputs.front());
  return passport;
}

namespace {

double ShareOf(const FunctionErrors& e) {
  return e.finite > 0 ? static_cast<double>(e.correct) / static_cast<double>(e.finite) : 0;
}

}  // namespace

Json ToJson(const FunctionPassport& p) {
  const FunctionErrors& e = p.errors;
  Json json = {{"case", p.case_id},
               {"implementation", p.implementation},
               {"contract", p.contract},
               {"inputs", e.inputs},
               {"max_ulp", e.most_ulp},
               {"worst_input", e.worst_input},
               {"max_subnormal_ulp", e.most_subnormal_ulp},
               {"correctly_rounded", ShareOf(e)},
               {"not_correctly_rounded", e.finite - e.correct},
               {"wrong_specials", e.wrong_specials()},
               {"wrong_nan", e.wrong_nan},
               {"wrong_inf", e.wrong_inf},
               {"wrong_zero", e.wrong_zero},
               {"wrong_order", e.turns},
               {"symmetry", e.Symmetry()},
               {"asymmetric", e.Asymmetries()}};
  if (p.parts > 1) json["parts"] = fmt::format("{}/{}", p.parts_done, p.parts);
  return json;
}

std::string TextOf(const FunctionPassport& p) {
  const FunctionErrors& e = p.errors;
  std::string text = fmt::format("{}\n  implementation  {}, contract {}\n", p.case_id, p.implementation, p.contract);
  const auto add = [&](const char* name, const std::string& value) {
    text += fmt::format("  {:<15} {}\n", name, value);
  };
  if (p.parts_done < p.parts) add("so far", fmt::format("{} of {} parts of all inputs", p.parts_done, p.parts));
  const std::string share = e.correct == e.finite ? "all" : fmt::format("{:.4f} %", 100 * ShareOf(e));
  add("accuracy", e.finite == 0 ? "no result is finite where it should be"
                                : fmt::format("{:.3f} ulp at most, at x = {:g}; {} of {} results are correctly rounded",
                                              e.most_ulp, e.worst_input, share, e.inputs));
  add("subnormals", fmt::format("{:.3g} ulp at most, in or out", e.most_subnormal_ulp));
  add("inf and NaN", e.wrong_specials() == 0
                         ? "where they should be"
                         : fmt::format("{} are wrong, first at x = {:g}", e.wrong_specials(), e.first_special));
  if (e.wrong_zero > 0) add("zeros", fmt::format("{} have the other sign", e.wrong_zero));
  add("order", fmt::format("{} neighbours in the wrong one", e.turns));
  if (!e.Symmetry().empty()) add("symmetry", fmt::format("{}, broken by {} pairs", e.Symmetry(), e.Asymmetries()));
  return text;
}

}  // namespace assay
