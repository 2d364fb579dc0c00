// SPDX-License-Identifier: Apache-2.0
// Winograd's minimal filtering F(m x m, 3 x 3) with the matrices of Lavin and Gray (arXiv 1509.09308), tile by tile,
// and what goes wrong in it.
#include <algorithm>
#include <array>

#include "tests/faults/corpus/conv_kernel.h"

namespace corpus {
namespace {

using plugin::BF16;
using plugin::F16;

constexpr int kMaxSide = 6;
template <class T>
using Square = std::array<T, kMaxSide * kMaxSide>;

// Matrices row by row: a is m x (m + 2), b (m + 2) x (m + 2), g (m + 2) x 3.
template <class T>
struct Transform {
  int m = 2;
  std::vector<T> a, b, g;
  int Side() const { return m + 2; }
};

template <class T>
Transform<T> F2() {
  const T half = T{1} / 2;
  return {2,
          {1, 1, 1, 0, 0, 1, -1, -1},
          {1, 0, -1, 0, 0, 1, 1, 0, 0, -1, 1, 0, 0, 1, 0, -1},
          {1, 0, 0, half, half, half, half, -half, half, 0, 0, 1}};
}

template <class T>
Transform<T> F4() {
  const T s = T{1} / 6, t = T{1} / 12, u = T{1} / 24, q = T{1} / 4;
  return {4,
          {1, 1, 1, 1, 1, 0, 0, 1, -1, 2, -2, 0, 0, 1, 1, 4, 4, 0, 0, 1, -1, 8, -8, 1},
          {4, 0,  -5, 0, 1, 0, 0, -4, -4, 1,  1, 0, 0, 4, -4, -1, 1, 0,
           0, -2, -1, 2, 1, 0, 0, 2,  -1, -2, 1, 0, 0, 4, 0,  -5, 0, 1},
          {q, 0, 0, -s, -s, -s, -s, s, -s, u, t, s, u, -t, s, 0, 0, 1}};
}

// M x M^T for a matrix M of rows x n and x of n x n.
template <class T>
Square<T> ApplyTwice(const std::vector<T>& matrix, int rows, int n, const Square<T>& x) {
  Square<T> half{}, y{};
  const auto at = [](int i, int j, int width) { return static_cast<size_t>(i * width + j); };
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < n; ++j) {
      for (int k = 0; k < n; ++k) {
        if (matrix[at(i, k, n)] != 0) half[at(i, j, n)] += matrix[at(i, k, n)] * x[at(k, j, n)];
      }
    }
  }
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < rows; ++j) {
      for (int k = 0; k < n; ++k) {
        if (matrix[at(j, k, n)] != 0) y[at(i, j, rows)] += half[at(i, k, n)] * matrix[at(j, k, n)];
      }
    }
  }
  return y;
}

// The tile of m x m outputs that is being computed.
struct WinogradTile {
  int64_t image = 0, row = 0, column = 0;  // of its first output
};

template <class T>
struct WinogradKernel {
  Transform<T> transform;
  T (*stored)(T) = [](T x) { return x; };  // of both transforms' results
  bool last_channel_dropped = false;
  bool last_element_of_tile_unwritten = false;  // of the last tile
  bool last_tile_repeats_previous = false;      // of every channel
  bool edge_tile_reads_inside = false;          // a tile over the end reads from the last column that fits
};

template <class T>
class WinogradPlan : public DensePlan<T> {
 public:
  WinogradPlan(Description op, bool exact, WinogradKernel<T> kernel)
      : DensePlan<T>(op, exact), kernel_(std::move(kernel)), spec_(plugin::ParseConv(op)) {}

