// SPDX-License-Identifier: Apache-2.0
// Runs an FftKernel over all axes of dense operands. Reals: the last axis first (r2c) or last (c2r).
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "tests/faults/corpus/dense.h"
#include "tests/faults/corpus/edits.h"
#include "tests/faults/corpus/fft_kernel.h"
#include "tests/faults/corpus/struck.h"

namespace corpus {

template <class T>
class FftPlan : public DensePlan<T> {
 public:
  FftPlan(Description op, bool exact, FftKernel<T> kernel)
      : DensePlan<T>(op, exact), kernel_(kernel), spec_(plugin::ParseFft(op)) {}

 protected:
  const FftSpec& spec() const { return spec_; }

 private:
  void Compute(std::span<const std::vector<T>> inputs, DenseOutput<T>& output) final {
    const int64_t step = std::ssize(inputs[0]) / spec_.batch;
    const T scale = kernel_.scale(spec_);
    auto y = output.values.begin();
    if (kernel_.pairs_rows) return TransformPairs(inputs[0], scale, output);
    for (int64_t b = 0; b < spec_.batch; ++b) {
      const int64_t width = spec_.kind == FftKind::kR2C ? 1 : 2;
      const auto first = inputs[0].begin() + b * (step - kernel_.batch_step_short * width);
      std::vector<T> one = Transformed({first, first + step});
      if (spec_.scaled || scale != 1) {
        for (T& value : one) value *= scale;
      }
      y = std::copy(one.begin(), one.end(), y);
    }
  }

  // Transforms one axis. Each pair of rows is the real and the imaginary part of one line, whose spectrum is taken
  // apart. The second row of an odd batch's last pair is zero.
  void TransformPairs(const std::vector<T>& x, T scale, DenseOutput<T>& output) const {
    const int64_t n = spec_.n.back(), half = n / 2 + 1;
    const auto at = [&](int64_t row, int64_t j) {
      return row < spec_.batch ? x[static_cast<size_t>(row * n + j)] : T{0};
    };
    for (int64_t row = 0; row < spec_.batch; row += 2) {
      Line<T> line;
      for (int64_t j = 0; j < n; ++j) line.push_back({at(row, j), at(row + 1, j)});
      Transform(line);
      for (int64_t k = 0; k < half; ++k) {
        const Point<T> z = line[static_cast<size_t>(k)], mirror = line[static_cast<size_t>((n - k) % n)].Conjugate();
        const Point<T> first = (z + mirror) * (scale / 2), second = (mirror - z).TimesI() * (scale / 2);
        const auto to = output.values.begin() + 2 * (row * half + k);
        to[0] = first.re, to[1] = first.im;
        if (row + 1 == spec_.batch) continue;
        to[2 * half] = second.re, to[2 * half + 1] = second.im;
      }
    }
  }

  std::vector<T> Transformed(const std::vector<T>& x) const {
    const int64_t last = spec_.n.back(), half = last / 2 + 1, rank = std::ssize(spec_.n);
    std::vector<T> y;
    if (spec_.kind == FftKind::kR2C) {
      Line<T> points;
      for (auto row = x.begin(); row != x.end(); row += last) {
        Line<T> spectrum = HalfOfReals({row, row + last});
        kernel_.half(spectrum, last);
        points.insert(points.end(), spectrum.begin(), spectrum.end());
      }
      return Flat(AlongAxes(std::move(points), half, rank - 1));
    }
    Line<T> points;
    for (size_t i = 0; i < x.size(); i += 2) points.push_back({x[i], x[i + 1]});
    if (spec_.kind == FftKind::kC2C) return Flat(AlongAxes(std::move(points), last, rank));
    points = AlongAxes(std::move(points), half, rank - 1);
    for (auto row = points.begin(); row != points.end(); row += half) {
      Line<T> spectrum(row, row + half);
      kernel_.half(spectrum, last);
      const std::vector<T> reals = RealsOfHalf(spectrum, last);
      y.insert(y.end(), reals.begin(), reals.end());
    }
    return y;
  }

  static std::vector<T> Flat(const Line<T>& points) {
    std::vector<T> y;
    for (const Point<T>& p : points) y.push_back(p.re), y.push_back(p.im);
    return y;
  }

