// SPDX-License-Identifier: Apache-2.0
// Gradients of activations and gates, of rms_norm and of embeddings.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "backends/cpu/elementwise.h"
#include "backends/cpu/experts.h"
#include "backends/cpu/norms.h"

namespace cpu {

// dy, x. kByTails: Phi as erfc of the other side, and 1 - tanh^2 as a product; else by 1 + erf and 1 - tanh^2.
template <bool kByTails>
class GeluBackward : public Elementwise<InverseRoot> {
 public:
  static constexpr int kMath = 4;
  explicit GeluBackward(const plugin::OpDesc& op) : Elementwise(op), by_tanh_(op.AttrString("approx") == "tanh") {}
  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    for (size_t i = 0; i < y.size(); ++i) y[i] = x[0][i] * (by_tanh_ ? ByTanh(x[1][i]) : ByErf(x[1][i]));
  }

 private:
  template <class Acc>
  static Acc ByErf(Acc x) {
    const Acc scaled = x * static_cast<Acc>(0.70710678118654752), half = Acc{1} / 2;
    const Acc phi = static_cast<Acc>(0.39894228040143268) * std::exp(-half * x * x);
    return (kByTails ? half * std::erfc(-scaled) : half * (1 + std::erf(scaled))) + x * phi;
  }
  template <class Acc>
  static Acc ByTanh(Acc x) {
    const auto factor = static_cast<Acc>(0.79788456080286536), cubic = static_cast<Acc>(0.044715), half = Acc{1} / 2;
    const Acc inner = factor * (x + cubic * (x * x * x)), slope = factor * (1 + 3 * cubic * (x * x));
    const Acc t = std::tanh(inner), e = std::exp(-2 * std::abs(inner));
    const Acc tail = 2 * e / (1 + e), above = inner < 0 ? tail : 2 - tail, below = inner < 0 ? 2 - tail : tail;
    if (kByTails) return half * above + half * x * (above * below) * slope;
    return half * (1 + t) + half * x * ((1 - t) * (1 + t)) * slope;
  }

  bool by_tanh_;
};

// dy [rows,n], x [rows,2n] -> dx [rows,2n]. kBySign: sigmoids of both signs, without a difference.
template <bool kBySign>
struct SiluAndMulBackward : public Gated<Elementwise<Silu>> {
  using Gated::Gated;
  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> dx) const {
    const size_t n = dx.size() / 2;
    for (size_t i = 0; i < n; ++i) {
      const Acc dy = x[0][i], g = x[1][i], u = x[1][n + i];
      const Acc s = kBySign ? SigmoidBySign(g) : 1 / (1 + std::exp(-g));
      const Acc slope = kBySign ? s + g * s * SigmoidBySign(-g) : s * (1 + g * (1 - s));
      dx[i] = dy * u * slope;
      dx[n + i] = dy * (g * s);
    }
  }
};

// dy [b,l,h,d], cos and sin [l,d/2]: the rotation of rope back.
template <bool kFused>
struct RopeBackward : public Rope {
  using Rope::Rope;
  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> dx) const {
    const size_t half = dx.size() / 2;
    for (size_t i = 0; i < half; ++i) {
      const Acc first = x[0][i], second = x[0][half + i], cos = x[1][i], sin = x[2][i];
      dx[i] = kFused ? std::fma(second, sin, first * cos) : first * cos + second * sin;
      dx[half + i] = kFused ? std::fma(second, cos, -(first * sin)) : second * cos - first * sin;
    }
  }
};

// dy, x [rows,n], rstd [rows], gamma [n] -> dx [rows,n], dgamma [n].
template <template <class, class> class Fold>
struct RmsNormBackward : public Experts {
  using Experts::Experts;
  static constexpr int kMath = 0;
  static size_t Outputs(const plugin::OpDesc&) { return 2; }
  static bool Takes(const plugin::OpDesc& op) { return op.AllTypes(plugin::IsFloat); }
  template <class Acc>
  void Line(const Lines<Acc>& x, const Results<Acc>& y) const {
    const int64_t rows = Extent(0, 0), n = Extent(0, 1);
    std::vector<Acc> z(x[1].begin(), x[1].end()), g(static_cast<size_t>(n)), column(static_cast<size_t>(rows));
    for (int64_t row = 0; row < rows; ++row) {
      const std::span<Acc> of_row = std::span(z).subspan(row * n, n);
      std::vector<Acc> products;
      for (int64_t i = 0; i < n; ++i) {
        of_row[i] *= x[2][row];
        g[i] = x[0][row * n + i] * x[3][i];
        products.push_back(g[i] * of_row[i]);
      }
      const auto same = [](Acc value) { return value; };
      const Acc mean = SumOf<Fold>(std::span<const Acc>(products), same) / static_cast<Acc>(n);
      for (int64_t i = 0; i < n; ++i) y[0][row * n + i] = x[2][row] * (g[i] - of_row[i] * mean);
    }
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t row = 0; row < rows; ++row) column[row] = x[0][row * n + i] * z[row * n + i];
      y[1][i] = SumOf<Fold>(std::span<const Acc>(column), [](Acc value) { return value; });
    }
  }
};

// dy [n,d], indices [n] -> dtable [v,d], from the first row of dy or from the last one on.
template <bool kBackward>
struct EmbeddingBackward : public Experts {
  using Experts::Experts;
  explicit EmbeddingBackward(const plugin::OpDesc& op) : Experts(op), v_(op.outputs()[0].shape[0]) {}
  static void IgnoreShapes(const plugin::OpDesc& op) { op.MayIgnore({"v", "n", "d"}); }
  static constexpr int kMath = 0;
  static bool Takes(const plugin::OpDesc& op) { return TakesPlaces(op, 1, op.outputs()[0].shape[0]); }
  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    const int64_t n = Extent(0, 0), d = Extent(0, 1);
    std::ranges::fill(y, Acc{0});
    for (int64_t i = 0; i < n * d; ++i) {
      const int64_t row = kBackward ? n - 1 - i / d : i / d, to = Place(x[1][row], v_);
      y[to * d + i % d] += x[0][row * d + i % d];
    }
  }
  int64_t v_;
};

}  // namespace cpu
