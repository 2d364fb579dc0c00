// SPDX-License-Identifier: Apache-2.0
// Winograd's planes (conv_winograd.cc) of a golden value: the transforms of all tiles in absolute values.
#include <algorithm>
#include <cmath>
#include <utility>

#include "golden/gemm/gemm_engine.h"
#include "harness/core/base/multiversion.h"
#include "harness/core/base/parallel.h"
#include "harness/core/data/infinity.h"
#include "ops/conv/conv.h"
#include "ops/conv/conv_winograd_points.h"

namespace assay {
namespace winograd {
namespace {

constexpr int64_t kTileElements = int64_t{1} << 21;

// to[e1 * side + e2] = sum left[e1][i] right[e2][j] from[i * n + j]: M x M^T for a matrix M of `side` rows.
template <int kColumns>
void ApplyTwice(const double (&matrix)[kMaxSide][kColumns], int side, int n, const double* from, double* to) {
  for (int e1 = 0; e1 < side; ++e1) {
    double row[kMaxSide] = {};
    for (int i = 0; i < n; ++i) {
      if (matrix[e1][i] == 0) continue;
      for (int j = 0; j < n; ++j) row[j] += matrix[e1][i] * from[i * n + j];
    }
    for (int e2 = 0; e2 < side; ++e2) {
      double sum = 0;
      for (int j = 0; j < n; ++j) sum += matrix[e2][j] * row[j];
      to[e1 * side + e2] = sum * kRoundUp;
    }
  }
}

ASSAY_MULTIVERSION void AddProducts(double factor, const double* __restrict from, int64_t n, double* __restrict to) {
  for (int64_t t = 0; t < n; ++t) to[t] += factor * from[t];
}

void AddScaled(double factor, const double* from, int64_t n, double* to) {
  if (factor != 0) AddProducts(factor, from, n, to);
}

// One side of the elementwise product: values [e][rows][cols] for the engine, and what each output's other planes need.
struct Side {
  GemmOperand operand;
  std::vector<double> sums;  // over c: [e][outputs or tiles]
  std::vector<double> peak;  // [outputs or tiles]
};

GemmOperand Operand(const Transform& f, int64_t rows, int64_t cols, bool wide) {
  GemmOperand operand{.batch = f.Size(), .rows = rows, .cols = cols, .dtype = wide ? DType::kF64 : DType::kF32};
  operand.values.resize(static_cast<size_t>(f.Size() * rows * cols));
  return operand;  // min_abs 0: the engine allows for underflow of f64 data
}

// Non-finite elements leave `peak` infinite and count as zero elsewhere.
double Finite(double x, double& peak) {
  if (std::isfinite(x)) return std::abs(x);
  peak = kInfinity;
  return 0;
}

class Planes {
 public:
  Planes(const ConvArgs& op, const Transform& f, std::span<const Tensor> inputs, Golden& golden)
      : op_(op),
        f_(f),
        x_(inputs[0].ToDoubles()),
        w_(inputs[1].ToDoubles()),
        wide_(golden.magnitude.wide()),
        across_((op.out[2] + f.m - 1) / f.m),
        grid_(op, f.m) {
    if (golden.Extra(PlaneName(f.m)) == nullptr) golden.AddExtra(PlaneName(f.m), wide_);  // else of another set
    const auto add = [&](const char* of, int64_t size) {
      golden.extra.emplace_back(TableName(f, of), Plane(size, wide_));
    };
    add("tile_absolute", grid_.Places()), add("channel_absolute", op.o * f.m * f.m);
    add("tile_peak", grid_.Tiles()), add("channel_peak", op.o);
    const auto find = [&](const std::string& name) {
      return &std::ranges::find(golden.extra, name, &std::pair<std::string, Plane>::first)->second;
    };
    w_plane_ = find(PlaneName(f.m));
    tile_absolute_ = find(TableName(f, "tile_absolute")), channel_absolute_ = find(TableName(f, "channel_absolute"));
    tile_peak_ = find(TableName(f, "tile_peak")), channel_peak_ = find(TableName(f, "channel_peak"));
  }

