// SPDX-License-Identifier: Apache-2.0
#include "ops/formula/changes.h"

#include <fmt/format.h>

#include <cmath>

#include "ops/formula/expr_parts.h"
#include "ops/formula/formula_text.h"

namespace assay::formula {
namespace {

using Made = std::optional<Expr>;

// A node of the graph that is being made, and its operands there.
struct Place {
  Graph& graph;
  const Node node;
  Expr self;

  Expr Arg(size_t i) const { return {&graph, node.args[i]}; }
  bool Is(Function function) const { return Maps(node, function); }
  bool IsFunctionOf(size_t operands) const { return node.kind == Kind::kMap && node.args.size() == operands; }
};

template <size_t kOperand, size_t kOf>
Made TakeOperand(const Place& p) {
  return p.IsFunctionOf(kOf) ? Made(p.Arg(kOperand)) : std::nullopt;
}

Made ExchangeOperands(const Place& p) {
  const bool symmetric = p.Is(Function::kAdd) || p.Is(Function::kMul) || p.Is(Function::kMaximum) ||
                         p.Is(Function::kMinimum) || p.Is(Function::kEqual) || p.Is(Function::kAnd) ||
                         p.Is(Function::kOr);
  if (!p.IsFunctionOf(2) || symmetric) return std::nullopt;
  return MapTo(p.node.function, {p.Arg(1), p.Arg(0)});
}

Made ExchangeBranches(const Place& p) {
  if (!p.Is(Function::kSelect)) return std::nullopt;
  return MapTo(Function::kSelect, {p.Arg(0), p.Arg(2), p.Arg(1)});
}

template <Function kFrom, Function kTo>
Made Replace(const Place& p) {
  if (!p.Is(kFrom)) return std::nullopt;
  std::vector<Expr> operands;
  for (size_t i = 0; i < p.node.args.size(); ++i) operands.push_back(p.Arg(i));
  return MapTo(kTo, operands);
}

Made NegateResult(const Place& p) {
  return p.Is(Function::kMul) || p.node.kind == Kind::kSum ? Made(-p.self) : std::nullopt;
}

// A kernel may add an epsilon to the root instead of what is under it.
Made MoveAddendOutOfRoot(const Place& p) {
  if (!p.Is(Function::kSqrt) && !p.Is(Function::kRsqrt)) return std::nullopt;
  const Node& sum = p.Arg(0).node();
  if (!Maps(sum, Function::kAdd)) return std::nullopt;
  const Expr left{&p.graph, sum.args[0]}, right{&p.graph, sum.args[1]};
  if (right.node().kind != Kind::kConst) return std::nullopt;
  const Expr moved = Sqrt(left) + right;
  return p.Is(Function::kSqrt) ? moved : 1.0 / moved;
}

template <auto kNumber>
Made ReplaceConstant(const Place& p) {
  if (p.node.kind != Kind::kConst) return std::nullopt;
  const double value = kNumber(p.node.constant);
  if (!std::isfinite(value) || value == p.node.constant) return std::nullopt;
  return Const(p.graph, value);
}

double OneLess(double x) {
  return x == std::trunc(x) && std::fabs(x) > 1 ? x - 1 : x;
}
double OneMore(double x) {
  return x == std::trunc(x) && std::fabs(x) > 1 ? x + 1 : x;
}
double ToNothing(double) {
  return 0;
}
double Negative(double x) {
  return -x;
}
double Twice(double x) {
  return 2 * x;
}
double Half(double x) {
  return x / 2;
}
double Square(double x) {
  return x * x;
}
double Root(double x) {
  return std::sqrt(std::fabs(x));
}
double Inverse(double x) {
  return 1 / x;
}
template <int kPower>
double Decades(double x) {
  return std::fabs(x) < 0.01 ? x * std::pow(10.0, kPower) : x;  // an epsilon
}

Made ReplaceSumByMean(const Place& p) {
  if (p.node.kind != Kind::kSum) return std::nullopt;
  return p.self / static_cast<double>(p.graph.ExtentOf(p.node.reduced));
}

template <Kind kFrom, Kind kTo>
Made ReplaceReduction(const Place& p) {
  if (p.node.kind != kFrom) return std::nullopt;
  Node node = p.node;
  node.kind = kTo;
  node.non_negative = p.Arg(0).node().non_negative;
  node.least = 0;
  return Append(p.graph, std::move(node));
}

// Without the first or the last term: a number that changes nothing stands for it.
template <bool kLast>
Made LoseTerm(const Place& p) {
  const bool sums = p.node.kind == Kind::kSum || p.node.kind == Kind::kProd;
  if (!sums || std::popcount(p.node.reduced) != 1) return std::nullopt;
  const int axis = std::countr_zero(p.node.reduced);
  const int64_t extent = p.graph.Extent(axis);
  if (extent < 2) return std::nullopt;
  const Expr index = Index(p.graph, {axis, extent});
  const Expr kept =
      kLast ? Less(index, Const(p.graph, static_cast<double>(extent - 1))) : Less(Const(p.graph, 0), index);
  Node node = p.node;
  node.args[0] = Select(kept, p.Arg(0), Const(p.graph, p.node.kind == Kind::kSum ? 0 : 1)).id;
  node.non_negative = p.Arg(0).node().non_negative;
  node.least = 0;
  return Append(p.graph, std::move(node));
}

// An exclusive sum has the terms before its own alone.
Made ExcludeOwnTerm(const Place& p) {
  return p.node.kind == Kind::kRecur && p.node.args.size() == 1 ? Made(p.self - p.Arg(0)) : std::nullopt;
}

// From the last place to the first.
Made ScanFromEnd(const Place& p) {
  if (p.node.kind != Kind::kRecur) return std::nullopt;
  const Axis axis{p.node.axis, p.graph.Extent(p.node.axis)};
  const auto reversed = [&](Expr x) {
    return Has(x.node().axes, axis.id) ? At(x, axis, axis, [n = axis.extent](int64_t i) { return n - 1 - i; }) : x;
  };
  Node node = p.node;
  for (int& arg : node.args) arg = reversed({&p.graph, arg}).id;
  return reversed(Append(p.graph, std::move(node)));
}

// One over what stands under a root.
Made LeaveOutRoot(const Place& p) {
  return p.Is(Function::kRsqrt) ? Made(1.0 / p.Arg(0)) : std::nullopt;
}

template <bool kFurther>
Made MoveIndex(const Place& p) {
  if (p.node.kind != Kind::kIndex) return std::nullopt;
  return kFurther ? p.self + 1.0 : p.self - 1.0;
}

struct Rule {
  Made (*make)(const Place&);
  std::string_view text = "{0} in place of {1}";  // what stands there, what was meant
};

// Likely mistakes first.
constexpr Rule kRules[] = {
    {TakeOperand<0, 2>},
    {TakeOperand<1, 2>},
    {TakeOperand<0, 1>},
    {LeaveOutRoot},
    {TakeOperand<1, 3>},
    {TakeOperand<2, 3>},
    {Replace<Function::kAdd, Function::kSub>},
    {Replace<Function::kSub, Function::kAdd>},
    {Replace<Function::kMul, Function::kAdd>},
    {Replace<Function::kMul, Function::kDiv>},
    {Replace<Function::kDiv, Function::kMul>},
    {ExchangeOperands},
    {ExchangeBranches},
    {Replace<Function::kLess, Function::kLessEqual>},
    {Replace<Function::kLessEqual, Function::kLess>},
    {MoveIndex<true>},
    {MoveIndex<false>},
    {MoveAddendOutOfRoot},
    {ReplaceConstant<OneLess>},
    {ReplaceConstant<OneMore>},
    {ReplaceConstant<ToNothing>},
    {ReplaceConstant<Negative>},
    {ReplaceConstant<Twice>},
    {ReplaceConstant<Half>},
    {ReplaceConstant<Square>},
    {ReplaceConstant<Root>},
    {ReplaceConstant<Inverse>},
    {ReplaceConstant<Decades<1>>},
    {ReplaceConstant<Decades<-1>>},
    {ReplaceConstant<Decades<2>>},
    {ReplaceConstant<Decades<-2>>},
    {ReplaceConstant<Decades<3>>},
    {ReplaceConstant<Decades<-3>>},
    {ReplaceSumByMean},
    {LoseTerm<true>, "{1} without its last term"},
    {LoseTerm<false>, "{1} without its first term"},
    {ExcludeOwnTerm, "{1} without its own term"},
    {ScanFromEnd, "{1} from the end"},
    {ReplaceReduction<Kind::kMax, Kind::kMin>},
    {ReplaceReduction<Kind::kMin, Kind::kMax>},
    {ReplaceReduction<Kind::kSum, Kind::kMax>},
    {Replace<Function::kMaximum, Function::kMinimum>},
    {Replace<Function::kMinimum, Function::kMaximum>},
    {Replace<Function::kTanh, Function::kErf>},
    {Replace<Function::kErf, Function::kTanh>},
    {Replace<Function::kTanh, Function::kSigmoid>},
    {Replace<Function::kSigmoid, Function::kTanh>},
    {Replace<Function::kSqrt, Function::kRsqrt>},
    {Replace<Function::kRsqrt, Function::kSqrt>},
    {Replace<Function::kSin, Function::kCos>},
    {Replace<Function::kCos, Function::kSin>},
    {Replace<Function::kLog, Function::kLog1p>},
    {Replace<Function::kLog1p, Function::kLog>},
    {Replace<Function::kAnd, Function::kOr>},
    {Replace<Function::kOr, Function::kAnd>},
    {NegateResult},
};

// A node's sign follows from its operands, of which one may have changed.
void SetSigns(const Graph& graph, Node& node) {
  if (node.kind == Kind::kMap) return SetSignsOfMap(graph, node);
  for (const int arg : node.args) node.non_negative = node.non_negative && graph.At(arg).non_negative;
  if (!node.args.empty()) node.least = 0;
}

struct Remade {
  Graph graph;
  int before = 0, after = 0;  // the node that was meant, and what stands in its place
};

// The change holds for `user` alone, or for all that read the node.
std::optional<Remade> Remake(const Graph& graph, int at, int user, const Rule& rule) {
  Remade made{
      .graph = {.axes = graph.axes, .nodes = {}, .inputs = graph.inputs, .outputs = graph.outputs, .limits = {}}};
  std::vector<int> place;
  for (int i = 0; i < static_cast<int>(graph.nodes.size()); ++i) {
    Node node = graph.At(i);
    for (int& arg : node.args) arg = i == user && arg == at ? made.after : place[static_cast<size_t>(arg)];
    if (i > at) SetSigns(made.graph, node);
    const Node kept = node;
    const Expr self = Append(made.graph, std::move(node));
    place.push_back(self.id);
    if (i != at) continue;
    const Made changed = rule.make({made.graph, kept, self});
    if (!changed || changed->node().axes != kept.axes) return std::nullopt;
    made.before = self.id;
    made.after = changed->id;
    if (user < 0) place.back() = changed->id;
  }
  for (OutputInfo& output : made.graph.outputs) output.node = place[static_cast<size_t>(output.node)];
  return made;
}

// Which nodes read each one.
std::vector<std::vector<int>> UsersOf(const Graph& graph) {
  std::vector<std::vector<int>> users(graph.nodes.size());
  for (int i = 0; i < static_cast<int>(graph.nodes.size()); ++i) {
    for (const int arg : graph.At(i).args) {
      std::vector<int>& of_arg = users[static_cast<size_t>(arg)];
      if (of_arg.empty() || of_arg.back() != i) of_arg.push_back(i);
    }
  }
  return users;
}

size_t CountMoved(const Graph& graph) {
  size_t moved = 0;
  for (const Node& node : graph.nodes) moved += node.index.size();
  return moved;
}

// The nodes that each rule changes, the last one first.
std::vector<std::vector<int>> FindApplicable(const Graph& graph) {
  std::vector<std::vector<int>> applicable(std::size(kRules));
  for (int node = static_cast<int>(graph.nodes.size()) - 1; node >= 0; --node) {
    Graph before = graph;
    before.nodes.resize(static_cast<size_t>(node) + 1);
    for (size_t rule = 0; rule < applicable.size(); ++rule) {
      const Made changed = kRules[rule].make({before, graph.At(node), {&before, node}});
      const bool fits = changed && changed->node().axes == graph.At(node).axes;
      before.nodes.resize(static_cast<size_t>(node) + 1);
      if (fits) applicable[rule].push_back(node);
    }
  }
  return applicable;
}

}  // namespace

std::vector<GraphChange> ListGraphChanges(const Graph& graph) {
  std::vector<GraphChange> changes;
  if (graph.nodes.size() > kMostChangedNodes || CountMoved(graph) > kMostMoved) return changes;
  const std::vector<std::vector<int>> users = UsersOf(graph);
  const auto add = [&](int node, int rule, int user) {
    const std::optional<Remade> made = Remake(graph, node, user, kRules[rule]);
    if (!made) return;
    const std::string after = FormulaText(made->graph, made->after), before = FormulaText(made->graph, made->before);
    const std::string where = user < 0 ? "" : " in " + FormulaText(graph, user);
    changes.push_back({node, rule, user, fmt::format(fmt::runtime(kRules[rule].text), after, before) + where});
  };
  const std::vector<std::vector<int>> applicable = FindApplicable(graph);
  for (const std::vector<int>& nodes : applicable) {
    for (const int node : nodes) add(node, static_cast<int>(&nodes - applicable.data()), -1);
  }
  for (const std::vector<int>& nodes : applicable) {
    for (const int node : nodes) {
      const std::vector<int>& of_node = users[static_cast<size_t>(node)];
      if (of_node.size() < 2) continue;
      for (const int user : of_node) add(node, static_cast<int>(&nodes - applicable.data()), user);
    }
  }
  return changes;
}

std::optional<Graph> ChangeGraph(const Graph& graph, const GraphChange& change) {
  if (change.node >= static_cast<int>(graph.nodes.size())) return std::nullopt;
  std::optional<Remade> made = Remake(graph, change.node, change.user, kRules[change.rule]);
  return made ? std::optional(std::move(made->graph)) : std::nullopt;
}

}  // namespace assay::formula
