// SPDX-License-Identifier: Apache-2.0
// A case with its golden values and the judgement of outputs that a test makes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/core/data/fill/fill.h"
#include "harness/judge/hypotheses/weaker_arithmetic.h"
#include "harness/judge/metrics.h"
#include "tests/support/operator_cases.h"

namespace assay::test {

struct StatisticCase {
  StatisticCase(const std::string& id, const char* declaration)
      : problem(Bind(id)),
        op(Op(problem.spec.op)),
        contract(Declared(declaration)),
        inputs(op.MakeInputs(problem)),
        golden(op.ComputeGolden(problem, 0, inputs,
                                problem.outputs[0].dtype == DType::kF64 ? Tier::kReproducible : Tier::kFast)),
        bound(op.Bound(problem, 0, golden, contract)) {
    if (!StatisticFits(*ParseFill(problem.spec.fill), bound.statistic)) bound.statistic.applicable = false;
  }
  StatisticCase(const StatisticCase&) = delete;  // the bound points into the golden value

  Tensor Output(const std::vector<double>& values) const {
    Tensor got(problem.outputs[0].dtype, problem.outputs[0].shape);
    got.SetDoubles(values);
    return got;
  }
  ErrorMetrics Judge(const std::vector<double>& values) const {
    return Measure(golden, bound, contract, Output(values));
  }
  std::optional<WeakerArithmetic> Explain(const std::vector<double>& values) const {
    const Tensor got = Output(values);
    return FindWeakerArithmetic(op, problem, 0, contract, golden, {inputs, &got}, {});
  }

  Problem problem;
  const Operator& op;
  Contract contract;
  std::vector<Tensor> inputs;
  Golden golden;
  BoundModel bound;
};

// Totals over many legal tensors.
struct AlarmTally {
  int tensors = 0, applicable = 0, suspects = 0;
  double largest = 0, largest_bias = 0, largest_self = 0, largest_granularity = 0;

  // Adds a tensor, which must not fail.
  void Add(const StatisticCase& c, const std::vector<double>& values, const std::string& what) {
    const ErrorMetrics m = c.Judge(values);
    ++tensors;
    if (!m.statistic.applicable) return;
    ++applicable;
    suspects += m.statistic.Suspect() ? 1 : 0;
    largest = std::max(largest, m.statistic.margin);
    largest_bias = std::max(largest_bias, m.statistic.bias_margin.value_or(0));
    largest_granularity = std::max(largest_granularity, m.statistic.granularity.margin);
    largest_self = std::max(largest_self, m.statistic.self_margin.value_or(0));
    EXPECT_TRUE(m.statistic.Holds()) << c.problem.spec.Id() << " " << ToText(c.contract) << " " << what << ": "
                                     << m.statistic.reason;
  }
};

}  // namespace assay::test
