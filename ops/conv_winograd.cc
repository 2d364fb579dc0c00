// SPDX-License-Identifier: Apache-2.0
// What Winograd's minimal filtering F(m x m, 3 x 3) may be off by. With U = G g G^T, V = B^T d B, tiles of m outputs
// that begin at output 0 and the points 0, 1, -1 (m = 2) and 0, +-1, +-2 (m = 4) of Lavin and Gray (arXiv 1509.09308).
// For m = 4 also 0, +-5/8, +-3/2, which oneDNN uses; W is the larger of the two, for a contract does not tell them
// apart:
//   |error| <= (alpha u + gamma_C) W,   W = |A^T| [ sum over c of (|G||g||G^T|) .* (|B^T||d||B|) ] |A|
// alpha = 2 (n_A + n_B + n_G): each of the three transforms is applied twice, a row of n non-zeros costs n roundings,
// one more with entries that are no binary fractions (Barabasz, Anderson, Soodhalter, Gregg, ACM TOMS 46, 2020).
// Planes of F(m, 3): "winograd_m_3" = W, and for each set of points two of which no element needs a number of its own,
// as tables of what depends on the place in the image ("tile_") and on the output channel ("channel_"):
// - absolute: what an absolute error of 1 in every element of d, g and of both transforms becomes in y, the sum of
//   tile_absolute [n, groups, out] and channel_absolute [o, m m places of a tile];
// - peak: the largest element of U and V that y depends on, infinite where an element of d or g is infinite or NaN, for
//   it then spreads over its tile; the larger of tile_peak [n, groups, tiles] and channel_peak [o].
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <utility>

#include "golden/gemm_engine.h"
#include "harness/base/infinity.h"
#include "harness/base/multiversion.h"
#include "harness/base/parallel.h"
#include "ops/conv.h"

namespace assay {
namespace {

constexpr int64_t kTileElements = int64_t{1} << 21;
constexpr double kRoundUp = 1 + 0x1p-45;  // of sums of up to 36 positive terms in double
constexpr int kMaxSide = 6;

// Absolute values of the three matrices; signs play no part in a bound.
struct Transform {
  const char* name;
  int m, alpha;
  double a[4][kMaxSide], b[kMaxSide][kMaxSide], g[kMaxSide][3];
  int Side() const { return m + 2; }
  int Size() const { return Side() * Side(); }
};

constexpr Transform kF2{"2_3",
                        2,
                        2 * (3 + 2 + 3),
                        {{1, 1, 1, 0}, {0, 1, 1, 1}},
                        {{1, 0, 1, 0}, {0, 1, 1, 0}, {0, 1, 1, 0}, {0, 1, 0, 1}},
                        {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}, {0, 0, 1}}};
constexpr double k6 = 1.0 / 6, k12 = 1.0 / 12, k24 = 1.0 / 24;
constexpr Transform kF4{"4_3",
                        4,
                        2 * (5 + 4 + 3 + 1),
                        {{1, 1, 1, 1, 1, 0}, {0, 1, 1, 2, 2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, 1, 8, 8, 1}},
                        {{4, 0, 5, 0, 1, 0},
                         {0, 4, 4, 1, 1, 0},
                         {0, 4, 4, 1, 1, 0},
                         {0, 2, 1, 2, 1, 0},
                         {0, 2, 1, 2, 1, 0},
                         {0, 4, 0, 5, 0, 1}},
                        {{0.25, 0, 0}, {k6, k6, k6}, {k6, k6, k6}, {k24, k12, k6}, {k24, k12, k6}, {0, 0, 1}}};

constexpr double kA1 = 64 / 119.0 / 2 * 64 / 25, kB1 = 64 / 119.0 / 2 * 4 / 9;  // 1 / (2 p^2 |p^2 - q^2|)
constexpr Transform kF4Fractions{"4_3_fractions",
                                 4,
                                 2 * (5 + 4 + 3 + 1),
                                 {{1, 1, 1, 1, 1, 0},
                                  {0, 0.625, 0.625, 1.5, 1.5, 0},
                                  {0, 0.390625, 0.390625, 2.25, 2.25, 0},
                                  {0, 0.244140625, 0.244140625, 3.375, 3.375, 1}},
                                 {{0.87890625, 0, 2.640625, 0, 1, 0},
                                  {0, 1.40625, 2.25, 0.625, 1, 0},
                                  {0, 1.40625, 2.25, 0.625, 1, 0},
                                  {0, 0.5859375, 0.390625, 1.5, 1, 0},
                                  {0, 0.5859375, 0.390625, 1.5, 1, 0},
                                  {0, 0.87890625, 0, 2.640625, 0, 1}},
                                 {{256 / 225.0, 0, 0},
                                  {kA1, kA1 * 0.625, kA1 * 0.390625},
                                  {kA1, kA1 * 0.625, kA1 * 0.390625},
                                  {kB1, kB1 * 1.5, kB1 * 2.25},
                                  {kB1, kB1 * 1.5, kB1 * 2.25},
                                  {0, 0, 1}}};

std::string PlaneName(int m) {
  return fmt::format("winograd_{}_3", m);
}

std::string TableName(const Transform& f, const char* of) {
  return fmt::format("winograd_{}_{}", f.name, of);
}

// The tables' extents and indices.
struct TileGrid {
  TileGrid(const ConvCase& of, int side)
      : op(of), m(side), down((op.out[1] + m - 1) / m), across((op.out[2] + m - 1) / m) {}
  int64_t Images() const { return op.n * op.groups; }
  int64_t Places() const { return Images() * op.out[1] * op.out[2]; }
  int64_t Tiles() const { return Images() * down * across; }
  int64_t Place(int64_t image, int64_t row, int64_t column) const {
    return (image * op.out[1] + row) * op.out[2] + column;
  }
  int64_t Tile(int64_t image, int64_t row, int64_t column) const {
    return (image * down + row / m) * across + column / m;
  }
  int64_t ChannelPlace(int64_t channel, int64_t row, int64_t column) const {
    return (channel * m + row % m) * m + column % m;
  }

