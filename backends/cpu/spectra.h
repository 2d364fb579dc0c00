// SPDX-License-Identifier: Apache-2.0
// Spectra of frames and long convolutions: as sums, or by fast transforms.
#pragma once

#include <algorithm>
#include <vector>

#include "backends/common/fft_spec.h"
#include "backends/common/status.h"
#include "backends/cpu/fft_line.h"
#include "backends/cpu/rows.h"

namespace cpu {

struct BySums {
  static constexpr const char* kAlgorithm = "direct";
  static constexpr bool kFast = false;
};
struct ByTransforms {
  static constexpr const char* kAlgorithm = "fft";
  static constexpr bool kFast = true;
};

// A signal has x [l], window [n] -> y [frames,n/2+1,2].
template <class By>
class Stft : public By {
 public:
  static constexpr int kMath = 1;
  static constexpr int kLineAxes = 3;
  static void IgnoreShapes(const plugin::OpDesc& op) { op.MayIgnore({"b", "l", "n"}); }
  static std::vector<int> Leads(size_t input, int) { return input == 0 ? std::vector<int>{0} : std::vector<int>{}; }
  explicit Stft(const plugin::OpDesc& op) : n_(op.inputs()[1].shape[0]), hop_(op.AttrInt("hop")) {
    if (By::kFast && plugin::LargestPrimeFactor(n_) > kLargestRadix) {
      throw plugin::Unsupported("{} has prime factors up to {} alone, not n={}", op.name(), kLargestRadix, n_);
    }
  }
  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    const auto roots = Roots<Acc>(n_);
    const auto transform = By::kFast ? MakeLineFft<Acc>(FftAlgorithm::kRadix, n_) : nullptr;
    const int64_t bins = n_ / 2 + 1;
    cpu::Line<Acc> frame(n_), work(transform ? transform->WorkSize() : 0);
    for (int64_t first = 0, at = 0; first + n_ <= std::ssize(x[0]); first += hop_, at += bins) {
      for (int64_t j = 0; j < n_; ++j) frame.re[j] = x[0][first + j] * x[1][j];
      std::ranges::fill(frame.im, Acc{0});
      if (transform) transform->Run(frame.re.data(), frame.im.data(), work);
      for (int64_t bin = 0; bin < bins; ++bin) {
        Acc re = transform ? frame.re[bin] : 0, im = transform ? frame.im[bin] : 0;
        for (int64_t j = 0; j < n_ && !transform; ++j) {
          re += frame.re[j] * roots.re[j * bin % n_];
          im += frame.re[j] * roots.im[j * bin % n_];
        }
        y[2 * (at + bin)] = re, y[2 * (at + bin) + 1] = im;
      }
    }
  }

 private:
  int64_t n_, hop_;
};

// A channel has x [l], kernel [l] -> y [l].
template <class By>
class FftConv : public By {
 public:
  static constexpr int kMath = 1;
  static void IgnoreShapes(const plugin::OpDesc& op) { op.MayIgnore({"b", "c", "l"}); }
  static std::vector<int> Leads(size_t input, int) { return input == 0 ? std::vector<int>{0, 1} : std::vector<int>{1}; }
  explicit FftConv(const plugin::OpDesc&) {}
  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    const int64_t l = std::ssize(y);
    if (By::kFast) return Transformed(x, y);
    for (int64_t t = 0; t < l; ++t) {
      y[t] = 0;
      for (int64_t j = 0; j <= t; ++j) y[t] += x[1][j] * x[0][t - j];
    }
  }

 private:
  // Both are padded with zeros. The inverse is the transform of the conjugate.
  template <class Acc>
  static void Transformed(const Lines<Acc>& x, std::span<Acc> y) {
    int64_t n = 2;
    while (n < 2 * std::ssize(y)) n *= 2;
    const auto transform = MakeLineFft<Acc>(FftAlgorithm::kRadix, n);
    cpu::Line<Acc> work(transform->WorkSize());
    const auto spectrum_of = [&](std::span<const Acc> signal) {
      cpu::Line<Acc> spectrum(n);
      std::ranges::copy(signal, spectrum.re.begin());
      transform->Run(spectrum.re.data(), spectrum.im.data(), work);
      return spectrum;
    };
    cpu::Line<Acc> a = spectrum_of(x[0]);
    const cpu::Line<Acc> b = spectrum_of(x[1]);
    for (int64_t k = 0; k < n; ++k) {
      const Acc re = a.re[k] * b.re[k] - a.im[k] * b.im[k], im = a.re[k] * b.im[k] + a.im[k] * b.re[k];
      a.re[k] = re, a.im[k] = -im;
    }
    transform->Run(a.re.data(), a.im.data(), work);
    for (size_t t = 0; t < y.size(); ++t) y[t] = a.re[t] / static_cast<Acc>(n);
  }
};

}  // namespace cpu
