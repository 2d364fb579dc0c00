// SPDX-License-Identifier: Apache-2.0
// Collectives of ranks, whose data are one tensor: sums over ranks in the orders of a ring, of a tree and of a direct
// exchange, and all parts at each rank.
#pragma once

#include <algorithm>
#include <vector>

#include "backends/cpu/experts.h"

namespace cpu {

enum class RankOrder : uint8_t { kDirect, kTree, kRing };

// The sum over ranks of an element: from the first rank on; of pairs of ranks, and then of these; or in the order in
// which a ring passes the part that the element belongs to, which begins behind the rank that keeps it.
template <RankOrder kOrder, class Acc>
Acc SumOverRanks(std::vector<Acc> of_ranks, int64_t part) {
  const int64_t ranks = std::ssize(of_ranks);
  for (int64_t step = 1; step < ranks && kOrder == RankOrder::kTree; step *= 2) {
    for (int64_t i = 0; i + step < ranks; i += 2 * step) of_ranks[i] += of_ranks[i + step];
  }
  if (kOrder == RankOrder::kTree) return of_ranks[0];
  Acc sum = 0;
  for (int64_t i = 0; i < ranks; ++i) {
    const Acc element = of_ranks[kOrder == RankOrder::kRing ? (part + 1 + i) % ranks : i];
    sum = i == 0 ? element : sum + element;
  }
  return sum;
}

// x [ranks,n] -> y [ranks,n], or [ranks,n/ranks] of reduce_scatter.
template <RankOrder kOrder>
struct ReduceOverRanks : public Experts {
  static constexpr int kMath = 0;
  static constexpr bool kOrderByPlace = kOrder == RankOrder::kRing;
  static void IgnoreShapes(const plugin::OpDesc& op) { op.MayIgnore({"ranks", "n"}); }
  static bool Takes(const plugin::OpDesc& op) { return op.AllTypes(plugin::IsFloat); }
  explicit ReduceOverRanks(const plugin::OpDesc& op)
      : Experts(op), scatters_(op.name() == "reduce_scatter"), is_mean_(op.AttrString("reduction") == "mean") {}
  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    const int64_t ranks = Extent(0, 0), n = Extent(0, 1), part = std::max<int64_t>(n / ranks, 1);
    std::vector<Acc> of_ranks(static_cast<size_t>(ranks));
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t rank = 0; rank < ranks; ++rank) of_ranks[rank] = x[0][rank * n + i];
      const Acc sum = SumOverRanks<kOrder>(of_ranks, std::min(i / part, ranks - 1));
      const Acc result = is_mean_ ? sum / static_cast<Acc>(ranks) : sum;
      if (scatters_) y[i] = result;
      for (int64_t rank = 0; rank < ranks && !scatters_; ++rank) y[rank * n + i] = result;
    }
  }
  bool scatters_, is_mean_;
};

// x [ranks,n] -> y [ranks,ranks*n]: at each rank at once, or passed on from the one before.
template <bool kRing>
struct AllGather : public Experts {
  using Experts::Experts;
  static constexpr int kMath = 0;
  static constexpr bool kIntegers = true;
  static void IgnoreShapes(const plugin::OpDesc& op) { op.MayIgnore({"ranks", "n"}); }
  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    const int64_t ranks = Extent(0, 0), n = Extent(0, 1), all = ranks * n;
    for (int64_t rank = 0; rank < ranks && !kRing; ++rank) std::ranges::copy(x[0], y.begin() + rank * all);
    for (int64_t step = 0; step < ranks && kRing; ++step) {
      for (int64_t rank = 0; rank < ranks; ++rank) {
        const int64_t part = (rank - step + ranks) % ranks, before = (rank - 1 + ranks) % ranks;
        const std::span<const Acc> from = step == 0 ? x[0].subspan(part * n, n) : y.subspan(before * all + part * n, n);
        std::ranges::copy(from, y.begin() + rank * all + part * n);
      }
    }
  }
};

}  // namespace cpu
