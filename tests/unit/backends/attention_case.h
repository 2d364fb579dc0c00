// SPDX-License-Identifier: Apache-2.0
// An attention case: its description, its inputs, and the formula in long double with a bound for any order.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>

#include "tests/unit/backends/plugin_fixture.h"

namespace plugin_test {

struct AttentionArgs {
  Type type = kF32;
  int64_t b = 1, h = 1, hkv = 1, l = 1, s = 1, d = 8, dv = 8, causal = 0, window = 0, per_head = 0;
  bool top_left = false, strided = false;
  double scale = 0.25, softcap = 0;
  std::string mask = "none", masked_rows = "zero";

  Op Description() const {
    const auto place = [&](const char* name, const Type& t, std::vector<int64_t> shape) {
      return strided ? Strided(name, t, std::move(shape)) : Dense(name, t, std::move(shape));
    };
    Op op("attention");
    op.In(place("q", type, {b, h, l, d})).In(place("k", type, {b, hkv, s, d})).In(place("v", type, {b, hkv, s, dv}));
    if (mask != "none") {
      const Type t = mask == "bool" ? kI8 : type;
      op.In(place("mask", t, per_head != 0 ? std::vector<int64_t>{b, h, l, s} : std::vector<int64_t>{l, s}));
    }
    op.Out(place("o", type, {b, h, l, dv}));
    op.Int("b", b).Int("h", h).Int("hkv", hkv).Int("l", l).Int("s", s).Int("d", d).Int("dv", dv);
    op.Int("causal", causal).String("align", top_left ? "tl" : "br").Int("window", window);
    op.Float("scale", scale).Float("softcap", softcap).String("mask", mask).String("masked_rows", masked_rows);
    op.Int("mask_per_head", per_head);
    return op;
  }

  bool Sees(int64_t i, int64_t j) const {
    const int64_t at = i + (top_left ? 0 : s - l);
    return (causal == 0 || j <= at) && (window == 0 || std::abs(at - j) < window);
  }

  std::vector<std::vector<double>> Inputs() const {
    std::vector<std::vector<double>> inputs;
    const Op op = Description();
    for (size_t i = 0; i < op.inputs.size(); ++i) {
      const auto count = static_cast<size_t>(op.inputs[i].Elements());
      inputs.push_back(RandomValues(i < 3 ? type : kF16, count, 11 + i));
      if (i < 3) continue;
      for (size_t at = 0; at < count; ++at) {
        const bool hidden = inputs[3][at] < -2 || at / static_cast<size_t>(s) % 7 == 3;
        inputs[3][at] = mask == "bool" ? !hidden : hidden ? -kInf : 0.5;
      }
    }
    return inputs;
  }

  // Result and error bound of column c of query (batch, head, i). `rounded`: weights are kept in the operands' type.
  std::pair<double, double> Reference(const std::vector<std::vector<double>>& x, int64_t batch, int64_t head, int64_t i,
                                      int64_t c, bool rounded) const {
    const int64_t kv = batch * hkv + head / (h / hkv), row = (batch * h + head) * l + i;
    std::vector<long double> scores;
    std::vector<double> values;
    for (int64_t j = 0; j < s; ++j) {
      const auto at = static_cast<size_t>((per_head != 0 ? row : i) * s + j);
      if (!Sees(i, j) || (mask == "bool" && x[3][at] == 0) || (mask == "add" && x[3][at] == -kInf)) continue;
      long double score = 0;
      for (int64_t e = 0; e < d; ++e) {
        score += static_cast<long double>(x[0][static_cast<size_t>(row * d + e)]) *
                 x[1][static_cast<size_t>((kv * s + j) * d + e)];
      }
      score *= scale;
      if (softcap > 0) score = softcap * std::tanh(score / softcap);
      scores.push_back(score + (mask == "add" ? x[3][at] : 0));
      values.push_back(x[2][static_cast<size_t>((kv * s + j) * dv + c)]);
    }
    if (scores.empty()) return {masked_rows == "nan" ? NAN : 0, 0};
    const long double max = *std::max_element(scores.begin(), scores.end());
    long double sum = 0, o = 0, size = 0;
    for (size_t j = 0; j < scores.size(); ++j) {
      const long double p = std::exp(scores[j] - max);
      sum += p, o += p * values[j], size += p * std::abs(values[j]);
    }
    const double unit = type == kF64 ? kF64.unit : kF32.unit, y = static_cast<double>(o / sum);
    const double stored = rounded ? 2 * type.unit : 0;
    const double relative = unit * static_cast<double>(2 * s + 32 * d + 200) + stored;
    return {y, relative * static_cast<double>(size / sum) + type.unit * std::abs(y) * 1.01 + type.min_normal};
  }
};

}  // namespace plugin_test
