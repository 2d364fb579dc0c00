// SPDX-License-Identifier: Apache-2.0
// Means, norms and maxima of windows of images. Windows of avg_pool, lp_pool and max_pool lie at a stride, with padding
// around the image, which is never the largest; adaptive_avg_pool has as many as its result has elements.
#include <algorithm>
#include <vector>

#include "ops/formula_operator/formula_operator.h"

namespace assay {
namespace {

using namespace formula;  // NOLINT: formulas read better without

// Elements first to last - 1 of an image's axis, and by how many their sum is divided.
struct Window {
  int64_t first, last, count;
};
using Windows = std::vector<Window>;

// An axis of the image, that of the result, and one of the elements of a window.
struct Pooled {
  Axis from, to, inside;
  Windows windows;
};

// The elements of each window; beyond its end zero, or its last element once more.
Expr ElementsOf(Expr x, const Pooled& axis, bool repeats_last) {
  std::vector<int64_t> places;
  for (const Window& window : axis.windows) {
    for (int64_t i = window.first; i < window.first + axis.inside.extent; ++i) {
      places.push_back(i < window.last ? i : repeats_last ? window.last - 1 : -1);
    }
  }
  return Take(x, axis.from, axis.to + axis.inside, std::move(places));
}

// An integer for each window.
template <class Value>
Expr Integers(Definition& d, Graph& graph, const Pooled& axis, const char* name, const Value& value) {
  int64_t most = 0;
  for (const Window& window : axis.windows) most = std::max(most, value(window));
  const Axis numbers = d.FixedAxis(name, most + 1);
  return At(Index(graph, numbers), numbers, axis.to,
            [&](int64_t i) { return value(axis.windows[static_cast<size_t>(i)]); });
}

void StateMean(Definition& d, Expr x, const Axes& images, const Pooled& rows, const Pooled& columns) {
  const auto count = [](const Window& window) { return window.count; };
  const Expr sum = Sum(ElementsOf(ElementsOf(x, rows, false), columns, false), rows.inside + columns.inside);
  const Expr of_rows = Integers(d, *x.graph, rows, "rows counted", count);
  const Expr of_columns = Integers(d, *x.graph, columns, "columns counted", count);
  d.Out("y", sum / (of_rows * of_columns), images + rows.to + columns.to);
}

// An image and the attributes of windows at a stride.
struct Strided {
  explicit Strided(Definition& d)
      : n(d.Axis("n", "images")),
        c(d.Axis("c", "channels")),
        h(d.Axis("h", "rows of an image", 1)),
        w(d.Axis("w", "elements of a row", 1)),
        k(d.Axis("k", "rows and columns of a window", 1)),
        stride(d.Integer("stride", "2", "from a window to the next one")),
        pad(d.Integer("pad", "0", "rows and columns around the image")),
        ceil(d.Flag("ceil", "1: the last window may begin inside and end outside")) {
    const int64_t least = std::min(h.extent, w.extent);
    is_bad = d.RefuseIf(stride < 1 || pad < 0 || pad > k.extent / 2,
                        "stride must be at least 1, and pad between 0 and half of k, rounded down") ||
             d.RefuseIf(k.extent > least + 2 * pad,
                        "k must not be more than an image has rows and columns, padding included");
  }
  Windows WindowsOf(int64_t extent, bool counts_padding) const {
    const int64_t room = extent + 2 * pad - k.extent;
    int64_t windows = (ceil.on ? room + stride - 1 : room) / stride + 1;
    if (ceil.on && (windows - 1) * stride >= extent + pad) --windows;
    Windows all;
    for (int64_t i = 0; i < windows; ++i) {
      const int64_t begin = i * stride - pad, first = std::max<int64_t>(begin, 0),
                    last = std::min(begin + k.extent, extent);
      all.push_back({first, last, counts_padding ? std::min(begin + k.extent, extent + pad) - begin : last - first});
    }
    return all;
  }
  Pooled Along(Definition& d, Axis from, const char* to, Axis inside, bool counts_padding) const {
    Windows windows = WindowsOf(from.extent, counts_padding);
    const Axis of_result = d.FixedAxis(to, static_cast<int64_t>(windows.size()));
    return {from, of_result, inside, std::move(windows)};
  }

