// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <complex>
#include <numbers>

#include "ops/binding.h"
#include "tests/support/simulate/conv.h"

namespace assay::test {
namespace {

using Complex = std::complex<double>;
using Extents = std::array<int64_t, 3>;

// Complex numbers in the unit's arithmetic.
struct ComplexUnit {
  const Arithmetic& unit;

  Complex Add(Complex a, Complex b) const { return {unit.Add(a.real(), b.real()), unit.Add(a.imag(), b.imag())}; }
  Complex Mul(Complex a, Complex b) const {
    return {unit.Add(unit.Mul(a.real(), b.real()), -unit.Mul(a.imag(), b.imag())),
            unit.Add(unit.Mul(a.real(), b.imag()), unit.Mul(a.imag(), b.real()))};
  }
  Complex Scale(Complex a, double by) const { return {unit.Mul(a.real(), by), unit.Mul(a.imag(), by)}; }
};

// A line of a power of two, decimated in time.
void TransformLine(const ComplexUnit& unit, std::vector<Complex>& line, int sign) {
  const size_t n = line.size();
  if (n == 1) return;
  std::vector<Complex> even(n / 2), odd(n / 2);
  for (size_t i = 0; i < n / 2; ++i) even[i] = line[2 * i], odd[i] = line[2 * i + 1];
  TransformLine(unit, even, sign), TransformLine(unit, odd, sign);
  for (size_t k = 0; k < n / 2; ++k) {
    const double angle = sign * 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
    const Complex twiddle{unit.unit.Round(std::cos(angle)), unit.unit.Round(std::sin(angle))};
    const Complex turned = unit.Mul(odd[k], twiddle);
    line[k] = unit.Add(even[k], turned), line[k + n / 2] = unit.Add(even[k], -turned);
  }
}

void Transform(const ComplexUnit& unit, const Extents& sides, std::vector<Complex>& block, int sign) {
  int64_t inner = 1;
  for (int axis = 2; axis >= 0; --axis) {
    const int64_t side = sides[axis];
    std::vector<Complex> line(static_cast<size_t>(side));
    for (int64_t start = 0; start < std::ssize(block); ++start) {
      if (start / inner % side != 0) continue;
      for (int64_t i = 0; i < side; ++i) line[i] = block[start + i * inner];
      TransformLine(unit, line, sign);
      for (int64_t i = 0; i < side; ++i) block[start + i * inner] = line[i];
    }
    inner *= side;
  }
}

struct Sizes {
  explicit Sizes(const Problem& problem) {
    const auto read = [&](const char* key, int64_t absent) {
      Extents extents;
      extents.fill(absent);
      std::ranges::copy_backward(problem.List(key), extents.end());
      return extents;
    };
    in = read("i", 1), kernel = read("k", 1), stride = read("stride", 1), pad = read("pad", 0);
    dilation = read("dilation", 1);
    for (int a = 0; a < 3; ++a) {
      span[a] = (kernel[a] - 1) * dilation[a] + 1, out[a] = (in[a] + 2 * pad[a] - span[a]) / stride[a] + 1;
    }
  }
  Extents in, kernel, stride, pad, dilation, span, out;
};

// body(flat index, the three indices) over a box.
template <class Body>
void ForEach(const Extents& extents, const Body& body) {
  int64_t flat = 0;
  for (int64_t a = 0; a < extents[0]; ++a) {
    for (int64_t b = 0; b < extents[1]; ++b) {
      for (int64_t c = 0; c < extents[2]; ++c) body(flat++, Extents{a, b, c});
    }
  }
}

class FftConv {
 public:
  FftConv(const Problem& problem, std::span<const Tensor> inputs, int64_t tile, Divided divided,
          const Arithmetic& arithmetic)
      : sizes_(problem), unit_{arithmetic}, divided_(divided), problem_(problem) {
    x_ = inputs[0].ToDoubles(), w_ = inputs[1].ToDoubles();
    for (double& v : x_) v = arithmetic.Operand(inputs[0].dtype(), v);
    for (double& v : w_) v = arithmetic.Operand(inputs[1].dtype(), v);
    if (inputs.size() > 2) bias_ = inputs[2].ToDoubles();
    for (int a = 0; a < 3; ++a) {
      const int64_t whole = (sizes_.out[a] - 1) * sizes_.stride[a] + 1;
      tile_[a] = tile == 0 ? whole : std::min(tile, whole);
      sides_[a] = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(tile_[a] + sizes_.span[a] - 1)));
    }
  }