  // Transforms along the first `axes` axes; `width`: the extent of the last one.
  Line<T> AlongAxes(Line<T> x, int64_t width, int64_t axes) const {
    int64_t stride = width;
    for (int64_t axis = std::ssize(spec_.n) - 1; axis >= 0; --axis) {
      const int64_t n = axis + 1 == std::ssize(spec_.n) ? width : spec_.n[static_cast<size_t>(axis)];
      stride = axis + 1 == std::ssize(spec_.n) ? 1 : stride;
      if (axis < axes && axis >= kernel_.axes_left_out) AlongAxis(x, n, stride);
      stride *= n;
    }
    return x;
  }

  void AlongAxis(Line<T>& x, int64_t n, int64_t stride) const {
    Line<T> line(static_cast<size_t>(n));
    for (int64_t first = 0; first < std::ssize(x); first += n * stride) {
      for (int64_t i = 0; i < stride; ++i) {
        for (int64_t j = 0; j < n; ++j) line[static_cast<size_t>(j)] = x[static_cast<size_t>(first + i + j * stride)];
        Transform(line);
        for (int64_t j = 0; j < n; ++j) x[static_cast<size_t>(first + i + j * stride)] = line[static_cast<size_t>(j)];
      }
    }
  }

  bool Inverse() const { return spec_.inverse != kernel_.wrong_sign; }

  // In the spec's direction: the inverse is that of the conjugate.
  void Transform(Line<T>& line) const {
    const auto conjugate = [&] {
      if (!Inverse()) return;
      for (Point<T>& p : line) p = p.Conjugate();
    };
    conjugate();
    kernel_.transform(kernel_, line);
    conjugate();
    kernel_.finish(line);
  }

  // e^(-+2 pi i k / n) of the direction.
  Point<T> Root(int64_t k, int64_t n) const {
    const Point<T> root = kernel_.root(k, n);
    return Inverse() != kernel_.untangles_wrongly ? root.Conjugate() : root;
  }

  Line<T> HalfOfReals(const std::vector<T>& x) const {
    const int64_t n = std::ssize(x), half = n / 2 + 1;
    Line<T> line;
    if (!kernel_.packs_reals || n % 2 != 0) {
      for (T value : x) line.push_back({value, T{0}});
      Transform(line);
      line.resize(static_cast<size_t>(half));
      return line;
    }
    for (size_t i = 0; i < x.size(); i += 2) line.push_back({x[i], x[i + 1]});
    Transform(line);
    Line<T> y;
    const int64_t m = n / 2;
    for (int64_t k = 0; k < half; ++k) {
      const Point<T> z = line[static_cast<size_t>(k % m)], mirror = line[static_cast<size_t>((m - k) % m)].Conjugate();
      const Point<T> even = (z + mirror) * (T{1} / 2), odd = (mirror - z).TimesI() * (T{1} / 2);
      y.push_back(even + kernel_.product(odd, Root(k, n)));
    }
    return y;
  }

  std::vector<T> RealsOfHalf(const Line<T>& half, int64_t n) const {
    const auto at = [&](int64_t k) {
      return 2 * k <= n ? half[static_cast<size_t>(k)] : half[static_cast<size_t>(n - k)].Conjugate();
    };
    Line<T> line;
    std::vector<T> y;
    if (!kernel_.packs_reals || n % 2 != 0) {
      for (int64_t k = 0; k < n; ++k) line.push_back(at(k));
      Transform(line);
      for (const Point<T>& p : line) y.push_back(p.re);
      return y;
    }
    for (int64_t k = 0; k < n / 2; ++k) {
      const Point<T> even = at(k) + at(k + n / 2), odd = kernel_.product(at(k) - at(k + n / 2), Root(k, n));
      line.push_back(even + odd.TimesI());
    }
    Transform(line);
    for (const Point<T>& p : line) y.push_back(p.re), y.push_back(p.im);
    return y;
  }

  const FftKernel<T> kernel_;
  const FftSpec spec_;
};

template <class T>
using FftEdits = Edits<FftKernel<T>, FftSpec>;
template <template <class> class Plan = FftPlan, class Fill>
std::vector<Entry> FftRows(Fill fill) {
  return EntriesOf<Plan, FftKernel>("fft", FftContract, FftWhyNot, plugin::ParseFft, fill);
}
// Bugs of what the correct kernel reads or stores.
inline std::vector<Entry> FftIoBugs(std::span<const IoBug> bugs) {
  const auto why_not = [](Description op) -> std::string {
    return AreSmooth(plugin::ParseFft(op)) ? FftWhyNot(op) : "this needs prime factors up to 31";
  };
  return StruckEntries<FftPlan, FftKernel>("fft", FftContract, why_not, bugs);
}

}  // namespace corpus