  void Fill() {
    const int64_t down = (op_.out[1] + f_.m - 1) / f_.m;
    const int64_t step = std::clamp<int64_t>(kTileElements / (f_.Size() * op_.GroupInputs() * across_), 1, down);
    for (int64_t group = 0; group < op_.groups; ++group) {
      const Side u = Weights(group);
      StoreChannels(u, group);
      for (int64_t image = 0; image < op_.n; ++image) {
        for (int64_t row = 0; row < down; row += step) FillRows(u, image, group, row, std::min(step, down - row));
      }
    }
  }

 private:
  Side Weights(int64_t group) const {
    const int64_t outputs = op_.GroupOutputs(), channels = op_.GroupInputs();
    Side u{Operand(f_, outputs, channels, wide_), {}, {}};
    u.sums.resize(static_cast<size_t>(f_.Size() * outputs)), u.peak.resize(static_cast<size_t>(outputs));
    ParallelFor(outputs, 1, [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) {
        for (int64_t c = 0; c < channels; ++c) {
          double g[9], transformed[kMaxSide * kMaxSide];
          const double* from = &w_[((group * outputs + o) * channels + c) * 9];
          for (int i = 0; i < 9; ++i) g[i] = Finite(from[i], u.peak[o]);
          ApplyTwice(f_.g, f_.Side(), 3, g, transformed);
          for (int e = 0; e < f_.Size(); ++e) {
            u.operand.values[(e * outputs + o) * channels + c] = transformed[e];
            u.sums[e * outputs + o] += transformed[e];
            u.peak[o] = std::max(u.peak[o], transformed[e]);
          }
        }
      }
    });
    return u;
  }

  // Tiles of `rows` tile rows from `first` on, row-major.
  Side Inputs(int64_t image, int64_t group, int64_t first, int64_t rows) const {
    const int64_t tiles = rows * across_, channels = op_.GroupInputs();
    Side v{Operand(f_, channels, tiles, wide_), {}, {}};
    v.sums.resize(static_cast<size_t>(f_.Size() * tiles)), v.peak.resize(static_cast<size_t>(tiles));
    ParallelFor(tiles, 8, [&](int64_t begin, int64_t end) {
      for (int64_t tile = begin; tile < end; ++tile) {
        for (int64_t c = 0; c < channels; ++c) {
          double d[kMaxSide * kMaxSide], transformed[kMaxSide * kMaxSide];
          const int64_t channel = image * op_.c + group * channels + c;
          ReadTile(channel, (first + tile / across_) * f_.m, tile % across_ * f_.m, d, v.peak[tile]);
          ApplyTwice(f_.b, f_.Side(), f_.Side(), d, transformed);
          for (int e = 0; e < f_.Size(); ++e) {
            v.operand.values[(e * channels + c) * tiles + tile] = transformed[e];
            v.sums[e * tiles + tile] += transformed[e];
            v.peak[tile] = std::max(v.peak[tile], transformed[e]);
          }
        }
      }
    });
    return v;
  }

  void ReadTile(int64_t channel, int64_t p1, int64_t p2, double* d, double& peak) const {
    for (int i = 0; i < f_.Side(); ++i) {
      for (int j = 0; j < f_.Side(); ++j) {
        const int64_t row = p1 + i - op_.pad[1], column = p2 + j - op_.pad[2];
        const bool inside = row >= 0 && row < op_.in[1] && column >= 0 && column < op_.in[2];
        d[i * f_.Side() + j] = inside ? Finite(x_[(channel * op_.in[1] + row) * op_.in[2] + column], peak) : 0;
      }
    }
  }

  // body(place in the tile, row, column) for what is inside of the output.
  template <class Body>
  void ForPlaces(int64_t p1, int64_t p2, const Body& body) const {
    for (int64_t place = 0; place < f_.m * f_.m; ++place) {
      const int64_t row = p1 + place / f_.m, column = p2 + place % f_.m;
      if (row < op_.out[1] && column < op_.out[2]) body(place, row, column);
    }
  }

  void StoreChannels(const Side& u, int64_t group) {
    const int64_t outputs = op_.GroupOutputs(), places = f_.m * f_.m;
    const std::vector<double> absolute = Spread(u.sums, outputs, f_.b);
    for (int64_t o = 0; o < outputs; ++o) {
      const int64_t channel = group * outputs + o;
      channel_peak_->SetUp(channel, u.peak[o]);
      for (int64_t place = 0; place < places; ++place) {
        channel_absolute_->SetUp(channel * places + place, absolute[place * outputs + o] * kRoundUp);
      }
    }
  }