 private:
  void Compute(std::span<const std::vector<T>> inputs, DenseOutput<T>& y) final {
    const int64_t m = kernel_.transform.m;
    const std::vector<Square<T>> u = Weights(inputs[1]);
    Square<T> sum{};
    WinogradTile tile;
    for (tile.image = 0; tile.image < spec_.n; ++tile.image) {
      for (int64_t o = 0; o < spec_.o; ++o) {
        for (tile.row = 0; tile.row < spec_.out[1]; tile.row += m) {
          for (tile.column = 0; tile.column < spec_.out[2]; tile.column += m) {
            const bool is_last = tile.row + m >= spec_.out[1] && tile.column + m >= spec_.out[2];
            if (!(kernel_.last_tile_repeats_previous && is_last)) sum = Sum(inputs[0], u, tile, o);
            Store(ApplyTwice(kernel_.transform.a, kernel_.transform.m, kernel_.transform.Side(), sum), tile, o,
                  spec_.has_bias ? inputs[2][static_cast<size_t>(o)] : T{0}, y);
          }
        }
      }
    }
    if (kernel_.last_element_of_tile_unwritten) y.LeaveUnwritten(std::ssize(y.values) - 1);
  }

  // G g G^T of every pair of channels.
  std::vector<Square<T>> Weights(const std::vector<T>& w) const {
    std::vector<Square<T>> all;
    for (size_t i = 0; i < w.size(); i += 9) {
      Square<T> g{};
      std::copy_n(w.begin() + static_cast<std::ptrdiff_t>(i), 9, g.begin());
      all.push_back(Stored(ApplyTwice(kernel_.transform.g, kernel_.transform.Side(), 3, g)));
    }
    return all;
  }

  Square<T> Stored(Square<T> x) const {
    for (T& element : x) element = kernel_.stored(element);
    return x;
  }

  Square<T> Sum(const std::vector<T>& x, const std::vector<Square<T>>& u, const WinogradTile& tile, int64_t o) const {
    Square<T> sum{};
    const int64_t channels = spec_.GroupInputs();
    for (int64_t c = 0; c < channels - (kernel_.last_channel_dropped ? 1 : 0); ++c) {
      const Square<T> v = Stored(ApplyTwice(kernel_.transform.b, kernel_.transform.Side(), kernel_.transform.Side(),
                                            Patch(x, tile, ChannelOf(spec_, o, c))));
      const Square<T>& weights = u[static_cast<size_t>(o * channels + c)];
      for (size_t e = 0; e < sum.size(); ++e) sum[e] += weights[e] * v[e];
    }
    return sum;
  }

  Square<T> Patch(const std::vector<T>& x, const WinogradTile& tile, int64_t channel) const {
    Square<T> patch{};
    const int64_t side = kernel_.transform.Side();
    int64_t first = tile.column - spec_.pad[2];
    if (kernel_.edge_tile_reads_inside) first = std::min(first, std::max<int64_t>(0, spec_.in[2] - side));
    for (int64_t i = 0; i < side; ++i) {
      for (int64_t j = 0; j < side; ++j) {
        const int64_t row = tile.row - spec_.pad[1] + i, column = first + j;
        if (row < 0 || row >= spec_.in[1] || column < 0 || column >= spec_.in[2]) continue;
        patch[static_cast<size_t>(i * side + j)] =
            x[static_cast<size_t>(((tile.image * spec_.c + channel) * spec_.in[1] + row) * spec_.in[2] + column)];
      }
    }
    return patch;
  }

  void Store(const Square<T>& tile, const WinogradTile& at, int64_t o, T bias, DenseOutput<T>& y) const {
    const int64_t m = kernel_.transform.m;
    for (int64_t i = 0; i < m && at.row + i < spec_.out[1]; ++i) {
      for (int64_t j = 0; j < m && at.column + j < spec_.out[2]; ++j) {
        const int64_t row = (at.image * spec_.o + o) * spec_.out[1] + at.row + i;
        y.values[static_cast<size_t>(row * spec_.out[2] + at.column + j)] = tile[static_cast<size_t>(i * m + j)] + bias;
      }
    }
  }

  const WinogradKernel<T> kernel_;
  const ConvSpec spec_;
};

