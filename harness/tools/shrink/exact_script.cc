// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "harness/tools/explain/forms.h"
#include "harness/tools/shrink/script_parts.h"
#include "harness/tools/shrink/shrunk_failure.h"
#include "ops/conv/conv.h"
#include "ops/formula/formula_text.h"
#include "ops/matmul/matmul.h"

namespace assay {
namespace {

std::string TupleText(const std::vector<int64_t>& numbers) {
  return fmt::format("({}{})", fmt::join(numbers, ", "), numbers.size() == 1 ? "," : "");
}

std::vector<int64_t> AxesOf(formula::AxisSet set) {
  std::vector<int64_t> axes;
  for (int axis = 0; axis < formula::kMaxAxes; ++axis) {
    if (formula::Has(set, axis)) axes.push_back(axis);
  }
  return axes;
}

std::vector<int64_t> AsNumbers(const std::vector<int>& axes) {
  return {axes.begin(), axes.end()};
}

// Expressions of functions, in the order of formula::Function.
constexpr std::string_view kFunctionTexts[] = {"{0} + {1}",
                                               "{0} - {1}",
                                               "{0} * {1}",
                                               "{0} / {1}",
                                               "-{0}",
                                               "abs({0})",
                                               "max({0}, {1})",
                                               "min({0}, {1})",
                                               "{0} < {1}",
                                               "{1} if {0} else {2}",
                                               "sqrt({0})",
                                               "1 / sqrt({0})",
                                               "exp({0})",
                                               "log({0})",
                                               "log1p({0})",
                                               "tanh({0})",
                                               "erf({0})",
                                               "one_minus_tanh({0})",
                                               "1 - erf({0})",
                                               "sigmoid({0})",
                                               "sine({0}, 0)",
                                               "sine({0}, 1)",
                                               "power({0}, {1})",
                                               "{0} <= {1}",
                                               "{0} == {1}",
                                               "{0} != 0 and {1} != 0",
                                               "{0} != 0 or {1} != 0",
                                               "{0} // {1}",
                                               "round({0})",
                                               "exp({0} * log(Fraction(2)))",
                                               "expm1({0})",
                                               "log({0}) / log(Fraction(2))",
                                               "log({0}) / log(Fraction(10))",
                                               "1 - erf({0})",
                                               "sine({0}, 0) / sine({0}, 1)",
                                               "asin({0})",
                                               "acos({0})",
                                               "atan({0})",
                                               "(expm1({0}) - expm1(-{0})) / 2",
                                               "(exp({0}) + exp(-{0})) / 2",
                                               "asinh({0})",
                                               "acosh({0})",
                                               "log1p(2 * {0} / (1 - {0})) / 2",
                                               "cbrt({0})"};
static_assert(std::size(kFunctionTexts) == static_cast<size_t>(formula::Function::kCbrt) + 1);

// A node as an expression of the index `i`; "" where it has none.
class NodeWriter {
 public:
  NodeWriter(const formula::Graph& graph, const Problem& problem) : graph_(graph), problem_(problem) {}

  std::string Write(const formula::Node& node) const {
    using formula::Kind;
    switch (node.kind) {
      case Kind::kIn:
        return fmt::format("read_at(\"{}\", i, {})", problem_.inputs[static_cast<size_t>(node.input)].name,
                           TupleText(AsNumbers(graph_.inputs[static_cast<size_t>(node.input)].axes)));
      case Kind::kConst:
        if (!std::isfinite(node.constant)) return "";
        return node.constant_lo == 0 ? fmt::format("{}", node.constant)
                                     : fmt::format("Fraction({}) + Fraction({})", node.constant, node.constant_lo);
      case Kind::kIndex:
        return fmt::format("i[{}]", node.axis);
      case Kind::kMap:
        return WriteMap(node);
      case Kind::kSum:
      case Kind::kProd:
      case Kind::kMax:
      case Kind::kMin:
        return fmt::format("{}(value({}, j) for j in over(i, {}))", NameOf(node.kind), node.args[0],
                           TupleText(AxesOf(node.reduced)));
      case Kind::kRecur:
        return fmt::format("recurrence({}, {}, i, {})",
                           node.args.size() > 1 ? fmt::to_string(node.args[0]) : std::string("None"), node.args.back(),
                           node.axis);
      case Kind::kAt:
        if (!node.more_axes.empty() || !node.more_from.empty()) return "";
        return fmt::format("moved({}, i, {}, {}, {})", node.args[0], node.axis, node.from_axis, TupleText(node.index));
      case Kind::kRound:
        return fmt::format("value({}, i)", node.args[0]);
      default:
        return "";
    }
  }

