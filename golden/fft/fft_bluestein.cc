// SPDX-License-Identifier: Apache-2.0
// Any length as a cyclic convolution (Bluestein, IEEE Trans. AU-18, 1970): with c_j = e^(-i pi j^2 / n),
//   X_k = c_k sum_j (x_j c_j) conj(c_{k-j}).
// The chirp's own transform is always made in double-double, so that the double transform gets a correctly rounded one.
#include <algorithm>

#include "golden/fft/fft_error.h"
#include "golden/fft/fft_transform.h"

namespace assay {
namespace {

template <class R>
class Bluestein final : public Transform<R> {
 public:
  explicit Bluestein(int64_t n)
      : n_(n), padded_(PaddedLength(n)), chirp_(n), kernel_(padded_), transform_(MakeTransform<R>(padded_)) {
    const std::vector<UnitRoot> roots = ConjugateRoots(2 * n);
    ComplexTable<DD> kernel(padded_);
    for (int64_t j = 0; j < n; ++j) {
      const UnitRoot& root = roots[j * j % (2 * n)];
      chirp_.Set(j, root);
      const UnitRoot conjugate = {root.re, -root.im};
      kernel.Set(j, conjugate);
      kernel.Set((padded_ - j) % padded_, conjugate);
    }
    const auto exact = MakeTransform<DD>(padded_);
    std::vector<DD> work(static_cast<size_t>(exact->WorkSize(1)));
    exact->Run(kernel.re.data(), kernel.im.data(), 1, work.data());
    for (int64_t k = 0; k < padded_; ++k) kernel_.Set(k, {kernel.re[k], kernel.im[k]});
  }
  int64_t MaxLines() const override { return transform_->MaxLines(); }
  int64_t WorkSize(int64_t lines) const override { return 2 * padded_ * lines + transform_->WorkSize(lines); }

  void Run(R* re, R* im, int64_t lines, R* work) const override {
    R *a_re = work, *a_im = work + padded_ * lines, *rest = work + 2 * padded_ * lines;
    Multiply(re, im, chirp_, n_, lines, a_re, a_im);
    std::fill(a_re + n_ * lines, a_re + padded_ * lines, R{});
    std::fill(a_im + n_ * lines, a_im + padded_ * lines, R{});
    transform_->Run(a_re, a_im, lines, rest);
    Multiply(a_re, a_im, kernel_, padded_, lines, a_re, a_im);
    transform_->Run(a_im, a_re, lines, rest);  // the other sign
    const double scale = 1 / static_cast<double>(padded_);
    Multiply(a_re, a_im, chirp_, n_, lines, re, im);
    for (int64_t i = 0; i < n_ * lines; ++i) re[i] = re[i] * scale, im[i] = im[i] * scale;
  }

 private:
  static void Multiply(const R* re, const R* im, const ComplexTable<R>& by, int64_t n, int64_t lines, R* out_re,
                       R* out_im) {
    for (int64_t j = 0; j < n; ++j) {
      const R w = by.re[j], v = by.im[j];
      for (int64_t i = j * lines; i < (j + 1) * lines; ++i) {
        const R x = re[i], y = im[i];
        out_re[i] = x * w - y * v;
        out_im[i] = x * v + y * w;
      }
    }
  }

  int64_t n_, padded_;
  ComplexTable<R> chirp_, kernel_;
  std::unique_ptr<Transform<R>> transform_;
};

}  // namespace

template <class R>
std::unique_ptr<Transform<R>> MakeBluestein(int64_t n) {
  return std::make_unique<Bluestein<R>>(n);
}

template std::unique_ptr<Transform<double>> MakeBluestein<double>(int64_t n);
template std::unique_ptr<Transform<DD>> MakeBluestein<DD>(int64_t n);

}  // namespace assay