  Axis n, c, h, w, k;
  int64_t stride, pad;
  Flag ceil;
  bool is_bad = false;
};

void AvgPool(Definition& d) {
  d.SetDoc("y = the mean of each window of x");
  const Strided of(d);
  const Flag count_pad = d.Flag("count_pad", "1: padding counts as zeros, else it does not count");
  if (of.is_bad) return;
  const Expr x = d.In("x", of.n + of.c + of.h + of.w);
  const Pooled rows = of.Along(d, of.h, "oh", of.k, count_pad.on);
  const Pooled columns = of.Along(d, of.w, "ow", d.DerivedAxis("k", of.k, 1), count_pad.on);
  StateMean(d, x, of.n + of.c, rows, columns);
}

void LpPool(Definition& d) {
  d.SetDoc("y = the sum of |x|^p in each window of x, to the power of 1/p, p 1 or 2; padding counts as zeros");
  const Strided of(d);
  const bool is_square = d.Choice("p", {"2", "1"}, "the power") == "2";
  if (of.is_bad) return;
  const Expr x = d.In("x", of.n + of.c + of.h + of.w);
  const Pooled rows = of.Along(d, of.h, "oh", of.k, false);
  const Pooled columns = of.Along(d, of.w, "ow", d.DerivedAxis("k", of.k, 1), false);
  const Expr elements = ElementsOf(ElementsOf(x, rows, false), columns, false);
  const Expr sum = Sum(is_square ? elements * elements : Abs(elements), rows.inside + columns.inside);
  d.Out("y", is_square ? Sqrt(sum) : sum, of.n + of.c + rows.to + columns.to);
}

void MaxPool(Definition& d) {
  d.SetDoc(
      "y = the largest element of each window of x, NaN where there is one; indices are their places in the image");
  const Strided of(d);
  if (of.is_bad) return;
  const Expr x = d.In("x", of.n + of.c + of.h + of.w);
  const Pooled rows = of.Along(d, of.h, "oh", of.k, false);
  const Pooled columns = of.Along(d, of.w, "ow", d.DerivedAxis("k", of.k, 1), false);
  const Expr elements = ElementsOf(ElementsOf(x, rows, true), columns, true);
  const Axes all = of.n + of.c + rows.to + columns.to;
  d.Out("y", Max(elements, rows.inside + columns.inside), all);
  const Axis joined = d.FixedAxis("k*k", rows.inside.extent * columns.inside.extent), one = d.FixedAxis("1", 1);
  const Expr flat = Reshape(elements, rows.inside + columns.inside, joined);
  const Expr place = Max(TopK(flat, joined, one, {}).places, one);
  const Expr row = FloorDivide(place, Const(*x.graph, static_cast<double>(columns.inside.extent)));
  const Expr column = place - row * static_cast<double>(columns.inside.extent);
  const auto found = [&](const Pooled& axis, Expr inside, const char* first, const char* last) {
    const Expr begin = Integers(d, *x.graph, axis, first, [](const Window& window) { return window.first; });
    const Expr end = Integers(d, *x.graph, axis, last, [](const Window& window) { return window.last - 1; });
    return Minimum(begin + inside, end);
  };
  const Expr in_rows = found(rows, row, "first row", "last row");
  const Expr in_columns = found(columns, column, "first column", "last column");
  d.OutOfType("indices", in_rows * static_cast<double>(of.w.extent) + in_columns, all, DType::kI64);
}

void AdaptiveAvgPool(Definition& d) {
  d.SetDoc("y[i,j] = the mean of rows floor(i h / oh) to ceil((i + 1) h / oh) - 1 of x, and columns likewise");
  const Axis n = d.Axis("n", "images"), c = d.Axis("c", "channels");
  const Axis h = d.Axis("h", "rows of an image", 1), w = d.Axis("w", "elements of a row", 1);
  const Axis oh = d.Axis("oh", "rows of y", 1), ow = d.Axis("ow", "elements of a row of y", 1);
  const Expr x = d.In("x", n + c + h + w);
  const auto pooled = [&](Axis from, Axis to, const char* inside) {
    Windows windows;
    for (int64_t i = 0; i < to.extent; ++i) {
      const int64_t first = i * from.extent / to.extent, last = ((i + 1) * from.extent + to.extent - 1) / to.extent;
      windows.push_back({first, last, last - first});
    }
    int64_t longest = 1;
    for (const Window& window : windows) longest = std::max(longest, window.last - window.first);
    return Pooled{from, to, d.FixedAxis(inside, longest), std::move(windows)};
  };
  const Pooled rows = pooled(h, oh, "kh"), columns = pooled(w, ow, "kw");
  StateMean(d, x, n + c, rows, columns);
}

ASSAY_OPERATOR(adaptive_avg_pool, AdaptiveAvgPool);
ASSAY_OPERATOR(avg_pool, AvgPool);
ASSAY_OPERATOR(lp_pool, LpPool);
ASSAY_OPERATOR(max_pool, MaxPool);

}  // namespace
}  // namespace assay
