// SPDX-License-Identifier: Apache-2.0
// A graph evaluated one number at a time, over whole index spaces, on any machine: in exact arithmetic, or as an
// implementation computes. It shares no code with the evaluation in blocks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ops/formula/graph.h"

namespace assay::test {

// The axes of a set, ascending, with what is needed to go through their indices.
class IndexSpace {
 public:
  IndexSpace(const formula::Graph& graph, formula::AxisSet set) : graph_(&graph), set_(set) {
    for (; set != 0; set &= set - 1) axes_.push_back(std::countr_zero(set));
  }
  int64_t size() const { return graph_->ExtentOf(set_); }
  // index has an entry for every axis of the graph; others than this space's are left as they are.
  void Unpack(int64_t place, std::vector<int64_t>& index) const {
    for (size_t i = axes_.size(); i-- > 0; place /= graph_->Extent(axes_[i])) {
      index[static_cast<size_t>(axes_[i])] = place % graph_->Extent(axes_[i]);
    }
  }
  int64_t Pack(const std::vector<int64_t>& index) const { return Pack(axes_, index); }
  int64_t Pack(const std::vector<int>& layout, const std::vector<int64_t>& index) const {
    int64_t place = 0;
    for (const int axis : layout) place = place * graph_->Extent(axis) + index[static_cast<size_t>(axis)];
    return place;
  }

