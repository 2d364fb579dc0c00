// SPDX-License-Identifier: Apache-2.0
#include "ops/formula/changes.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/formula/change_rules.h"
#include "ops/formula/expr_parts.h"
#include "ops/formula/formula_text.h"

namespace assay::formula {
namespace {

// A node's sign follows from its operands, of which one may have changed.
void SetSigns(const Graph& graph, Node& node) {
  if (node.kind == Kind::kMap) return SetSignsOfMap(graph, node);
  for (const int arg : node.args) node.non_negative = node.non_negative && graph.At(arg).non_negative;
  if (!node.args.empty()) node.least = 0;
}

// Gives a map the axes of its operands, of which one may have changed. False: another node than a map reads an operand
// whose axes have changed.
bool SetAxes(const Graph& before, const Graph& graph, const Node& meant, Node& node) {
  AxisSet axes = 0, axes_before = 0;
  for (const int arg : node.args) axes |= graph.At(arg).axes;
  for (const int arg : meant.args) axes_before |= before.At(arg).axes;
  if (axes == axes_before) return true;
  node.axes = axes;
  return node.kind == Kind::kMap;
}

struct Remade {
  Graph graph;
  int before = 0, after = 0;  // the node that was meant, and what stands in its place
};

// Whether a node takes the places of another operand that this one takes (keys and values that share their heads), adds
// or takes the mean along the same axes, or has the same constant as its first factor.
bool IsAlike(const Graph& graph, const Node& a, const Node& b) {
  if (a.kind != b.kind) return false;
  if (a.kind == Kind::kSum) return a.reduced == b.reduced;
  if (const Node* const sum_of_a = FindSumOfMean(graph, a)) {
    const Node* const sum_of_b = FindSumOfMean(graph, b);
    return sum_of_b != nullptr && sum_of_a->reduced == sum_of_b->reduced;
  }
  if (Maps(a, Function::kMul) && Maps(b, Function::kMul)) {
    const Node &of_a = graph.At(a.args[0]), &of_b = graph.At(b.args[0]);
    return of_a.kind == Kind::kConst && of_b.kind == Kind::kConst && of_a.constant == of_b.constant &&
           graph.At(a.args[1]).kind == graph.At(b.args[1]).kind;
  }
  return a.kind == Kind::kAt && a.axis == b.axis && a.from_axis == b.from_axis && a.index == b.index &&
         a.more_axes == b.more_axes && a.more_from == b.more_from;
}

// The change holds for `user` alone, or for all that read the node.
std::optional<Remade> Remake(const Graph& graph, int at, int user, const ChangeRule& rule) {
  Remade made{.graph = {.axes = graph.axes,
                        .nodes = {},
                        .inputs = graph.inputs,
                        .outputs = graph.outputs,
                        .limits = {},
                        .wraps = {}}};
  std::vector<int> place;
  for (int i = 0; i < static_cast<int>(graph.nodes.size()); ++i) {
    Node node = graph.At(i);
    for (int& arg : node.args) arg = i == user && arg == at ? made.after : place[static_cast<size_t>(arg)];
    if (i > at && rule.moves_axes && !SetAxes(graph, made.graph, graph.At(i), node)) return std::nullopt;
    if (i > at) SetSigns(made.graph, node);
    const Node kept = node;
    const Expr self = Append(made.graph, std::move(node));
    place.push_back(self.id);
    const bool is_alike = rule.of_alike && IsAlike(graph, graph.At(i), graph.At(at));
    if (i != at && !is_alike) continue;
    const ChangedExpr changed = rule.make({made.graph, kept, self});
    if (!changed || (changed->node().axes != kept.axes && !rule.moves_axes)) return std::nullopt;
    made.before = self.id;
    made.after = changed->id;
    if (user < 0) place.back() = changed->id;
  }
  for (OutputInfo& output : made.graph.outputs) {
    const bool is_kept = user == kAllButOutputs && output.node == at;
    const AxisSet axes = graph.At(output.node).axes;
    output.node = is_kept ? made.before : place[static_cast<size_t>(output.node)];
    if (made.graph.At(output.node).axes != axes) return std::nullopt;
  }
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

// Marks nodes of steps that stand there one after the other, as those of a loop: at least kLeastSteps times equal
// nodes, of which each has kLeastStep. Shorter ones are sums and polynomials.
std::vector<bool> FindSteps(const Graph& graph) {
  constexpr size_t kLeastSteps = 4, kLeastStep = 5, kMostStep = 40;
  const size_t n = graph.nodes.size();
  const auto is_like = [&](size_t a, size_t b) {
    const Node &left = graph.nodes[a], &right = graph.nodes[b];
    return left.kind == right.kind && left.function == right.function && left.axes == right.axes &&
           left.reduced == right.reduced && left.args.size() == right.args.size();
  };
  std::vector<bool> is_step(n);
  for (size_t step = kLeastStep; step <= kMostStep; ++step) {
    size_t begin = 0;
    for (size_t i = 0; i + step <= n; ++i) {
      if (i + step < n && is_like(i, i + step)) continue;
      if (i - begin >= (kLeastSteps - 1) * step) {
        std::fill(is_step.begin() + static_cast<int64_t>(begin), is_step.begin() + static_cast<int64_t>(i + step),
                  true);
      }
      begin = i + 1;
    }
  }
  return is_step;
}

// The nodes that each rule changes, the last one first.
std::vector<std::vector<int>> FindApplicable(const Graph& graph, const std::vector<bool>& is_step) {
  const std::span<const ChangeRule> rules = ListChangeRules();
  std::vector<std::vector<int>> applicable(rules.size());
  for (int node = static_cast<int>(graph.nodes.size()) - 1; node >= 0; --node) {
    if (is_step[static_cast<size_t>(node)]) continue;
    Graph before = graph;
    before.nodes.resize(static_cast<size_t>(node) + 1);
    for (size_t rule = 0; rule < applicable.size(); ++rule) {
      const ChangedExpr changed = rules[rule].make({before, graph.At(node), {&before, node}});
      const auto is_alike = [&](const Node& other) { return IsAlike(graph, other, graph.At(node)); };
      const bool is_alone = rules[rule].of_several && std::ranges::count_if(graph.nodes, is_alike) < 2;
      const bool is_known = is_alone || (rules[rule].of_alike &&
                                         std::any_of(graph.nodes.begin() + node + 1, graph.nodes.end(), is_alike));
      const bool has_axes = changed && (rules[rule].moves_axes || changed->node().axes == graph.At(node).axes);
      const bool fits = has_axes && !is_known;
      before.nodes.resize(static_cast<size_t>(node) + 1);
      if (fits) applicable[rule].push_back(node);
    }
  }
  return applicable;
}

}  // namespace

std::vector<GraphChange> ListGraphChanges(const Graph& graph) {
  std::vector<GraphChange> changes;
  const std::vector<bool> is_step = FindSteps(graph);
  const auto changed_nodes = static_cast<size_t>(std::ranges::count(is_step, false));
  if (changed_nodes > kMostChangedNodes || CountMoved(graph) > kMostMoved) return changes;
  const std::vector<std::vector<int>> users = UsersOf(graph);
  const auto add = [&](int node, int rule, int user) {
    const ChangeRule& row = ListChangeRules()[static_cast<size_t>(rule)];
    const std::optional<Remade> made = Remake(graph, node, user, row);
    if (!made) return;
    const std::string after = FormulaText(made->graph, made->after), before = FormulaText(made->graph, made->before);
    const std::string where = user == kAllButOutputs ? ", except where it is stored"
                              : user < 0             ? ""
                                                     : " in " + FormulaText(graph, user);
    const TermRange terms =
        row.terms == nullptr ? TermRange{} : row.terms(graph.ExtentOf(FindReducedAxes(graph, graph.At(node))));
    const std::string what = fmt::format(fmt::runtime(row.text), after, before, terms.end - terms.begin);
    changes.push_back({node, rule, user, what + where});
  };
  const std::vector<std::vector<int>> applicable = FindApplicable(graph, is_step);
  for (const std::vector<int>& nodes : applicable) {
    for (const int node : nodes) add(node, static_cast<int>(&nodes - applicable.data()), -1);
  }
  for (const std::vector<int>& nodes : applicable) {
    for (const int node : nodes) {
      const std::vector<int>& of_node = users[static_cast<size_t>(node)];
      const auto is_stored = std::ranges::find(graph.outputs, node, &OutputInfo::node) != graph.outputs.end();
      if (is_stored && !of_node.empty()) add(node, static_cast<int>(&nodes - applicable.data()), kAllButOutputs);
      if (of_node.size() < 2) continue;
      for (const int user : of_node) add(node, static_cast<int>(&nodes - applicable.data()), user);
    }
  }
  return changes;
}

GraphChange ReplaceConstant(const Graph& graph, int node, double number) {
  const std::string text = fmt::format("{:.12g} in place of {}", number, FormulaText(graph, node));
  return {.node = node, .text = text, .number = number};
}

std::optional<Graph> ChangeGraph(const Graph& graph, const GraphChange& change) {
  if (change.node >= static_cast<int>(graph.nodes.size())) return std::nullopt;
  if (change.number) {
    if (graph.At(change.node).kind != Kind::kConst) return std::nullopt;
    Graph changed = graph;
    Node& node = changed.nodes[static_cast<size_t>(change.node)];
    node.constant = *change.number, node.constant_lo = 0;
    node.non_negative = *change.number >= 0;
    for (size_t i = static_cast<size_t>(change.node) + 1; i < changed.nodes.size(); ++i)
      SetSigns(changed, changed.nodes[i]);
    return changed;
  }
  std::optional<Remade> made =
      Remake(graph, change.node, change.user, ListChangeRules()[static_cast<size_t>(change.rule)]);
  return made ? std::optional(std::move(made->graph)) : std::nullopt;
}

}  // namespace assay::formula
