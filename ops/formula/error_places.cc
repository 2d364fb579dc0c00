// SPDX-License-Identifier: Apache-2.0
// Errors of numbers that are taken from places, or added at places, that data say. A place that is computed may be off:
// then all places within its error may be meant.
#include <algorithm>
#include <cmath>

#include "golden/bound/bound.h"
#include "golden/golden.h"
#include "harness/core/data/infinity.h"
#include "ops/formula/error.h"

namespace assay::formula {
namespace {

// Places of a node if the index held place_of(i) for its number i; -1: none.
template <class PlaceOf>
std::vector<int64_t> PlacesIf(const BlockPlan& plan, const Node& node, size_t count, const PlaceOf& place_of) {
  std::vector<double> index;
  for (size_t i = 0; i < count; ++i) index.push_back(place_of(i));
  return Places(plan, node, index);
}

// Whether the index has places of a selection from no more than `extent` numbers, which exist, however far they are
// off.
bool AlwaysExist(const Graph& graph, int index, int64_t extent) {
  while (graph.At(index).kind == Kind::kAt) index = graph.At(index).args[0];
  const Node& node = graph.At(index);
  return node.places && graph.Extent(node.from_axis) <= extent;
}

// The places of an index that may be off.
struct DoubtfulIndex {
  std::span<const double> place;
  const NodeError& error;

