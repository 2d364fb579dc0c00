// SPDX-License-Identifier: Apache-2.0
// Losses of training and the gradient of cross entropy.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "backends/common/status.h"
#include "backends/cpu/norms.h"
#include "backends/cpu/rows.h"

namespace cpu {

// x and target [rows,n] -> loss [], or [rows,n] with reduction=none.
template <template <class, class> class Fold>
class ElementLoss {
 public:
  static constexpr int kMath = 1;
  static constexpr bool kWhole = true;
  static void IgnoreShapes(const plugin::OpDesc& op) { op.MayIgnore({"rows", "n"}); }
  explicit ElementLoss(const plugin::OpDesc& op)
      : is_kl_(op.name() == "kl_div"), reduction_(op.AttrString("reduction")), rows_(op.inputs()[0].shape[0]) {}

  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    std::vector<Acc> losses(x[0].size());
    for (size_t i = 0; i < losses.size(); ++i)
      losses[i] = is_kl_ ? Divergence(x[0][i], x[1][i]) : Square(x[0][i] - x[1][i]);
    if (reduction_ == "none") return void(std::ranges::copy(losses, y.begin()));
    const Acc sum = SumOf<Fold>(std::span<const Acc>(losses), [](Acc value) { return value; });
    const double count = reduction_ == "mean" ? static_cast<double>(losses.size()) : static_cast<double>(rows_);
    y[0] = reduction_ == "sum" ? sum : sum / static_cast<Acc>(count);
  }

 private:
  template <class Acc>
  static Acc Square(Acc x) {
    return x * x;
  }
  template <class Acc>
  static Acc Divergence(Acc x, Acc target) {
    return (target == 0 ? 0 : target * std::log(target)) - target * x;
  }

  bool is_kl_;
  std::string reduction_;
  int64_t rows_;
};

// logits [rows,n] with a label for each row.
class LabelledRows {
 public:
  static constexpr int kMath = 1;
  static constexpr bool kWhole = true;
  static void IgnoreShapes(const plugin::OpDesc& op) { op.MayIgnore({"rows", "n"}); }
  // Labels travel as numbers of the accumulator's type: f32 has all of them up to 2^24.
  static bool Takes(const plugin::OpDesc& op) {
    const plugin::Tensor& logits = op.inputs()[0];
    return plugin::IsFloat(logits.dtype) && plugin::IsInteger(op.inputs()[1].dtype) &&
           (logits.dtype == plugin::kF64 || logits.shape[1] <= int64_t{1} << 24);
  }
  explicit LabelledRows(const plugin::OpDesc& op)
      : n_(static_cast<size_t>(op.inputs()[0].shape[1])),
        smoothing_(op.AttrFloat("smoothing")),
        ignore_(op.AttrInt("ignore")),
        reduction_(op.AttrString("reduction")) {}

 protected:
  // The greatest logit of a row and the sum of exp(logit - greatest); with kOnline in one pass.
  template <bool kOnline, class Acc>
  static std::pair<Acc, Acc> MaxAndSumOf(std::span<const Acc> row) {
    Acc max = -std::numeric_limits<Acc>::infinity(), sum = 0;
    if (kOnline) {
      for (const Acc x : row) {
        const Acc greater = Extreme<Acc, 1>{}(max, x);
        if (greater == -std::numeric_limits<Acc>::infinity()) continue;
        sum = sum * std::exp(max - greater) + std::exp(x - greater);
        max = greater;
      }
      return {max, sum};
    }
    for (const Acc x : row) max = Extreme<Acc, 1>{}(max, x);
    for (const Acc x : row) sum += std::exp(x - max);
    return {max, sum};
  }

  template <class Acc>
  bool Counts(Acc label) const {
    return static_cast<int64_t>(label) != ignore_;
  }
  template <class Acc>
  Acc CountOf(std::span<const Acc> labels) const {
    return static_cast<Acc>(std::ranges::count_if(labels, [&](Acc label) { return Counts(label); }));
  }
  template <class Acc>
  size_t PlaceOf(Acc label) const {
    if (label < 0 || label >= static_cast<Acc>(n_))
      throw plugin::Failure("label {} lies outside of [0, {})", label, n_);
    return static_cast<size_t>(label);
  }

  size_t n_;
  double smoothing_;
  int64_t ignore_;
  std::string reduction_;
};

template <bool kOnline>
struct CrossEntropy : public LabelledRows {
  using LabelledRows::LabelledRows;
  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> loss) const {
    const std::span<const Acc> labels = x[1];
    const auto smoothing = static_cast<Acc>(smoothing_), rest = static_cast<Acc>(1 - smoothing_);
    Acc sum = 0;
    for (size_t row = 0; row < labels.size(); ++row) {
      const std::span<const Acc> logits = x[0].subspan(row * n_, n_);
      const size_t label = PlaceOf(labels[row]);
      Acc of_row = 0;
      if (Counts(labels[row])) {
        const auto [max, total] = MaxAndSumOf<kOnline>(logits);
        of_row = std::log(total) + rest * (max - logits[label]);
        if (smoothing_ != 0) {
          of_row +=
              smoothing * SumOf<SequentialFold>(logits, [&](Acc value) { return max - value; }) / static_cast<Acc>(n_);
        }
      }
      reduction_ == "none" ? loss[row] = of_row : sum += of_row;
    }
    if (reduction_ != "none") loss[0] = reduction_ == "mean" ? sum / CountOf(labels) : sum;
  }
};

// Behind logits and labels dy: [rows] with reduction=none, else [].
template <bool kOnline>
struct CrossEntropyBackward : public LabelledRows {
  using LabelledRows::LabelledRows;
  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> dlogits) const {
    const std::span<const Acc> labels = x[1];
    const Acc count = CountOf(labels), spread = static_cast<Acc>(smoothing_ / static_cast<double>(n_));
    for (size_t row = 0; row < labels.size(); ++row) {
      const std::span<const Acc> logits = x[0].subspan(row * n_, n_);
      const std::span<Acc> to = dlogits.subspan(row * n_, n_);
      const size_t label = PlaceOf(labels[row]);
      std::ranges::fill(to, Acc{0});
      if (!Counts(labels[row])) continue;
      const auto [max, total] = MaxAndSumOf<kOnline>(logits);
      const Acc dy = x[2][x[2].size() == 1 ? 0 : row];
      for (size_t i = 0; i < n_; ++i) {
        const Acc target = (i == label ? static_cast<Acc>(1 - smoothing_) : Acc{0}) + spread;
        const Acc of_one = dy * (std::exp(logits[i] - max) / total - target);
        to[i] = reduction_ == "mean" ? of_one / count : of_one;
      }
    }
  }
};

}  // namespace cpu
