// SPDX-License-Identifier: Apache-2.0
// Gradients against difference quotients of the operators that they belong to, both in 400 bits: a wrong sign, factor
// or place of a gradient is one of its formula, which no test that holds the formula against itself can show.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "ops/formula_operator/formula_operator.h"
#include "tests/support/formula/exact.h"
#include "tests/support/operator_cases.h"

namespace assay::test {
namespace {

using Numbers = std::vector<double>;
using Operands = std::map<std::string, Numbers>;

const FormulaOperator& FormulaOf(const Problem& problem) {
  return dynamic_cast<const FormulaOperator&>(Op(problem.spec.op));
}

Operands OperandsOf(const Problem& problem) {
  Operands operands;
  const std::vector<Tensor> inputs = FormulaOf(problem).MakeInputs(problem);
  for (size_t i = 0; i < inputs.size(); ++i) operands[problem.inputs[i].name] = inputs[i].ToDoubles();
  return operands;
}

std::vector<Real> EvaluateOutput(const Problem& problem, size_t output, const Operands& operands) {
  std::vector<Numbers> inputs;
  for (const Operand& input : problem.inputs) inputs.push_back(operands.at(input.name));
  const formula::Definition definition = FormulaOf(problem).DefinitionOf(problem, output);
  return EvaluateExactly(definition.graph(), definition.graph().outputs[0], inputs);
}

// (sum of dy f at x + h, less that at x - h) / 2 h, for one element of an operand.
double QuotientAt(const Problem& forward, Operands operands, const std::string& name, size_t element,
                  const Numbers& dy) {
  const double h = 0x1p-40, x = operands[name][element];
  operands[name][element] = x + h;
  const std::vector<Real> above = EvaluateOutput(forward, 0, operands);
  operands[name][element] = x - h;
  const std::vector<Real> below = EvaluateOutput(forward, 0, operands);
  double sum = 0;
  for (size_t i = 0; i < dy.size(); ++i) {
    Real difference(above[i]);
    mpfr_sub(difference.x, above[i].x, below[i].x, MPFR_RNDN);
    sum += dy[i] * difference.Rounded();
  }
  return sum / (2 * h);
}

// `given`: operands of the gradient that its operator has under another name, or keeps of a forward pass.
void ExpectGradients(const std::string& forward_id, const std::string& backward_id, const char* name_of_dy,
                     const std::map<std::string, std::string>& renamed = {}, const Operands& given = {}) {
  const Problem forward = Bind(forward_id), backward = Bind(backward_id);
  const Operands operands = OperandsOf(forward);
  Operands of_gradient = OperandsOf(backward);
  for (auto& [name, elements] : of_gradient) {
    const auto other = renamed.find(name);
    const auto same = operands.find(other == renamed.end() ? name : other->second);
    if (same != operands.end()) elements = same->second;
    if (given.contains(name)) elements = given.at(name);
  }
  for (size_t output = 0; output < backward.outputs.size(); ++output) {
    const std::string name = backward.outputs[output].name.substr(1);  // dq: q
    const std::vector<Real> gradient = EvaluateOutput(backward, output, of_gradient);
    ASSERT_EQ(gradient.size(), operands.at(name).size()) << backward_id << " d" << name;
    for (size_t i = 0; i < gradient.size(); ++i) {
      const double expected = QuotientAt(forward, operands, name, i, of_gradient.at(name_of_dy));
      EXPECT_NEAR(gradient[i].Rounded(), expected, 1e-9 * (1 + std::fabs(expected))) << backward_id << " d" << name;
    }
  }
}

TEST(Gradients, OfElementsAndRowsAreDifferenceQuotients) {
  for (const char* approx : {"none", "tanh"}) {
    const std::string rest = std::string("n=9,approx=") + approx + "/fill=normal/seed=3";
    ExpectGradients("gelu/f32/" + rest, "gelu_backward/f32/" + rest, "dy");
  }
  ExpectGradients("silu_and_mul/f32/rows=2,n=4/fill=normal/seed=3",
                  "silu_and_mul_backward/f32/rows=2,n=4/fill=normal/seed=3", "dy");
  ExpectGradients("rope/f32/b=1,l=2,h=2,d=4/fill=normal/seed=3", "rope_backward/f32/b=1,l=2,h=2,d=4/fill=normal/seed=3",
                  "dy");
  ExpectGradients("embedding/f32-i64-f32/v=3,b=1,l=5,d=2/fill=normal/seed=3",
                  "embedding_backward/f32-i64-f32/v=3,n=5,d=2/fill=normal/seed=3", "dy", {{"indices", "tokens"}});
}

TEST(Gradients, OfRmsNormTakeWhatItsForwardPassKeeps) {
  const std::string id = "rms_norm/f32/rows=2,n=5/fill=normal/seed=3";
  const Numbers x = OperandsOf(Bind(id)).at("x");
  Numbers rstd;
  for (size_t row = 0; row < 2; ++row) {
    double squares = 0;
    for (size_t i = 0; i < 5; ++i) squares += x[row * 5 + i] * x[row * 5 + i];
    rstd.push_back(1 / std::sqrt(squares / 5 + 1e-6));
  }
  ExpectGradients(id, "rms_norm_backward/f32/rows=2,n=5/fill=normal/seed=3", "dy", {}, {{"rstd", rstd}});
}

TEST(Gradients, OfAttentionAddUpOverTheQueryHeadsOfAKeyHead) {
  for (const char* causal : {"0", "1"}) {
    const std::string rest = std::string("f32/b=1,h=2,hkv=1,l=3,s=4,d=2,dv=3,causal=") + causal + "/fill=normal/seed=3";
    ExpectGradients("attention_lse/" + rest, "attention_backward/" + rest, "dout");
  }
}

// conv is linear in either operand, and exact on small integers.
TEST(Gradients, OfConvolutionsAreThoseOfConv) {
  for (const std::string of : {"k=3,pad=1", "k=2,stride=2", "k=3,stride=2,pad=1"}) {
    const Problem conv =
        Bind("conv/f64/n=2,c=2,o=3,i=5x4,k=" + of.substr(2, 1) + "x" + of.substr(2) + "/fill=normal/seed=0");
    const Problem of_data = Bind("conv_backward_data/f64/n=2,c=2,o=3,h=5,w=4," + of + "/fill=normal/seed=0");
    const Problem of_weights = Bind("conv_backward_weights/f64/n=2,c=2,o=3,h=5,w=4," + of + "/fill=normal/seed=0");
    const auto integers = [](int64_t count, int64_t step) {
      Numbers values;
      for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<double>(i * step % 11 - 5));
      return values;
    };
    Numbers operands[] = {integers(NumElements(conv.inputs[0].shape), 7),
                          integers(NumElements(conv.inputs[1].shape), 3)};
    const Numbers dy = integers(NumElements(conv.outputs[0].shape), 5);
    const auto loss = [&] {
      std::vector<Tensor> inputs;
      for (size_t k = 0; k < 2; ++k) {
        inputs.emplace_back(DType::kF64, conv.inputs[k].shape);
        inputs.back().SetDoubles(operands[k]);
      }
      const Numbers y = Op("conv").ComputeGolden(conv, 0, inputs, Tier::kReproducible).value;
      double sum = 0;
      for (size_t i = 0; i < y.size(); ++i) sum += dy[i] * y[i];
      return sum;
    };
    const std::vector<Real> gradients[] = {
        EvaluateOutput(of_data, 0, {{"dy", dy}, {"weights", operands[1]}}),
        EvaluateOutput(of_weights, 0, {{"dy", dy}, {"x", operands[0]}}),
    };
    const double before = loss();
    for (size_t k = 0; k < 2; ++k) {
      ASSERT_EQ(gradients[k].size(), operands[k].size());
      for (size_t i = 0; i < operands[k].size(); ++i) {
        operands[k][i] += 1;
        EXPECT_EQ(gradients[k][i].Rounded(), loss() - before) << of << " operand " << k << " element " << i;
        operands[k][i] -= 1;
      }
    }
  }
}

}  // namespace
}  // namespace assay::test
