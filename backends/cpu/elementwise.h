// SPDX-License-Identifier: Apache-2.0
// Functions of single elements, gates, turned pairs and running sums.
#pragma once

#include <cmath>

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

// A function of two operands.
template <class Function>
struct ElementwiseOfTwo : Elementwise<Function> {
  using Elementwise<Function>::Elementwise;
  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    for (size_t i = 0; i < y.size(); ++i) y[i] = Function{}(x[0][i], x[1][i]);
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

struct SiluAndMul {
  static constexpr int kMath = 1;
  static void IgnoreShapes(const plugin::OpDesc& op) { op.MayIgnore({"rows", "n"}); }
  static std::vector<int> Leads(size_t, int rank) { return AllLeads(rank); }
  explicit SiluAndMul(const plugin::OpDesc&) {}
  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    for (size_t i = 0; i < y.size(); ++i) {
      const Acc gate = x[0][i];
      y[i] = gate * (1 / (1 + std::exp(-gate))) * x[0][y.size() + i];
    }
  }
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
template <size_t kChunk>
struct CumSum {
  static constexpr int kMath = 1;
  static constexpr bool kIntegers = true;
  static void IgnoreShapes(const plugin::OpDesc& op) { op.MayIgnore({"rows", "n"}); }
  static std::vector<int> Leads(size_t, int rank) { return AllLeads(rank); }
  explicit CumSum(const plugin::OpDesc&) {}
  template <class Acc>
  void Line(const Lines<Acc>& x, std::span<Acc> y) const {
    const Add<Acc> add;
    for (size_t i = 0; i < y.size(); ++i) y[i] = i % kChunk == 0 ? x[0][i] : add(y[i - 1], x[0][i]);
    for (size_t i = kChunk; i < y.size(); ++i) y[i] = add(y[i], y[i / kChunk * kChunk - 1]);
  }
};

}  // namespace cpu
