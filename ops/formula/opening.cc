// SPDX-License-Identifier: Apache-2.0
#include "ops/formula/opening.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "harness/core/data/infinity.h"
#include "ops/formula/block_worker.h"
#include "ops/formula/formula_text.h"

namespace assay::formula {
namespace {

// A number of a node's array in the block of one lane.
struct PlaceOfNode {
  int node = 0;
  size_t at = 0;
};

class OpeningSearch {
 public:
  OpeningSearch(const BlockPlan& plan, const BlockWorker& worker, double range)
      : plan_(plan), graph_(plan.graph()), worker_(worker), spaces_(plan), range_(range) {}

  bool IsOpen(const PlaceOfNode& place) const {
    const NodeError& error = worker_.propagations()[0].At(place.node);
    if (!error.zero && error.reach[std::min(place.at, error.reach.size() - 1)] == kInfinity) return true;
    return !graph_.limits.empty() && std::isnan(ValueOf(place));
  }

  // Precondition: the number is open.
  Opening Explain(PlaceOfNode place) const {
    for (;;) {
      const std::vector<PlaceOfNode> operands = OperandsOf(place);
      const auto open = std::ranges::find_if(operands, [this](const PlaceOfNode& one) { return IsOpen(one); });
      if (open == operands.end()) return Describe(place, operands);
      place = *open;
    }
  }

 private:
  double ValueOf(const PlaceOfNode& place) const { return worker_.values().Hi(place.node)[place.at]; }
  double ReachOf(const PlaceOfNode& place) const {
    const NodeError& error = worker_.propagations()[0].At(place.node);
    return error.zero ? 0 : error.reach[std::min(place.at, error.reach.size() - 1)];
  }
  std::string TextOf(int node) const { return FormulaText(graph_, node); }

  // The numbers that this one is computed from; of a selection that is certain, those that it reads.
  std::vector<PlaceOfNode> OperandsOf(const PlaceOfNode& place) const {
    const Node& node = graph_.At(place.node);
    std::vector<PlaceOfNode> operands;
    if (node.kind == Kind::kMap || node.kind == Kind::kRound) {
      for (const int arg : node.args) operands.push_back({arg, PlaceIn(arg, place)});
      const bool is_certain = Maps(node, Function::kSelect) && (ReachOf(operands[0]) == 0 || !MayBeZero(operands[0]));
      if (is_certain) operands.erase(operands.begin() + (ValueOf(operands[0]) != 0 ? 2 : 1));
      return operands;
    }
    for (const int arg : node.args) {
      const size_t size = worker_.values().Hi(arg).size();
      for (size_t at = 0; at < size; ++at) {
        const bool counts = !IsReduction(node.kind) || ToPlace(place.node, at) == place.at;
        if (counts) operands.push_back({arg, at});
      }
    }
    return operands;
  }

  size_t ToPlace(int node, size_t at) const {
    return static_cast<size_t>(spaces_.places[static_cast<size_t>(node)][at]);
  }

  // The place of a map's operand, whose array may lack axes of the result.
  size_t PlaceIn(int arg, const PlaceOfNode& result) const {
    std::vector<double> places(worker_.values().Hi(arg).size()), expanded;
    std::iota(places.begin(), places.end(), 0.0);
    const Expansion expansion(plan_, graph_.At(arg).axes, graph_.At(result.node).axes);
    const double* of_result = expansion.Of(places, 1, worker_.values().Hi(result.node).size(), expanded);
    return static_cast<size_t>(of_result[result.at]);
  }

  bool MayBeZero(const PlaceOfNode& place) const { return std::fabs(ValueOf(place)) <= ReachOf(place); }

