// SPDX-License-Identifier: Apache-2.0
// A convolution case: its description, its inputs, and the reference in long double with a bound for direct sums.
#pragma once

#include <cmath>
#include <string>

#include "tests/unit/backends/plugin_fixture.h"

namespace plugin_test {

struct ConvArgs {
  using List = std::vector<int64_t>;
  Type in = kF32, out = kF32;
  int64_t n = 1, c = 1, o = 1, groups = 1;
  List i{8, 8}, k{3, 3}, stride{1, 1}, pad{0, 0}, dilation{1, 1};
  bool bias = false, strided = false;

  static std::string Text(const List& list) {
    std::string text;
    for (int64_t x : list) text += (text.empty() ? "" : "x") + std::to_string(x);
    return text;
  }
  std::string Text() const {
    return std::string(in.name) + "-" + out.name + " n=" + std::to_string(n) + " c=" + std::to_string(c) +
           " o=" + std::to_string(o) + " groups=" + std::to_string(groups) + " i=" + Text(i) + " k=" + Text(k) +
           " stride=" + Text(stride) + " pad=" + Text(pad) + " dilation=" + Text(dilation) + (bias ? " bias" : "") +
           (strided ? " strided" : "");
  }

  List OutputExtents() const {
    List extents;
    for (size_t a = 0; a < i.size(); ++a) {
      extents.push_back((i[a] + 2 * pad[a] - dilation[a] * (k[a] - 1) - 1) / stride[a] + 1);
    }
    return extents;
  }

  Op Description() const {
    const auto place = [&](const char* name, const Type& type, int64_t outer, int64_t inner, const List& spatial) {
      List shape{outer, inner};
      shape.insert(shape.end(), spatial.begin(), spatial.end());
      return strided ? Strided(name, type, std::move(shape)) : Dense(name, type, std::move(shape));
    };
    Op op("conv");
    op.In(place("x", in, n, c, i)).In(place("w", in, o, c / groups, k));
    if (bias) op.In(strided ? Strided("bias", out, {o}) : Dense("bias", out, {o}));
    op.Out(place("y", out, n, o, OutputExtents()));
    op.Int("n", n).Int("c", c).Int("o", o).List("i", i).List("k", k).List("stride", stride).List("pad", pad);
    op.List("dilation", dilation).Int("groups", groups).Int("bias", bias);
    return op;
  }

  std::vector<std::vector<double>> Inputs() const { return RandomInputs(Description()); }

  struct Expected {
    // `bound`: any order of a direct sum. Winograd's errors stand to the largest magnitude of its tile.
    std::vector<double> value, bound;
    double largest_magnitude = 0;
  };

  Expected Reference(const std::vector<std::vector<double>>& x) const {
    const List extents = OutputExtents();
    const int64_t positions = Product(extents), taps = Product(k), inputs = c / groups;
    const double unit = out == kI32 ? 0 : out == kF64 ? kF64.unit : kF32.unit;
    Expected expected;
    for (int64_t index = 0; index < n * o * positions; ++index) {
      const int64_t image = index / positions / o, channel = index / positions % o;
      long double sum = 0, magnitude = 0;
      for (int64_t term = 0; term < inputs * taps; ++term) {
        const int64_t in_channel = image * c + channel / (o / groups) * inputs + term / taps;
        const int64_t source = SourceOf(index % positions, term % taps, extents);
        if (source < 0) continue;
        const long double product =
            static_cast<long double>(x[0][static_cast<size_t>(in_channel * Product(i) + source)]) *
            x[1][static_cast<size_t>(channel * inputs * taps + term)];
        sum += product, magnitude += std::abs(product);
      }
      if (bias) sum += x[2][static_cast<size_t>(channel)], magnitude += std::abs(x[2][static_cast<size_t>(channel)]);
      expected.largest_magnitude = std::max(expected.largest_magnitude, static_cast<double>(magnitude));
      long double rounding = 2 * unit * static_cast<long double>(inputs * taps + 4) * magnitude * 1.001L;
      rounding += out.unit * (std::abs(sum) + rounding);
      expected.value.push_back(static_cast<double>(sum));
      expected.bound.push_back(static_cast<double>(rounding));
    }
    return expected;
  }

 private:
  static int64_t Product(const List& list) {
    int64_t product = 1;
    for (int64_t x : list) product *= x;
    return product;
  }
  // The element of a channel that a tap reads; -1 in the padding.
  int64_t SourceOf(int64_t position, int64_t tap, const List& extents) const {
    int64_t source = 0, scale = 1;
    for (size_t a = i.size(); a-- > 0; position /= extents[a], tap /= k[a]) {
      const int64_t at = position % extents[a] * stride[a] + tap % k[a] * dilation[a] - pad[a];
      if (at < 0 || at >= i[a]) return -1;
      source += at * scale, scale *= i[a];
    }
    return source;
  }
};

}  // namespace plugin_test
