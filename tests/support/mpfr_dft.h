// SPDX-License-Identifier: Apache-2.0
// The discrete Fourier transform by its definition with many bits: one output at a time, O(N) each.
#pragma once

#include <memory>
#include <numeric>
#include <vector>

#include "golden/fft/fft.h"
#include "tests/support/mpfr.h"

namespace assay::test {

class ReferenceDft {
 public:
  ReferenceDft(const FftArgs& fft, std::vector<double> values) : fft_(fft), x_(std::move(values)) {
    for (const int64_t n : fft.n) common_ = std::lcm(common_, n);
    cos_ = std::make_unique<Mpfr[]>(common_), sin_ = std::make_unique<Mpfr[]>(common_);
    for (int64_t j = 0; j < common_; ++j) {
      mpfr_t& angle = angle_.x;
      mpfr_const_pi(angle, MPFR_RNDN);
      mpfr_mul_si(angle, angle, 2 * j, MPFR_RNDN);
      mpfr_div_si(angle, angle, common_, MPFR_RNDN);
      mpfr_sin_cos(sin_[j].x, cos_[j].x, angle, MPFR_RNDN);
      if (!fft.inverse) mpfr_neg(sin_[j].x, sin_[j].x, MPFR_RNDN);
    }
  }

  // |value + value_lo - exact| for number i of the output: batch, element, part.
  double ErrorOf(int64_t i, double value, double value_lo) {
    Compute(i);
    return sum_.DistanceFrom(value, value_lo);
  }
  double Value(int64_t i) {
    Compute(i);
    return sum_.Rounded();
  }

 private:
  static std::vector<int64_t> Coordinates(const Shape& axes, int64_t flat) {
    std::vector<int64_t> index(axes.size());
    for (size_t a = axes.size(); a-- > 0; flat /= axes[a]) index[a] = flat % axes[a];
    return index;
  }

  void AddProduct(double a, mpfr_srcptr b) {
    if (a == 0) return;
    mpfr_mul_d(term_.x, b, a, MPFR_RNDN);
    mpfr_add(sum_.x, sum_.x, term_.x, MPFR_RNDN);
  }

  void Compute(int64_t i) {
    const Shape in = fft_.InputAxes(), out = fft_.OutputAxes();
    const int64_t inputs = NumElements(in), outputs = NumElements(out), last = fft_.n.back();
    const int parts = fft_.InputParts(), out_parts = fft_.OutputParts();
    const bool imaginary = i % out_parts != 0;
    const auto k = Coordinates(out, i / out_parts % outputs);
    const double* x = x_.data() + i / out_parts / outputs * inputs * parts;
    mpfr_set_zero(sum_.x, 1);
    for (int64_t j = 0; j < inputs; ++j) {
      const auto index = Coordinates(in, j);
      int64_t phase = 0;
      for (size_t a = 0; a < k.size(); ++a) phase = (phase + index[a] * k[a] * (common_ / fft_.n[a])) % common_;
      const bool twice = fft_.kind == FftKind::kC2R && index.back() != 0 && 2 * index.back() != last;
      const double weight = twice ? 2 : 1, re = weight * x[j * parts], im = parts == 2 ? weight * x[j * 2 + 1] : 0;
      AddProduct(re, imaginary ? sin_[phase].x : cos_[phase].x);
      AddProduct(imaginary ? im : -im, imaginary ? cos_[phase].x : sin_[phase].x);
    }
    mpfr_set_si(term_.x, fft_.Points(), MPFR_RNDN);
    if (fft_.norm == FftNorm::kOrtho) mpfr_sqrt(term_.x, term_.x, MPFR_RNDN);
    if (fft_.norm == FftNorm::kNone || (fft_.norm == FftNorm::kBackward && !fft_.inverse)) return;
    mpfr_div(sum_.x, sum_.x, term_.x, MPFR_RNDN);
  }

  FftArgs fft_;
  std::vector<double> x_;
  int64_t common_ = 1;
  std::unique_ptr<Mpfr[]> cos_, sin_;
  Mpfr angle_, sum_, term_;
};

}  // namespace assay::test