  void FillRows(const Side& u, int64_t image, int64_t group, int64_t first, int64_t rows) {
    const Side v = Inputs(image, group, first, rows);
    const int64_t outputs = op_.GroupOutputs(), tiles = rows * across_;
    Plane product(f_.Size() * outputs * tiles, true);
    MagnitudeGemm(u.operand, u.operand.values, v.operand, v.operand.values, false, product);
    const int64_t places = f_.m * f_.m;
    const std::vector<double> of_tiles = Spread(v.sums, tiles, f_.g);
    for (int64_t tile = 0; tile < tiles; ++tile) {
      const int64_t p1 = (first + tile / across_) * f_.m, p2 = tile % across_ * f_.m, at = image * op_.groups + group;
      tile_peak_->SetUp(grid_.Tile(at, p1, p2), v.peak[tile]);
      ForPlaces(p1, p2, [&](int64_t place, int64_t row, int64_t column) {
        tile_absolute_->SetUp(grid_.Place(at, row, column), of_tiles[place * tiles + tile] * kRoundUp);
      });
    }
    ParallelFor(outputs, 1, [&](int64_t begin, int64_t end) {
      std::vector<double> half(f_.m * f_.Side() * tiles), w(places * tiles);
      for (int64_t o = begin; o < end; ++o) {
        TransformOutput(product.f64().data() + o * tiles, outputs * tiles, tiles, half, w);
        const int64_t channel = image * op_.o + group * outputs + o;
        for (int64_t tile = 0; tile < tiles; ++tile) {
          const int64_t p1 = (first + tile / across_) * f_.m, p2 = tile % across_ * f_.m;
          ForPlaces(p1, p2, [&](int64_t place, int64_t row, int64_t column) {
            const int64_t to = (channel * op_.out[1] + row) * op_.out[2] + column;
            const double value = w[place * tiles + tile] * kRoundUp;
            if (value > (*w_plane_)[to]) w_plane_->SetUp(to, value);
          });
        }
      }
    });
  }

  // Output transform of sums[e][i] times the row sums of `matrix`, at each place of an output tile: [place][i].
  template <int kColumns>
  std::vector<double> Spread(const std::vector<double>& sums, int64_t n,
                             const double (&matrix)[kMaxSide][kColumns]) const {
    std::vector<double> scaled(sums.size()), half(f_.m * f_.Side() * n), to(f_.m * f_.m * n);
    for (int e = 0; e < f_.Size(); ++e) {
      const double factor = RowSum(matrix, e / f_.Side()) * RowSum(matrix, e % f_.Side());
      for (int64_t i = e * n; i < (e + 1) * n; ++i) scaled[i] = sums[i] * factor;
    }
    TransformOutput(scaled.data(), n, n, half, to);
    return to;
  }

  // to[(i m + j) n + t] = sum over e1, e2 of a[i][e1] a[j][e2] from[(e1 side + e2) stride + t], for t < n.
  void TransformOutput(const double* from, int64_t stride, int64_t n, std::vector<double>& half,
                       std::vector<double>& to) const {
    const int side = f_.Side();
    std::ranges::fill(half, 0.0);
    std::ranges::fill(to, 0.0);
    for (int i = 0; i < f_.m; ++i) {
      for (int e = 0; e < f_.Size(); ++e) {
        AddScaled(f_.a[i][e / side], from + e * stride, n, &half[(i * side + e % side) * n]);
      }
    }
    for (int place = 0; place < f_.m * f_.m; ++place) {
      for (int e = 0; e < side; ++e) {
        AddScaled(f_.a[place % f_.m][e], &half[(place / f_.m * side + e) * n], n, &to[place * n]);
      }
    }
  }

  const ConvArgs& op_;
  const Transform& f_;
  std::vector<double> x_, w_;
  bool wide_;
  int64_t across_;
  TileGrid grid_;
  Plane *w_plane_, *tile_absolute_, *channel_absolute_, *tile_peak_, *channel_peak_;
};

}  // namespace
}  // namespace winograd

void AddWinogradPlanes(const ConvArgs& op, std::span<const Tensor> inputs, Golden& golden) {
  for (const winograd::Transform* f : {&winograd::kF2, &winograd::kF4, &winograd::kF4Fractions})
    winograd::Planes(op, *f, inputs, golden).Fill();
}

}  // namespace assay
