// SPDX-License-Identifier: Apache-2.0
// The functions of elementwise.h by another formula each, so that two ways of computing stand side by side. Each kMath
// is what the roundings of the formula add up to, of the library's functions at what elementwise.h grants them.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

#include "backends/cpu/elementwise.h"

namespace cpu {

// exp(x) = exp(x / 2)^2: twice the error of a function, and a product.
struct SquaredExp {
  static constexpr int kMath = 3;
  template <class Acc>
  Acc operator()(Acc x) const {
    const Acc root = std::exp(x / 2);
    return root * root;
  }
};

// log(x) = log(m) + e log(2), x = m 2^e and m in [sqrt(1/2), sqrt(2)): where e is not 0 the sum is at least half of
// its larger term, so that either error at most doubles.
struct LogByExponent {
  static constexpr int kMath = 4;
  template <class Acc>
  Acc operator()(Acc x) const {
    int exponent = 0;
    Acc mantissa = std::frexp(x, &exponent);
    if (!std::isfinite(x) || x == 0) return std::log(x);
    if (mantissa < static_cast<Acc>(0.70710678118654752)) mantissa *= 2, --exponent;
    return std::log(mantissa) + static_cast<Acc>(exponent) * static_cast<Acc>(0.69314718055994531);
  }
};

// tanh(x) = -t / (2 + t), t = exp(-2 |x|) - 1, with the sign of x: up to twice the error of t, and two roundings.
struct TanhByExp {
  static constexpr int kMath = 4;
  template <class Acc>
  Acc operator()(Acc x) const {
    const Acc t = std::expm1(-2 * std::abs(x));
    return std::copysign(-t / (2 + t), x);
  }
};

// erf(x) = 2 x / sqrt(pi) exp(-x^2) sum of (2 x^2)^k / (1 3 5 ... (2 k + 1)), a series of positive terms, for |x| < 1;
// beyond that 1 - erfc(|x|), which is at least 0.84.
struct ErfBySeries {
  static constexpr int kMath = 8;
  template <class Acc>
  Acc operator()(Acc x) const {
    const Acc size = std::abs(x), square = size * size;
    if (!(size < 1)) return std::copysign(1 - std::erfc(size), x);
    Acc sum = 0, term = 1;
    for (int odd = 3; sum + term != sum; odd += 2) {
      sum += term;
      term *= 2 * square / static_cast<Acc>(odd);
    }
    return static_cast<Acc>(1.1283791670955126) * x * (std::exp(-square) * sum);
  }
};

// 1 / sqrt(x) = sqrt(1 / m) 2^-k, x = m 4^k: the reciprocal of x itself would overflow where x is subnormal.
struct RootOfReciprocal {
  static constexpr int kMath = 2;
  template <class Acc>
  Acc operator()(Acc x) const {
    int exponent = 0;
    const Acc mantissa = std::frexp(x, &exponent);
    if (!std::isfinite(x) || x == 0) return 1 / std::sqrt(x);
    const bool odd = exponent % 2 != 0;
    return std::ldexp(std::sqrt(1 / (odd ? 2 * mantissa : mantissa)), -(odd ? exponent - 1 : exponent) / 2);
  }
};

// sin(x) = 2 sin(x / 2) cos(x / 2).
struct SinOfHalf {
  static constexpr int kMath = 4;
  template <class Acc>
  Acc operator()(Acc x) const {
    return 2 * std::sin(x / 2) * std::cos(x / 2);
  }
};

// cos(x) = sin(2 x) / (2 sin(x)).
struct CosOfSines {
  static constexpr int kMath = 4;
  template <class Acc>
  Acc operator()(Acc x) const {
    const bool doubles = std::abs(x) < std::numeric_limits<Acc>::max() / 2;
    return x != 0 && doubles ? std::sin(2 * x) / (2 * std::sin(x)) : std::cos(x);
  }
};

// x^p = exp(p log(x)) in a wider type, whose digits p log(x) takes away.
struct PowerByLog {
  static constexpr int kMath = 2;
  template <class Acc>
  Acc operator()(Acc x, Acc p) const {
    using Wide = std::conditional_t<sizeof(Acc) == 4, double, long double>;
    if (!(x > 0) || !std::isfinite(x) || !std::isfinite(p)) return std::pow(x, p);
    return static_cast<Acc>(std::exp(static_cast<Wide>(p) * std::log(static_cast<Wide>(x))));
  }
};

// x Phi(x), Phi as erfc(-x / sqrt(2)) / 2 or as a logistic function: (1 + tanh(u)) / 2 = 1 / (1 + exp(-2 u)).
class GeluOfTails : public Elementwise<SquaredExp> {
 public:
  static constexpr int kMath = 4;
  explicit GeluOfTails(const plugin::OpDesc& op) : Elementwise(op), by_tanh_(op.AttrString("approx") == "tanh") {}
  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    for (size_t i = 0; i < y.size(); ++i) {
      const Acc v = x[0][i];
      const Acc inner = static_cast<Acc>(1.5957691216057308) * v * (1 + static_cast<Acc>(0.044715) * (v * v));
      y[i] = by_tanh_ ? v / (1 + std::exp(-inner)) : v * (std::erfc(v * static_cast<Acc>(-0.70710678118654752)) / 2);
    }
  }

 private:
  bool by_tanh_;
};

// Computes a negative gate from exp(gate), which cannot overflow, and with one division in place of a reciprocal and a
// product.
struct SiluBySign {
  static constexpr int kMath = 1;
  template <class Acc>
  Acc operator()(Acc x) const {
    const Acc e = std::exp(-std::abs(x));
    return (x < 0 ? x * e : x) / (1 + e);
  }
};

// Both halves in one loop, the second product of each element fused into its sum.
struct FusedRope : public Rope {
  using Rope::Rope;
  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    const size_t half = y.size() / 2;
    for (size_t i = 0; i < y.size(); ++i) {
      const size_t pair = i % half;
      const Acc other = i < half ? -x[0][half + i] : x[0][pair];
      y[i] = std::fma(x[0][i], x[1][pair], other * x[2][pair]);
    }
  }
};

}  // namespace cpu
