// SPDX-License-Identifier: Apache-2.0
// Convolutions the other way round: the gradients of one for its data and its weights, and the transposed convolution,
// which is the first of these as a layer of its own.
#include <algorithm>
#include <tuple>
#include <vector>

#include "ops/formula_operator/formula_operator.h"

namespace assay {
namespace {

using namespace formula;  // NOLINT: formulas read better without

// ConvTaps of a kernel of k at a stride, along one axis.
struct ConvTaps {
  explicit ConvTaps(Definition& d)
      : k(d.Axis("k", "rows and columns of a kernel", 1)),
        stride(d.Integer("stride", "1", "from one window to the next", {"1", "2"})),
        pad(d.Integer("pad", "0", "rows and columns around the image")) {
    is_bad = d.RefuseIf(stride < 1 || pad < 0 || pad >= k.extent,
                        "stride must be at least 1, and pad at least 0 and below k: no window lies on padding alone");
  }
  int64_t Windows(int64_t extent) const { return (extent + 2 * pad - k.extent) / stride + 1; }

  Axis k;
  int64_t stride, pad;
  bool is_bad = false;
};

// Elements of a small image and of kernels that meet at each place of a large one, along one axis: those of `from`
// whose window has the place `to`. Both are zero where there is none.
struct ConvMeeting {
  Axis from, to, taps;
  std::vector<int64_t> places, of_kernel;
};

ConvMeeting MeetAlong(Definition& d, const ConvTaps& of, Axis from, Axis to, const char* text) {
  ConvMeeting all{from, to, d.FixedAxis(text, (of.k.extent + of.stride - 1) / of.stride), {}, {}};
  for (int64_t i = 0; i < to.extent; ++i) {
    for (int64_t j = 0; j < all.taps.extent; ++j) {
      const int64_t tap = (i + of.pad) % of.stride + of.stride * j, window = (i + of.pad - tap) / of.stride;
      const bool meets = tap < of.k.extent && window >= 0 && window < from.extent;
      all.places.push_back(meets ? window : -1);
      all.of_kernel.push_back(meets ? tap : -1);
    }
  }
  return all;
}

// Sum over channels and windows of x and the kernel's element that lies on each place.
Expr SumOfMeetings(Expr x, Expr kernel, Axis channels, const ConvTaps& of, Axis columns_of_kernel,
                   const ConvMeeting& rows, const ConvMeeting& columns) {
  const Expr images = Take(Take(x, rows.from, rows.to + rows.taps, rows.places), columns.from,
                           columns.to + columns.taps, columns.places);
  const Expr kernels = Take(Take(kernel, of.k, rows.to + rows.taps, rows.of_kernel), columns_of_kernel,
                            columns.to + columns.taps, columns.of_kernel);
  return Sum(images * kernels, channels + rows.taps + columns.taps);
}

void ConvTranspose(Definition& d) {
  d.SetDoc(
      "y[n,o] = the kernels weights[c,o] at each element of x[n,c], a stride apart, times these elements, added up");
  const Axis n = d.Axis("n", "images"), c = d.Axis("c", "channels of x", 1), o = d.Axis("o", "channels of y");
  const Axis h = d.Axis("h", "rows of an image of x", 1), w = d.Axis("w", "elements of a row of x", 1);
  const ConvTaps of(d);
  const int64_t more = d.Integer("more", "0", "further rows and columns of y at its end; less than stride");
  const Axis columns_of_kernel = d.DerivedAxis("k", of.k, 1);
  if (of.is_bad || d.RefuseIf(more < 0 || (more > 0 && more >= of.stride), "more must be at least 0 and below stride"))
    return;
  const auto extent = [&](const Axis& from) { return (from.extent - 1) * of.stride - 2 * of.pad + of.k.extent + more; };
  if (d.RefuseIf(extent(h) < 1 || extent(w) < 1, "pad must leave rows and columns of y")) return;
  const ConvMeeting rows = MeetAlong(d, of, h, d.FixedAxis("oh", extent(h)), "taps of rows");
  const ConvMeeting columns = MeetAlong(d, of, w, d.FixedAxis("ow", extent(w)), "taps of columns");
  const Expr x = d.In("x", n + c + h + w), kernels = d.In("weights", c + o + of.k + columns_of_kernel);
  d.Out("y", SumOfMeetings(x, kernels, c, of, columns_of_kernel, rows, columns), n + o + rows.to + columns.to);
}

// The image of a convolution, dy and w or x of whose gradient.
struct ConvImage {
  explicit ConvImage(Definition& d)
      : n(d.Axis("n", "images")),
        c(d.Axis("c", "channels of x")),
        o(d.Axis("o", "channels of dy")),
        h(d.Axis("h", "rows of an image of x", 1)),
        w(d.Axis("w", "elements of a row of x", 1)),
        of(d) {
    is_bad = of.is_bad || d.RefuseIf(of.k.extent > std::min(h.extent, w.extent) + 2 * of.pad,
                                     "k must not be more than an image has rows and columns, padding included");
  }
  Axis n, c, o, h, w;
  ConvTaps of;
  bool is_bad;
};

void ConvBackwardData(Definition& d) {
  d.SetDoc("dx = the gradient of conv for its data, from that of its result, dy, and the weights");
  const ConvImage image(d);
  const Axis columns_of_kernel = d.DerivedAxis("k", image.of.k, 1);
  if (image.is_bad) return;
  const Axis oh = d.FixedAxis("oh", image.of.Windows(image.h.extent)),
             ow = d.FixedAxis("ow", image.of.Windows(image.w.extent));
  const Expr dy = d.In("dy", image.n + image.o + oh + ow);
  const Expr kernels = d.In("weights", image.o + image.c + image.of.k + columns_of_kernel);
  const ConvMeeting rows = MeetAlong(d, image.of, oh, image.h, "taps of rows");
  const ConvMeeting columns = MeetAlong(d, image.of, ow, image.w, "taps of columns");
  d.Out("dx", SumOfMeetings(dy, kernels, image.o, image.of, columns_of_kernel, rows, columns),
        image.n + image.c + image.h + image.w);
}

void ConvBackwardWeights(Definition& d) {
  d.SetDoc("dw = the gradient of conv for its weights, from that of its result, dy, and the data x");
  const ConvImage image(d);
  const Axis columns_of_kernel = d.DerivedAxis("k", image.of.k, 1);
  if (image.is_bad) return;
  const Axis oh = d.FixedAxis("oh", image.of.Windows(image.h.extent)),
             ow = d.FixedAxis("ow", image.of.Windows(image.w.extent));
  const Expr dy = d.In("dy", image.n + image.o + oh + ow);
  const Expr x = d.In("x", image.n + image.c + image.h + image.w);
  // Each window has its element at each tap, and its gradient; both are zero where the tap lies on padding.
  const auto meet = [&](Expr of_dy, Expr of_x, Axis windows, Axis extent, Axis taps, const char* text) {
    const Axis all = d.FixedAxis(text, windows.extent);
    std::vector<int64_t> from_dy, from_x;
    for (int64_t tap = 0; tap < taps.extent; ++tap) {
      for (int64_t window = 0; window < windows.extent; ++window) {
        const int64_t at = window * image.of.stride + tap - image.of.pad;
        const bool is_inside = at >= 0 && at < extent.extent;
        from_dy.push_back(is_inside ? window : -1);
        from_x.push_back(is_inside ? at : -1);
      }
    }
    return std::tuple(Take(of_dy, windows, taps + all, from_dy), Take(of_x, extent, taps + all, from_x), all);
  };
  const auto [dy_rows, x_rows, rows] = meet(dy, x, oh, image.h, image.of.k, "windows of rows");
  const auto [dy_all, x_all, columns] = meet(dy_rows, x_rows, ow, image.w, columns_of_kernel, "windows of columns");
  d.Out("dw", Sum(dy_all * x_all, image.n + rows + columns), image.o + image.c + image.of.k + columns_of_kernel);
}

ASSAY_OPERATOR(conv_backward_data, ConvBackwardData);
ASSAY_OPERATOR(conv_backward_weights, ConvBackwardWeights);
ASSAY_OPERATOR(conv_transpose, ConvTranspose);

}  // namespace
}  // namespace assay
