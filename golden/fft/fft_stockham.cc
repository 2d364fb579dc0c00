// SPDX-License-Identifier: Apache-2.0
// Transforms whose length has small prime factors only: Stockham's, which needs no bit reversal, and the two-step
// decomposition n = n1 n2 of lengths whose working set would leave the cache.
#include <algorithm>

#include "golden/fft/fft_error.h"
#include "golden/fft/fft_stage.h"
#include "golden/fft/fft_transform.h"
#include "harness/core/base/parallel.h"

namespace assay {
namespace {

// Fours first, then the rest, ascending.
std::vector<int> Radices(int64_t n) {
  std::vector<int> radices;
  for (; n % 4 == 0; n /= 4) radices.push_back(4);
  for (const int64_t p : PrimeFactors(n)) radices.push_back(static_cast<int>(p));
  return radices;
}

template <class R>
ComplexTable<R> RootTable(int64_t n) {
  ComplexTable<R> table(n);
  const std::vector<UnitRoot> roots = ConjugateRoots(n);
  for (int64_t j = 0; j < n; ++j) table.Set(j, roots[j]);
  return table;
}

template <class R>
class Stockham final : public Transform<R> {
 public:
  explicit Stockham(int64_t n) : n_(n), radices_(Radices(n)), roots_(RootTable<R>(n)) {}
  int64_t MaxLines() const override { return n_ <= kLongestStockham ? kInterleavedLines : 1; }
  int64_t WorkSize(int64_t lines) const override { return 2 * n_ * lines; }

  void Run(R* re, R* im, int64_t lines, R* work) const override {
    Stage<R> stage{re,         im, work, work + n_ * lines, roots_.re.data(), roots_.im.data(), n_, n_, lines,
                   /*radix=*/0};
    for (const int radix : radices_) {
      stage.radix = radix;
      RunStage(stage);
      stage.length /= radix, stage.s *= radix;
      R *out_re = stage.out_re, *out_im = stage.out_im;
      stage.out_re = const_cast<R*>(stage.re), stage.out_im = const_cast<R*>(stage.im);  // re, im or work
      stage.re = out_re, stage.im = out_im;
    }
    if (stage.re == re) return;
    std::copy_n(stage.re, n_ * lines, re);
    std::copy_n(stage.im, n_ * lines, im);
  }

 private:
  int64_t n_;
  std::vector<int> radices_;
  ComplexTable<R> roots_;
};

// x_{j1 n2 + j2} -> X_{k1 + n1 k2} = sum_j2 w_n2^(j2 k2) [ w_n^(j2 k1) sum_j1 w_n1^(j1 k1) x_{j1 n2 + j2} ].
template <class R>
class FourStep final : public Transform<R> {
 public:
  FourStep(int64_t n1, int64_t n2)
      : n1_(n1), n2_(n2), columns_(MakeTransform<R>(n1)), rows_(MakeTransform<R>(n2)), twiddles_(n1 * n2) {
    const std::vector<UnitRoot> roots = ConjugateRoots(n1 * n2);
    for (int64_t k1 = 0; k1 < n1; ++k1) {
      for (int64_t j2 = 0; j2 < n2; ++j2) twiddles_.Set(k1 * n2 + j2, roots[k1 * j2]);
    }
  }
  int64_t MaxLines() const override { return 1; }
  int64_t WorkSize(int64_t) const override { return 2 * n1_ * n2_; }

  void Run(R* re, R* im, int64_t, R* work) const override {
    R *work_re = work, *work_im = work + n1_ * n2_;
    InBlocks(
        n2_, *columns_,
        [&](int64_t first, int64_t lines, Block& block) {
          for (int64_t j1 = 0; j1 < n1_; ++j1) {
            std::copy_n(re + j1 * n2_ + first, lines, block.re.data() + j1 * lines);
            std::copy_n(im + j1 * n2_ + first, lines, block.im.data() + j1 * lines);
          }
          columns_->Run(block.re.data(), block.im.data(), lines, block.work.data());
          for (int64_t k1 = 0; k1 < n1_; ++k1) Twiddle(block, k1, first, lines, work_re, work_im);
        },
        n1_);
    InBlocks(
        n1_, *rows_,
        [&](int64_t first, int64_t lines, Block& block) {
          for (int64_t line = 0; line < lines; ++line) {
            for (int64_t j2 = 0; j2 < n2_; ++j2) {
              block.re[j2 * lines + line] = work_re[(first + line) * n2_ + j2];
              block.im[j2 * lines + line] = work_im[(first + line) * n2_ + j2];
            }
          }
          rows_->Run(block.re.data(), block.im.data(), lines, block.work.data());
          for (int64_t k2 = 0; k2 < n2_; ++k2) {
            std::copy_n(block.re.data() + k2 * lines, lines, re + k2 * n1_ + first);
            std::copy_n(block.im.data() + k2 * lines, lines, im + k2 * n1_ + first);
          }
        },
        n2_);
  }

 private:
  struct Block {
    std::vector<R> re, im, work;
  };

  template <class Body>
  static void InBlocks(int64_t count, const Transform<R>& transform, const Body& body, int64_t length) {
    const int64_t width = transform.MaxLines();
    ParallelFor(count, width, [&](int64_t begin, int64_t end) {
      Block block{std::vector<R>(length * width), std::vector<R>(length * width),
                  std::vector<R>(transform.WorkSize(width))};
      for (int64_t first = begin; first < end; first += width) body(first, std::min(width, end - first), block);
    });
  }

  void Twiddle(const Block& block, int64_t k1, int64_t first, int64_t lines, R* re, R* im) const {
    const int64_t at = k1 * n2_ + first;
    for (int64_t l = 0; l < lines; ++l) {
      const R w = twiddles_.re[at + l], v = twiddles_.im[at + l];
      const R x = block.re[k1 * lines + l], y = block.im[k1 * lines + l];
      re[at + l] = x * w - y * v;
      im[at + l] = x * v + y * w;
    }
  }

  int64_t n1_, n2_;
  std::unique_ptr<Transform<R>> columns_, rows_;
  ComplexTable<R> twiddles_;  // [n1, n2]
};

// The divisor of n nearest to its root from below, made from its prime factors.
int64_t NearRootDivisor(int64_t n) {
  int64_t best = 1;
  for (int64_t d = 1; d * d <= n; ++d) {
    if (n % d == 0) best = d;
  }
  return best;
}

}  // namespace

template <class R>
std::unique_ptr<Transform<R>> MakeTransform(int64_t n) {
  const std::vector<int64_t> factors = PrimeFactors(n);
  if (!factors.empty() && factors.back() > kLargestButterfly) return MakeBluestein<R>(n);
  if (n <= kLongestStockham) return std::make_unique<Stockham<R>>(n);
  const int64_t n1 = NearRootDivisor(n);
  return std::make_unique<FourStep<R>>(n1, n / n1);
}

template std::unique_ptr<Transform<double>> MakeTransform<double>(int64_t n);
template std::unique_ptr<Transform<DD>> MakeTransform<DD>(int64_t n);

}  // namespace assay
