// SPDX-License-Identifier: Apache-2.0
// One lane at a time, by libquadmath: the same bits on every machine. Slow; for the few elements that need it.
#include "ops/formula/wide.h"

#include <quadmath.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "harness/core/base/parallel.h"
#include "harness/core/data/infinity.h"
#include "ops/formula/library_functions.h"
#include "ops/formula/recurrence.h"
#include "ops/formula/selection.h"
#include "ops/formula/values.h"

namespace assay::formula {
namespace {

using Quads = std::vector<Quad>;

constexpr int64_t kElementsAtOnce = 4096;  // of a thread

// NaN wins.
Quad Larger(Quad x, Quad y) {
  return x > y || isnanq(x) ? x : y;
}

Quad Sigmoid(Quad x) {
  const Quad e = expq(-fabsq(x));
  return (x < 0 ? e : Quad{1}) / (1 + e);
}

Quad FloorQuotient(Quad x, Quad y) {
  if (isinfq(y) != 0 && finiteq(x) != 0) return x != 0 && (x < 0) != (y < 0) ? -1 : 0;
  const Quad quotient = floorq(x / y), rest = fmaq(-quotient, y, x);
  return rest != 0 && (rest < 0) != (y < 0) && finiteq(quotient) ? quotient - 1 : quotient;
}

Quad Apply(Function function, Quad x, Quad y, Quad z) {
  switch (function) {
    case Function::kAdd:
      return x + y;
    case Function::kSub:
      return x - y;
    case Function::kMul:
      return x * y;
    case Function::kDiv:
      return x / y;
    case Function::kNegate:
      return -x;
    case Function::kAbs:
      return fabsq(x);
    case Function::kMaximum:
      return Larger(x, y);
    case Function::kMinimum:
      return -Larger(-x, -y);
    case Function::kLess:
      return x < y ? 1 : 0;
    case Function::kLessEqual:
      return x <= y ? 1 : 0;
    case Function::kEqual:
      return x == y ? 1 : 0;
    case Function::kAnd:
      return x != 0 && y != 0 ? 1 : 0;
    case Function::kOr:
      return x != 0 || y != 0 ? 1 : 0;
    case Function::kSelect:
      return x != 0 ? y : z;
    case Function::kSqrt:
      return sqrtq(x);
    case Function::kRsqrt:
      return 1 / sqrtq(x);
    case Function::kExp:
      return expq(x);
    case Function::kOneMinusTanh:
      return 2 * Sigmoid(-2 * x);
    case Function::kSigmoid:
      return Sigmoid(x);
    case Function::kPow:
      return powq(x, y);
    case Function::kFloorDivide:
      return FloorQuotient(x, y);
    case Function::kNearest:
      return nearbyintq(x);
    default:
      return InQuad(function, x);
  }
}

// For each number of a result, the place of its operand's number in a block of one lane.
std::vector<size_t> PlacesOf(const Expansion& expansion, size_t operand, size_t result) {
  std::vector<double> numbers(operand), scratch;
  std::iota(numbers.begin(), numbers.end(), 0.0);
  const double* places = expansion.Of(numbers, 1, result, scratch);
  return {places, places + result};
}

std::vector<double> Doubles(const Quads& x) {
  std::vector<double> doubles;
  for (const Quad one : x) doubles.push_back(static_cast<double>(one));
  return doubles;
}

class Lane {
 public:
  Lane(const BlockPlan& plan, const NodeSpaces& spaces)
      : plan_(plan), spaces_(spaces), values_(plan.graph().nodes.size()), operands_(values_.size()) {
    for (size_t at = 0; at < values_.size(); ++at) {
      const Node& node = plan.graph().nodes[at];
      values_[at].resize(static_cast<size_t>(plan.Size(node.axes, 1)));
      for (size_t k = 0; k < spaces.expansions[at].size(); ++k) {
        operands_[at].push_back(PlacesOf(spaces.expansions[at][k], Of(node.args[k]).size(), values_[at].size()));
      }
    }
  }

  void Run(int64_t lane, std::span<const std::vector<double>> inputs) {
    for (size_t at = 0; at < values_.size(); ++at) Compute(at, lane, inputs);
  }
  const Quads& Of(int node) const { return values_[static_cast<size_t>(node)]; }

