// SPDX-License-Identifier: Apache-2.0
// Formulas of f64 whose intermediates leave double's range, though their results do not: golden values against MPFR.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "ops/binding.h"
#include "ops/formula_operator/formula_operator.h"
#include "ops/operator.h"
#include "tests/support/formula/exact.h"
#include "tests/support/operator_cases.h"
#include "tests/unit/formula/oracle/generic_cases.h"

namespace assay::test {
namespace {

// Compares golden values of both tiers with 400 bits and returns how many have no certificate. The cost of cancellation
// is relative to the largest result.
int CompareUnbounded(const Problem& problem, size_t output, const std::vector<Tensor>& inputs) {
  const auto& op = dynamic_cast<const FormulaOperator&>(Op(problem.spec.op));
  const formula::Definition definition = op.DefinitionOf(problem, output);
  const auto exact = EvaluateExactly(definition.graph(), definition.graph().outputs[0], AllElements(inputs));
  double largest = 0;
  for (const Real& y : exact)
    largest = std::isfinite(y.Rounded()) ? std::max(largest, std::fabs(y.Rounded())) : largest;
  int count = 0;
  for (const Tier tier : {Tier::kFast, Tier::kReproducible}) {
    const Golden golden = op.ComputeGolden(problem, output, inputs, tier);
    for (size_t i = 0; i < exact.size(); ++i) {
      if (golden.error[static_cast<int64_t>(i)] < HUGE_VAL) continue;
      ++count;
      const double right = exact[i].Rounded(), value = golden.value[i];
      if (!std::isfinite(right)) {
        EXPECT_TRUE(value == right || (std::isnan(value) && std::isnan(right)))
            << NameOf({problem, output}) << " " << i;
        continue;
      }
      const double share = tier == Tier::kFast ? 0x1p-53 : 0x1p-98;
      EXPECT_LE(exact[i].DistanceFrom(value, LowPart(golden, i)),
                std::fabs(right) * share + largest * 0x1p-98 + 0x1p-1074)
          << NameOf({problem, output}) << " " << i << " is " << value << ", exactly " << right;
    }
  }
  return count;
}

void ExpectRight(const std::string& id, const std::vector<std::vector<double>>& values) {
  const Problem problem = Bind(id);
  std::vector<Tensor> inputs;
  for (size_t k = 0; k < values.size(); ++k) {
    inputs.emplace_back(problem.inputs[k].dtype, problem.inputs[k].shape);
    inputs.back().SetDoubles(values[k]);
  }
  int count = 0;
  for (size_t output = 0; output < problem.outputs.size(); ++output) {
    count += CompareUnbounded(problem, output, inputs);
  }
  EXPECT_GT(count, 0) << id << ": nothing leaves the range";
}

TEST(BeyondDouble, BeginningsOfARowAreThoseOfExactSums) {
  const Problem problem = Bind("cumsum/f64/rows=1,n=4/fill=normal/seed=0");
  std::vector<Tensor> x;
  x.emplace_back(DType::kF64, problem.inputs[0].shape);
  x[0].SetDoubles(std::vector<double>{1.5e308, 1.5e308, -1.5e308, -1.5e308});
  for (const Tier tier : {Tier::kFast, Tier::kReproducible}) {
    const Golden golden = Op("cumsum").ComputeGolden(problem, 0, x, tier);
    EXPECT_EQ(golden.value, (std::vector<double>{1.5e308, HUGE_VAL, 1.5e308, 0}));
  }
}

TEST(BeyondDouble, NormsAndGradientsKeepTheirValues) {
  const std::vector<double> x = {1.5e308, -1.2e308, 3e200, -7e307, 1e155, 2.5, 1.7e308, -1.1e308};
  const std::vector<double> ones(4, 1), other = {1.1, -0.3, 0.7, 2}, zeros(4);
  ExpectRight("layer_norm/f64/rows=2,n=4,stats=1/fill=normal/seed=0", {x, other, ones});
  ExpectRight("group_norm/f64/b=1,g=2,c=1,n=4/fill=normal/seed=0", {x, {0.5, 2}, {1, -1}});
  ExpectRight("rms_norm/f64/rows=2,n=4/fill=normal/seed=0", {x, other});
  ExpectRight("fused_add_rms_norm/f64/rows=2,n=4/fill=normal/seed=0",
              {x, {1.5e308, 1e308, 1, 2, 3, 4, -1.6e308, 1e300}, other});
  ExpectRight("layer_norm_backward/f64/rows=2,n=4/fill=normal/seed=0",
              {x, {1.7e308, -1.7e308, 1e308, 5e307, 1, 2, 3, 4}, {-1e308, 2}, {1e-308, 0.25}, other});
  ExpectRight(
      "softmax_backward/f64/rows=2,n=4/fill=normal/seed=0",
      {{0.9, 0.05, 0.03, 0.02, 0.5, 0.5, 1e-9, 1e-9}, {1.7e308, -1.7e308, 1.7e308, 1e307, 1.7e308, -1.7e308, 1, 2}});
  ExpectRight("rope/f64/b=1,l=1,h=1,d=4/fill=normal/seed=0", {{1.7e308, 1e308, -1.7e308, 1e308}, {1, 0.5}, {-1, 1}});
  ExpectRight("scatter_add/f64-i64-f64-f64/rows=1,n=3,d=1/fill=normal/seed=0",
              {{1.5e308}, {0, 0, 0}, {1e308, -1.6e308, 3}});
  ExpectRight("gelu/f64/n=2,approx=tanh/fill=normal/seed=0", {{1e200, -1e200}});
  ExpectRight("selective_scan/f64/b=1,c=1,s=1,l=2/fill=normal/seed=0",
              {{1e200, 1}, {1e150, 1}, {0}, {1e-100, 1}, {1e-50, 1}, {1}});
}

// A deviation of zero would make every rounding of these sums suspect.
TEST(BeyondDouble, ADeviationThatLeavesTheRangeIsNoSmallOne) {
  const Problem problem = Bind("layer_norm_backward/f64/rows=2,n=4/fill=normal/seed=0");
  const std::vector<std::vector<double>> values = {
      {0, 0, 0, 0, 1, 2, 3, 4}, {0.056, 1, -1, 0.5, 1.04, 0.3, -2, 1}, {0, -0.99}, {1.797e308, 0.63}, {1, 1, 1, 1}};
  std::vector<Tensor> inputs;
  for (size_t k = 0; k < values.size(); ++k) {
    inputs.emplace_back(problem.inputs[k].dtype, problem.inputs[k].shape);
    inputs.back().SetDoubles(values[k]);
  }
  constexpr size_t kDgamma = 1;
  for (const Tier tier : {Tier::kFast, Tier::kReproducible}) {
    const Golden golden = Op("layer_norm_backward").ComputeGolden(problem, kDgamma, inputs, tier);
    for (int64_t i = 0; i < golden.size(); ++i) EXPECT_GT(golden.sigma[i], 0.1 * std::fabs(golden.value[i])) << i;
  }
}

// The drawn cases of every formula, their data scaled to the end of the range.
TEST(BeyondDouble, EveryFormulaOfF64OnTheEndsOfTheRange) {
  for (const FormulaOperator* op : AllFormulas()) {
    int count = 0;
    for (const auto& [types, drawn] : SmallCases(*op)) {
      for (const Problem& problem : drawn.cases) {
        if (problem.outputs[0].dtype != DType::kF64) continue;
        std::vector<Tensor> inputs = op->MakeInputs(problem);
        for (Tensor& input : inputs) {
          if (input.dtype() != DType::kF64) continue;
          std::vector<double> values = input.ToDoubles();
          for (double& v : values) v = std::clamp(std::ldexp(v, 1022), -1.7e308, 1.7e308);
          input.SetDoubles(values);
        }
        for (size_t k = 0; k < problem.outputs.size(); ++k) {
          if (problem.outputs[k].dtype == DType::kF64) count += CompareUnbounded(problem, k, inputs);
        }
      }
    }
    fmt::print("{:24} {} golden values beyond double\n", op->schema().op, count);
  }
}

}  // namespace
}  // namespace assay::test
