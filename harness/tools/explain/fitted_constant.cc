// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/explain/fitted_constant.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "harness/tools/explain/wrong_places.h"
#include "ops/formula/faults.h"
#include "ops/formula_operator/formula_operator.h"

namespace assay {
namespace {

constexpr size_t kMostLookedAt = 4;
constexpr double kLeastChange = 0.01;  // a number that is nearer is likelier to be rounded

class ConstantFit {
 public:
  ConstantFit(const WrongResult& result, const formula::Graph& whole)
      : result_(result), whole_(whole), inputs_(ReadElements(result.inputs)) {
    const Tensor& got = result.got[result.output];
    for (const int64_t element : std::span(result.elements).first(std::min(kMostLookedAt, result.elements.size()))) {
      double value = 0;
      got.Read(element, {&value, 1});
      if (std::isfinite(value)) wrong_.push_back({element, value});
    }
  }

  // Whether the elements that are looked at are what was meant times one number, which any factor of the formula makes.
  bool IsOneFactor() const {
    constexpr double kAlike = 1e-4;
    const auto factor = [&](const Wrong& wrong) {
      return wrong.got / result_.golden.value[static_cast<size_t>(wrong.element)];
    };
    return std::ranges::all_of(wrong_, [&](const Wrong& wrong) {
      return std::fabs(factor(wrong) - factor(wrong_[0])) <= kAlike * std::fabs(factor(wrong_[0]));
    });
  }

  // The shortest number by which the elements that are looked at hold.
  std::optional<double> Find(int node) {
    if (wrong_.size() < 2) return std::nullopt;
    const std::optional<double> exact = Solve(node);
    if (!exact || !(std::fabs(*exact - whole_.At(node).constant) > kLeastChange * std::fabs(whole_.At(node).constant)))
      return std::nullopt;
    for (const int digits : {1, 2, 3, 4, 6, 9, 15, 17}) {
      const double number = std::stod(fmt::format("{:.{}g}", *exact, digits));
      if (Explains(node, number)) return number;
      if (result_.work->IsOver()) break;
    }
    return std::nullopt;
  }

 private:
  struct Wrong {
    int64_t element;
    double got;
  };

  std::vector<double> ValuesFor(int node, double number, size_t count) {
    const auto changed = formula::ChangeGraph(whole_, formula::ReplaceConstant(whole_, node, number));
    const formula::Graph graph = formula::KeepOutput(*changed, result_.output);
    formula::LaneEvaluator evaluator(graph, graph.outputs[0], inputs_);
    result_.work->Spend(EstimateSecondsOfGraph(evaluator));
    std::vector<double> values;
    for (const Wrong& wrong : std::span(wrong_).first(count)) {
      result_.work->Spend(EstimateSecondsOfLane(evaluator));
      const int64_t lane = evaluator.LaneOf(wrong.element);
      const std::vector<int64_t> in_lane = evaluator.Elements(lane);
      const auto at = std::ranges::find(in_lane, wrong.element) - in_lane.begin();
      values.push_back(evaluator.Run(lane, {})[static_cast<size_t>(at)]);
    }
    return values;
  }

  // By secants, from the constant that was meant: the number that makes the first element.
  std::optional<double> Solve(int node) {
    constexpr int kMostSteps = 24;
    double before = whole_.At(node).constant, x = before * 1.125;
    double error_before = ValuesFor(node, before, 1)[0] - wrong_[0].got;
    for (int step = 0; step < kMostSteps && !result_.work->IsOver(); ++step) {
      const double error = ValuesFor(node, x, 1)[0] - wrong_[0].got;
      if (std::fabs(error) <= 4e-16 * std::fabs(wrong_[0].got)) return x;
      const double next = x - error * (x - before) / (error - error_before);
      if (!std::isfinite(next)) return error == error_before && step > 2 ? std::optional(x) : std::nullopt;
      before = x, error_before = error;
      if (std::fabs(next - x) <= 1e-14 * std::fabs(x)) return next;
      x = next;
    }
    return std::nullopt;
  }

  bool Explains(int node, double number) {
    const std::vector<double> values = ValuesFor(node, number, wrong_.size());
    for (size_t i = 0; i < wrong_.size(); ++i) {
      const double tolerance = result_.places->judge().Judge(wrong_[i].element, wrong_[i].got).Tolerance();
      if (!(std::fabs(values[i] - wrong_[i].got) <= tolerance)) return false;
    }
    return true;
  }

  const WrongResult& result_;
  const formula::Graph& whole_;
  const std::vector<std::vector<double>> inputs_;
  std::vector<Wrong> wrong_;
};

// A constant that is no factor of a fill, as 0 and the lowest number of a mask are.
bool MayBeFitted(const formula::Node& node) {
  return node.kind == formula::Kind::kConst && node.constant != 0 && std::fabs(node.constant) < 0x1p64;
}

}  // namespace

std::vector<CaseChange> FitConstants(const WrongResult& result, const formula::Graph& whole, const Problem& stated) {
  std::vector<CaseChange> changes;
  if (IsComplex(result.got[result.output].dtype()) || !IsFloat(result.got[result.output].dtype())) return changes;
  if (result.places->TakeWrongElements(kLeastFitted).size() < kLeastFitted) return changes;
  ConstantFit fit(result, whole);
  for (int node = 0; node < static_cast<int>(whole.nodes.size()) && !result.work->IsOver(); ++node) {
    if (!MayBeFitted(whole.At(node))) continue;
    const std::optional<double> number = fit.Find(node);
    if (!number) continue;
    const auto attr = std::ranges::find_if(stated.attrs, [&](const ResolvedAttr& one) {
      return one.type == AttrType::kFloat && one.f == whole.At(node).constant;
    });
    if (attr != stated.attrs.end()) changes.push_back({attr->key, fmt::format("{}", *number)});
    if (!fit.IsOneFactor()) changes.push_back({.formula = formula::ReplaceConstant(whole, node, *number)});
  }
  return changes;
}

}  // namespace assay
