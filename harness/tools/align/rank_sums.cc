// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/align/rank_sums.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "ops/slices.h"
#include "ops/subproblem.h"

namespace assay {
namespace {

constexpr std::pair<RankOrder, const char*> kOrders[] = {
    {RankOrder::kInOrder, "in order"}, {RankOrder::kTree, "tree"}, {RankOrder::kRing, "ring"}};

Tensor Add(const Tensor& a, const Tensor& b) {
  std::vector<double> sums = a.ToDoubles();
  const std::vector<double> others = b.ToDoubles();
  for (size_t i = 0; i < sums.size(); ++i) sums[i] += others[i];
  Tensor sum(a.dtype(), a.shape());
  sum.SetDoubles(sums);
  return sum;
}

Tensor AddFrom(std::span<const Tensor> parts, size_t first) {
  Tensor sum = parts[first].Clone();
  for (size_t k = 1; k < parts.size(); ++k) sum = Add(sum, parts[(first + k) % parts.size()]);
  return sum;
}

Tensor AddPairs(std::span<const Tensor> parts) {
  if (parts.size() == 1) return parts[0].Clone();
  const size_t half = (parts.size() + 1) / 2;
  return Add(AddPairs(parts.first(half)), AddPairs(parts.subspan(half)));
}

// Elements of part r of the output are summed from the rank behind r on, so that they end at r.
Tensor AddAround(std::span<const Tensor> parts) {
  Tensor made = AddFrom(parts, 1 % parts.size());
  std::vector<double> values = made.ToDoubles();
  for (size_t rank = 1; rank < parts.size(); ++rank) {
    const std::vector<double> from = AddFrom(parts, (rank + 1) % parts.size()).ToDoubles();
    const size_t begin = values.size() * rank / parts.size(), end = values.size() * (rank + 1) / parts.size();
    std::copy(from.begin() + static_cast<int64_t>(begin), from.begin() + static_cast<int64_t>(end),
              values.begin() + static_cast<int64_t>(begin));
  }
  made.SetDoubles(values);
  return made;
}

Tensor TakeSummed(const Tensor& tensor, size_t) {
  return tensor.Clone();
}

void AddRanks(const Operator& op, const Problem& problem, const std::vector<int64_t>& axes, int64_t extent, int64_t n,
              std::vector<Configuration>& all) {
  SliceCut cut{axes, {}, std::vector<int64_t>(static_cast<size_t>(extent / n))};
  std::iota(cut.indices.begin(), cut.indices.end(), int64_t{0});
  const std::optional<Problem> part = BindSlices(op, problem, std::span(&cut, 1));
  if (!part) return;
  Configuration of{"", *part, {}, 1, {}, TakeSummed, TakeSummed};
  of.is_sum = true;
  for (int64_t rank = 0; rank < n; ++rank) {
    const auto inputs = [cut, part = *part](const std::vector<Tensor>& whole) { return TakeTerms(whole, cut, part); };
    of.parts.push_back({*part, inputs});
    for (int64_t& index : cut.indices) index += extent / n;
  }
  for (const auto& [order, name] : kOrders) {
    if (n == 2 && order != RankOrder::kInOrder) continue;  // one sum of two
    of.name = fmt::format("{}: {} ranks, {}", ChangedAttribute(problem, *part), n, name);
    of.joined = [order](std::span<const std::vector<Tensor>> parts) {
      std::vector<Tensor> sums;
      for (const std::vector<Tensor>& one : parts) sums.push_back(one.front().Clone());
      Tensor sum = SumOverRanks(sums, order);
      sums.clear();
      sums.push_back(std::move(sum));
      return sums;
    };
    all.push_back(of);
  }
}

}  // namespace

Tensor SumOverRanks(std::span<const Tensor> parts, RankOrder order) {
  return order == RankOrder::kTree ? AddPairs(parts) : order == RankOrder::kRing ? AddAround(parts) : AddFrom(parts, 0);
}

std::vector<Tensor> TakeTerms(const std::vector<Tensor>& whole, const SliceCut& cut, const Problem& part) {
  std::vector<Tensor> taken;
  for (size_t i = 0; i < whole.size(); ++i) {
    taken.push_back(cut.inputs[i] < 0 ? whole[i].Clone() : TakeAlong(whole[i], cut.inputs[i], cut.indices));
    taken.back().Reshape(part.inputs[i].shape);
  }
  return taken;
}

std::vector<std::pair<int64_t, std::vector<int64_t>>> ListSummedAxes(const Operator& op, const Problem& problem) {
  std::vector<std::pair<int64_t, std::vector<int64_t>>> summed;
  for (const SliceAxes& axes : op.Slices(problem, 0)) {
    if (axes.output < 0) summed.emplace_back(axes.extent, axes.inputs);
  }
  for (const auto& [extent, axes] : ListTermAxes(op, problem, 0)) summed.emplace_back(extent, axes);
  return summed;
}

std::vector<Configuration> ListRankSums(const Operator& op, const Problem& problem, std::span<const int64_t> ranks) {
  std::vector<Configuration> all;
  if (problem.outputs.size() != 1) return all;
  for (const int64_t n : ranks) {
    for (const auto& [extent, axes] : ListSummedAxes(op, problem)) {
      if (extent % n == 0) AddRanks(op, problem, axes, extent, n, all);
    }
  }
  return all;
}

}  // namespace assay
