// SPDX-License-Identifier: Apache-2.0
// The tokens that a sampler may draw.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "backends/cpu/rows.h"

namespace cpu {

// logits [n] -> mask [n].
struct TokenMask {
  static constexpr int kMath = 1;
  static void IgnoreShapes(const plugin::OpDesc& op) { op.MayIgnore({"rows", "n"}); }
  static std::vector<int> Leads(size_t, int rank) { return AllLeads(rank); }
  static bool Takes(const plugin::OpDesc& op) { return plugin::IsFloat(op.inputs()[0].dtype); }
  // exp(x - the greatest x); NaN where some x is.
  template <class Acc>
  static std::vector<Acc> Weights(std::span<const Acc> x) {
    Acc greatest = -std::numeric_limits<Acc>::infinity();
    for (const Acc number : x) greatest = std::isnan(number) || number > greatest ? number : greatest;
    if (std::ranges::any_of(x, [](Acc number) { return std::isnan(number); })) greatest = std::nan("");
    std::vector<Acc> weights(x.size());
    for (size_t i = 0; i < x.size(); ++i) weights[i] = std::exp(x[i] - greatest);
    return weights;
  }
};

// Shares of the sum, or weights beside that of the greatest, which is 1.
template <bool kByWeight>
class MinPMask : public TokenMask {
 public:
  explicit MinPMask(const plugin::OpDesc& op) : least_(op.AttrFloat("min_p")) {}
  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    const std::vector<Acc> weights = Weights(x[0]);
    const Acc sum = kByWeight ? 1 : std::accumulate(weights.begin(), weights.end(), Acc{0});
    const Acc least = static_cast<Acc>(least_) * (1 / sum);
    for (size_t i = 0; i < y.size(); ++i) y[i] = weights[i] / sum >= least ? 1 : 0;
  }

 private:
  double least_;
};

// In descending order until top_p is reached, or for each token the sum of those before it.
template <bool kByToken>
class TopPMask : public TokenMask {
 public:
  explicit TopPMask(const plugin::OpDesc& op) : most_(op.AttrFloat("top_p")) {}
  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    const std::vector<Acc> weights = Weights(x[0]);
    const Acc all = std::accumulate(weights.begin(), weights.end(), Acc{0}), most = static_cast<Acc>(most_);
    std::vector<size_t> order(y.size());
    std::iota(order.begin(), order.end(), size_t{0});
    const auto comes_first = [&](size_t i, size_t j) { return x[0][i] > x[0][j] || (x[0][i] == x[0][j] && i < j); };
    if (!std::isnan(all) && !kByToken) std::ranges::sort(order, comes_first);
    Acc before = 0;
    for (const size_t i : order) {
      if (kByToken) {
        before = 0;
        for (size_t j = y.size(); j-- > 0;) before += comes_first(j, i) ? weights[j] : Acc{0};
      }
      y[i] = before / all < most ? 1 : 0;
      before += weights[i];
    }
  }

 private:
  double most_;
};

}  // namespace cpu
