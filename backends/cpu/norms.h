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
Acc MeanOf(std::span<const Acc> x) {
  return SumOf<SequentialFold>(x, [](Acc value) { return value; }) / static_cast<Acc>(x.size());
}

template <class Acc>
struct Moments {
  Acc mean = 0, squares = 0;  // squares: the sum of (x - mean)^2
};

// How a variance is computed: from differences to the mean, updating both, or as E[x^2] - E[x]^2.
enum class Variance : uint8_t { kTwoPass, kWelford, kOnePass };

template <Variance kVariance, class Acc>
Moments<Acc> MomentsOf(std::span<const Acc> x) {
  Moments<Acc> m;
  if (kVariance == Variance::kOnePass) {
    const auto n = static_cast<Acc>(x.size());
    m.mean = MeanOf(x);
    const Acc rest = SumOf<SequentialFold>(x, [](Acc value) { return value * value; }) / n - m.mean * m.mean;
    m.squares = (rest < 0 ? 0 : rest) * n;  // NaN stays
  } else if (kVariance == Variance::kWelford) {
    for (size_t i = 0; i < x.size(); ++i) {
      const Acc delta = x[i] - m.mean;
      m.mean += delta / static_cast<Acc>(i + 1);
      m.squares += delta * (x[i] - m.mean);
    }
    // An infinite element makes a difference inf - inf, and the mean NaN: compute it directly.
    if (!std::isfinite(m.mean)) m.mean = MeanOf(x);
  } else {
    m.mean = MeanOf(x);
    m.squares = SumOf<SequentialFold>(x, [&](Acc value) { return (value - m.mean) * (value - m.mean); });
  }
  return m;
}

// y, and where they are asked for the mean and 1 / sqrt(variance + eps) of each row.
template <Variance kVariance>
class LayerNorm : public NormOperands {
 public:
  static constexpr int kMath = 2;
  static constexpr const char* kAlgorithm = kVariance == Variance::kOnePass ? "onepass" : "direct";
  static size_t Outputs(const plugin::OpDesc& op) { return op.AttrInt("stats") != 0 ? 3 : 1; }
  explicit LayerNorm(const plugin::OpDesc& op) : eps_(op.AttrFloat("eps")) {}

  template <class Acc>
  void Line(const Lines<Acc>& x, const Results<Acc>& results) const {
    const std::span<Acc> y = results[0];
    const Moments<Acc> m = MomentsOf<kVariance>(x[0]);
    const Acc rstd = 1 / std::sqrt(m.squares / static_cast<Acc>(y.size()) + static_cast<Acc>(eps_));
    // Each weight is that of as many elements; in layer_norm of one.
    const size_t each = y.size() / x[1].size();
    for (size_t i = 0; i < y.size(); ++i) y[i] = (x[0][i] - m.mean) * rstd * x[1][i / each] + x[2][i / each];
    if (results.size() == 3) results[1][0] = m.mean, results[2][0] = rstd;
  }

 private:
  double eps_;
};

// x[b,g,c,n], gamma and beta [g,c]: a line has the channels and the positions of a group.
template <Variance kVariance>
struct GroupNorm : public LayerNorm<kVariance> {
  static constexpr int kLineAxes = 2;
  static size_t Outputs(const plugin::OpDesc&) { return 1; }
  static void IgnoreShapes(const plugin::OpDesc& op) { op.MayIgnore({"b", "g", "c", "n"}); }
  static std::vector<int> Leads(size_t input, int) { return input == 0 ? std::vector<int>{0, 1} : std::vector<int>{1}; }
  using LayerNorm<kVariance>::LayerNorm;
};

// x[n,c,s], gamma and beta [c].
template <Variance kVariance>
struct InstanceNorm : public LayerNorm<kVariance> {
  static size_t Outputs(const plugin::OpDesc&) { return 1; }
  static void IgnoreShapes(const plugin::OpDesc& op) { op.MayIgnore({"n", "c", "s"}); }
  static std::vector<int> Leads(size_t input, int) { return input == 0 ? std::vector<int>{0, 1} : std::vector<int>{1}; }
  using LayerNorm<kVariance>::LayerNorm;
};