 private:
  const formula::Graph* graph_;
  formula::AxisSet set_;
  std::vector<int> axes_;
};

// The number that has `rank` numbers before it: counted, not sorted.
template <class Machine>
size_t PlaceOfRank(const Machine& machine, const formula::Node& node,
                   const std::vector<const typename Machine::Number*>& numbers, size_t rank) {
  for (size_t i = 0; i < numbers.size(); ++i) {
    size_t before = 0;
    for (size_t k = 0; k < numbers.size(); ++k) {
      const bool above = machine.IsLarger(node, *numbers[k], *numbers[i]);
      const bool below = machine.IsLarger(node, *numbers[i], *numbers[k]);
      const bool first = node.smallest ? below : above;
      before += first || (!above && !below && k < i) ? 1 : 0;
    }
    if (before == rank) return i;
  }
  return 0;
}

// A number of a selection, or its place, at these indices; `number` is the operand at them.
template <class Machine, class NumberAt>
typename Machine::Number Selected(Machine& machine, const formula::Graph& graph, const formula::Node& node,
                                  std::vector<int64_t>& index, const NumberAt& number) {
  const auto from = static_cast<size_t>(node.from_axis);
  const int64_t kept = index[from];
  std::vector<const typename Machine::Number*> numbers;
  for (index[from] = 0; index[from] < graph.Extent(node.from_axis); ++index[from]) numbers.push_back(&number());
  index[from] = kept;
  auto rank = static_cast<size_t>(index[static_cast<size_t>(node.axis)]);
  if constexpr (requires { machine.Rank(node, rank, rank); }) rank = machine.Rank(node, rank, numbers.size());
  const size_t place = PlaceOfRank(machine, node, numbers, rank);
  return node.places ? machine.Constant(static_cast<double>(place)) : *numbers[place];
}

// Machine has a type Number, made by default, and
//   Number Input(int input, double), Constant(double), Map(const Node&, span<const Number* const>),
//   Reduce(const Node&, const vector<const Number*>&), Step(const Node&, const Number* a, const Number* h, const
//   Number& b, int64_t t), Store(const Node&, const Number&), bool IsLarger(const Node&, const Number&, const Number&),
//   of which NaN is the largest, int64_t PlaceOf(const Number&), which a number is; and it may have size_t Rank(const
//   Node&, size_t rank, size_t numbers), which asks for another rank, and int64_t Gathered(const Node&, int64_t place),
//   which asks for another place, and Number ConstantOf(const Node&), which has all digits of a constant.
// The result has the output's elements in its layout.
template <class Machine>
std::vector<typename Machine::Number> Interpret(const formula::Graph& graph, const formula::OutputInfo& output,
                                                std::span<const std::vector<double>> inputs, Machine& machine) {
  using Number = typename Machine::Number;
  using formula::Kind;
  std::vector<std::vector<Number>> all(graph.nodes.size());
  std::vector<int64_t> index(graph.axes.size());
  for (size_t at = 0; at < graph.nodes.size(); ++at) {
    const formula::Node& node = graph.nodes[at];
    const IndexSpace space(graph, node.axes);
    std::vector<Number>& to = all[at];
    to.resize(static_cast<size_t>(space.size()));
    std::vector<IndexSpace> operands;
    for (const int arg : node.args) operands.emplace_back(graph, graph.At(arg).axes);
    const auto operand = [&](size_t k) -> const Number& {
      return all[static_cast<size_t>(node.args[k])][static_cast<size_t>(operands[k].Pack(index))];
    };
    for (int64_t place = 0; place < space.size(); ++place) {
      space.Unpack(place, index);
      Number& result = to[static_cast<size_t>(place)];
      switch (node.kind) {
        case Kind::kIn:
          result = machine.Input(node.input, inputs[static_cast<size_t>(node.input)][static_cast<size_t>(space.Pack(
                                                 graph.inputs[static_cast<size_t>(node.input)].axes, index))]);
          break;
        case Kind::kConst:
          if constexpr (requires { machine.ConstantOf(node); }) {
            result = machine.ConstantOf(node);
          } else {
            result = machine.Constant(node.constant);
          }
          break;
        case Kind::kIndex:
          result = machine.Constant(static_cast<double>(index[static_cast<size_t>(node.axis)]));
          break;
        case Kind::kMap: {
          const Number* x[3] = {};
          for (size_t k = 0; k < node.args.size(); ++k) x[k] = &operand(k);
          result = machine.Map(node, std::span<const Number* const>(x, node.args.size()));
          break;
        }
        case Kind::kRecur: {
          const int64_t t = index[static_cast<size_t>(node.axis)];
          const Number* a = node.args.size() > 1 ? &operand(0) : nullptr;
          const Number b = operand(node.args.size() - 1);
          const Number* before = nullptr;
          if (t > 0) {
            index[static_cast<size_t>(node.axis)] = t - 1;
            before = &to[static_cast<size_t>(space.Pack(index))];
            index[static_cast<size_t>(node.axis)] = t;
          }
          result = machine.Step(node, a, before, b, t);
          break;
        }
        case Kind::kAt: {
          int64_t taken = index[static_cast<size_t>(node.axis)];
          for (const int axis : node.more_axes) taken = taken * graph.Extent(axis) + index[static_cast<size_t>(axis)];
          const int64_t from = node.index[static_cast<size_t>(taken)];
          const std::vector<int64_t> kept = index;
          int64_t rest = from;
          for (size_t k = node.more_from.size(); k-- > 0; rest /= graph.Extent(node.more_from[k])) {
            index[static_cast<size_t>(node.more_from[k])] = rest % graph.Extent(node.more_from[k]);
          }
          index[static_cast<size_t>(node.from_axis)] = rest;
          result = from < 0 ? machine.Constant(0) : operand(0);
          index = kept;
          break;
        }
        case Kind::kGather: {
          int64_t from = machine.PlaceOf(operand(1));
          if constexpr (requires { machine.Gathered(node, from); }) from = machine.Gathered(node, from);
          index[static_cast<size_t>(node.from_axis)] = from;
          result = operand(0);
          break;
        }
        case Kind::kScatterAdd: {
          const IndexSpace added(graph, node.reduced);
          std::vector<const Number*> terms = {&operand(0)};
          for (int64_t k = 0; k < added.size(); ++k) {
            added.Unpack(k, index);
            if (machine.PlaceOf(operand(2)) == index[static_cast<size_t>(node.axis)]) terms.push_back(&operand(1));
          }
          result = machine.Reduce(node, terms);
          break;
        }
        case Kind::kTopK:
          result = Selected(machine, graph, node, index, [&]() -> const Number& { return operand(0); });
          break;
        case Kind::kRound:
          result = machine.Store(node, operand(0));
          break;
        default: {
          const IndexSpace reduced(graph, node.reduced);
          std::vector<const Number*> terms;
          for (int64_t k = 0; k < reduced.size(); ++k) {
            reduced.Unpack(k, index);
            terms.push_back(&operand(0));
          }
          result = machine.Reduce(node, terms);
        }
      }
    }
  }
  const IndexSpace space(graph, formula::OutputSet(output)), own(graph, graph.At(output.node).axes);
  std::vector<Number> result(static_cast<size_t>(space.size()));
  for (int64_t place = 0; place < space.size(); ++place) {
    space.Unpack(place, index);
    result[static_cast<size_t>(space.Pack(output.axes, index))] =
        all[static_cast<size_t>(output.node)][static_cast<size_t>(own.Pack(index))];
  }
  return result;
}

}  // namespace assay::test
