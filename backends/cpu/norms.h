// SPDX-License-Identifier: Apache-2.0
// Normalisations of rows, and what gradients of them take.
#pragma once

#include <algorithm>
#include <cmath>

#include "backends/cpu/fold.h"
#include "backends/cpu/rows.h"

namespace cpu {

// The data have all leading axes, weights none.
struct NormOperands {
  static void IgnoreShapes(const plugin::OpDesc& op) { op.MayIgnore({"rows", "n"}); }
  static std::vector<int> Leads(size_t input, int rank) { return input == 0 ? AllLeads(rank) : std::vector<int>(); }
};

// Sum of f(x) in one of the orders of fold.h.
template <template <class, class> class Fold, class Acc, class F>
Acc SumOf(std::span<const Acc> x, const F& f) {
  std::vector<Acc> terms(x.size());
  std::transform(x.begin(), x.end(), terms.begin(), f);
  Fold<Acc, Add<Acc>> fold;
  for (size_t i = 0; i < terms.size(); i += kBlock) {
    fold.AddBlock(terms.data() + i, std::min<int64_t>(kBlock, std::ssize(terms) - static_cast<int64_t>(i)));
  }
  return fold.Finish();
}

template <class Acc>
struct Moments {
  Acc mean = 0, squares = 0;  // squares: the sum of (x - mean)^2
};

template <bool kWelford, class Acc>
Moments<Acc> MomentsOf(std::span<const Acc> x) {
  Moments<Acc> m;
  if (kWelford) {
    for (size_t i = 0; i < x.size(); ++i) {
      const Acc delta = x[i] - m.mean;
      m.mean += delta / static_cast<Acc>(i + 1);
      m.squares += delta * (x[i] - m.mean);
    }
  } else {
    m.mean = SumOf<SequentialFold>(x, [](Acc value) { return value; }) / static_cast<Acc>(x.size());
    m.squares = SumOf<SequentialFold>(x, [&](Acc value) { return (value - m.mean) * (value - m.mean); });
  }
  return m;
}

template <bool kWelford>
class LayerNorm : public NormOperands {
 public:
  static constexpr int kMath = 2;
  explicit LayerNorm(const plugin::OpDesc& op) : eps_(op.AttrFloat("eps")) {}

  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    const Moments<Acc> m = MomentsOf<kWelford>(x[0]);
    const Acc rstd = 1 / std::sqrt(m.squares / static_cast<Acc>(y.size()) + static_cast<Acc>(eps_));
    // Each weight is that of as many elements; in layer_norm of one.
    const size_t each = y.size() / x[1].size();
    for (size_t i = 0; i < y.size(); ++i) y[i] = (x[0][i] - m.mean) * rstd * x[1][i / each] + x[2][i / each];
  }

 private:
  double eps_;
};

// x[b,g,c,n], gamma and beta [g,c]: a line has the channels and the positions of a group.
template <bool kWelford>
struct GroupNorm : public LayerNorm<kWelford> {
  static constexpr int kLineAxes = 2;
  static void IgnoreShapes(const plugin::OpDesc& op) { op.MayIgnore({"b", "g", "c", "n"}); }
  static std::vector<int> Leads(size_t input, int) { return input == 0 ? std::vector<int>{0, 1} : std::vector<int>{1}; }
  using LayerNorm<kWelford>::LayerNorm;
};

template <template <class, class> class Fold>
class RmsNorm : public NormOperands {
 public:
  static constexpr int kMath = 2;
  explicit RmsNorm(const plugin::OpDesc& op) : eps_(op.AttrFloat("eps")) {}

  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    const Acc squares = SumOf<Fold>(x[0], [](Acc value) { return value * value; });
    const Acc rms = 1 / std::sqrt(squares / static_cast<Acc>(y.size()) + static_cast<Acc>(eps_));
    for (size_t i = 0; i < y.size(); ++i) y[i] = x[0][i] * rms * x[1][i];
  }

 private:
  double eps_;
};

template <template <class, class> class Fold>
struct SoftmaxBackward {
  static constexpr int kMath = 1;
  static void IgnoreShapes(const plugin::OpDesc& op) { op.MayIgnore({"rows", "n"}); }
  static std::vector<int> Leads(size_t, int rank) { return AllLeads(rank); }
  explicit SoftmaxBackward(const plugin::OpDesc&) {}

  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> dx) const {
    std::vector<Acc> products(dx.size());
    for (size_t i = 0; i < dx.size(); ++i) products[i] = x[0][i] * x[1][i];
    const Acc sum = SumOf<Fold>(std::span<const Acc>(products), [](Acc value) { return value; });
    for (size_t i = 0; i < dx.size(); ++i) dx[i] = x[0][i] * (x[1][i] - sum);
  }
};

}  // namespace cpu
