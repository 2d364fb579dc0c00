// SPDX-License-Identifier: Apache-2.0
// Parts of mixtures of experts: routing, tokens in the order of their experts and back, products by groups of rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "backends/common/status.h"
#include "backends/cpu/norms.h"
#include "backends/cpu/rows.h"
#include "backends/cpu/selections.h"

namespace cpu {

struct Experts {
  static constexpr int kMath = 1;
  static constexpr bool kWhole = true;
  static void IgnoreShapes(const plugin::OpDesc& op) {
    op.MayIgnore({"rows", "t", "k", "d", "n", "groups", "experts", "tie"});
  }
  explicit Experts(const plugin::OpDesc& op) : inputs_(op.inputs()) {}
  int64_t Extent(size_t input, size_t axis) const { return inputs_[input].shape[axis]; }
  // Floats, and integers in the operands of these numbers. These travel as numbers of the accumulator's type: f32 has
  // all of them up to 2^24.
  static bool TakesIntegers(const plugin::OpDesc& op, std::initializer_list<size_t> integers, int64_t most) {
    bool fits = plugin::IsFloat(op.outputs()[0].dtype) && most <= int64_t{1} << 24;
    for (size_t i = 0; i < op.inputs().size(); ++i) {
      const bool is_integer = std::ranges::find(integers, i) != integers.end();
      fits = fits && (is_integer ? plugin::IsInteger : plugin::IsFloat)(op.inputs()[i].dtype);
    }
    return fits;
  }
  static bool TakesPlaces(const plugin::OpDesc& op, size_t places, int64_t most) {
    return TakesIntegers(op, {places}, most);
  }
  template <class Acc>
  static int64_t Place(Acc place, int64_t extent) {
    const auto at = static_cast<int64_t>(place);
    if (at < 0 || at >= extent) throw plugin::Failure("place {} lies outside of [0, {})", at, extent);
    return at;
  }

  std::vector<plugin::Tensor> inputs_;
};

// x [rows,k], w [groups,k,n], ends [groups]: each row's products in order, or group by group and term by term.
template <bool kByGroup>
struct GroupedGemm : public Experts {
  using Experts::Experts;
  static bool Takes(const plugin::OpDesc& op) { return TakesPlaces(op, 2, op.inputs()[0].shape[0]); }
  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    const int64_t rows = Extent(0, 0), k = Extent(0, 1), groups = Extent(1, 0), n = Extent(1, 2);
    const auto product = [&](int64_t row, int64_t group, int64_t column, int64_t term) {
      return x[0][row * k + term] * x[1][(group * k + term) * n + column];
    };
    for (int64_t row = 0; row < rows && !kByGroup; ++row) {
      const int64_t group = std::ranges::upper_bound(x[2], static_cast<Acc>(row)) - x[2].begin();
      for (int64_t column = 0; column < n; ++column) {
        Acc sum = 0;
        for (int64_t term = 0; term < k; ++term) sum += product(row, Place(group, groups), column, term);
        y[row * n + column] = sum;
      }
    }
    int64_t row = 0;
    for (int64_t group = 0; group < groups && kByGroup; ++group) {
      for (; row < std::min(static_cast<int64_t>(x[2][group]), rows); ++row) {
        const std::span<Acc> to = y.subspan(row * n, n);
        std::ranges::fill(to, Acc{0});
        for (int64_t term = k; term-- > 0;) {
          for (int64_t column = 0; column < n; ++column) to[column] += product(row, group, column, term);
        }
      }
    }
  }
};

// logits [t,experts] -> weights, places [t,k]. From the greatest logits, or with kWholeSoftmax from the probabilities
// of all of a row.
template <bool kWholeSoftmax>
class MoeRoute {
 public:
  static constexpr int kMath = 1;
  static size_t Outputs(const plugin::OpDesc&) { return 2; }
  static void IgnoreShapes(const plugin::OpDesc& op) { op.MayIgnore({"t", "k", "experts", "tie"}); }
  static std::vector<int> Leads(size_t, int rank) { return AllLeads(rank); }
  static bool Takes(const plugin::OpDesc& op) {
    const plugin::Tensor& x = op.inputs()[0];
    return plugin::IsFloat(x.dtype) && (x.dtype == plugin::kF64 || x.shape.back() <= int64_t{1} << 24);
  }
  explicit MoeRoute(const plugin::OpDesc& op)
      : by_sigmoid_(op.AttrString("score") == "sigmoid"), norm_(op.AttrInt("norm") != 0) {}

  template <class Acc>
  void Line(const Lines<Acc>& x, const Results<Acc>& y) const {
    std::vector<int64_t> order(x[0].size());
    std::iota(order.begin(), order.end(), int64_t{0});
    std::ranges::stable_sort(order, StandsBefore<Acc>{x[0], true});
    const Acc greatest = x[0][order[0]];
    Acc all = 0, chosen = 0;
    for (const Acc logit : x[0]) all += std::exp(logit - greatest);
    for (size_t i = 0; i < y[0].size(); ++i) {
      const Acc logit = x[0][order[i]], e = std::exp(logit - greatest);
      y[0][i] = by_sigmoid_ ? 1 / (1 + std::exp(-logit)) : kWholeSoftmax || !norm_ ? e / all : e;
      y[1][i] = static_cast<Acc>(order[i]);
      chosen += y[0][i];
    }
    for (Acc& weight : y[0]) weight = norm_ ? weight / chosen : weight;
  }

