// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/explain/narrowed_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/core/base/stopwatch.h"
#include "ops/formula/formula_text.h"

namespace assay {
namespace {

using formula::Graph;
using formula::Narrowing;
using What = Narrowing::What;

constexpr int kBitsOfResults[] = {8, 11, 9, 10, 12, 13, 14, 16, 18}, kBitsOfSums[] = {8, 11, 24};
constexpr double kNearlyEqual = 1.2;  // times the rms error of the best

std::string FormatText(int bits) {
  return bits == 8 ? "bf16" : bits == 11 ? "f16" : bits == 24 ? "f32" : fmt::format("{} bits", bits);
}

std::string DescribeNarrowing(const Graph& graph, const Narrowing& narrowing) {
  const std::string node = formula::FormulaText(graph, narrowing.node), format = FormatText(narrowing.bits);
  switch (narrowing.what) {
    case What::kRunningSum:
      return fmt::format("running sums {} in {}", node, format);
    case What::kReciprocal:
      return fmt::format("the reciprocal of {} rounded to {}",
                         formula::FormulaText(graph, graph.At(narrowing.node).args[1]), format);
    case What::kResult:
      break;
  }
  const std::string where = narrowing.user < 0 ? "" : " in " + formula::FormulaText(graph, narrowing.user);
  return fmt::format("{} rounded to {}{}", node, format, where);
}

// From the outputs back to the inputs: sums and functions, whose results kernels keep.
std::vector<Narrowing> ListNarrowings(const Graph& graph) {
  std::vector<Narrowing> all;
  std::vector<std::vector<int>> users(graph.nodes.size());
  for (int i = 0; i < static_cast<int>(graph.nodes.size()); ++i) {
    for (const int arg : graph.At(i).args) users[static_cast<size_t>(arg)].push_back(i);
  }
  for (int node = static_cast<int>(graph.nodes.size()) - 1; node >= 0; --node) {
    const formula::Node& info = graph.At(node);
    const std::vector<int>& of_node = users[static_cast<size_t>(node)];
    const bool is_computed = info.kind == formula::Kind::kMap || formula::IsReduction(info.kind) ||
                             (info.kind == formula::Kind::kConst && info.constant != std::trunc(info.constant));
    if (!is_computed || info.numbers != formula::Numbers::kReal) continue;
    for (const int bits : kBitsOfResults) {
      all.push_back({.node = node, .bits = bits});
      for (const int user : of_node) {
        if (of_node.size() > 1) all.push_back({.node = node, .user = user, .bits = bits});
      }
      if (formula::Maps(info, formula::Function::kDiv))
        all.push_back({.what = What::kReciprocal, .node = node, .bits = bits});
    }
    for (const int bits : kBitsOfSums) {
      if (info.kind == formula::Kind::kSum) all.push_back({.what = What::kRunningSum, .node = node, .bits = bits});
    }
  }
  return all;
}

class NarrowingSearch {
 public:
  NarrowingSearch(const FormulaOfResult& formula, const WrongResult& result)
      : result_(result),
        evaluator_(formula.graph, formula.graph.outputs[0], formula.inputs),
        got_(result.got[result.output].ToDoubles()) {}

  // How the result is made by it. Elements that are right as meant do not count where `reach` is wrong places.
  Reach Explain(const Narrowing& narrowing, ResultFit& fit) {
    if (!IsNearWorst(narrowing)) return Reach::kNothing;
    const std::vector<double> values = Evaluate(narrowing);
    for (const Reach reach : {Reach::kAll, Reach::kWrongPlaces}) {
      if (Fits(values, reach, fit)) return reach;
    }
    return Reach::kNothing;
  }

 private:
  const WrongPlaces& places() const { return *result_.places; }

  bool IsNearWorst(const Narrowing& narrowing) {
    constexpr size_t kMost = 3;
    for (size_t i = 0; i < std::min(kMost, result_.elements.size()); ++i) {
      const int64_t element = result_.elements[i], lane = evaluator_.LaneOf(element);
      const std::vector<int64_t> in_lane = evaluator_.Elements(lane);
      const auto at = static_cast<size_t>(std::ranges::find(in_lane, element) - in_lane.begin());
      const double got = got_[static_cast<size_t>(element)];
      const Judgement meant = places().judge().Judge(element, got);
      const double left = std::fabs(evaluator_.RunNarrowed(lane, narrowing)[at] - got);
      if (!(left <= std::max(std::fabs(meant.error) / 2, meant.Tolerance()))) return false;
    }
    return true;
  }

  std::vector<double> Evaluate(const Narrowing& narrowing) {
    std::vector<double> all(got_.size());
    for (int64_t lane = 0; lane < evaluator_.lanes(); ++lane) {
      const std::vector<int64_t> elements = evaluator_.Elements(lane);
      const std::span<const double> values = evaluator_.RunNarrowed(lane, narrowing);
      for (size_t i = 0; i < elements.size(); ++i) all[static_cast<size_t>(elements[i])] = values[i];
    }
    return all;
  }

  bool Fits(const std::vector<double>& values, Reach reach, ResultFit& fit) const {
    double squares = 0, squares_meant = 0;
    int64_t looked_at = 0, within = 0;
    fit = {.values = std::ssize(values)};
    for (int64_t i = 0; i < fit.values; ++i) {
      if (reach == Reach::kWrongPlaces && !places().IsWrong(i)) continue;
      const double got = got_[static_cast<size_t>(i)], error = got - values[static_cast<size_t>(i)];
      const Judgement meant = places().judge().Judge(i, got);
      if (!std::isfinite(error) || !meant.finite) return false;
      ++looked_at;
      within += std::fabs(error) <= meant.Tolerance() ? 1 : 0;
      squares += error * error, squares_meant += meant.error * meant.error;
    }
    const auto count = static_cast<double>(looked_at);
    fit.wrong = looked_at - within, fit.equal = 0, fit.rms = std::sqrt(squares / std::max(1.0, count));
    return looked_at >= kLeastLookedAt && static_cast<double>(within) >= kLeastWithin * count &&
           kLeastTimes * kLeastTimes * squares <= squares_meant;
  }

  static constexpr int64_t kLeastLookedAt = 8;
  const WrongResult& result_;
  formula::LaneEvaluator evaluator_;
  std::vector<double> got_;
};

}  // namespace

std::vector<NarrowedNode> FindNarrowedNodes(const FormulaOfResult& formula, const WrongResult& result, double seconds) {
  const Stopwatch time;
  std::vector<NarrowedNode> found;
  NarrowingSearch search(formula, result);
  for (const Narrowing& narrowing : ListNarrowings(formula.graph)) {
    if (time.Seconds() > seconds) break;
    ResultFit fit;
    const Reach reach = search.Explain(narrowing, fit);
    if (reach == Reach::kNothing) continue;
    found.push_back({narrowing, DescribeNarrowing(formula.graph, narrowing), fit, reach});
  }
  std::ranges::stable_sort(found, [](const NarrowedNode& a, const NarrowedNode& b) {
    return a.reach != b.reach ? a.reach > b.reach : a.fit.rms < b.fit.rms;
  });
  std::erase_if(found, [&](const NarrowedNode& one) { return one.fit.rms > kNearlyEqual * found.front().fit.rms; });
  return found;
}

}  // namespace assay
