// SPDX-License-Identifier: Apache-2.0
// Functions of single elements, gates, turned pairs and running sums.
#pragma once

#include <cmath>
#include <limits>

#include "backends/cpu/activations.h"
#include "backends/cpu/fold.h"
#include "backends/cpu/rows.h"

namespace cpu {

// One operand, of the output's shape. `Function` has kMath and operator()(Acc).
template <class Function>
struct Elementwise {
  static constexpr int kMath = Function::kMath;
  static void IgnoreShapes(const plugin::OpDesc& op) { op.MayIgnore({"n"}); }
  static std::vector<int> Leads(size_t, int rank) { return AllLeads(rank); }
  explicit Elementwise(const plugin::OpDesc&) {}
  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    for (size_t i = 0; i < y.size(); ++i) y[i] = Function{}(x[0][i]);
  }
};

// glibc's, and what their largest known errors leave room for.
template <int kUlp, auto kFunctionF32, auto kFunctionF64>
struct LibraryFunction {
  static constexpr int kMath = kUlp;
  float operator()(float x) const { return kFunctionF32(x); }
  double operator()(double x) const { return kFunctionF64(x); }
};
using ExpRows = Elementwise<LibraryFunction<1, expf, static_cast<double (*)(double)>(exp)>>;
using LogRows = Elementwise<LibraryFunction<1, logf, static_cast<double (*)(double)>(log)>>;
using TanhRows = Elementwise<LibraryFunction<4, tanhf, static_cast<double (*)(double)>(tanh)>>;
using ErfRows = Elementwise<LibraryFunction<2, erff, static_cast<double (*)(double)>(erf)>>;

using SinRows = Elementwise<LibraryFunction<1, sinf, static_cast<double (*)(double)>(sin)>>;
using CosRows = Elementwise<LibraryFunction<1, cosf, static_cast<double (*)(double)>(cos)>>;

template <class Function>
struct ElementwiseOfTwo : PointwiseShape {
  static constexpr int kMath = Function::kMath;
  explicit ElementwiseOfTwo(const plugin::OpDesc&) {}
  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    for (size_t i = 0; i < y.size(); ++i) y[i] = Function{}(x[0][i], x[1][x[1].size() == 1 ? 0 : i]);
  }
};

struct Power {
  static constexpr int kMath = 1;
  template <class Acc>
  Acc operator()(Acc x, Acc p) const {
    return std::pow(x, p);
  }
};

struct InverseRoot {
  static constexpr int kMath = 2;
  template <class Acc>
  Acc operator()(Acc x) const {
    return 1 / std::sqrt(x);
  }
};

class Gelu : public Elementwise<InverseRoot> {
 public:
  static constexpr int kMath = 4;
  explicit Gelu(const plugin::OpDesc& op) : Elementwise(op), by_tanh_(op.AttrString("approx") == "tanh") {}
  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    for (size_t i = 0; i < y.size(); ++i) {
      const Acc v = x[0][i];
      const Acc inner = static_cast<Acc>(0.79788456080286536) * (v + static_cast<Acc>(0.044715) * (v * v * v));
      const Acc phi = by_tanh_ ? std::tanh(inner) : std::erf(v * static_cast<Acc>(0.70710678118654752));
      y[i] = static_cast<Acc>(0.5) * v * (1 + phi);
    }
  }

 private:
  bool by_tanh_;
};

struct Silu {
  static constexpr int kMath = 1;
  template <class Acc>
  Acc operator()(Acc x) const {
    return x * (1 / (1 + std::exp(-x)));
  }
};

// One half of each row, through a function of its elements, times the other half.
template <class Gate>
class Gated {
 public:
  static constexpr int kMath = Gate::kMath;
  static void IgnoreShapes(const plugin::OpDesc& op) { op.MayIgnore({"rows", "n"}); }
  static std::vector<int> Leads(size_t, int rank) { return AllLeads(rank); }
  explicit Gated(const plugin::OpDesc& op) : gate_(op) {}
  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    gate_.template Line<Acc>({x[0].first(y.size())}, y);
    for (size_t i = 0; i < y.size(); ++i) y[i] *= x[0][y.size() + i];
  }

 private:
  Gate gate_;
};