 private:
  void Compute(size_t at, int64_t lane, std::span<const std::vector<double>> inputs) {
    const Node& node = plan_.graph().nodes[at];
    switch (node.kind) {
      case Kind::kIn:
        return Input(at, lane, inputs[static_cast<size_t>(node.input)]);
      case Kind::kConst:
        std::ranges::fill(values_[at], static_cast<Quad>(node.constant) + static_cast<Quad>(node.constant_lo));
        return;
      case Kind::kIndex:
        for (size_t i = 0; i < values_[at].size(); ++i) values_[at][i] = static_cast<Quad>(i);
        return;
      case Kind::kMap:
        return Map(at);
      case Kind::kRecur:
        return Recur(at);
      case Kind::kAt:
        return Take(at, spaces_.places[at], 0);
      case Kind::kGather:
        return Take(at, Places(plan_, node, Doubles(Of(node.args.back()))), nanq(""));
      case Kind::kScatterAdd:
        return ScatterAdd(at);
      case Kind::kTopK:
        return Select(at);
      case Kind::kRound:
        values_[at] = Of(node.args[0]);
        return;
      default:
        return Reduce(at);
    }
  }

  void Input(size_t at, int64_t lane, const std::vector<double>& elements) {
    const Node& node = plan_.graph().nodes[at];
    const InputInfo& input = plan_.graph().inputs[static_cast<size_t>(node.input)];
    const int64_t own = plan_.LaneOffsets(input, {lane})[0];
    const std::vector<int64_t>& inner = spaces_.places[at];
    for (size_t i = 0; i < inner.size(); ++i) values_[at][i] = elements[static_cast<size_t>(inner[i] + own)];
  }

  Quad Operand(size_t at, size_t k, size_t i) const {
    const std::vector<int>& args = plan_.graph().nodes[at].args;
    return k < args.size() ? Of(args[k])[operands_[at][k][i]] : 0;
  }

  void Map(size_t at) {
    const Function function = plan_.graph().nodes[at].function;
    for (size_t i = 0; i < values_[at].size(); ++i) {
      values_[at][i] = Apply(function, Operand(at, 0, i), Operand(at, 1, i), Operand(at, 2, i));
    }
  }

  void Recur(size_t at) {
    const Node& node = plan_.graph().nodes[at];
    const size_t b = node.args.size() - 1;
    ForRecurrences(plan_, node, 1, [&](int64_t first, int64_t stride, int64_t steps) {
      Quad h = 0;
      for (int64_t t = 0; t < steps; ++t) {
        const auto i = static_cast<size_t>(first + t * stride);
        h = (b == 0 || t == 0 ? h : Operand(at, 0, i) * h) + Operand(at, b, i);
        values_[at][i] = h;
      }
    });
  }

  void Take(size_t at, const std::vector<int64_t>& places, Quad nowhere) {
    const Quads& from = Of(plan_.graph().nodes[at].args[0]);
    for (size_t i = 0; i < places.size(); ++i) {
      values_[at][i] = places[i] < 0 ? nowhere : from[static_cast<size_t>(places[i])];
    }
  }

  void ScatterAdd(size_t at) {
    const Node& node = plan_.graph().nodes[at];
    values_[at] = Of(node.args[0]);
    const std::vector<int64_t> places = Places(plan_, node, Doubles(Of(node.args[2])));
    for (size_t k = 0; k < places.size(); ++k) {
      if (places[k] >= 0) values_[at][static_cast<size_t>(places[k])] += Of(node.args[1])[k];
    }
  }

