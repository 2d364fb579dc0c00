// SPDX-License-Identifier: Apache-2.0
// Operators along the positions of a sequence: gated linear attention, a position of the gated delta rule, short
// convolutions with a state, and caches of keys and values.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "backends/cpu/experts.h"
#include "backends/cpu/rows.h"

namespace cpu {

// A head has q, k [l,d], v [l,dv], gate [l]: position by position with the whole state, or each element of the state
// through all positions.
template <bool kByElement>
class LinearAttention {
 public:
  static constexpr int kLineAxes = 2;
  static void IgnoreShapes(const plugin::OpDesc& op) { op.MayIgnore({"b", "h", "l", "d", "dv"}); }
  static std::vector<int> Leads(size_t, int) { return {0, 1}; }
  explicit LinearAttention(const plugin::OpDesc& op)
      : l_(op.inputs()[0].shape[2]),
        d_(op.inputs()[0].shape[3]),
        dv_(op.inputs()[2].shape[3]),
        scale_(op.AttrFloat("scale")) {}
  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    std::vector<Acc> state(static_cast<size_t>(d_ * dv_));
    std::ranges::fill(y, Acc{0});
    const auto step = [&](int64_t t, int64_t i) {
      const int64_t row = i / dv_, column = i % dv_;
      state[i] = x[3][t] * state[i] + x[1][t * d_ + row] * x[2][t * dv_ + column];
      y[t * dv_ + column] += x[0][t * d_ + row] * state[i];
    };
    const int64_t all = d_ * dv_;
    for (int64_t i = 0; i < l_ * all; ++i) kByElement ? step(i % l_, all - 1 - i / l_) : step(i / all, i % all);
    for (Acc& element : y) element *= static_cast<Acc>(scale_);
  }

 private:
  int64_t l_, d_, dv_;
  double scale_;
};

// A head has q, k [d], v [dv], gate, beta [], state [dv,d] -> o [dv], new_state [dv,d]: each row of the state is read
// out after its update, or before it, with what the update adds beside.
template <bool kBeforeUpdate>
class GatedDeltaStep {
 public:
  static size_t Outputs(const plugin::OpDesc&) { return 2; }
  static void IgnoreShapes(const plugin::OpDesc& op) { op.MayIgnore({"b", "h", "d", "dv"}); }
  static std::vector<int> Leads(size_t, int) { return {0, 1}; }
  explicit GatedDeltaStep(const plugin::OpDesc& op) : scale_(op.AttrFloat("scale")) {}
  template <class Acc>
  void Line(const Lines<Acc>& x, const Results<Acc>& y) const {
    const size_t d = x[0].size();
    const Acc gate = x[3][0], beta = x[4][0], scale = static_cast<Acc>(scale_);
    const auto dot = [d](std::span<const Acc> a, std::span<const Acc> b) {
      Acc sum = 0;
      for (size_t i = 0; i < d; ++i) sum += a[i] * b[i];
      return sum;
    };
    for (size_t row = 0; row < y[0].size(); ++row) {
      const std::span<const Acc> state = x[5].subspan(row * d, d);
      const std::span<Acc> next = y[1].subspan(row * d, d);
      const Acc update = beta * (x[2][row] - gate * dot(state, x[1]));
      for (size_t i = 0; i < d; ++i) next[i] = gate * state[i] + update * x[1][i];
      y[0][row] = scale * (kBeforeUpdate ? gate * dot(state, x[0]) + update * dot(x[1], x[0]) : dot(next, x[0]));
    }
  }

 private:
  double scale_;
};

// A channel has x [l], w [k], bias [], state [k-1] -> y [l], new_state [k-1]: window by window, or element by
// element.
template <bool kByElement>
class CausalConv1d {
 public:
  static constexpr int kMath = 1;
  static size_t Outputs(const plugin::OpDesc&) { return 2; }
  static void IgnoreShapes(const plugin::OpDesc& op) { op.MayIgnore({"b", "c", "l", "k"}); }
  static std::vector<int> Leads(size_t input, int) {
    return input == 0 || input == 3 ? std::vector<int>{0, 1} : std::vector<int>{1};
  }
  explicit CausalConv1d(const plugin::OpDesc& op) : silu_(op.AttrInt("silu") != 0) {}
  template <class Acc>
  void Line(const Lines<Acc>& x, const Results<Acc>& y) const {
    std::vector<Acc> z(x[3].begin(), x[3].end());
    z.insert(z.end(), x[0].begin(), x[0].end());
    std::ranges::fill(y[0], kByElement ? x[2][0] : Acc{0});
    const size_t l = y[0].size(), k = x[1].size();
    for (size_t i = 0; i < l * k; ++i) {
      const size_t t = kByElement ? i % l : i / k, j = kByElement ? k - 1 - i / l : i % k;
      y[0][t] += x[1][j] * z[t + j];
    }
    for (Acc& element : y[0]) {
      if (!kByElement) element += x[2][0];
      if (silu_) element = kByElement ? element / (1 + std::exp(-element)) : element * (1 / (1 + std::exp(-element)));
    }
    std::ranges::copy(std::span(z).last(y[1].size()), y[1].begin());
  }

 private:
  bool silu_;
};

// cache [size,h,d], x [n,h,d], slots [n]: what is written over the cache, or for each place of the cache its writer.
template <bool kByPlace>
struct KvCacheWrite : public Experts {
  using Experts::Experts;
  static constexpr int kMath = 0;
  static void IgnoreShapes(const plugin::OpDesc& op) { op.MayIgnore({"size", "n", "h", "d"}); }
  static bool Takes(const plugin::OpDesc& op) { return TakesPlaces(op, 2, op.inputs()[0].shape[0]); }
  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    const int64_t size = Extent(0, 0), row = Extent(0, 1) * Extent(0, 2), n = Extent(1, 0);
    const auto copy = [&](size_t input, int64_t from, int64_t to) {
      std::ranges::copy(x[input].subspan(from * row, row), y.begin() + to * row);
    };
    std::vector<int64_t> writers(static_cast<size_t>(size), -1);
    if (!kByPlace) std::ranges::copy(x[0], y.begin());
    for (int64_t i = 0; i < n; ++i) {
      const int64_t slot = Place(x[2][i], size);
      kByPlace ? void(writers[slot] = i) : copy(1, i, slot);
    }
    for (int64_t slot = 0; slot < size && kByPlace; ++slot) {
      writers[slot] < 0 ? copy(0, slot, slot) : copy(1, writers[slot], slot);
    }
  }
};

}  // namespace cpu