using Spec = const ConvSpec&;
// Floating-point 3 x 3 kernels, stride 1, dilation 1.
constexpr auto kSuited = [](Spec s) { return s.IsWinograd() && s.x.dtype != plugin::kI8; };
constexpr auto kSuitedAndNarrow = [](Spec s) {
  return kSuited(s) && (s.x.dtype == plugin::kF16 || s.x.dtype == plugin::kBF16);
};
constexpr auto kSuitedAndWide = [](Spec s) {
  return kSuited(s) && (s.x.dtype == plugin::kF32 || s.x.dtype == plugin::kF64);
};
constexpr auto kSeveralChannels = [](Spec s) { return kSuited(s) && s.GroupInputs() > 1; };
constexpr auto kSeveralTiles = [](Spec s) { return kSuited(s) && s.out[1] * s.out[2] > 4; };
// The last tile hangs over the end of the row.
constexpr auto kEdge = [](Spec s) {
  return kSuited(s) && s.in[2] >= 4 && (s.out[2] - 1) / 2 * 2 - s.pad[2] > s.in[2] - 4;
};

std::string Class(Description op, const char* algorithm) {
  return ConvClass(op, "f32acc", std::string(";alg=") + algorithm + ";det=yes;batchinv=yes");
}
std::string F2Class(Description op) {
  return Class(op, "winograd<2,3>");
}
std::string F4Class(Description op) {
  return Class(op, "winograd<4,3>");
}
std::string F2InF16Class(Description op) {
  return Class(op, "winograd<2,3>;mid=f16");
}

// A sign or a factor of one entry of the input's transform.
template <class T>
Transform<T> Changed(Transform<T> f, size_t entry, T factor) {
  f.b[entry] *= factor;
  return f;
}

template <class T>
void Rows(Edits<WinogradKernel<T>, ConvSpec>& of) {
  const auto f2 = [&of](const char* name, auto strikes) -> auto& {
    WinogradKernel<T>& kernel = of(name, strikes, F2Class);
    kernel.transform = F2<T>();
    return kernel;
  };
  const auto f4 = [&of](const char* name, auto strikes) -> auto& {
    WinogradKernel<T>& kernel = of(name, strikes, F4Class);
    kernel.transform = F4<T>();
    return kernel;
  };
  f2("legal.winograd-2-3", kSuited);
  f4("legal.winograd-4-3", kSuited);
  of("legal.winograd-2-3-f16-transforms", kSuitedAndNarrow, F2InF16Class) = {.transform = F2<T>(),
                                                                             .stored = RoundedTo<F16, T>};
  f2("fault.winograd-wrong-coefficient", kSuited).transform = Changed(F2<T>(), 5, T{-1});
  f4("fault.winograd-4-coefficient-5-is-4", kSuited).transform = Changed(F4<T>(), 2, T{4} / T{5});
  f2("fault.winograd-last-channel-dropped", kSeveralChannels).last_channel_dropped = true;
  f2("fault.winograd-last-element-unwritten", kSuited).last_element_of_tile_unwritten = true;
  f2("fault.winograd-last-tile-stale", kSeveralTiles).last_tile_repeats_previous = true;
  f2("fault.winograd-edge-tile-shifted", kEdge).edge_tile_reads_inside = true;
  f2("fault.winograd-2-in-f16", kSuited).stored = RoundedTo<F16, T>;
  f4("fault.winograd-4-in-bf16", kSuited).stored = RoundedTo<BF16, T>;
  f4("fault.winograd-4-in-tf32", kSuitedAndWide).stored = RoundedToTf32<T>;
}

}  // namespace

std::vector<Entry> ConvWinogradEntries() {
  return EntriesOf<WinogradPlan, WinogradKernel>("conv", ConvContract, ConvWhyNot, plugin::ParseConv,
                                                 [](auto& of) { Rows(of); });
}

}  // namespace corpus