  bool MayBe(size_t i, double place_meant) const {
    return IsDoubtful(i) && std::fabs(place_meant - place[i]) <= error.reach[i];
  }
  bool IsDoubtful(size_t i) const { return error.reach[i] > 0; }
  bool MayLeave(size_t i, double extent) const {
    return IsDoubtful(i) && !(place[i] - error.reach[i] >= 0 && place[i] + error.reach[i] <= extent - 1);
  }
};

double DistanceOf(double x, double y) {
  if (x == y || (std::isnan(x) && std::isnan(y))) return 0;
  const double distance = std::fabs(x - y);
  return std::isnan(distance) ? kInfinity : distance;
}

// Terms of one result, the base among them.
struct ScatteredSum {
  int64_t additions = 0;
  double magnitude = 0;  // of finite terms, with their reach
  double reach = 0;      // of the terms; of deviations the sum of their squares
  bool is_doubtful = false;
  void Add(double x, double reach_of_x, bool quadrature) {
    magnitude += (std::isfinite(x) ? std::fabs(x) : 0) + reach_of_x;
    reach += quadrature ? reach_of_x * reach_of_x : reach_of_x;
  }
  void AddDoubtful(double x, double reach_of_x) {
    const double size = std::isnan(x) ? kInfinity : std::fabs(x) + reach_of_x;
    magnitude += size, reach += size, ++additions;
    is_doubtful = true;
  }
};

}  // namespace

void Propagation::Gather(int index, const Gathered& values, std::span<const int64_t> source) {
  Move(index, source);
  const Node& node = NodeAt(index);
  const NodeError& table = At(node.args[0]);
  if (At(node.args[1]).zero) return;
  const DoubtfulIndex doubtful{values.index, At(node.args[1])};
  NodeError& error = errors_[static_cast<size_t>(index)];
  if (error.zero) error.r.assign(values.v.size(), 0), error.reach = error.r;
  const size_t width = values.v.size() / source.size();
  const int64_t extent = plan_->graph().Extent(node.from_axis);
  // Calls use(element of the result, element of the table) where place_of names a place.
  const auto visit = [&](const auto& place_of, const auto& use) {
    const std::vector<int64_t> from = PlacesIf(*plan_, node, values.index.size(), place_of);
    for (size_t k = 0; k < from.size(); ++k) {
      for (size_t lane = 0; from[k] >= 0 && lane < width; ++lane) {
        use(k * width + lane, static_cast<size_t>(from[k]) * width + lane);
      }
    }
  };
  visit([&](size_t i) { return doubtful.IsDoubtful(i) ? 0.0 : -1.0; },
        [&](size_t i, size_t) {
          for (NodeError::Symbol& symbol : error.symbols) symbol.g[i] = 0;
          error.r[i] = error.reach[i];
        });
  // Elements beyond the table may be anything, and deviations of a choice are not known.
  const bool always_exist = AlwaysExist(plan_->graph(), node.args[1], extent);
  const auto may_leave = [&](size_t i) {
    const bool leaves = !always_exist && doubtful.MayLeave(i, static_cast<double>(extent));
    const bool is_open = rules_.quadrature ? doubtful.IsDoubtful(i) : leaves;
    return is_open ? 0.0 : -1.0;
  };
  visit(may_leave, [&](size_t i, size_t) { error.r[i] = kInfinity; });
  for (int64_t p = 0; p < extent; ++p) {
    const auto place = static_cast<double>(p);
    visit([&](size_t i) { return doubtful.MayBe(i, place) ? place : -1.0; },
          [&](size_t i, size_t at) {
            const double reach = table.ReachAt(at);
            error.r[i] = std::max(error.r[i], DistanceOf(values.table[at], values.v[i]) + reach);
          });
  }
  Finish(index, {}, error);
}

// A sum of K terms rounds K - 1 times, in whatever order they come; what nothing is added to is a copy. Of deviations
// no running sum is more than half of all magnitudes and the result, whatever the order. A number whose place is in
// doubt is there or not, at each place that may be meant.
void Propagation::Scatter(int index, const Scattered& values, std::span<const int64_t> to) {
  const Node& node = NodeAt(index);
  const NodeError &base = At(node.args[0]), &updates = At(node.args[1]);
  NodeError& error = errors_[static_cast<size_t>(index)];
  const bool quadrature = rules_.quadrature;
  std::vector<ScatteredSum> sums(values.v.size());
  for (size_t i = 0; i < sums.size(); ++i) sums[i].Add(values.base[i], base.zero ? 0 : base.reach[i], quadrature);
  const size_t width = to.empty() ? 1 : values.updates.size() / to.size();
  for (size_t k = 0; k < to.size(); ++k) {
    for (size_t lane = 0; lane < width && to[k] >= 0; ++lane) {
      const size_t from = k * width + lane;
      ScatteredSum& sum = sums[static_cast<size_t>(to[k]) * width + lane];
      sum.Add(values.updates[from], updates.zero ? 0 : updates.reach[from], quadrature);
      ++sum.additions;
    }
  }
  const DoubtfulIndex doubtful{values.index, At(node.args[2])};
  const int64_t extent = doubtful.error.zero ? 0 : plan_->graph().Extent(node.axis);
  for (int64_t p = 0; p < extent; ++p) {
    const auto place = static_cast<double>(p);
    const std::vector<int64_t> meant =
        PlacesIf(*plan_, node, values.index.size(), [&](size_t i) { return doubtful.MayBe(i, place) ? place : -1; });
    for (size_t k = 0; k < meant.size(); ++k) {
      for (size_t lane = 0; lane < width && meant[k] >= 0; ++lane) {
        const size_t from = k * width + lane;
        sums[static_cast<size_t>(meant[k]) * width + lane].AddDoubtful(values.updates[from], updates.ReachAt(from));
      }
    }
  }
  error.r.resize(sums.size());
  for (size_t i = 0; i < sums.size(); ++i) {
    const ScatteredSum& sum = sums[i];
    const auto additions = static_cast<double>(sum.additions);
    const double y = values.v[i];
    if (quadrature) {
      const double peak = (sum.magnitude + std::fabs(y)) / 2, own = kRoundingDeviation * rules_.sum * peak;
      error.r[i] = !std::isfinite(y) ? 0 : sum.is_doubtful ? kInfinity : std::sqrt(sum.reach + additions * own * own);
      continue;
    }
    const bool is_exact = sum.magnitude <= ExactIntegers(node);
    const double gamma = sum.additions > 0 && !is_exact ? SumError(additions, rules_.sum) : 0;
    const double lost = rules_.additions_underflow && !is_exact ? additions * rules_.lambda : 0;
    error.r[i] = sum.reach + gamma * sum.magnitude + lost;
    const bool is_copy = sum.additions == 0 && error.r[i] == 0;
    if (!(is_copy ? sum.magnitude <= rules_.range : (1 + gamma) * sum.magnitude < rules_.range)) error.r[i] = kInfinity;
    if (!std::isfinite(y) && error.r[i] < kInfinity) error.r[i] = 0;
  }
  Finish(index, values.v, error);
}

}  // namespace assay::formula
