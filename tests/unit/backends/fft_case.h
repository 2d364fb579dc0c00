// SPDX-License-Identifier: Apache-2.0
// An fft case: its description, and its reference by the definition in long double.
#pragma once

#include <cmath>
#include <complex>
#include <numbers>
#include <string>

#include "tests/unit/backends/plugin_fixture.h"

namespace plugin_test {

struct FftArgs {
  std::string kind = "c2c";
  bool wide = false;
  std::vector<int64_t> n;
  int64_t batch = 1;
  bool inverse = false;
  std::string norm = "none";
  bool strided = false;

  using Complex = std::complex<long double>;

  Type Real() const { return wide ? kF64 : kF32; }
  Type X() const { return kind == "r2c" ? Real() : wide ? kC128 : kC64; }
  Type Y() const { return kind == "c2r" ? Real() : wide ? kC128 : kC64; }
  std::vector<int64_t> Axes(bool half) const {
    std::vector<int64_t> axes = n;
    if (half) axes.back() = axes.back() / 2 + 1;
    return axes;
  }
  std::vector<int64_t> XAxes() const { return Axes(kind == "c2r"); }
  std::vector<int64_t> YAxes() const { return Axes(kind == "r2c"); }
  int64_t Points() const { return Product(n); }

  Op Description() const {
    const auto with_batch = [this](std::vector<int64_t> axes) { return axes.insert(axes.begin(), batch), axes; };
    const auto place = strided ? Strided : Dense;
    Op op("fft");
    op.In(place("x", X(), with_batch(XAxes()))).Out(place("y", Y(), with_batch(YAxes())));
    op.String("kind", kind).List("n", n).Int("batch", batch).String("dir", inverse ? "inv" : "fwd");
    op.String("norm", norm);
    return op;
  }

  static int64_t Product(const std::vector<int64_t>& axes) {
    int64_t product = 1;
    for (const int64_t extent : axes) product *= extent;
    return product;
  }

  // Values of x that are exact in its type. Half spectra come from a real signal, rounded: those mirror images that
  // lie in the half are equal to the last bit.
  std::vector<double> Input(uint64_t seed) const {
    const auto count = static_cast<size_t>(Product(XAxes()) * batch * X().Parts());
    std::vector<double> x = RandomValues(Real(), count, seed);
    if (kind != "c2r") return x;
    const int64_t columns = XAxes().back(), rows = Points() / n.back();
    for (int64_t i = 0; i < batch * rows; ++i) {
      const int64_t row = i % rows, mirror = i - row + Mirror(row);
      for (const int64_t column : {int64_t{0}, columns - 1}) {
        if (column != 0 && 2 * column != n.back()) continue;
        double *here = &x[2 * (i * columns + column)], *there = &x[2 * (mirror * columns + column)];
        if (mirror >= i) there[0] = here[0], there[1] = mirror == i ? 0 : -here[1];
      }
    }
    return x;
  }

  // The row of the mirror images of a row: coordinates k become -k modulo n.
  int64_t Mirror(int64_t row) const {
    int64_t mirrored = 0, stride = 1;
    for (size_t axis = n.size() - 1; axis-- > 0; stride *= n[axis], row /= n[axis]) {
      mirrored += (n[axis] - row % n[axis]) % n[axis] * stride;
    }
    return mirrored;
  }

  // The whole complex signal of one transform.
  std::vector<Complex> Signal(const std::vector<double>& x, int64_t b) const {
    std::vector<Complex> signal(static_cast<size_t>(Points()));
    const int64_t columns = XAxes().back(), last = n.back(), elements = Product(XAxes());
    for (int64_t i = 0; i < Points(); ++i) {
      const int64_t row = i / last, column = i % last;
      if (kind == "r2c") {
        signal[i] = x[b * elements + i];
      } else if (column < columns) {
        const double* at = &x[2 * (b * elements + row * columns + column)];
        signal[i] = {at[0], at[1]};
      } else {
        const double* at = &x[2 * (b * elements + Mirror(row) * columns + last - column)];
        signal[i] = {at[0], -at[1]};
      }
    }
    return signal;
  }

  double Scale() const {
    const auto points = static_cast<double>(Points());
    if (norm == "ortho") return 1 / std::sqrt(points);
    return norm == "backward" && inverse ? 1 / points : 1;
  }

  // Axis by axis, each by the definition.
  std::vector<Complex> Transform(std::vector<Complex> signal) const {
    int64_t inner = 1;
    for (size_t axis = n.size(); axis-- > 0; inner *= n[axis]) {
      const int64_t length = n[axis];
      std::vector<Complex> roots, line(static_cast<size_t>(length));
      for (int64_t j = 0; j < length; ++j) {
        const long double angle = 2 * std::numbers::pi_v<long double> * static_cast<long double>(j) / length;
        roots.emplace_back(std::cos(angle), inverse ? std::sin(angle) : -std::sin(angle));
      }
      for (int64_t l = 0; l < Points() / length; ++l) {
        const int64_t first = l / inner * length * inner + l % inner;
        for (int64_t k = 0; k < length; ++k) {
          line[k] = 0;
          for (int64_t j = 0; j < length; ++j) line[k] += signal[first + j * inner] * roots[j * k % length];
        }
        for (int64_t k = 0; k < length; ++k) signal[first + k * inner] = line[k];
      }
    }
    for (Complex& value : signal) value *= Scale();
    return signal;
  }
};

}  // namespace plugin_test