  const ConvCase& op;
  int64_t m, down, across;
};

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

template <int kColumns>
double RowSum(const double (&matrix)[kMaxSide][kColumns], int row) {
  double sum = 0;
  for (double x : matrix[row]) sum += x;
  return sum;
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
  Planes(const ConvCase& op, const Transform& f, std::span<const Tensor> inputs, Golden& golden)
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

  // What sums[e][i], with the row sums of `matrix` as factors, become at each place of an output tile: [place][i].
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

  const ConvCase& op_;
  const Transform& f_;
  std::vector<double> x_, w_;
  bool wide_;
  int64_t across_;
  TileGrid grid_;
  Plane *w_plane_, *tile_absolute_, *channel_absolute_, *tile_peak_, *channel_peak_;
};

// absolute and peak of all elements, the larger ones of the sets of points with this m: body(element, absolute, peak).
template <class Body>
void ForErrors(const ConvCase& op, const Golden& golden, int m, const Body& body) {
  struct Tables {
    const Plane *tile_absolute, *channel_absolute, *tile_peak, *channel_peak;
  };
  std::vector<Tables> sets;
  for (const Transform* f : {&kF2, &kF4, &kF4Fractions}) {
    const auto find = [&](const char* of) { return golden.Extra(TableName(*f, of)); };
    if (f->m != m) continue;
    sets.push_back({find("tile_absolute"), find("channel_absolute"), find("tile_peak"), find("channel_peak")});
  }
  const TileGrid grid(op, m);
  ParallelFor(op.n * op.o, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t channel = i % op.o, image = i / op.o * op.groups + channel / op.GroupOutputs();
      for (int64_t row = 0; row < op.out[1]; ++row) {
        for (int64_t column = 0; column < op.out[2]; ++column) {
          double absolute = 0, peak = 0;
          for (const Tables& t : sets) {
            absolute = std::max(absolute, (*t.tile_absolute)[grid.Place(image, row, column)] +
                                              (*t.channel_absolute)[grid.ChannelPlace(channel, row, column)]);
            peak = std::max({peak, (*t.tile_peak)[grid.Tile(image, row, column)], (*t.channel_peak)[channel]});
          }
          body((i * op.out[1] + row) * op.out[2] + column, absolute, peak);
        }
      }
    }
  });
}

