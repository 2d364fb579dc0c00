// SPDX-License-Identifier: Apache-2.0
// Complex transforms of one line, forward and unscaled, in f32 or f64. Every algorithm keeps tables of its own,
// computed in double precision from angles below an eighth of a turn and rounded once to the working type.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace cpu {

enum class FftAlgorithm { kRadix, kBluestein, kDirect };

// Butterflies exist up to this prime.
inline constexpr int64_t kLargestRadix = 31;
inline constexpr int64_t kLongestDirect = 1024;

template <class T>
struct Line {
  std::vector<T> re, im;
  explicit Line(int64_t n = 0) : re(static_cast<size_t>(n)), im(static_cast<size_t>(n)) {}
};

template <class T>
class LineFft {
 public:
  virtual ~LineFft() = default;
  virtual int64_t WorkSize() const = 0;  // elements of `work`
  virtual void Run(T* re, T* im, Line<T>& work) const = 0;
};

template <class T>
std::unique_ptr<LineFft<T>> MakeLineFft(FftAlgorithm algorithm, int64_t n);

extern template std::unique_ptr<LineFft<float>> MakeLineFft(FftAlgorithm algorithm, int64_t n);
extern template std::unique_ptr<LineFft<double>> MakeLineFft(FftAlgorithm algorithm, int64_t n);

// e^(-2 pi i j / n), j < n.
template <class T>
Line<T> Roots(int64_t n);

}  // namespace cpu
