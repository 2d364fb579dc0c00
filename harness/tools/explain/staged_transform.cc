// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/explain/staged_transform.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <numbers>

#include "golden/fft/fft.h"
#include "harness/core/data/dtype.h"
#include "ops/fft/fft.h"

namespace assay {
namespace {
namespace staged {

using What = StageMistake::What;
using Real = long double;  // results of c128 are held against these

struct Number {
  Real re = 0, im = 0;
  Number operator+(Number o) const { return {re + o.re, im + o.im}; }
  Number operator-(Number o) const { return {re - o.re, im - o.im}; }
  Number operator*(Number o) const { return {re * o.re - im * o.im, re * o.im + im * o.re}; }
  Number Conjugate() const { return {re, -im}; }
};
using Line = std::vector<Number>;

template <class T>
auto& At(T& values, int64_t i) {
  return values[static_cast<size_t>(i)];
}

int64_t RadixOf(const StageMistake& mistake, int64_t n) {
  if (mistake.radix == 4 && n % 4 == 0) return 4;
  for (int64_t p = 2; p * p <= n; ++p) {
    if (n % p == 0) return p;
  }
  return n;
}

class StagedTransform {
 public:
  StagedTransform(const FftArgs& fft, const StageMistake& mistake) : fft_(fft), mistake_(mistake) {}

  std::vector<double> Run(std::span<const double> x) {
    Line all = ReadAll(x);
    int64_t stride = 1;
    for (size_t axis = fft_.n.size(); axis-- > 0; stride *= fft_.n[axis]) {
      const bool is_of_reals = axis + 1 == fft_.n.size() && fft_.kind != FftKind::kC2C;
      const int64_t n = fft_.n[axis];
      Line line(static_cast<size_t>(n));
      for (int64_t first = 0; first < std::ssize(all); ++first) {
        if (first / stride % n != 0) continue;
        for (int64_t i = 0; i < n; ++i) At(line, i) = At(all, first + i * stride);
        TransformLine(line, is_of_reals);
        for (int64_t i = 0; i < n; ++i) At(all, first + i * stride) = At(line, i);
      }
    }
    return Store(all);
  }

 private:
  // The whole spectrum or signal; conjugated for the inverse, which is the conjugate of the conjugate's transform.
  Line ReadAll(std::span<const double> x) const {
    Line all(static_cast<size_t>(fft_.Points()));
    for (int64_t i = 0; i < std::ssize(all); ++i) {
      Number& to = At(all, i);
      if (fft_.kind == FftKind::kR2C) {
        to = {At(x, i), 0};
      } else if (fft_.kind == FftKind::kC2C) {
        to = {At(x, 2 * i), At(x, 2 * i + 1)};
      } else {
        const HalfIndex half = ToHalf(fft_.n, i);
        to = {At(x, 2 * half.index), At(x, 2 * half.index + 1)};
        if (half.conjugate) to = to.Conjugate();
      }
      if (fft_.inverse) to = to.Conjugate();
    }
    return all;
  }

  std::vector<double> Store(const Line& all) const {
    const auto points = static_cast<Real>(fft_.Points());
    const bool is_divided = fft_.norm == FftNorm::kBackward && fft_.inverse;
    const Real scale = fft_.norm == FftNorm::kOrtho ? 1 / std::sqrt(points) : is_divided ? 1 / points : Real{1};
    const int64_t last = fft_.n.back(), kept = fft_.kind == FftKind::kR2C ? last / 2 + 1 : last;
    std::vector<double> y;
    for (int64_t i = 0; i < std::ssize(all); ++i) {
      if (i % last >= kept) continue;
      y.push_back(static_cast<double>(At(all, i).re * scale));
      if (fft_.kind != FftKind::kC2R) y.push_back(static_cast<double>(At(all, i).im * (fft_.inverse ? -scale : scale)));
    }
    return y;
  }

  void TransformLine(Line& line, bool is_of_reals) {
    const bool untangles = is_of_reals && mistake_.what == What::kUntangling && line.size() % 2 == 0;
    if (untangles && fft_.kind == FftKind::kC2R) Untangle(line);
    Stages(line);
    if (untangles && fft_.kind == FftKind::kR2C) Untangle(line);
  }

  // Even and odd elements are put together, or taken apart, by the conjugate of the right twiddle.
  void Untangle(Line& line) {
    const int64_t n = std::ssize(line), half = n / 2;
    const Line right = line;
    for (int64_t k = 0; k < n; ++k) {
      const Number here = At(right, k), there = At(right, (k + half) % n);
      const Number odd = (here - there) * Root(2 * k, n).Conjugate(), sum = here + there + odd;
      At(line, k) = {sum.re / 2, sum.im / 2};
    }
  }

  void Stages(Line& x) {
    const int64_t n = std::ssize(x);
    if (n == 1) return;
    const int64_t p = RadixOf(mistake_, n), m = n / p;
    std::vector<Line> parts(static_cast<size_t>(p), Line(static_cast<size_t>(m)));
    Line z(static_cast<size_t>(p));
    if (mistake_.in_frequency) {
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t r = 0; r < p; ++r) At(z, r) = At(x, i + m * r);
        for (int64_t q = 0; q < p; ++q) At(At(parts, q), i) = Butterfly(z, q, n) * Twiddle(q * i, n);
      }
      for (Line& part : parts) Stages(part);
      for (int64_t k = 0; k < n; ++k) At(x, k) = At(At(parts, k % p), k / p);
      return;
    }
    for (int64_t i = 0; i < n; ++i) At(At(parts, i % p), i / p) = At(x, i);
    for (Line& part : parts) Stages(part);
    for (int64_t k = 0; k < m; ++k) {
      for (int64_t r = 0; r < p; ++r) At(z, r) = At(At(parts, r), k) * Twiddle(r * k, n);
      for (int64_t q = 0; q < p; ++q) At(x, k + q * m) = Butterfly(z, q, n);
    }
  }

