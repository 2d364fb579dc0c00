// SPDX-License-Identifier: Apache-2.0
// Functions of elements, of one operand or of two, as rows of a table: an expression of OpenCL C, of which one program
// for each type has all. The second operand may be one number for a row, a column or the whole.
#include <fmt/format.h>

#include <algorithm>

#include "backends/opencl/arithmetic.h"
#include "backends/opencl/table.h"

namespace opencl {
namespace {

// `ulp`: the worst of its functions in OpenCL's specification ("Relative Error as ULPs", full profile).
struct Point {
  std::string_view op;
  double ulp;
  Math basic;                   // what it divides or takes the root of
  std::string_view expression;  // of x, y and the attributes a and b
  const char *a = nullptr, *b = nullptr;
};

constexpr Point kPoints[] = {
    {"abs", 0, Math::kNone, "fabs(x)"},
    {"acos", 4, Math::kNone, "acos(x)"},
    {"acosh", 4, Math::kNone, "acosh(x)"},
    {"add", 0, Math::kNone, "x + y"},
    {"asin", 4, Math::kNone, "asin(x)"},
    {"asinh", 4, Math::kNone, "asinh(x)"},
    {"atan", 5, Math::kNone, "atan(x)"},
    {"atanh", 5, Math::kNone, "atanh(x)"},
    {"cbrt", 2, Math::kNone, "cbrt(x)"},
    {"ceil", 0, Math::kNone, "ceil(x)"},
    {"celu", 3, Math::kDivide, "x > 0 ? x : a * (exp(x / a) - 1)", "alpha"},
    {"clip", 0, Math::kNone, "Clip(x, a, b)", "low", "high"},
    {"cos", 4, Math::kNone, "cos(x)"},
    {"cosh", 4, Math::kNone, "cosh(x)"},
    {"div", 0, Math::kDivide, "x / y"},
    {"elu", 3, Math::kNone, "x > 0 ? x : a * (exp(x) - 1)", "alpha"},
    {"equal", 0, Math::kNone, "x == y"},
    {"erf", 16, Math::kNone, "erf(x)"},
    {"erfc", 16, Math::kNone, "erfc(x)"},
    {"exp", 3, Math::kNone, "exp(x)"},
    {"exp2", 3, Math::kNone, "exp2(x)"},
    {"expm1", 3, Math::kNone, "expm1(x)"},
    {"floor", 0, Math::kNone, "floor(x)"},
    {"gelu", 16, Math::kNone, "F(0.5) * x * erfc(x * F(-0.70710678118654752))"},
    {"gelu_and_mul", 16, Math::kNone, "F(0.5) * x * erfc(x * F(-0.70710678118654752)) * y"},
    {"gelu_backward", 16, Math::kNone,
     "x * (F(0.5) * erfc(y * F(-0.70710678118654752)) + y * F(0.39894228040143268) * exp(F(-0.5) * (y * y)))"},
    {"greater", 0, Math::kNone, "x > y"},
    {"greater_equal", 0, Math::kNone, "x >= y"},
    {"hardsigmoid", 0, Math::kDivide, "Clip(x + 3, 0, 6) / 6"},
    {"hardswish", 0, Math::kNone, "x * Clip(x * F(1.0 / 6) + F(0.5), 0, 1)"},
    {"isfinite", 0, Math::kNone, "isfinite(x)"},
    {"isinf", 0, Math::kNone, "isinf(x)"},
    {"isnan", 0, Math::kNone, "isnan(x)"},
    {"leaky_relu", 0, Math::kNone, "x < 0 ? a * x : x", "alpha"},
    {"less", 0, Math::kNone, "x < y"},
    {"less_equal", 0, Math::kNone, "x <= y"},
    {"log", 3, Math::kNone, "log(x)"},
    {"log10", 3, Math::kNone, "log10(x)"},
    {"log1p", 2, Math::kNone, "log1p(x)"},
    {"log2", 3, Math::kNone, "log2(x)"},
    {"logical_and", 0, Math::kNone, "x != 0 && y != 0"},
    {"logical_not", 0, Math::kNone, "x == 0"},
    {"logical_or", 0, Math::kNone, "x != 0 || y != 0"},
    {"logical_xor", 0, Math::kNone, "(x != 0) != (y != 0)"},
    {"logsigmoid", 3, Math::kNone, "-Softplus(-x)"},
    {"maximum", 0, Math::kNone, "isnan(x) || x > y ? x : y"},
    {"minimum", 0, Math::kNone, "isnan(x) || x < y ? x : y"},
    {"mish", 5, Math::kNone, "x * tanh(Softplus(x))"},
    {"mul", 0, Math::kNone, "x * y"},
    {"neg", 0, Math::kNone, "-x"},
    {"not_equal", 0, Math::kNone, "x != y"},
    {"pow", 16, Math::kNone, "pow(x, y)"},
    {"prelu", 0, Math::kNone, "x < 0 ? x * y : x"},
    {"quick_gelu", 3, Math::kDivide, "x / (1 + exp(F(-1.702) * x))"},
    {"reciprocal", 0, Math::kDivide, "1 / x"},
    {"relu", 0, Math::kNone, "x < 0 ? 0 : x"},
    {"relu6", 0, Math::kNone, "Clip(x, 0, 6)"},
    {"round", 0, Math::kNone, "rint(x)"},
    {"rsqrt", 2, Math::kNone, "rsqrt(x)"},
    {"selu", 3, Math::kNone, "F(1.0507009873554805) * (x > 0 ? x : F(1.6732632423543772) * (exp(x) - 1))"},
    {"sigmoid", 3, Math::kDivide, "1 / (1 + exp(-x))"},
    {"sign", 0, Math::kNone, "isnan(x) ? x : (ACC)((x > 0) - (x < 0))"},
    {"silu_and_mul", 3, Math::kDivide, "x / (1 + exp(-x)) * y"},
    {"silu", 3, Math::kDivide, "x / (1 + exp(-x))"},
    {"sin", 4, Math::kNone, "sin(x)"},
    {"sinh", 4, Math::kNone, "sinh(x)"},
    {"softcap", 5, Math::kDivide, "a * tanh(x / a)", "cap"},
    {"softplus", 3, Math::kNone, "Softplus(x)"},
    {"softsign", 0, Math::kDivide, "x / (1 + fabs(x))"},
    {"sqrt", 0, Math::kSqrt, "sqrt(x)"},
    {"square", 0, Math::kNone, "x * x"},
    {"sub", 0, Math::kNone, "x - y"},
    {"tan", 5, Math::kNone, "tan(x)"},
    {"tanh", 5, Math::kNone, "tanh(x)"},
    {"trunc", 0, Math::kNone, "trunc(x)"},
    // gelu, its gate and its gradient with approx=tanh stand last.
    {"", 5, Math::kNone, "F(0.5) * x * (1 + tanh(F(0.79788456080286536) * (x + F(0.044715) * (x * x * x))))"},
    {"", 5, Math::kNone, "F(0.5) * x * (1 + tanh(F(0.79788456080286536) * (x + F(0.044715) * (x * x * x)))) * y"},
    {"", 5, Math::kNone, "GradientByTanh(x, y)"},
};

constexpr double kMostUlpOfF64 = 8;  // that suites ask for

size_t FunctionOf(const plugin::OpDesc& op) {
  if (op.name().starts_with("gelu") && op.AttrString("approx") == "tanh") {
    return std::size(kPoints) - (op.name() == "gelu" ? 3 : op.name() == "gelu_and_mul" ? 2 : 1);
  }
  return static_cast<size_t>(std::ranges::find(kPoints, op.name(), &Point::op) - std::begin(kPoints));
}

std::string TextOfAll() {
  std::string text = "ACC Compute(long function, ACC x, ACC y, ACC a, ACC b) {\n  switch (function) {\n";
  for (size_t i = 0; i < std::size(kPoints); ++i) {
    text += fmt::format("    case {}:\n      return {};\n", i, kPoints[i].expression);
  }
  return text + "  }\n  return 0;\n}\n";
}

// Must match the layout in kernels/points.cl.
struct PointParams {
  int64_t function, rows, n, x_row, x_step, y_row, y_step, z_row, z_step, a, b, y_first;
};

std::unique_ptr<plugin::Plan> CreatePoints(Device& device, const plugin::OpDesc& op) {
  const Point& point = kPoints[FunctionOf(op)];
  const plugin::Tensor &x = op.inputs()[0], &y = op.inputs().back(), &z = op.outputs()[0];
  const Accumulator acc = AccumulatorOf(op);
  const auto bits = [&](const char* attribute) {
    return attribute == nullptr ? 0 : ScalarBits(acc, op.AttrFloat(attribute));
  };
  const plugin::RowSteps of_x = op.StepsOf(x), of_y = op.StepsOf(y), of_z = op.StepsOf(z);
  const int64_t n = z.shape.back(), rows = z.Elements() / n;
  const bool is_gate = op.name().ends_with("_and_mul");  // of the halves of each row
  const PointParams p{static_cast<int64_t>(&point - kPoints),
                      rows,
                      n,
                      of_x.row,
                      of_x.element,
                      of_y.row,
                      of_y.element,
                      of_z.row,
                      of_z.element,
                      bits(point.a),
                      bits(point.b),
                      is_gate ? n * of_x.element : 0};
  constexpr int64_t kGroup = 64;
  static const std::string text = TextOfAll();
  ProgramSpec program{{"functions.cl", "points.cl"}, acc, {}, text.c_str()};
  program.options.Type("X", x.dtype).Type("Z", z.dtype);
  auto plan = std::make_unique<KernelPlan>(device, op);
  plan->Launch(program, "points",
               {plan->Input(0), plan->Input(static_cast<int>(op.inputs().size()) - 1), plan->Output()}, p,
               RowOfGroups((rows * n + kGroup - 1) / kGroup, kGroup));
  return plan;
}

std::string PointsWhyNot(const Traits& traits, const plugin::OpDesc& op) {
  const Point& point = kPoints[FunctionOf(op)];
  op.MayIgnore({"n", "rows", "per"});
  for (const char* attribute : {point.a, point.b}) {
    if (attribute != nullptr) op.AttrFloat(attribute);
  }
  const plugin::Tensor &x = op.inputs()[0], &z = op.outputs()[0];
  if (op.inputs().back().dtype != x.dtype || (z.dtype != x.dtype && z.dtype != plugin::kBool8)) {
    return op.DTypesText() + ": operands of one type, or a result of bool, are taken";
  }
  if (x.dtype == plugin::kF64 && point.ulp > kMostUlpOfF64) {
    return fmt::format("in f64 OpenCL promises its functions to {} ulp alone", point.ulp);
  }
  if (z.Elements() == 0) return "no element";
  return OperandsWhyNot(traits, op);
}

std::string PointsContract(const Traits& traits, const plugin::OpDesc& op) {
  const Point& point = kPoints[FunctionOf(op)];
  return ContractText(traits, AccumulatorOf(op), point.basic, point.ulp);
}

std::vector<Row> MakePointRows() {
  std::vector<Row> rows;
  for (const Point& point : kPoints) {
    if (point.op.empty()) continue;
    rows.push_back(
        {{point.op.data(), plugin::kRealTypes, "item-per-element"}, PointsContract, PointsWhyNot, CreatePoints});
  }
  return rows;
}

}  // namespace

std::span<const Row> PointRows() {
  static const std::vector<Row> rows = MakePointRows();
  return rows;
}

}  // namespace opencl
