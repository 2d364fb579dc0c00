// SPDX-License-Identifier: Apache-2.0
// Activations of networks by two formulas each. Those of C are granted what elementwise.h and pointwise.cc grant them.
#pragma once

#include <algorithm>
#include <cmath>

#include "backends/cpu/fold.h"
#include "backends/cpu/formulas.h"

namespace cpu {

template <class T>
T Above0(T x) {
  return Extreme<T, 1>{}(x, T{0});
}
template <class T>
T Below0(T x) {
  return Extreme<T, -1>{}(x, T{0});
}
template <class T>
T Within(T x, T low, T high) {
  return Extreme<T, -1>{}(Extreme<T, 1>{}(x, low), high);
}
// By a sum that cannot overflow, and by the function as it is defined, where that does not.
template <class T>
T SoftplusBySign(T x) {
  return Above0(x) + std::log1p(std::exp(-std::abs(x)));
}
template <class T>
T SoftplusDirect(T x) {
  return x > 40 ? x : std::log1p(std::exp(x));  // exp(-40) is less than half of a last bit of 40, in f64 too
}
template <class T>
T SigmoidBySign(T x) {
  const T e = std::exp(-std::abs(x));
  return (x < 0 ? e : 1) / (1 + e);
}

constexpr long double kSeluScale = 1.0507009873554804934L, kSeluAlpha = 1.6732632423543772848L;
template <class T>
T Selu(T x, T below) {
  return static_cast<T>(kSeluScale) * (x > 0 ? x : static_cast<T>(kSeluAlpha) * below);
}

template <class T>
const Formulas<T> kActivations[] = {
    {"celu",
     [](T x, T alpha, T) { return x > 0 ? x : alpha * (std::exp(x / alpha) - 1); },
     "expm1",
     [](T x, T alpha, T) { return Above0(x) + alpha * std::expm1(Below0(x) / alpha); },
     2,
     {"alpha", nullptr}},
    {"elu",
     [](T x, T alpha, T) { return x > 0 ? x : alpha * (std::exp(x) - 1); },
     "expm1",
     [](T x, T alpha, T) { return x > 0 ? x : alpha * std::expm1(x); },
     2,
     {"alpha", nullptr}},
    {"hardsigmoid", [](T x, T, T) { return Within<T>(x + 3, 0, 6) / 6; }, "scaled-first",
     [](T x, T, T) { return Within<T>(x * (T{1} / 6) + T{0.5}, 0, 1); }},
    {"hardswish", [](T x, T, T) { return x * (Within<T>(x + 3, 0, 6) / 6); }, "scaled-first",
     [](T x, T, T) { return x * Within<T>(x * (T{1} / 6) + T{0.5}, 0, 1); }},
    {"leaky_relu",
     [](T x, T alpha, T) { return x < 0 ? alpha * x : x; },
     "sum",
     [](T x, T alpha, T) { return Above0(x) + alpha * Below0(x); },
     1,
     {"alpha", nullptr}},
    {"logsigmoid", [](T x, T, T) { return -SoftplusDirect(-x); }, "by-sign",
     [](T x, T, T) { return -SoftplusBySign(-x); }, 2},
    {"mish", [](T x, T, T) { return x * std::tanh(SoftplusBySign(x)); }, "quotient",
     [](T x, T, T) {
       const T e = std::exp(std::min(x, T{40})), n = e * (e + 2);
       return x * (n / (n + 2));
     },
     4},
    {"quick_gelu", [](T x, T, T) { return x / (1 + std::exp(static_cast<T>(-1.702) * x)); }, "by-sign",
     [](T x, T, T) { return x * SigmoidBySign(static_cast<T>(1.702) * x); }},
    {"relu6", [](T x, T, T) { return x < 0   ? 0
                                     : x > 6 ? 6
                                             : x; }, "fold",
     [](T x, T, T) { return Within<T>(x, 0, 6); }},
    {"selu", [](T x, T, T) { return Selu<T>(x, std::exp(x) - 1); }, "expm1",
     [](T x, T, T) { return Selu<T>(x, std::expm1(x)); }, 2},
    {"silu", [](T x, T, T) { return x / (1 + std::exp(-x)); }, "by-sign",
     [](T x, T, T) { return x * SigmoidBySign(x); }},
    {"softcap",
     [](T x, T cap, T) { return cap * std::tanh(x / cap); },
     "expm1",
     [](T x, T cap, T) {
       const T t = std::expm1(-2 * std::abs(x / cap));
       return cap * std::copysign(t / (2 + t), x);
     },
     4,
     {"cap", nullptr}},
    {"softplus", [](T x, T, T) { return SoftplusDirect(x); }, "by-sign", [](T x, T, T) { return SoftplusBySign(x); },
     2},
    {"softsign", [](T x, T, T) { return x / (1 + std::abs(x)); }, "wide",
     [](T x, T, T) {
       const Wide<T> wide = x;
       return static_cast<T>(wide / (1 + std::abs(wide)));
     }},
};

}  // namespace cpu
