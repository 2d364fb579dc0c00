// SPDX-License-Identifier: Apache-2.0
// Errors of sums whose terms are added where data say.
#include <cmath>

#include "golden/bound/bound.h"
#include "golden/golden.h"
#include "harness/core/data/infinity.h"
#include "ops/formula/error.h"

namespace assay::formula {
namespace {

// Terms of one result, the base among them.
struct ScatteredSum {
  int64_t additions = 0;
  double magnitude = 0;  // of finite terms, with their reach
  double reach = 0;      // of the terms; of deviations the sum of their squares
  void Add(double x, double reach_of_x, bool quadrature) {
    magnitude += (std::isfinite(x) ? std::fabs(x) : 0) + reach_of_x;
    reach += quadrature ? reach_of_x * reach_of_x : reach_of_x;
  }
};

}  // namespace

// A sum of K terms rounds K - 1 times, in whatever order they come; what nothing is added to is a copy. Of deviations
// no running sum is more than half of all magnitudes and the result, whatever the order.
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
  error.r.resize(sums.size());
  for (size_t i = 0; i < sums.size(); ++i) {
    const ScatteredSum& sum = sums[i];
    const auto additions = static_cast<double>(sum.additions);
    const double y = values.v[i];
    if (quadrature) {
      const double peak = (sum.magnitude + std::fabs(y)) / 2, own = kRoundingDeviation * rules_.sum * peak;
      error.r[i] = std::isfinite(y) ? std::sqrt(sum.reach + additions * own * own) : 0;
      continue;
    }
    const double gamma = sum.additions > 0 ? SumError(additions, rules_.sum) : 0;
    const double lost = rules_.additions_underflow ? additions * rules_.lambda : 0;
    error.r[i] = sum.reach + gamma * sum.magnitude + lost;
    const bool is_copy = sum.additions == 0 && error.r[i] == 0;
    if (!(is_copy ? sum.magnitude <= rules_.range : (1 + gamma) * sum.magnitude < rules_.range)) error.r[i] = kInfinity;
    if (!std::isfinite(y) && error.r[i] < kInfinity) error.r[i] = 0;
  }
  Finish(index, values.v, error);
}

}  // namespace assay::formula