// Gates at even places and what they are multiplied by at odd ones, both within limits: the sigmoid by its definition
// and one product behind the other, or by the sign of the gate and with the last product fused into a sum.
template <bool kFused>
class ClampedSwiglu {
 public:
  static constexpr int kMath = 1;
  static void IgnoreShapes(const plugin::OpDesc& op) { op.MayIgnore({"rows", "n"}); }
  static std::vector<int> Leads(size_t, int rank) { return AllLeads(rank); }
  explicit ClampedSwiglu(const plugin::OpDesc& op) : limit_(op.AttrFloat("limit")), alpha_(op.AttrFloat("alpha")) {}
  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    const auto limit = static_cast<Acc>(limit_), alpha = static_cast<Acc>(alpha_);
    for (size_t i = 0; i < y.size(); ++i) {
      const Acc gate = Within(x[0][2 * i], -std::numeric_limits<Acc>::infinity(), limit);
      const Acc up = Within(x[0][2 * i + 1], -limit, limit);
      const Acc swish = gate * (kFused ? SigmoidBySign(alpha * gate) : 1 / (1 + std::exp(-(alpha * gate))));
      y[i] = kFused ? std::fma(swish, up, swish) : swish * (up + 1);
    }
  }

 private:
  double limit_, alpha_;
};

struct Rope {
  static constexpr int kMath = 1;
  static void IgnoreShapes(const plugin::OpDesc& op) { op.MayIgnore({"b", "l", "h", "d"}); }
  // x[b,l,h,d]; cos and sin [l,d/2].
  static std::vector<int> Leads(size_t input, int rank) { return input == 0 ? AllLeads(rank) : std::vector<int>{1}; }
  explicit Rope(const plugin::OpDesc&) {}
  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    const size_t half = y.size() / 2;
    for (size_t i = 0; i < half; ++i) {
      y[i] = x[0][i] * x[1][i] - x[0][half + i] * x[2][i];
      y[half + i] = x[0][half + i] * x[1][i] + x[0][i] * x[2][i];
    }
  }
};

// u, delta [b,c,l], a_log [c,s], b_t and c_t [b,s,l], d_skip [c]; the states of a channel one after the other, or all
// at each position.
template <bool kByPosition>
struct SelectiveScan {
  static constexpr int kMath = 1;
  static void IgnoreShapes(const plugin::OpDesc& op) { op.MayIgnore({"b", "c", "s", "l"}); }
  static std::vector<int> Leads(size_t input, int) {
    if (input < 2) return {0, 1};
    return {input == 2 || input == 5 ? 1 : 0};
  }
  explicit SelectiveScan(const plugin::OpDesc&) {}
  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    const size_t states = x[2].size(), steps = y.size();
    std::vector<Acc> h(states);
    const auto step = [&](size_t s, size_t t) {
      h[s] = std::exp(x[1][t] * -std::exp(x[2][s])) * h[s] + x[1][t] * x[0][t] * x[3][s * steps + t];
      y[t] += h[s] * x[4][s * steps + t];
    };
    for (size_t i = 0; i < states * steps; ++i) kByPosition ? step(i % states, i / states) : step(i / steps, i % steps);
    for (size_t t = 0; t < steps; ++t) y[t] += x[5][0] * x[0][t];
  }
};

// One after the other, or in blocks whose totals are carried.
template <size_t kChunk, template <class> class Fold>
struct Cumulative {
  static constexpr int kMath = 1;
  static constexpr bool kIntegers = true;
  static void IgnoreShapes(const plugin::OpDesc& op) { op.MayIgnore({"rows", "n"}); }
  static std::vector<int> Leads(size_t, int rank) { return AllLeads(rank); }
  explicit Cumulative(const plugin::OpDesc&) {}
  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    const Fold<Acc> fold;
    for (size_t i = 0; i < y.size(); ++i) y[i] = i % kChunk == 0 ? x[0][i] : fold(y[i - 1], x[0][i]);
    for (size_t i = kChunk; i < y.size(); ++i) y[i] = fold(y[i], y[i / kChunk * kChunk - 1]);
  }
};

// h_t = a_t h_(t-1) + b_t: one after the other, or neighbours joined in a tree (Brent and Kung 1982).
template <bool kTree>
struct AssociativeScan {
  static void IgnoreShapes(const plugin::OpDesc& op) { op.MayIgnore({"rows", "n"}); }
  static std::vector<int> Leads(size_t, int rank) { return AllLeads(rank); }
  explicit AssociativeScan(const plugin::OpDesc&) {}
  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    std::vector<Acc> a(x[0].begin(), x[0].end());
    std::ranges::copy(x[1], y.begin());
    const auto join = [&](size_t i, size_t before) {
      y[i] += a[i] * y[before];
      a[i] *= a[before];
    };
    for (size_t i = 1; i < y.size() && !kTree; ++i) join(i, i - 1);
    size_t step = 1;
    for (; step < y.size() && kTree; step *= 2) {
      for (size_t i = 2 * step - 1; i < y.size(); i += 2 * step) join(i, i - step);
    }
    for (step /= 2; step > 0 && kTree; step /= 2) {
      for (size_t i = 3 * step - 1; i < y.size(); i += 2 * step) join(i, i - step);
    }
  }
};

}  // namespace cpu