// An absolute error that each element of d, g, U and V may carry: flushed or narrowed inputs, underflow in the
// transforms, underflow of U and V where they are kept in 16 bits.
double AbsoluteError(const Contract& contract, DType in, int alpha) {
  const bool flushes = contract.ftz != Flush::kNone;
  double error = alpha * (flushes ? contract.AccMinNormal() : contract.AccMinSubnormal());
  if (contract.ftz == Flush::kIn || contract.ftz == Flush::kAll || contract.in != InputRounding::kExact) {
    error += FormatOf(in).MinNormal();
  }
  if (contract.mid == Intermediate::kNone) return error;
  const FloatFormat& stored = FormatOf(contract.mid == Intermediate::kF16 ? DType::kF16 : DType::kBF16);
  return error + (flushes ? stored.MinNormal() : stored.MinSubnormal());
}

// The largest sum of a row of |A^T| (of F(4,3): the larger of the two sets): what an absolute error of the sums over c
// becomes along one axis.
double LargestOutputSum(const Transform& f) {
  double largest = 0;
  for (int i = 0; i < f.m; ++i) {
    double sum = 0;
    for (double x : f.a[i]) sum += x;
    largest = std::max(largest, sum);
  }
  return largest;
}

}  // namespace

void AddWinogradPlanes(const ConvCase& op, std::span<const Tensor> inputs, Golden& golden) {
  for (const Transform* f : {&kF2, &kF4, &kF4Fractions}) Planes(op, *f, inputs, golden).Fill();
}

double WinogradUnitError(const Contract& contract, int64_t channels) {
  double largest = 0;
  for (const Transform* f : {&kF4, &kF4Fractions}) {
    for (int i = 0; i < f->m; ++i) {
      double sum = 0;
      for (int e = 0; e < f->Side(); ++e) sum += f->a[i][e] * RowSum(f->g, e) * RowSum(f->b, e);
      largest = std::max(largest, sum);
    }
  }
  const auto terms = static_cast<double>(channels);
  const double u = contract.AccUnitRoundoff(), gamma = Gamma(terms, 2 * u);
  return (gamma + Gamma(kF4.alpha, u) * (1 + gamma)) * terms * largest * largest * kRoundUp;
}

std::optional<BoundModel> WinogradBound(const ConvCase& op, const Golden& golden, const Contract& contract, DType in,
                                        DType out) {
  const Plane* w = golden.Extra(PlaneName(contract.winograd_m));
  if (w == nullptr || contract.winograd_r != 3) return std::nullopt;
  const Transform& f = contract.winograd_m == 2 ? kF2 : kF4;

  // SumBound's terms for a sum over channels, with the transforms' roundings added and W in the place of S.
  const double u = contract.AccUnitRoundoff();
  const auto channels = static_cast<double>(op.GroupInputs());
  const bool stored = contract.mid != Intermediate::kNone;
  BoundModel bound = SumBound(golden, contract, out,
                              {.terms = channels,
                               .height = channels,
                               .extra_relative = Gamma(f.alpha, u),
                               .mid_roundings = stored ? 2 : 0,
                               .type_a = in,
                               .type_b = in});
  if (bound.exact) return bound;
  for (BoundTerm& term : bound.terms) {
    if (term.plane == &golden.magnitude) term.plane = w;
  }
  const double scale = LargestOutputSum(f) * LargestOutputSum(f);
  bound.constant = (bound.constant + f.alpha * contract.AccMinNormal()) * scale;
  const auto absolutes = std::make_shared<Plane>(golden.size(), w->wide());
  std::atomic<bool> spreads = false;
  const double peak_at = bound.partial_overflow_at / 2;
  ForErrors(op, golden, f.m, [&](int64_t i, double absolute, double peak) {
    absolutes->SetUp(i, absolute);
    if (peak >= peak_at) spreads = true;
  });
  bound.owned.push_back(absolutes);
  bound.terms.push_back(
      {absolutes.get(), AbsoluteError(contract, in, f.alpha) * bound.growth * (1 + Gamma(f.alpha, u))});
  if (op.bias) bound.terms.push_back({&golden.magnitude, Gamma(3, 2 * u)});
  // An infinity in any transform spreads over its tile, and meets its like there.
  AdmitWhere(bound, *w, contract.AccMaxFinite() / 2, kAnything);
  if (!spreads) return bound;
  bound.also.resize(static_cast<size_t>(golden.size()));
  ForErrors(op, golden, f.m, [&](int64_t i, double, double peak) {
    if (peak >= peak_at) bound.also[static_cast<size_t>(i)] |= kAnything;
  });
  return bound;
}

}  // namespace assay