  // Selects in the order that the numbers have as sums of two doubles.
  void Select(size_t at) {
    const Node& node = plan_.graph().nodes[at];
    const Quads& from = Of(node.args[0]);
    const std::vector<double> hi = Doubles(from);
    std::vector<double> lo;
    for (size_t i = 0; i < hi.size(); ++i)
      lo.push_back(std::isfinite(hi[i]) ? static_cast<double>(from[i] - hi[i]) : 0);
    ForSelections(plan_, static_cast<int>(at), 1, [&](const SelectionLine& line) {
      const std::vector<int64_t> ranked = Rank(node, {hi.data(), lo.data(), line}, line.ranks);
      for (int64_t k = 0; k < line.ranks; ++k) {
        const int64_t place = ranked[static_cast<size_t>(k)];
        values_[at][static_cast<size_t>(line.to + k * line.to_stride)] =
            node.places ? static_cast<Quad>(place) : from[static_cast<size_t>(line.from + place * line.from_stride)];
      }
    });
  }

  void Reduce(size_t at) {
    const Node& node = plan_.graph().nodes[at];
    const Quads& from = Of(node.args[0]);
    const Quad least = -HUGE_VALQ;
    std::ranges::fill(values_[at], node.kind == Kind::kSum    ? Quad{0}
                                   : node.kind == Kind::kProd ? Quad{1}
                                   : node.kind == Kind::kMax  ? least
                                                              : -least);
    for (size_t k = 0; k < from.size(); ++k) {
      Quad& to = values_[at][static_cast<size_t>(spaces_.places[at][k])];
      if (node.kind == Kind::kSum) to += from[k];
      if (node.kind == Kind::kProd) to *= from[k];
      if (node.kind == Kind::kMax) to = Larger(from[k], to);
      if (node.kind == Kind::kMin) to = -Larger(-from[k], -to);
    }
  }

  const BlockPlan& plan_;
  const NodeSpaces& spaces_;
  std::vector<Quads> values_;                               // by node
  std::vector<std::vector<std::vector<size_t>>> operands_;  // by node, operand
};

// The lanes that have elements of infinite reach.
std::vector<int64_t> LanesToReplace(const BlockPlan& plan, const std::vector<double>& reach) {
  std::vector<bool> has(static_cast<size_t>(plan.lanes()));
  for (size_t i = 0; i < reach.size(); ++i) {
    if (reach[i] == kInfinity) has[static_cast<size_t>(plan.LaneOf(static_cast<int64_t>(i)))] = true;
  }
  std::vector<int64_t> lanes;
  for (size_t lane = 0; lane < has.size(); ++lane) {
    if (has[lane]) lanes.push_back(static_cast<int64_t>(lane));
  }
  return lanes;
}

void Store(Quad value, size_t element, Evaluation& evaluation) {
  const auto hi = static_cast<double>(value);
  evaluation.value[element] = hi;
  if (!evaluation.value_lo.empty()) {
    evaluation.value_lo[element] = std::isfinite(hi) ? static_cast<double>(value - hi) : 0;
  }
}

}  // namespace

void ReplaceUnbounded(const Graph& graph, const OutputInfo& output, std::span<const std::vector<double>> inputs,
                      Evaluation& evaluation) {
  if (std::ranges::find(evaluation.reach[0], kInfinity) == evaluation.reach[0].end()) return;
  const BlockPlan plan(graph, output);
  const NodeSpaces spaces(plan);
  const AxisSet own = graph.At(output.node).axes;
  const std::vector<int64_t> inner = plan.InnerOffsets(output);
  const std::vector<size_t> to_output =
      PlacesOf(Expansion(plan, own, OutputSet(output)), static_cast<size_t>(plan.Size(own, 1)), inner.size());
  const std::vector<int64_t> lanes = LanesToReplace(plan, evaluation.reach[0]);
  const int64_t at_once = std::max<int64_t>(1, kElementsAtOnce / std::ssize(inner));
  ParallelFor(std::ssize(lanes), at_once, [&](int64_t begin, int64_t end) {
    Lane lane(plan, spaces);
    for (int64_t k = begin; k < end; ++k) {
      lane.Run(lanes[static_cast<size_t>(k)], inputs);
      const int64_t first = plan.LaneOffsets(output, {lanes[static_cast<size_t>(k)]})[0];
      for (size_t i = 0; i < inner.size(); ++i) {
        const auto element = static_cast<size_t>(inner[i] + first);
        if (evaluation.reach[0][element] == kInfinity) {
          Store(lane.Of(output.node)[to_output[i]], element, evaluation);
        }
      }
    }
  });
}

}  // namespace assay::formula