 private:
  bool by_sigmoid_, norm_;
};

// x [t,d], experts_of [t,k] -> y [t k, d], source [t k]: by a stable sort, or by counting.
template <bool kByCounting>
struct MoePermute : public Experts {
  explicit MoePermute(const plugin::OpDesc& op) : Experts(op), experts_(op.AttrInt("experts")) {}
  static size_t Outputs(const plugin::OpDesc&) { return 2; }
  static bool Takes(const plugin::OpDesc& op) {
    return TakesPlaces(op, 1, std::max(op.outputs()[1].shape[0], op.AttrInt("experts")));
  }
  template <class Acc>
  void Line(const Lines<Acc>& x, const Results<Acc>& y) const {
    const int64_t k = Extent(1, 1), d = Extent(0, 1);
    std::vector<int64_t> order(x[1].size()), ends(static_cast<size_t>(experts_));
    for (const Acc expert : x[1]) ++ends[Place(expert, experts_)];
    std::partial_sum(ends.begin(), ends.end(), ends.begin());
    std::iota(order.begin(), order.end(), int64_t{0});
    if (kByCounting) {
      std::vector<int64_t> next = ends;
      for (int64_t i = std::ssize(order); i-- > 0;) order[--next[static_cast<int64_t>(x[1][i])]] = i;
    } else {
      std::ranges::stable_sort(order, {}, [&](int64_t i) { return x[1][i]; });
    }
    for (int64_t row = 0; row < std::ssize(order); ++row) {
      std::ranges::copy(x[0].subspan(order[row] / k * d, d), y[0].begin() + row * d);
    }
    std::ranges::copy(order, y[1].begin());
  }
  int64_t experts_;
};

// x [rows,d], places [t,k], weights [t,k]: the sum of each element, or one expert after the other, from the last one
// on.
template <bool kByExpert>
struct MoeUnpermute : public Experts {
  using Experts::Experts;
  static bool Takes(const plugin::OpDesc& op) { return TakesPlaces(op, 1, op.inputs()[0].shape[0]); }
  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    const int64_t rows = Extent(0, 0), d = Extent(0, 1), tokens = Extent(1, 0), k = Extent(1, 1);
    std::ranges::fill(y, Acc{0});
    for (int64_t i = 0; i < tokens * k; ++i) {
      const int64_t token = kByExpert ? i % tokens : i / k, expert = kByExpert ? k - 1 - i / tokens : i % k;
      const int64_t from = Place(x[1][token * k + expert], rows);
      for (int64_t column = 0; column < d; ++column) {
        y[token * d + column] += x[2][token * k + expert] * x[0][from * d + column];
      }
    }
  }
};

// x [t,d], w1 and w3 [experts,d,h], w2 [experts,h,d], experts_of and weights [t,k]: token by token, or expert by expert
// with sums from the last term on.
template <bool kByExpert>
struct MoeFused : public Experts {
  using Experts::Experts;
  static void IgnoreShapes(const plugin::OpDesc& op) { op.MayIgnore({"t", "k", "experts", "d", "h"}); }
  static bool Takes(const plugin::OpDesc& op) { return TakesPlaces(op, 4, op.inputs()[1].shape[0]); }
  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    const int64_t t = Extent(0, 0), k = Extent(4, 1), experts = Extent(1, 0), d = Extent(1, 1), h = Extent(1, 2);
    std::vector<int64_t> pairs(static_cast<size_t>(t * k));
    std::iota(pairs.begin(), pairs.end(), int64_t{0});
    if (kByExpert) std::ranges::stable_sort(pairs, {}, [&](int64_t pair) { return x[4][pair]; });
    std::ranges::fill(y, Acc{0});
    std::vector<Acc> inner(static_cast<size_t>(h));
    for (const int64_t pair : pairs) {
      const int64_t token = pair / k, expert = Place(x[4][pair], experts);
      const auto product = [&](size_t w, int64_t column) {
        Acc sum = 0;
        for (int64_t i = 0; i < d; ++i) {
          const int64_t term = kByExpert ? d - 1 - i : i;
          sum += x[0][token * d + term] * x[w][(expert * d + term) * h + column];
        }
        return sum;
      };
      for (int64_t column = 0; column < h; ++column) {
        const Acc gate = product(1, column), up = product(2, column);
        inner[column] = (kByExpert ? gate / (1 + std::exp(-gate)) : gate * (1 / (1 + std::exp(-gate)))) * up;
      }
      for (int64_t column = 0; column < d; ++column) {
        Acc sum = 0;
        for (int64_t i = 0; i < h; ++i) sum += inner[i] * x[3][(expert * h + i) * d + column];
        y[token * d + column] += x[5][pair] * sum;
      }
    }
  }
};

}  // namespace cpu
