// SPDX-License-Identifier: Apache-2.0
// Products of matrices of which a part is in another form: outlier columns beside codes, and two of each four elements.
#pragma once

#include <array>
#include <vector>

#include "backends/cpu/experts.h"
#include "backends/cpu/quantize.h"

namespace cpu {

// x, a [m,k], b [k,n], scale_a [m], scale_b [n], is_outlier [k]: term by term, or a sum of codes and one of outliers.
template <bool kByPart>
struct LlmInt8Mm : public Experts {
  using Experts::Experts;
  static constexpr int kMath = 0;
  static void IgnoreShapes(const plugin::OpDesc& op) { op.MayIgnore({"m", "k", "n"}); }
  static bool Takes(const plugin::OpDesc& op) {
    const std::vector<plugin::Tensor>& x = op.inputs();
    return plugin::IsFloat(x[0].dtype) && IsCode(x[1].dtype) && IsCode(x[2].dtype) && x[3].dtype == plugin::kF32 &&
           x[4].dtype == plugin::kF32 && plugin::IsFloat(op.outputs()[0].dtype);
  }
  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    const int64_t k = Extent(0, 1), n = Extent(2, 1);
    for (int64_t i = 0; i < std::ssize(y); ++i) {
      const int64_t row = i / n, column = i % n;
      const Acc scale = x[3][row], scale_b = x[4][column];
      Acc sum = 0, codes = 0;
      bool has_codes = false;
      for (int64_t at = 0; at < k; ++at) {
        const bool is_outlier = x[5][at] != 0;
        const Acc b = x[2][at * n + column], a = x[is_outlier ? 0 : 1][row * k + at];
        if (kByPart && !is_outlier) {
          codes += a * b, has_codes = true;
        } else {
          sum += (is_outlier ? a : a * scale) * b;
        }
      }
      y[i] = (has_codes ? codes * scale + sum : sum) * scale_b;
    }
  }
};

// values, places [m,k/2], b [k,n]: both elements of a group after another, or all first ones and all second ones.
template <bool kByPlace>
struct SparseMm : public Experts {
  using Experts::Experts;
  static constexpr int kMath = 0;
  static void IgnoreShapes(const plugin::OpDesc& op) { op.MayIgnore({"m", "k", "n"}); }
  static bool Takes(const plugin::OpDesc& op) {
    return IsReal(op.inputs()[0].dtype) && plugin::IsInteger(op.inputs()[1].dtype) && IsReal(op.inputs()[2].dtype) &&
           plugin::IsFloat(op.outputs()[0].dtype);
  }
  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    const int64_t half = Extent(0, 1), n = Extent(2, 1);
    for (int64_t i = 0; i < std::ssize(y); ++i) {
      const int64_t row = i / n, column = i % n;
      std::array<Acc, 2> sums{};
      for (int64_t at = 0; at < half; ++at) {
        const int64_t place = at / 2 * 4 + Place(x[1][row * half + at], 4);
        sums[kByPlace ? at % 2 : 0] += x[0][row * half + at] * x[2][place * n + column];
      }
      y[i] = sums[0] + sums[1];
    }
  }

 private:
  static bool IsReal(plugin::DType type) { return plugin::IsFloat(type) || type == plugin::kE4M3; }
};

}  // namespace cpu
