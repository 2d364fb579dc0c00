// SPDX-License-Identifier: Apache-2.0
// Convolutions the other way round: each element of the result sums up what meets there, or each product is added where
// it belongs.
#pragma once

#include <algorithm>
#include <vector>

#include "backends/cpu/rows.h"

namespace cpu {

// The first operand is the small image [n,c,h,w] (dy of gradients), `large` the other one; kernels [.,.,k,k].
struct ConvOtherWay {
  static constexpr bool kWhole = true;
  static void IgnoreShapes(const plugin::OpDesc& op) { op.MayIgnore({"n", "c", "o", "h", "w", "k", "more"}); }
  explicit ConvOtherWay(const plugin::OpDesc& op)
      : of_weights(op.name() == "conv_backward_weights"),
        stride(op.AttrInt("stride")),
        pad(op.AttrInt("pad")),
        small(op.inputs()[0].shape),
        large(of_weights ? op.inputs()[1].shape : op.outputs()[0].shape),
        kernels(of_weights ? op.outputs()[0].shape : op.inputs()[1].shape) {}

  // visit(place in the small image, in the large one, in the kernel), for all three, in the order of the small one.
  template <class Visit>
  void ForMeetings(const Visit& visit) const {
    const int64_t k = kernels[2];
    for (int64_t i = 0; i < small[0] * small[1] * small[2] * small[3]; ++i) {
      const int64_t column = i % small[3], row = i / small[3] % small[2], channel = i / small[3] / small[2] % small[1];
      const int64_t image = i / small[3] / small[2] / small[1];
      for (int64_t other = 0; other < large[1]; ++other) {
        for (int64_t tap = 0; tap < k * k; ++tap) {
          const int64_t y = row * stride + tap / k - pad, x = column * stride + tap % k - pad;
          if (y < 0 || y >= large[2] || x < 0 || x >= large[3]) continue;
          visit(i, ((image * large[1] + other) * large[2] + y) * large[3] + x,
                ((channel * kernels[1] + other) * k) * k + tap);
        }
      }
    }
  }

  bool of_weights;
  int64_t stride, pad;
  std::vector<int64_t> small, large, kernels;
};

// kScattered: in the order of the small image; else the products of each result are collected and added from the last
// one on.
template <bool kScattered>
struct ConvOtherWayRows : public ConvOtherWay {
  using ConvOtherWay::ConvOtherWay;
  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    std::ranges::fill(y, Acc{0});
    std::vector<std::vector<Acc>> products(kScattered ? 0 : y.size());
    ForMeetings([&](int64_t in_small, int64_t in_large, int64_t in_kernel) {
      const int64_t to = of_weights ? in_kernel : in_large;
      const Acc product = x[0][in_small] * x[1][of_weights ? in_large : in_kernel];
      if (kScattered) {
        y[to] += product;
      } else {
        products[to].push_back(product);
      }
    });
    for (size_t to = 0; to < products.size(); ++to) {
      for (size_t i = products[to].size(); i-- > 0;) y[to] += products[to][i];
    }
  }
};

}  // namespace cpu
