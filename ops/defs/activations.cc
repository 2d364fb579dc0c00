// SPDX-License-Identifier: Apache-2.0
// Activations of networks, as rows of tables: functions of single elements, and gates of one half of a row for the
// other. Where a source states constants, it stands with the row.

#include "ops/formula_operator/formula_operator.h"

namespace assay {
namespace {

using namespace formula;  // NOLINT: formulas read better without

// sqrt(1/2), sqrt(2/pi), 1/6 and 0.044715, as sums of two doubles.
constexpr double kRootHalf = 0.7071067811865476, kRootHalfRest = -4.833646656726457e-17;
constexpr double kRootTwoOverPi = 0.7978845608028654, kRootTwoOverPiRest = -4.98465440455546e-17;
constexpr double kSixth = 0.16666666666666666, kSixthRest = 9.25185853854297e-18;
constexpr double kCubic = 0.044715, kCubicRest = 2.1960211427085595e-18;
// With these of selu mean 0 and variance 1 stay (Klambauer et al. 2017, arXiv:1706.02515).
constexpr double kSeluAlpha = 1.6732632423543772, kSeluAlphaRest = 1.0657222547717531e-16;
constexpr double kSeluScale = 1.0507009873554805, kSeluScaleRest = 3.9874847667154144e-17;

// A function of x, which asks for its attributes itself.
using Formula = Expr (*)(Definition&, Expr x);

struct Activation {
  const char *name, *doc;
  Formula formula;
};

Expr Number(Expr x, double value) {
  return Const(*x.graph, value);
}
Expr IsAbove0(Expr x) {
  return Less(Number(x, 0), x);
}
Expr Clamp(Expr x, double low, double high) {
  return Minimum(Maximum(x, Number(x, low)), Number(x, high));
}
// exp(x) - 1 of what lies below zero; of the rest 0.
Expr ExpBelow0(Expr x) {
  return Exp(Minimum(x, Number(x, 0))) - 1.0;
}
Expr Softplus(Expr x) {
  return Max0(x) + Log1p(Exp(-Abs(x)));
}
double AskForAlpha(Definition& d, const char* value, const char* doc) {
  return d.Real("alpha", value, doc);
}

// x times the normal distribution function of x, or its approximation by a hyperbolic tangent (Hendrycks and Gimpel,
// arXiv:1606.08415). Phi is a function of its own, as 1 + erf and 1 + tanh have no digit left where x is far below
// zero; kernels that take these sums may be off as far as that costs. At -infinity NaN, zero and infinities are right:
// infinity times what roundings leave of Phi is infinite.
Expr Gelu(Definition& d, Expr x) {
  const bool by_tanh = d.Choice("approx", {"none", "tanh"}, "how Phi is computed") == "tanh";
  const auto constant = [&](double value, double rest) { return Const(*x.graph, value, rest); };
  const auto by_erf = [&] { return OneMinusErf(x * constant(-kRootHalf, -kRootHalfRest)); };
  const auto by_tangent = [&] {
    const Expr cubic = x + constant(kCubic, kCubicRest) * (x * x * x);
    return OneMinusTanh(constant(-kRootTwoOverPi, -kRootTwoOverPiRest) * cubic);
  };
  return 0.5 * x * (by_tanh ? by_tangent() : by_erf());
}

Expr Silu(Definition&, Expr x) {
  return x * Sigmoid(x);
}

Expr Celu(Definition& d, Expr x) {
  const double alpha = AskForAlpha(d, "1", "how far below zero results come, and the size of x where they bend");
  d.RefuseIf(alpha <= 0, "alpha must be positive: x is divided by it");
  return Select(IsAbove0(x), x, alpha * ExpBelow0(x / Number(x, alpha)));
}

Expr Softcap(Definition& d, Expr x) {
  const double cap = d.Real("cap", "30", "the size that no result reaches");
  d.RefuseIf(cap <= 0, "cap must be positive: x is divided by it");
  return cap * Tanh(x / Number(x, cap));
}

constexpr Activation kActivations[] = {
    {"celu", "y = x above zero, else alpha (exp(x / alpha) - 1)", Celu},
    {"elu", "y = x above zero, else alpha (exp(x) - 1)",
     [](Definition& d, Expr x) {
       const double alpha = AskForAlpha(d, "1", "how far below zero results come");
       return Select(IsAbove0(x), x, alpha * ExpBelow0(x));
     }},
    {"gelu", "y = x Phi(x), Phi by erf or by tanh", Gelu},
    {"hardsigmoid", "y = x + 3, at least 0 and at most 6, over 6",
     [](Definition&, Expr x) { return Clamp(x + 3.0, 0, 6) / 6.0; }},
    {"hardswish", "y = x times x / 6 + 1/2, which is at least 0 and at most 1",
     [](Definition&, Expr x) { return x * Clamp(Const(*x.graph, kSixth, kSixthRest) * x + 0.5, 0, 1); }},
    {"leaky_relu", "y = alpha x below zero, else x",
     [](Definition& d, Expr x) {
       const double alpha = AskForAlpha(d, "0.01", "the slope below zero");
       return Select(Less(x, Number(x, 0)), alpha * x, x);
     }},
    {"logsigmoid", "y = log(1 / (1 + exp(-x)))", [](Definition&, Expr x) { return -Softplus(-x); }},
    {"mish", "y = x tanh(log(1 + exp(x)))", [](Definition&, Expr x) { return x * Tanh(Softplus(x)); }},
    {"quick_gelu", "y = x / (1 + exp(-1.702 x))", [](Definition&, Expr x) { return x * Sigmoid(1.702 * x); }},
    {"relu6", "y = x, but at least 0 and at most 6", [](Definition&, Expr x) { return Clamp(x, 0, 6); }},
    {"selu", "y = 1.0507... x above zero, else 1.0507... 1.6732... (exp(x) - 1)",
     [](Definition&, Expr x) {
       const Expr below = Const(*x.graph, kSeluAlpha, kSeluAlphaRest) * ExpBelow0(x);
       return Const(*x.graph, kSeluScale, kSeluScaleRest) * Select(IsAbove0(x), x, below);
     }},
    {"silu", "y = x / (1 + exp(-x))", Silu},
    {"softcap", "y = cap tanh(x / cap)", Softcap},
    {"softplus", "y = log(1 + exp(x))", [](Definition&, Expr x) { return Softplus(x); }},
    {"softsign", "y = x / (1 + |x|)", [](Definition&, Expr x) { return x / (1.0 + Abs(x)); }},
};

constexpr Activation kGates[] = {
    {"gelu_and_mul", "y = g Phi(g) u, g and u the halves of each row of x, Phi by erf or by tanh", Gelu},
    {"silu_and_mul", "y = g sigmoid(g) u, g and u the halves of each row of x", Silu},
};

void StateActivation(const Activation& row, Definition& d) {
  d.SetDoc(row.doc);
  const Axis n = d.Axis("n", "elements");
  const Expr x = d.In("x", n);
  d.Out("y", row.formula(d, x), n);
}

void StateGate(const Activation& row, Definition& d) {
  d.SetDoc(row.doc);
  const Axis rows = d.Axis("rows", "rows of x"), n = d.Axis("n", "elements of a row of y");
  const Axis both = d.DerivedAxis("2*n", n, 2);
  const Expr x = d.In("x", rows + both);
  const Expr gate = At(x, both, n, [](int64_t i) { return i; });
  const Expr up = At(x, both, n, [&](int64_t i) { return n.extent + i; });
  d.Out("y", row.formula(d, gate) * up, rows + n);
}

// The gate of gpt-oss-20b (github.com/openai/gpt-oss, swiglu in gpt_oss/torch/model.py).
void ClampedSwiglu(Definition& d) {
  d.SetDoc(
      "y = g sigmoid(alpha g) (u + 1), g the elements of x at even places, at most limit, and u those at odd ones, at "
      "most limit and at least -limit");
  const Axis rows = d.Axis("rows", "rows of x"), n = d.Axis("n", "elements of a row of y");
  const Axis both = d.DerivedAxis("2*n", n, 2);
  const double limit = d.Real("limit", "7", "the largest size of a gate, and of what it is multiplied by");
  const double alpha = AskForAlpha(d, "1.702", "by what gates are multiplied");
  d.RefuseIf(limit <= 0, "limit must be positive: nothing would be left of x");
  const Expr x = d.In("x", rows + both);
  const Expr gate = Minimum(At(x, both, n, [](int64_t i) { return 2 * i; }), Number(x, limit));
  const Expr up = Clamp(At(x, both, n, [](int64_t i) { return 2 * i + 1; }), -limit, limit);
  d.Out("y", gate * Sigmoid(alpha * gate) * (up + 1.0), rows + n);
}

ASSAY_OPERATOR(clamped_swiglu, ClampedSwiglu);

struct RegisterActivations {
  RegisterActivations() {
    for (const Activation& row : kActivations) {
      RegisterFormula(row.name, [&row](Definition& d) { StateActivation(row, d); });
    }
    for (const Activation& row : kGates) RegisterFormula(row.name, [&row](Definition& d) { StateGate(row, d); });
  }
} const registered_activations;

}  // namespace
}  // namespace assay