  std::vector<double> Run() {
    const int64_t images = problem_.Int("n"), o = problem_.Int("o"), groups = problem_.Int("groups");
    std::vector<double> y(static_cast<size_t>(images * o * sizes_.out[0] * sizes_.out[1] * sizes_.out[2]));
    Extents tiles;
    for (int a = 0; a < 3; ++a) tiles[a] = ((sizes_.out[a] - 1) * sizes_.stride[a] + tile_[a]) / tile_[a];
    for (int64_t plane = 0; plane < images * o; ++plane) {
      const int64_t group = plane % o / (o / groups);
      ForEach(tiles, [&](int64_t, const Extents& at) { RunTile(plane, plane / o, plane % o, group, at, y); });
    }
    return y;
  }

 private:
  void RunTile(int64_t plane, int64_t image, int64_t channel, int64_t group, const Extents& at,
               std::vector<double>& y) const {
    const int64_t channels = problem_.Int("c") / problem_.Int("groups");
    const double points = static_cast<double>(sides_[0] * sides_[1] * sides_[2]);
    std::vector<Complex> sum(static_cast<size_t>(points));
    for (int64_t c = 0; c < channels; ++c) {
      std::vector<Complex> image_part = Image(image * problem_.Int("c") + group * channels + c, at);
      std::vector<Complex> kernel = Kernel(channel * channels + c);
      Transform(unit_, sides_, image_part, -1), Transform(unit_, sides_, kernel, -1);
      if (divided_ == Divided::kKernel) {
        for (Complex& v : kernel) v = unit_.Scale(v, 1 / points);
      }
      for (size_t i = 0; i < sum.size(); ++i) {
        const Complex product = unit_.Mul(image_part[i], std::conj(kernel[i]));
        sum[i] = c == 0 ? product : unit_.Add(sum[i], product);
      }
    }
    if (divided_ == Divided::kSum) {
      for (Complex& v : sum) v = unit_.Scale(v, 1 / points);
    }
    Transform(unit_, sides_, sum, 1);
    ForEach(tile_, [&](int64_t, const Extents& p) { Store(plane, channel, at, p, sum, y); });
  }

  std::vector<Complex> Image(int64_t plane, const Extents& at) const {
    std::vector<Complex> part(static_cast<size_t>(sides_[0] * sides_[1] * sides_[2]));
    ForEach(sides_, [&](int64_t flat, const Extents& i) {
      Extents from;
      for (int a = 0; a < 3; ++a) {
        from[a] = at[a] * tile_[a] + i[a] - sizes_.pad[a];
        if (i[a] >= tile_[a] + sizes_.span[a] - 1 || from[a] < 0 || from[a] >= sizes_.in[a]) return;
      }
      part[flat] = x_[((plane * sizes_.in[0] + from[0]) * sizes_.in[1] + from[1]) * sizes_.in[2] + from[2]];
    });
    return part;
  }

  std::vector<Complex> Kernel(int64_t plane) const {
    std::vector<Complex> part(static_cast<size_t>(sides_[0] * sides_[1] * sides_[2]));
    const int64_t taps = sizes_.kernel[0] * sizes_.kernel[1] * sizes_.kernel[2];
    ForEach(sizes_.kernel, [&](int64_t tap, const Extents& t) {
      int64_t to = 0;
      for (int a = 0; a < 3; ++a) to = to * sides_[a] + t[a] * sizes_.dilation[a];
      part[to] = w_[plane * taps + tap];
    });
    return part;
  }

  void Store(int64_t plane, int64_t channel, const Extents& at, const Extents& p, const std::vector<Complex>& sum,
             std::vector<double>& y) const {
    int64_t from = 0, to = plane;
    for (int a = 0; a < 3; ++a) {
      const int64_t place = at[a] * tile_[a] + p[a];
      if (place % sizes_.stride[a] != 0 || place / sizes_.stride[a] >= sizes_.out[a]) return;
      from = from * sides_[a] + p[a], to = to * sizes_.out[a] + place / sizes_.stride[a];
    }
    const double points = static_cast<double>(sides_[0] * sides_[1] * sides_[2]);
    const double back = sum[from].real();
    double value = divided_ == Divided::kResult ? unit_.unit.Mul(back, 1 / points) : back;
    const DType out = problem_.outputs[0].dtype;
    if (!bias_.empty()) value = unit_.unit.Add(value, unit_.unit.In(problem_.inputs[2].dtype, bias_[channel]));
    y[to] = unit_.unit.Out(out, value);
  }

  const Sizes sizes_;
  const ComplexUnit unit_;
  const Divided divided_;
  const Problem& problem_;
  std::vector<double> x_, w_, bias_;
  Extents tile_{}, sides_{};
};

}  // namespace

std::vector<double> RunFftConv(const Problem& problem, std::span<const Tensor> inputs, int64_t tile, Divided divided,
                               const Arithmetic& unit) {
  return FftConv(problem, inputs, tile, divided, unit).Run();
}

}  // namespace assay::test
