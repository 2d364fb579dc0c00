// SPDX-License-Identifier: Apache-2.0
// The gated delta rule along a sequence: position by position, or by chunks of positions (Yang et al.,
// arXiv:2412.06464, section 3.3), whose updates solve a triangular system.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "backends/cpu/rows.h"

namespace cpu {

// A head has q, k [l,d], v [l,dv], gate, beta [l], state [dv,d] -> o [l,dv], new_state [dv,d].
template <bool kByChunk>
class GatedDeltaRule {
 public:
  static constexpr int kMath = 2;
  static constexpr int kLineAxes = 2;
  static size_t Outputs(const plugin::OpDesc&) { return 2; }
  static void IgnoreShapes(const plugin::OpDesc& op) { op.MayIgnore({"b", "h", "l", "d", "dv"}); }
  static std::vector<int> Leads(size_t, int) { return {0, 1}; }
  explicit GatedDeltaRule(const plugin::OpDesc& op)
      : l_(op.inputs()[0].shape[2]),
        d_(op.inputs()[0].shape[3]),
        dv_(op.inputs()[2].shape[3]),
        scale_(op.AttrFloat("scale")),
        eps_(op.AttrFloat("eps")),
        norm_(op.AttrString("norm")) {
    if (norm_ != "l2" && norm_ != "none") throw plugin::Unsupported("{} has no norm={}", op.name(), norm_);
  }
  template <class Acc>
  void Line(const Lines<Acc>& x, const Results<Acc>& y) const {
    const std::vector<Acc> q = Normalised(x[0]), k = Normalised(x[1]);
    std::ranges::copy(x[5], y[1].begin());
    if (kByChunk) {
      for (int64_t first = 0; first < l_; first += kChunk) Chunk(x, q, k, first, std::min(l_, first + kChunk), y);
    } else {
      for (int64_t t = 0; t < l_; ++t) Position(x, q, k, t, y);
    }
  }

 private:
  static constexpr int64_t kChunk = 4;

  template <class Acc>
  Acc Dot(const Acc* a, const Acc* b) const {
    Acc sum = 0;
    for (int64_t i = 0; i < d_; ++i) sum += a[i] * b[i];
    return sum;
  }
  template <class Acc>
  std::vector<Acc> Normalised(std::span<const Acc> rows) const {
    std::vector<Acc> all(rows.begin(), rows.end());
    for (int64_t t = 0; t < l_ && norm_ == "l2"; ++t) {
      Acc* row = all.data() + t * d_;
      const Acc factor = 1 / std::sqrt(Dot(row, row) + static_cast<Acc>(eps_));
      for (int64_t i = 0; i < d_; ++i) row[i] *= factor;
    }
    return all;
  }
  template <class Acc>
  void Position(const Lines<Acc>& x, const std::vector<Acc>& q, const std::vector<Acc>& k, int64_t t,
                const Results<Acc>& y) const {
    for (int64_t row = 0; row < dv_; ++row) {
      Acc* state = y[1].data() + row * d_;
      const Acc gate = x[3][t], update = x[4][t] * (x[2][t * dv_ + row] - gate * Dot<Acc>(state, &k[t * d_]));
      for (int64_t i = 0; i < d_; ++i) state[i] = gate * state[i] + update * k[t * d_ + i];
      y[0][t * dv_ + row] = static_cast<Acc>(scale_) * Dot<Acc>(state, &q[t * d_]);
    }
  }

  // The products of the gates behind position i up to t, from the chunk's beginning on for i = first - 1.
  template <class Acc>
  void Chunk(const Lines<Acc>& x, const std::vector<Acc>& q, const std::vector<Acc>& k, int64_t first, int64_t end,
             const Results<Acc>& y) const {
    const int64_t n = end - first;
    std::vector<Acc> decay(n * (n + 1)), of_keys(n * n), of_queries(n * n), u(n);
    for (int64_t t = 0; t < n; ++t) {
      for (int64_t i = 0; i <= t; ++i) {
        const Acc before = t == i - 1 || t == 0 ? 1 : decay[(t - 1) * (n + 1) + i];
        decay[t * (n + 1) + i] = before * x[3][first + t];
        of_keys[t * n + i] = Dot(&k[(first + t) * d_], &k[(first + i) * d_]);
        of_queries[t * n + i] = Dot(&q[(first + t) * d_], &k[(first + i) * d_]);
      }
      decay[t * (n + 1) + t + 1] = 1;
    }
    for (int64_t row = 0; row < dv_; ++row) {
      Acc* state = y[1].data() + row * d_;
      for (int64_t t = 0; t < n; ++t) {
        const Acc* since = &decay[t * (n + 1)];
        Acc seen = 0, read = 0;
        for (int64_t i = 0; i < t; ++i) seen += since[i + 1] * of_keys[t * n + i] * u[i];
        const Acc old = since[0] * Dot<Acc>(state, &k[(first + t) * d_]);
        u[t] = x[4][first + t] * (x[2][(first + t) * dv_ + row] - old - seen);
        for (int64_t i = 0; i <= t; ++i) read += since[i + 1] * of_queries[t * n + i] * u[i];
        read += since[0] * Dot<Acc>(state, &q[(first + t) * d_]);
        y[0][(first + t) * dv_ + row] = static_cast<Acc>(scale_) * read;
      }
      const Acc* since = &decay[(n - 1) * (n + 1)];
      for (int64_t i = 0; i < d_; ++i) {
        Acc sum = since[0] * state[i];
        for (int64_t t = 0; t < n; ++t) sum += since[t + 1] * u[t] * k[(first + t) * d_ + i];
        state[i] = sum;
      }
    }
  }

  int64_t l_, d_, dv_;
  double scale_, eps_;
  std::string norm_;
};

}  // namespace cpu
