// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/binding.h"
#include "tests/support/simulate/conv.h"

namespace assay::test {
namespace {

using Matrix = std::vector<std::vector<double>>;

struct Filtering {
  Matrix at, bt, g;
};

// Winograd's matrices of F(4,3) for the points 0, +-a, +-b, written out from the interpolation itself.
Filtering Interpolating(double a, double b) {
  const double a2 = a * a, b2 = b * b, s = a2 + b2, p = a2 * b2;
  Filtering f{
      {{1, 1, 1, 1, 1, 0}, {0, a, -a, b, -b, 0}, {0, a2, a2, b2, b2, 0}, {0, a2 * a, -a2 * a, b2 * b, -b2 * b, 1}},
      {{p, 0, -s, 0, 1, 0},
       {0, -a * b2, -b2, a, 1, 0},
       {0, a * b2, -b2, -a, 1, 0},
       {0, -b * a2, -a2, b, 1, 0},
       {0, b * a2, -a2, -b, 1, 0},
       {0, p, 0, -s, 0, 1}},
      {{1 / p, 0, 0}}};
  for (const auto& [x, other] : {std::pair(a, b2), std::pair(-a, b2), std::pair(b, a2), std::pair(-b, a2)}) {
    const double scale = 1 / (2 * x * x * (x * x - other));
    f.g.push_back({scale, scale * x, scale * x * x});
  }
  f.g.push_back({0, 0, 1});
  return f;
}

const Filtering& FilteringOf(int m, Points points) {
  static const Filtering fractions = Interpolating(5.0 / 8, 3.0 / 2);
  if (m == 4 && points == Points::kFractions) return fractions;
  static const Filtering f2{{{1, 1, 1, 0}, {0, 1, -1, -1}},
                            {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}},
                            {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}}};
  static const Filtering f4{{{1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}},
                            {{4, 0, -5, 0, 1, 0},
                             {0, -4, -4, 1, 1, 0},
                             {0, 4, -4, -1, 1, 0},
                             {0, -2, -1, 2, 1, 0},
                             {0, 2, -1, -2, 1, 0},
                             {0, 4, 0, -5, 0, 1}},
                            {{1.0 / 4, 0, 0},
                             {-1.0 / 6, -1.0 / 6, -1.0 / 6},
                             {-1.0 / 6, 1.0 / 6, -1.0 / 6},
                             {1.0 / 24, 1.0 / 12, 1.0 / 6},
                             {1.0 / 24, -1.0 / 12, 1.0 / 6},
                             {0, 0, 1}}};
  return m == 2 ? f2 : f4;
}

struct Machine {
  const Arithmetic& unit;
  bool fma;

  // sum row[j] * values[j] over the non-zeros; the matrix's entries are rounded to the unit first.
  double Dot(const std::vector<double>& row, const std::vector<double>& values) const {
    double sum = 0;
    bool first = true;
    for (size_t j = 0; j < row.size(); ++j) {
      if (row[j] == 0) continue;
      const double entry = unit.Round(row[j]);
      sum = first ? unit.Mul(entry, values[j])
            : fma ? unit.Fma(entry, values[j], sum)
                  : unit.Add(sum, unit.Mul(entry, values[j]));
      first = false;
    }
    return sum;
  }
  // M X M^T
  Matrix Transform(const Matrix& m, const Matrix& x) const {
    Matrix half(m.size()), all(m.size());
    for (size_t e = 0; e < m.size(); ++e) {
      for (size_t j = 0; j < x[0].size(); ++j) {
        std::vector<double> column;
        for (const auto& row : x) column.push_back(row[j]);
        half[e].push_back(Dot(m[e], column));
      }
      for (const auto& other : m) all[e].push_back(Dot(other, half[e]));
    }
    return all;
  }
};

struct Image {
  const Problem& problem;
  std::vector<double> x, w;
  int64_t height = problem.List("i")[0], width = problem.List("i")[1];

  Matrix Tile(const Arithmetic& unit, int64_t channel, int64_t row, int64_t column, int side) const {
    Matrix d(static_cast<size_t>(side));
    for (int64_t i = row - problem.List("pad")[0]; i < row - problem.List("pad")[0] + side; ++i) {
      for (int64_t j = column - problem.List("pad")[1]; j < column - problem.List("pad")[1] + side; ++j) {
        const bool inside = i >= 0 && i < height && j >= 0 && j < width;
        const double value = inside ? x[(channel * height + i) * width + j] : 0.0;
        d[i - row + problem.List("pad")[0]].push_back(unit.In(problem.inputs[0].dtype, value));
      }
    }
    return d;
  }
  Matrix Kernel(const Arithmetic& unit, int64_t index) const {
    Matrix g(3);
    for (int64_t i = 0; i < 9; ++i) g[i / 3].push_back(unit.In(problem.inputs[1].dtype, w[index * 9 + i]));
    return g;
  }
};

}  // namespace

std::vector<double> RunWinograd(const Problem& problem, std::span<const Tensor> inputs, int m, bool fma,
                                const Arithmetic& unit, DType stored, Points points) {
  const Filtering& f = FilteringOf(m, points);
  const Machine machine{unit, fma};
  const Image image{problem, inputs[0].ToDoubles(), inputs[1].ToDoubles()};
  const int64_t channels = problem.Int("c") / problem.Int("groups"), outputs = problem.Int("o");
  const int64_t rows = problem.outputs[0].shape[2], columns = problem.outputs[0].shape[3];
  const auto store = [&](double v) { return RoundTo(FormatOf(stored), v); };
  std::vector<double> y(static_cast<size_t>(NumElements(problem.outputs[0].shape)));
  for (int64_t plane = 0; plane < problem.Int("n") * outputs; ++plane) {
    const int64_t o = plane % outputs, group = o / (outputs / problem.Int("groups"));
    const int64_t first = plane / outputs * problem.Int("c") + group * channels;
    for (int64_t r = 0; r < rows; r += m) {
      for (int64_t s = 0; s < columns; s += m) {
        Matrix sum(f.bt.size(), std::vector<double>(f.bt.size(), 0.0));
        for (int64_t c = 0; c < channels; ++c) {
          const Matrix v = machine.Transform(f.bt, image.Tile(unit, first + c, r, s, m + 2));
          const Matrix u = machine.Transform(f.g, image.Kernel(unit, o * channels + c));
          for (size_t i = 0; i < u.size(); ++i) {
            for (size_t j = 0; j < u.size(); ++j) {
              const double a = store(u[i][j]), b = store(v[i][j]);
              sum[i][j] = c == 0 ? unit.Mul(a, b)
                          : fma  ? unit.Fma(a, b, sum[i][j])
                                 : unit.Add(sum[i][j], unit.Mul(a, b));
            }
          }
        }
        const Matrix tile = machine.Transform(f.at, sum);
        for (int64_t i = r; i < std::min(rows, r + m); ++i) {
          for (int64_t j = s; j < std::min(columns, s + m); ++j) {
            double value = tile[i - r][j - s];
            const DType out = problem.outputs[0].dtype;
            if (inputs.size() > 2) value = unit.Add(value, unit.In(out, ValueAt(inputs[2], o)));
            y[(plane * rows + i) * columns + j] = unit.Out(out, value);
          }
        }
      }
    }
  }
  return y;
}

}  // namespace assay::test