 private:
  static const char* NameOf(formula::Kind kind) {
    if (kind == formula::Kind::kSum) return "sum";
    if (kind == formula::Kind::kProd) return "math.prod";
    return kind == formula::Kind::kMax ? "max" : "min";
  }

  static std::string WriteMap(const formula::Node& node) {
    std::string text(kFunctionTexts[static_cast<size_t>(node.function)]);
    for (size_t k = 0; k < node.args.size(); ++k) {
      const std::string place = fmt::format("{{{}}}", k);
      for (size_t at = text.find(place); at != std::string::npos; at = text.find(place)) {
        text.replace(at, place.size(), fmt::format("value({}, i)", node.args[k]));
      }
    }
    return text;
  }

  const formula::Graph& graph_;
  const Problem& problem_;
};

std::optional<std::string> WriteFormula(const Problem& problem, const formula::Graph& graph, int64_t element) {
  const formula::OutputInfo& output = graph.outputs[0];
  std::string nodes = "NODES = {\n", axes = "AXES = {";
  const NodeWriter writer(graph, problem);
  for (size_t k = 0; k < graph.nodes.size(); ++k) {
    const std::string text = writer.Write(graph.nodes[k]);
    if (text.empty()) return std::nullopt;
    nodes += fmt::format("    {}: lambda i: {},  # {}\n", k, text, formula::FormulaText(graph, static_cast<int>(k)));
    axes += fmt::format("{}{}: {}", k > 0 ? ", " : "", k, TupleText(AxesOf(graph.nodes[k].axes)));
  }
  std::vector<int64_t> extents, index(graph.axes.size(), 0);
  for (const formula::AxisInfo& axis : graph.axes) extents.push_back(axis.extent);
  for (auto axis = output.axes.rbegin(); axis != output.axes.rend(); ++axis) {
    index[static_cast<size_t>(*axis)] = element % graph.Extent(*axis);
    element /= graph.Extent(*axis);
  }
  return fmt::format("{}\n\nEXTENTS = {}\n{}}}\n{}}}\nexact = value({}, {})\n", kScriptFunctions, TupleText(extents),
                     axes, nodes, output.node, TupleText(index));
}

std::string WriteMatmul(const Problem& problem, int64_t element) {
  const MatmulArgs op(problem);
  const int64_t row = element / op.gemm.n % op.gemm.m;
  std::string text = fmt::format(
      "M, N, K = {}, {}, {}\nbatch, row, column = {}, {}, {}\na = data[\"a\"][batch * M * K:]\n"
      "b = data[\"b\"][batch * K * N:]\n"
      "exact = Fraction({}) * sum({} * {} for t in range(K))\n",
      op.gemm.m, op.gemm.n, op.gemm.k, op.BatchOf(element), row, op.ColumnOf(element), op.alpha,
      op.gemm.transa ? "a[t * M + row]" : "a[row * K + t]", op.gemm.transb ? "b[column * K + t]" : "b[t * N + column]");
  if (op.beta != 0) text += fmt::format("exact += Fraction({}) * data[\"c\"][{}]\n", op.beta, element);
  if (op.bias) text += "exact += data[\"bias\"][column]\n";
  return text;
}

std::string WriteConv(const Problem& problem, int64_t element) {
  const ConvArgs op(problem);
  const auto tuple = [](const ConvArgs::Extents& extents) { return TupleText({extents.begin(), extents.end()}); };
  const int64_t channel = op.ChannelOf(element), image = element / op.Positions() / op.o;
  std::string text = fmt::format(
      "IN, KERNEL, STRIDE, PAD, DILATION = {}, {}, {}, {}, {}\nplace = {}\nexact = Fraction(0)\n"
      "for c in range({}):\n"
      "    for taps in itertools.product(*map(range, KERNEL)):\n"
      "        at = [p * s + t * d - q for p, s, t, d, q in zip(place, STRIDE, taps, DILATION, PAD)]\n"
      "        if not all(0 <= p < extent for p, extent in zip(at, IN)):\n"
      "            continue  # padding\n"
      "        x = (({} + c) * IN[0] + at[0]) * IN[1] * IN[2] + at[1] * IN[2] + at[2]\n"
      "        w = (({} + c) * KERNEL[0] + taps[0]) * KERNEL[1] * KERNEL[2] + taps[1] * KERNEL[2] + taps[2]\n"
      "        exact += data[\"x\"][x] * data[\"w\"][w]\n",
      tuple(op.in), tuple(op.kernel), tuple(op.stride), tuple(op.pad), tuple(op.dilation),
      tuple(op.PositionOf(element)), op.GroupInputs(), image * op.c + channel / op.GroupOutputs() * op.GroupInputs(),
      channel * op.GroupInputs());
  if (problem.inputs.size() > 2) text += fmt::format("exact += data[\"bias\"][{}]\n", channel);
  return text;
}

std::optional<std::string> WriteBody(const Operator& op, const Problem& problem, const std::vector<Tensor>& inputs,
                                     const std::vector<Tensor>& outputs, const ScriptElement& element) {
  if (problem.spec.op == "matmul") return WriteMatmul(problem, element.element);
  if (problem.spec.op == "conv") return WriteConv(problem, element.element);
  if (const auto* formula = dynamic_cast<const FormulaOperator*>(&op)) {
    return WriteFormula(problem, formula->DefinitionOf(problem, element.output).graph(), element.element);
  }
  for (const Form& form : FormsOf(problem, inputs, outputs)) {
    if (!form.text.empty()) continue;
    return WriteFormula(problem, form.op->DefinitionOf(form.problem, element.output).graph(), element.element);
  }
  return std::nullopt;
}

bool AreFiniteReals(const std::vector<Tensor>& tensors) {
  return std::ranges::all_of(tensors, [](const Tensor& tensor) {
    const std::vector<double> values = tensor.ToDoubles();
    return !IsComplex(tensor.dtype()) && std::ranges::all_of(values, [](double x) { return std::isfinite(x); });
  });
}

// A double as Python reads it.
std::string FloatText(double x) {
  return std::isfinite(x) ? fmt::format("{}", x) : fmt::format("float(\"{}\")", x);
}

}  // namespace

std::optional<std::string> WriteExactScript(const Operator& op, const Problem& problem,
                                            const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs,
                                            const ScriptElement& element) {
  if (!AreFiniteReals(inputs) || IsComplex(outputs[element.output].dtype())) return std::nullopt;
  const auto body = WriteBody(op, problem, inputs, outputs, element);
  if (!body) return std::nullopt;
  const Operand& output = problem.outputs[element.output];
  return fmt::format(
      "#!/usr/bin/env python3\n\"\"\"The exact value of {}{} in {},\nwhich needs NumPy and no other module. Exit code "
      "1: "
      "the result is wrong.\"\"\"\n{}\nGOT, TOLERANCE = {}, {}\n{}{}",
      output.name, IndexText(output.shape, element.element), problem.spec.Id(), kScriptHead, FloatText(element.got),
      FloatText(element.tolerance), *body, kScriptTail);
}

}  // namespace assay
