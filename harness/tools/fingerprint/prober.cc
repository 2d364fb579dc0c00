// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/fingerprint/prober.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/engine/device/executions.h"

namespace assay {
namespace {

// A number that absorbs units, and a unit.
struct Sizes {
  ProbeTerm large, unit;
};

// From the widest apart on. Results are multiples of the unit, which the output's type holds.
std::vector<Sizes> SizesFor(const Prober& prober) {
  const Problem& problem = prober.problem();
  const FloatFormat& in = FormatOf(problem.inputs[0].dtype);
  if (prober.sums().is_mean()) return {{{prober.sums().large()}, {1}}};
  if (in.min_exponent <= -126) {  // of f64, f32 and bf16
    const double large = in.min_exponent < -126 ? 0x1p900 : 0x1p100;
    return {{{large}, {1}}, {{0x1p15}, {0x1p-8}}};  // the second for accumulators of f16
  }
  if (!prober.sums().has_products()) return {{{0x1p15}, {0x1p-24}}, {{0x1p15}, {0x1p-14}}};
  return {{{0x1p15, 0x1p15}, {0x1p-7, 0x1p-7}}, {{0x1p7, 0x1p7}, {0x1p-7, 0x1p-7}}};
}

Result<std::vector<int>> AskBy(Prober& prober, const Sizes& sizes, const TermPairs& pairs, bool& overflows) {
  const int terms = prober.sums().terms();
  std::vector<int> answers;
  const auto most = static_cast<size_t>(prober.sums().sums());
  for (size_t first = 0; first < pairs.size(); first += most) {
    std::vector<ProbeSum> sums;
    for (size_t p = first; p < std::min(pairs.size(), first + most); ++p) {
      sums.emplace_back(static_cast<size_t>(terms), sizes.unit);
      sums.back()[pairs[p].first] = sizes.large;
      sums.back()[pairs[p].second] = {-sizes.large.a, sizes.large.b};
    }
    const auto results = prober.Execute(sums);
    if (!results) return tl::unexpected(results.error());
    for (const double result : *results) {
      overflows = overflows || !std::isfinite(result);
      const double units = result / sizes.unit.value(), left = std::round(units);
      if (!(std::fabs(units - left) < 0.25) || left < 0 || left > terms - 2) {
        return Fail(ErrorCode::kUnsupported,
                    fmt::format("a probe came back as {:g} units of {:g}, which no order of {} terms gives", units,
                                sizes.unit.value(), terms));
      }
      answers.push_back(terms - static_cast<int>(left));
    }
  }
  return answers;
}

}  // namespace

Result<Tensor> Prober::Output(const std::vector<Tensor>& inputs) {
  ++executions_;
  auto execution = plan_.Execute(inputs, Prefill::kNanPayload);
  if (!execution) return Fail(ErrorCode::kUnavailable, execution.error().message);
  return std::move(execution->outputs.front());
}

Result<std::vector<double>> Prober::Execute(std::span<const ProbeSum> sums) {
  std::vector<double> results;
  auto done =
      ForEachSum(sums, [&](const std::vector<double>& output, int sum) { results.push_back(case_.Read(output, sum)); });
  if (!done) return tl::unexpected(done.error());
  return results;
}

Result<std::vector<std::vector<double>>> Prober::ExecuteAll(std::span<const ProbeSum> sums) {
  std::vector<std::vector<double>> results;
  auto done = ForEachSum(
      sums, [&](const std::vector<double>& output, int sum) { results.push_back(case_.ReadAll(output, sum)); });
  if (!done) return tl::unexpected(done.error());
  return results;
}

Status Prober::ForEachSum(std::span<const ProbeSum> sums,
                          const std::function<void(const std::vector<double>&, int)>& read) {
  for (size_t first = 0; first < sums.size(); first += static_cast<size_t>(case_.sums())) {
    const auto some = sums.subspan(first, std::min(sums.size() - first, static_cast<size_t>(case_.sums())));
    const auto output = Output(case_.MakeInputs(problem_, some));
    if (!output) return tl::unexpected(output.error());
    const std::vector<double> values = output->ToDoubles();
    for (int sum = 0; sum < std::ssize(some); ++sum) read(values, sum);
  }
  return {};
}

Result<double> Prober::Execute(const ProbeSum& sum) {
  const auto results = Execute(std::span(&sum, 1));
  if (!results) return tl::unexpected(results.error());
  return results->front();
}

Result<bool> Prober::IsEqualEverywhere(const ProbeSum& sum) {
  const auto output = Output(case_.MakeAlike(problem_, sum));
  if (!output) return tl::unexpected(output.error());
  return case_.AreAlike(output->ToDoubles());
}

Result<std::string> Prober::HashOf(std::span<const ProbeSum> sums) {
  const auto output = Output(case_.MakeInputs(problem_, sums));
  if (!output) return tl::unexpected(output.error());
  return assay::HashOf(*output);
}

Result<RevealedOrder> RevealOrder(Prober& prober) {
  if (prober.sums().are_exponentials() || prober.sums().are_squares()) return RevealOrderByThrees(prober);
  if (prober.sums().is_mean() && prober.sums().terms() < 3) {
    return Fail(ErrorCode::kUnsupported, "a sum of two terms has one order");
  }
  Error last;
  for (const Sizes& sizes : SizesFor(prober)) {
    bool overflows = false;
    auto order =
        RevealBy(prober.sums().terms(), [&](const TermPairs& pairs) { return AskBy(prober, sizes, pairs, overflows); });
    if (order) return order;
    last = std::move(order.error());
    if (!overflows) break;
  }
  return tl::unexpected(last);
}

Result<RevealedOrder> RevealBy(int terms, const AskSubtrees& ask_subtrees) {
  size_t answered = 0;
  bool of_two = true;
  auto tree = RevealSumTree(terms, [&](const TermPairs& pairs) {
    auto answers = ask_subtrees(pairs);
    if (answers) answered += pairs.size();
    of_two = of_two && answers && std::ranges::all_of(*answers, [](int size) { return size == 2; });
    return answers;
  });
  if (tree) return RevealedOrder{*std::move(tree), false};
  if (answered > 1 && of_two) return RevealedOrder{{}, true};
  return tl::unexpected(tree.error());
}

}  // namespace assay
