// SPDX-License-Identifier: Apache-2.0
#include "tests/support/simulate/softmax.h"

#include <algorithm>
#include <limits>

#include "tests/unit/special_values.h"

namespace assay::test {
std::vector<double> RunSoftmaxRow(const Problem& problem, const std::vector<double>& x, const Contract& contract,
                                  const SoftmaxForm& form) {
  const bool log = problem.Int("log") != 0;
  const DType type = problem.inputs[0].dtype;
  const FunctionUnit f(contract, form.bias, form.schedule.seed);
  const auto n = std::ssize(x);
  std::vector<double> in(x), e(x.size());
  for (double& value : in) value = f.unit.Operand(type, value);
  const double max = *std::ranges::max_element(in);
  const auto exponential = [&](double value, double m) {
    return Narrowed(contract, f.Exp(Narrowed(contract, f.unit.Add(value, -m))));
  };
  for (int64_t i = 0; i < n; ++i) e[i] = exponential(in[i], max);
  double total = 0, running = -kInf;
  if (form.block == 0) total = Sum(e, {}, form.schedule, f.unit);
  for (int64_t begin = 0; form.block > 0 && begin < n; begin += form.block) {
    const int64_t end = std::min(n, begin + form.block);
    const double m = std::max(running, *std::max_element(in.begin() + begin, in.begin() + end));
    if (m == -kInf) continue;
    total = running == -kInf ? 0 : f.unit.Mul(total, f.Exp(f.unit.Add(running, -m)));
    for (int64_t i = begin; i < end; ++i) total = f.unit.Add(total, exponential(in[i], m));
    running = m;
  }
  std::vector<double> y(x.size());
  for (int64_t i = 0; i < n; ++i) {
    if (log) {
      const double l = f.Log(total);
      y[i] = form.reciprocal ? f.unit.Add(in[i], -f.unit.Add(max, l)) : f.unit.Add(f.unit.Add(in[i], -max), -l);
    } else {
      y[i] = form.reciprocal ? f.unit.Mul(e[i], Narrowed(contract, f.Div(1, total))) : f.Div(e[i], total);
    }
    y[i] = f.unit.Out(type, y[i]);
  }
  return y;
}

std::vector<SoftmaxForm> AllSoftmaxForms(uint64_t seed) {
  std::vector<SoftmaxForm> forms;
  for (Bias bias : kBiases) {
    for (bool reciprocal : {false, true}) {
      for (Order order : kOrders) forms.push_back({{order, false, seed}, bias, 0, reciprocal});
      for (int64_t block : {1, 5, 32}) forms.push_back({{Order::kSequential, false, seed}, bias, block, reciprocal});
    }
  }
  return forms;
}

}  // namespace assay::test