  bool IsStruck(What what, int64_t n) const {
    return mistake_.what == what && (mistake_.points == 0 || mistake_.points == n);
  }

  Number Twiddle(int64_t j, int64_t n) {
    const Number root = Root(j, n);
    if (IsStruck(What::kConjugatedTwiddles, n)) return root.Conjugate();
    if (IsStruck(What::kNoTwiddles, n)) return {1, 0};
    return IsStruck(What::kRoundedTwiddles, n) ? Number{Rounded(root.re), Rounded(root.im)} : root;
  }
  Number Butterfly(const Line& z, int64_t q, int64_t n) {
    const int64_t p = std::ssize(z);
    const bool is_turned = IsStruck(What::kTurnedButterflies, n);
    Number sum;
    for (int64_t r = 0; r < p; ++r) {
      const Number root = Root(r * q, p);
      sum = sum + At(z, r) * (is_turned ? root.Conjugate() : root);
    }
    return sum;
  }
  Real Rounded(Real x) const {
    if (x == 0) return x;
    const int shift = mistake_.bits - 1 - std::ilogb(x);
    return std::scalbn(std::nearbyint(std::scalbn(x, shift)), -shift);
  }

  // e^(-2 pi i j / n)
  Number Root(int64_t j, int64_t n) {
    Line& table = roots_[n];
    for (int64_t i = std::ssize(table); i < n; ++i) {
      const Real angle = 2 * std::numbers::pi_v<Real> * static_cast<Real>(i) / static_cast<Real>(n);
      table.push_back({std::cos(angle), -std::sin(angle)});
    }
    return At(table, j % n);
  }

  const FftArgs& fft_;
  const StageMistake& mistake_;
  std::map<int64_t, Line> roots_;
};

// Mistakes of one way to factor the length, of one stage or of all.
void AddMistakes(StageMistake like, int64_t n, bool is_wide, std::vector<StageMistake>& all) {
  const auto add = [&](What what, int bits = 0) {
    like.what = what, like.bits = bits;
    all.push_back(like);
  };
  bool has_twiddles = false, has_turns = false;
  for (int64_t of_stage = n; of_stage > 1; of_stage /= RadixOf(like, of_stage)) {
    if (like.points != 0 && like.points != of_stage) continue;
    const int64_t p = RadixOf(like, of_stage);
    has_twiddles = has_twiddles || p < of_stage, has_turns = has_turns || p > 2;
  }
  if (has_turns) add(What::kTurnedButterflies);
  if (!has_twiddles) return;
  add(What::kConjugatedTwiddles), add(What::kNoTwiddles);
  if (is_wide) add(What::kRoundedTwiddles, 24);
  for (const int bits : {11, 8}) add(What::kRoundedTwiddles, bits);
}

}  // namespace staged
}  // namespace

std::vector<StageMistake> ListStageMistakes(const Problem& problem) {
  std::vector<StageMistake> all;
  if (problem.spec.op != "fft") return all;
  const FftArgs fft = FftArgsOf(problem);
  const int64_t n = fft.n.back();
  const DType out = problem.outputs[0].dtype;
  const bool is_wide = out == DType::kF64 || out == DType::kC128;
  if (fft.kind != FftKind::kC2C && n % 2 == 0 && n > 4) all.push_back({.what = StageMistake::What::kUntangling});
  const auto for_each_way = [&](const auto& visit) {
    for (const int64_t radix : {2, 4}) {
      if (radix == 4 && n % 4 != 0) continue;
      for (const bool in_frequency : {false, true}) visit(StageMistake{.radix = radix, .in_frequency = in_frequency});
    }
  };
  for_each_way([&](const StageMistake& like) { staged::AddMistakes(like, n, is_wide, all); });
  for_each_way([&](StageMistake like) {
    for (int64_t points = n; points > 1; points /= staged::RadixOf(like, points)) {
      like.points = points;
      if (points != n || staged::RadixOf(like, n) != n) staged::AddMistakes(like, n, is_wide, all);
    }
  });
  return all;
}

std::vector<double> TransformBy(const StageMistake& mistake, const Problem& problem, std::span<const double> x,
                                int64_t batch) {
  const FftArgs fft = FftArgsOf(problem);
  const size_t size = x.size() / static_cast<size_t>(fft.batch);
  return staged::StagedTransform(fft, mistake).Run(x.subspan(static_cast<size_t>(batch) * size, size));
}

std::string DescribeStageMistake(const StageMistake& mistake) {
  if (mistake.what == StageMistake::What::kUntangling)
    return "the transform of pairs of reals, which conjugated twiddles put together";
  const std::string what = mistake.what == StageMistake::What::kConjugatedTwiddles ? "conjugated twiddles"
                           : mistake.what == StageMistake::What::kNoTwiddles       ? "no twiddles"
                           : mistake.what == StageMistake::What::kTurnedButterflies
                               ? "butterflies that turn the other way"
                           : mistake.bits == 24 ? "twiddles in f32"
                           : mistake.bits == 11 ? "twiddles in f16"
                                                : "twiddles in bf16";
  const std::string where =
      mistake.points == 0 ? "all its stages" : fmt::format("its stage of {} points", mistake.points);
  return fmt::format("the transform with {} in {} (radix {}, in {})", what, where, mistake.radix,
                     mistake.in_frequency ? "frequency" : "time");
}

}  // namespace assay