// x[n,c,s], all others [c]. Folded: by one factor and one offset for each channel.
template <bool kFolded>
class BatchNorm {
 public:
  static constexpr int kMath = 2;
  static void IgnoreShapes(const plugin::OpDesc& op) { op.MayIgnore({"n", "c", "s"}); }
  static std::vector<int> Leads(size_t input, int) { return input == 0 ? std::vector<int>{0, 1} : std::vector<int>{1}; }
  explicit BatchNorm(const plugin::OpDesc& op) : eps_(op.AttrFloat("eps")) {}

  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    const Acc gamma = x[1][0], beta = x[2][0], mean = x[3][0];
    const Acc rstd = 1 / std::sqrt(x[4][0] + static_cast<Acc>(eps_)), factor = gamma * rstd;
    const Acc offset = beta - mean * factor;
    for (size_t i = 0; i < y.size(); ++i) {
      y[i] = kFolded ? x[0][i] * factor + offset : (x[0][i] - mean) * rstd * gamma + beta;
    }
  }

 private:
  double eps_;
};

// x[n,c,s], all others [c] -> y, and the running statistics. A channel is a line of layer_norm whose elements lie
// apart.
template <Variance kVariance>
class BatchNormTraining {
 public:
  static constexpr int kMath = 2;
  static constexpr bool kWhole = true;
  static constexpr const char* kAlgorithm = LayerNorm<kVariance>::kAlgorithm;
  static size_t Outputs(const plugin::OpDesc&) { return 3; }
  static void IgnoreShapes(const plugin::OpDesc& op) { op.MayIgnore({"n", "c", "s"}); }
  explicit BatchNormTraining(const plugin::OpDesc& op)
      : shape_(op.inputs()[0].shape),
        eps_(op.AttrFloat("eps")),
        momentum_(op.AttrFloat("momentum")),
        population_(op.AttrInt("population") != 0) {}

  template <class Acc>
  void Line(const Lines<Acc>& x, const Results<Acc>& results) const {
    const auto channels = static_cast<size_t>(shape_[1]), positions = static_cast<size_t>(shape_[2]);
    std::vector<Acc> line(static_cast<size_t>(shape_[0]) * positions);
    for (size_t c = 0; c < channels; ++c) {
      const auto at = [&](size_t i) { return (i / positions * channels + c) * positions + i % positions; };
      for (size_t i = 0; i < line.size(); ++i) line[i] = x[0][at(i)];
      const Moments<Acc> m = MomentsOf<kVariance>(std::span<const Acc>(line));
      const auto count = static_cast<Acc>(line.size()), momentum = static_cast<Acc>(momentum_);
      const Acc rstd = 1 / std::sqrt(m.squares / count + static_cast<Acc>(eps_));
      for (size_t i = 0; i < line.size(); ++i) results[0][at(i)] = (line[i] - m.mean) * rstd * x[1][c] + x[2][c];
      const auto move = [&](Acc from, Acc to) { return static_cast<Acc>(1 - momentum_) * from + momentum * to; };
      results[1][c] = move(x[3][c], m.mean);
      results[2][c] = move(x[4][c], m.squares / (population_ ? count : count - 1));
    }
  }

 private:
  std::vector<int64_t> shape_;
  double eps_, momentum_;
  bool population_;
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

// s = x + residual, in the place of residual where that is asked for, and its norm.
template <template <class, class> class Fold>
class FusedAddRmsNorm {
 public:
  static constexpr int kMath = 2;
  static size_t Outputs(const plugin::OpDesc&) { return 2; }
  static void IgnoreShapes(const plugin::OpDesc& op) { op.MayIgnore({"rows", "n"}); }
  static std::vector<int> Leads(size_t input, int rank) { return input < 2 ? AllLeads(rank) : std::vector<int>(); }
  explicit FusedAddRmsNorm(const plugin::OpDesc& op) : eps_(op.AttrFloat("eps")) {}

  template <class Acc>
  void Line(const Lines<Acc>& x, const Results<Acc>& y) const {
    const std::span<Acc> s = y[1];
    for (size_t i = 0; i < s.size(); ++i) s[i] = x[0][i] + x[1][i];
    const Acc squares = SumOf<Fold>(std::span<const Acc>(s), [](Acc value) { return value * value; });
    const Acc rms = 1 / std::sqrt(squares / static_cast<Acc>(s.size()) + static_cast<Acc>(eps_));
    for (size_t i = 0; i < s.size(); ++i) y[0][i] = s[i] * rms * x[2][i];
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

template <template <class, class> class Fold>
struct LogSoftmaxBackward : public SoftmaxBackward<Fold> {
  using SoftmaxBackward<Fold>::SoftmaxBackward;
  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> dx) const {
    const Acc sum = SumOf<Fold>(x[1], [](Acc value) { return value; });
    for (size_t i = 0; i < dx.size(); ++i) dx[i] = x[1][i] - std::exp(x[0][i]) * sum;
  }
};

}  // namespace cpu