  Opening Describe(const PlaceOfNode& place, const std::vector<PlaceOfNode>& operands) const {
    const Node& node = graph_.At(place.node);
    const std::string text = TextOf(place.node);
    if (node.kind == Kind::kGather || node.kind == Kind::kTopK || node.kind == Kind::kScatterAdd) {
      return {OpeningKind::kPlace, fmt::format("a place of {} may be another one, or does not exist", text)};
    }
    for (const PlaceOfNode& operand : operands) {
      if (std::isfinite(ValueOf(operand))) continue;
      return {OpeningKind::kNonFinite, fmt::format("{} has {} in {}, and roundings decide what comes of it", text,
                                                   ValueOf(operand), TextOf(operand.node))};
    }
    if (node.kind == Kind::kMap) {
      if (const auto opening = DescribeMap(node, operands, text)) return *opening;
    }
    if (!graph_.limits.empty()) {
      return {OpeningKind::kInteger, fmt::format("{} leaves the integers that its type holds", text)};
    }
    const double value = ValueOf(place);
    if (!std::isfinite(value) || std::fabs(value) + std::min(ReachOf(place), range_) >= range_) {
      return {OpeningKind::kRange, fmt::format("{} may leave the range of its arithmetic", text)};
    }
    return {OpeningKind::kOrder, fmt::format("{} may leave the range of its arithmetic in another order", text)};
  }

  std::optional<Opening> DescribeMap(const Node& node, const std::vector<PlaceOfNode>& operands,
                                     const std::string& text) const {
    const auto is = [&](const PlaceOfNode& place) { return ReachOf(place) == 0 ? "is" : "may be"; };
    const PlaceOfNode& first = operands[0];
    switch (node.function) {
      case Function::kDiv:
      case Function::kFloorDivide: {
        const PlaceOfNode& divisor = operands[1];
        const bool may_vanish = MayBeZero(divisor);
        return Opening{OpeningKind::kDivisor, fmt::format("the divisor {} of {} {} {}", TextOf(divisor.node), text,
                                                          may_vanish ? is(divisor) : "is",
                                                          may_vanish ? "0" : "so small that its reciprocal overflows")};
      }
      case Function::kSelect:
        if (ReachOf(first) == 0 || !MayBeZero(first)) return std::nullopt;
        return Opening{OpeningKind::kCondition, fmt::format("roundings decide {}", TextOf(first.node))};
      default:
        break;
    }
    const double value = ValueOf(first), reach = ReachOf(first);
    if (!IsOutside(node.function, value, reach)) return std::nullopt;
    return Opening{OpeningKind::kDomain, fmt::format("the operand {} of {} {} where that has no finite result",
                                                     TextOf(first.node), text, is(first))};
  }

  static bool IsOutside(Function function, double value, double reach) {
    switch (function) {
      case Function::kSqrt:
      case Function::kRsqrt:
      case Function::kLog:
      case Function::kLog2:
      case Function::kLog10:
      case Function::kPow:
        return value - reach <= 0;
      case Function::kLog1p:
        return value - reach <= -1;
      case Function::kAcosh:
        return value - reach < 1;
      case Function::kAsin:
      case Function::kAcos:
      case Function::kAtanh:
        return std::fabs(value) + reach >= 1;
      default:
        return false;
    }
  }

  const BlockPlan& plan_;
  const Graph& graph_;
  const BlockWorker& worker_;
  NodeSpaces spaces_;
  double range_;
};

}  // namespace

std::optional<Opening> FindOpening(const Graph& graph, const OutputInfo& output,
                                   const std::vector<std::vector<double>>& inputs, bool double_double,
                                   const ErrorRules& rules, int64_t element) {
  const BlockPlan plan(graph, output);
  const std::vector<std::span<const double>> spans(inputs.begin(), inputs.end());
  const Stage stage{&graph, &output, {&graph, output.node}, spans, {}};
  const int64_t lane = plan.LaneOf(element);
  std::optional<Opening> found;
  RunBlocks(plan, stage, double_double, {&rules, 1}, {&lane, 1},
            [&](const BlockWorker& worker, const LaneRange& lanes) {
              const int64_t first = plan.LaneOffsets(output, lanes)[0];
              const std::vector<int64_t> inner = plan.InnerOffsets(output);
              const auto at = std::ranges::find(inner, element - first) - inner.begin();
              const AxisSet axes = graph.At(output.node).axes;
              const std::vector<int64_t> places = Projection(plan, OutputSet(output), axes);
              const PlaceOfNode place{output.node, static_cast<size_t>(places[static_cast<size_t>(at)])};
              const OpeningSearch search(plan, worker, rules.range);
              if (search.IsOpen(place)) found = search.Explain(place);
            });
  return found;
}

}  // namespace assay::formula
