// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/explain/ranking.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <tuple>

#include "harness/core/data/infinity.h"
#include "harness/engine/device/executions.h"
#include "harness/judge/judge.h"
#include "harness/judge/localise.h"

namespace assay {
namespace {

// Errors of one value in its tolerances.
double ShareOf(const Judgement& judged) {
  if (!judged.finite) return judged.accepted ? 0 : kInfinity;
  if (judged.error == 0) return 0;
  const double tolerance = judged.Tolerance();
  return tolerance > 0 ? std::fabs(judged.error) / tolerance : judged.accepted ? 0 : kInfinity;
}

bool IsSame(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

ResultDifference CompareOutput(const CaseWithOutputs& of, size_t output, const RankedResult& a, const RankedResult& b) {
  const Problem& problem = of.data.problem;
  const Golden& golden = of.data.outputs[output].golden;
  const Tensor& first = of.results[a.result].outputs[output];
  const BoundModel bound = of.data.op->Bound(problem, output, golden, a.contract);
  const ElementJudge judge(golden, bound, a.contract, first.dtype());
  const std::vector<double> ours = first.ToDoubles(), theirs = of.results[b.result].outputs[output].ToDoubles();
  const int64_t parts = std::ssize(ours) / std::max<int64_t>(1, first.size());
  FailureMap map(problem.outputs[output].shape);
  ResultDifference found{.output = output, .elements = first.size(), .furthest = -1};
  for (size_t i = 0; i < ours.size(); ++i) {
    if (IsSame(ours[i], theirs[i])) continue;
    const double y = golden.value[i];
    map.Add(static_cast<int64_t>(i) / parts);
    found.nearer += std::fabs(ours[i] - y) < std::fabs(theirs[i] - y) || std::isnan(theirs[i]) ? 1 : 0;
    const double tolerance = judge.Judge(static_cast<int64_t>(i), theirs[i]).Tolerance();
    const double distance = std::fabs(ours[i] - theirs[i]);
    const double tolerances = std::isfinite(distance) && tolerance > 0 ? distance / tolerance : kInfinity;
    if (found.furthest >= 0 && !(tolerances > found.tolerances)) continue;
    found.furthest = static_cast<int64_t>(i) / parts, found.tolerances = tolerances;
    found.first = ours[i], found.second = theirs[i], found.golden = y;
    if (IsFloat(first.dtype())) found.ulps = distance / UlpAt(FormatOf(first.dtype()), y);
  }
  found.differing = map.count(), found.where = map.Text();
  return found;
}

// Names of results of equal bits.
std::string NamesOf(const CaseWithOutputs& of, const Ranking& ranking, const std::vector<size_t>& ranks) {
  std::vector<std::string> names;
  for (const size_t rank : ranks) names.push_back(of.results[ranking.order[rank].result].name);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string DifferenceText(const CaseWithOutputs& of, const ResultDifference& found, const std::string& nearest) {
  const Operand& output = of.data.problem.outputs[found.output];
  return fmt::format(
      "  {}: {}\n    furthest apart at {}: {:.9g} and {:.9g}, golden {:.9g}: {}{:.3g} tolerances\n    {} is nearer "
      "to the golden value in {} of {} that differ\n",
      output.name, found.where, IndexText(output.shape, found.furthest), found.first, found.second, found.golden,
      found.ulps > 0 ? fmt::format("{:.3g} ulp, ", found.ulps) : "", found.tolerances, nearest, found.nearer,
      found.differing);
}

}  // namespace

void MeasureDistance(const CaseWithOutputs& of, RankedResult& result) {
  double squares = 0;
  int64_t finite = 0;
  for (const PreparedOutput& output : of.data.outputs) {
    const Operand& operand = of.data.problem.outputs[output.number];
    const BoundModel bound = of.data.op->Bound(of.data.problem, output.number, output.golden, result.contract);
    const ElementJudge judge(output.golden, bound, result.contract, operand.dtype);
    const std::vector<double> got = of.results[result.result].outputs[output.number].ToDoubles();
    const int64_t parts = std::ssize(got) / std::max<int64_t>(1, NumElements(operand.shape));
    for (int64_t i = 0; i < std::ssize(got); ++i) {
      const Judgement judged = judge.Judge(i, got[static_cast<size_t>(i)]);
      result.wrong += judged.accepted ? 0 : 1;
      if (judged.finite) squares += judged.error * judged.error, ++finite;
      const double share = ShareOf(judged);
      if (!result.place.empty() && !(share > result.share)) continue;
      result.share = share, result.place = operand.name + IndexText(operand.shape, i / parts);
    }
  }
  result.rms = finite > 0 ? std::sqrt(squares / static_cast<double>(finite)) : 0;
}

Ranking RankResults(const CaseWithOutputs& of, std::vector<RankedResult> results) {
  Ranking ranking;
  for (RankedResult& result : results) MeasureDistance(of, result);
  // Tolerances are those of each result's own contract: of two that differ they do not tell which is nearer.
  std::ranges::stable_sort(results, {},
                           [](const RankedResult& r) { return std::tuple(r.fails, std::isinf(r.share), r.rms); });
  ranking.order = std::move(results);
  for (size_t rank = 0; rank < ranking.order.size(); ++rank) {
    const auto outputs = [&](size_t other) -> const std::vector<Tensor>& {
      return of.results[ranking.order[other].result].outputs;
    };
    const auto same = std::ranges::find_if(
        ranking.equal, [&](const auto& set) { return SameBits(outputs(set.front()), outputs(rank)); });
    if (same == ranking.equal.end()) {
      ranking.equal.push_back({rank});
    } else {
      same->push_back(rank);
    }
  }
  const auto fails = [](const RankedResult& r) { return r.fails; };
  if (ranking.order.size() > 2 && std::ranges::count_if(ranking.order, fails) == 1)
    ranking.odd = ranking.order.size() - 1;
  for (size_t set = 1; set < ranking.equal.size(); ++set) {
    ranking.differences.emplace_back();
    for (size_t output = 0; output < of.data.outputs.size(); ++output) {
      ranking.differences.back().push_back(
          CompareOutput(of, output, ranking.order[0], ranking.order[ranking.equal[set].front()]));
    }
  }
  return ranking;
}

std::string RankingText(const CaseWithOutputs& of, const Ranking& ranking) {
  if (ranking.order.size() < 2) return "";
  std::string text = "ranking: what holds before what fails, and of these the nearest to the golden values first:\n";
  size_t width = 0;
  for (const NamedResult& result : of.results) width = std::max(width, result.name.size());
  text += fmt::format("  {:<{}} {:<14} {:>12} {:<14} {:>10} {:>8}\n", "result", width, "verdict", "tolerances", "at",
                      "rms error", "wrong");
  for (const RankedResult& result : ranking.order) {
    text += fmt::format("  {:<{}} {:<14} {:>12.3g} {:<14} {:>10.3g} {:>8}\n", of.results[result.result].name, width,
                        result.verdict, result.share, result.place, result.rms, result.wrong);
  }
  for (const std::vector<size_t>& set : ranking.equal) {
    if (set.size() > 1) text += "equal bits: " + NamesOf(of, ranking, set) + "\n";
  }
  if (ranking.odd) text += fmt::format("odd one out: {}\n", of.results[ranking.order[*ranking.odd].result].name);
  const std::string nearest = of.results[ranking.order[0].result].name;
  for (size_t set = 1; set < ranking.equal.size(); ++set) {
    const std::string other = NamesOf(of, ranking, ranking.equal[set]);
    text += fmt::format("{} and {} differ:\n", nearest, other);
    for (const ResultDifference& found : ranking.differences[set - 1]) {
      if (found.differing > 0) text += DifferenceText(of, found, nearest);
    }
  }
  return text;
}

Json RankingJson(const CaseWithOutputs& of, const Ranking& ranking) {
  const auto number = [](double x) { return std::isfinite(x) ? Json(x) : Json(); };
  Json json = {{"order", Json::array()}, {"equal_bits", Json::array()}, {"differences", Json::array()}};
  const auto name_of = [&](size_t rank) { return of.results[ranking.order[rank].result].name; };
  json["odd_one_out"] = ranking.odd ? Json(name_of(*ranking.odd)) : Json();
  for (const RankedResult& result : ranking.order) {
    json["order"].push_back({{"name", of.results[result.result].name},
                             {"verdict", result.verdict},
                             {"fails", result.fails},
                             {"tolerances", number(result.share)},
                             {"at", result.place},
                             {"rms_err", number(result.rms)},
                             {"wrong", result.wrong}});
  }
  for (size_t set = 0; set < ranking.equal.size(); ++set) {
    Json names = Json::array();
    for (const size_t rank : ranking.equal[set]) names.push_back(name_of(rank));
    json["equal_bits"].push_back(std::move(names));
    if (set == 0) continue;
    for (const ResultDifference& found : ranking.differences[set - 1]) {
      if (found.differing == 0) continue;
      json["differences"].push_back({{"between", {name_of(0), name_of(ranking.equal[set].front())}},
                                     {"output", of.data.problem.outputs[found.output].name},
                                     {"differing", found.differing},
                                     {"where", found.where},
                                     {"ulp", number(found.ulps)},
                                     {"tolerances", number(found.tolerances)},
                                     {"first_is_nearer", found.nearer}});
    }
  }
  return json;
}

}  // namespace assay
