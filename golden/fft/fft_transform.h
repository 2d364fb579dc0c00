// SPDX-License-Identifier: Apache-2.0
// One-dimensional complex transforms of the golden FFT, for double and double-double alike. Several lines are
// transformed at once, interleaved, so that the innermost loop runs over lines; a line's bits depend neither on its
// neighbours nor on the threads.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "golden/dd/dd.h"

namespace assay {

// Points of the unit circle at rational angles, in double-double and by IEEE basic operations alone: the twiddle
// factors of the golden transforms, the same bits on every machine.
struct UnitRoot {
  DD re, im;
};

// Absolute error of either part of a root; the high parts are the nearest doubles, but for ties that close.
inline constexpr double kUnitRootError = 0x1p-102;

// e^(-2 pi i j / n) for j = 0 .. n - 1. Exact at multiples of a quarter turn. Precondition: 1 <= n < 2^48.
std::vector<UnitRoot> ConjugateRoots(int64_t n);

template <class R>
class Transform {
 public:
  virtual ~Transform() = default;
  // Lines that Run takes at once, at most.
  virtual int64_t MaxLines() const = 0;
  // Elements of `work` that Run needs.
  virtual int64_t WorkSize(int64_t lines) const = 0;
  // X_k = sum_j x_j e^(-2 pi i j k / n) in place on re, im [n, lines]. Exchanging re and im gives the other sign.
  virtual void Run(R* re, R* im, int64_t lines, R* work) const = 0;
};

// Mixed radix where n's prime factors allow it, in two steps where the lines would leave the cache, else Bluestein.
template <class R>
std::unique_ptr<Transform<R>> MakeTransform(int64_t n);

extern template std::unique_ptr<Transform<double>> MakeTransform<double>(int64_t n);
extern template std::unique_ptr<Transform<DD>> MakeTransform<DD>(int64_t n);

template <class R>
struct ComplexTable {
  std::vector<R> re, im;
  explicit ComplexTable(int64_t n) : re(static_cast<size_t>(n)), im(static_cast<size_t>(n)) {}
  void Set(int64_t i, const UnitRoot& root);
};
template <>
inline void ComplexTable<double>::Set(int64_t i, const UnitRoot& root) {
  re[i] = root.re.hi, im[i] = root.im.hi;
}
template <>
inline void ComplexTable<DD>::Set(int64_t i, const UnitRoot& root) {
  re[i] = root.re, im[i] = root.im;
}

// The kinds behind MakeTransform.
template <class R>
std::unique_ptr<Transform<R>> MakeStockham(int64_t n);
template <class R>
std::unique_ptr<Transform<R>> MakeFourStep(int64_t n1, int64_t n2);
template <class R>
std::unique_ptr<Transform<R>> MakeBluestein(int64_t n);

inline constexpr int64_t kInterleavedLines = 8;    // one vector of doubles
inline constexpr int64_t kLongestStockham = 4096;  // eight lines of it fill a megabyte

}  // namespace assay
