// SPDX-License-Identifier: Apache-2.0
#include "golden/fft/fft.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "golden/bound/bound.h"
#include "golden/fft/fft_error.h"
#include "golden/fft/fft_transform.h"
#include "harness/core/base/parallel.h"

namespace assay {
namespace {

// A batch of full complex transforms, split into parts: [batch, n...].
template <class R>
struct Field {
  std::vector<R> re, im;
};

// Transforms every line along one axis; `inner` elements lie between neighbours of a line.
template <class R>
void TransformAxis(R* re, R* im, int64_t total, int64_t length, int64_t inner, const Transform<R>& transform) {
  const int64_t lines = total / length, width = transform.MaxLines();
  const auto offset = [=](int64_t line) { return line / inner * length * inner + line % inner; };
  const auto body = [&](int64_t begin, int64_t end) {
    std::vector<R> a(length * width), b(length * width), work(transform.WorkSize(width));
    for (int64_t first = begin; first < end; first += width) {
      const int64_t count = std::min(width, end - first);
      for (int64_t l = 0; l < count; ++l) {
        const int64_t from = offset(first + l);
        for (int64_t j = 0; j < length; ++j)
          a[j * count + l] = re[from + j * inner], b[j * count + l] = im[from + j * inner];
      }
      transform.Run(a.data(), b.data(), count, work.data());
      for (int64_t l = 0; l < count; ++l) {
        const int64_t to = offset(first + l);
        for (int64_t j = 0; j < length; ++j)
          re[to + j * inner] = a[j * count + l], im[to + j * inner] = b[j * count + l];
      }
    }
  };
  // A single long line is left free to use the threads itself.
  if (lines <= width) return body(0, lines);
  ParallelFor(lines, width, body);
}

// Norms of the whole input of one transform, which bound its output.
struct Norms {
  double sum = 0, squares = 0, subnormal = 0, largest = 0;  // over the full spectrum; squares of x / largest's binade
  int exponent = 0;                                         // x 2^-exponent lies within [-1, 1]
  bool finite = true;
};

// Weight of half-spectrum element i in the full spectrum: 1 where it is its own mirror image's plane, else 2.
double Weight(const FftArgs& fft, int64_t i) {
  if (fft.kind != FftKind::kC2R) return 1;
  const int64_t last = fft.n.back(), k = i % (last / 2 + 1);
  return k == 0 || 2 * k == last ? 1 : 2;
}

Norms Measure(const FftArgs& fft, const double* x, int64_t elements, double min_normal) {
  const int parts = fft.InputParts();
  Norms norms;
  for (int64_t i = 0; i < elements * parts; ++i) {
    if (std::isfinite(x[i])) norms.largest = std::max(norms.largest, std::abs(x[i]));
    norms.finite = norms.finite && std::isfinite(x[i]);
  }
  if (norms.largest > 0) norms.exponent = std::ilogb(norms.largest) + 1;
  for (int64_t i = 0; i < elements; ++i) {
    double size = 0, square = 0, subnormal = 0;  // |re| + |im| >= |x|
    for (int part = 0; part < parts; ++part) {
      const double value = std::abs(x[i * parts + part]);
      if (!std::isfinite(value)) continue;
      const double scaled = std::ldexp(value, -norms.exponent);
      size += scaled, square += scaled * scaled;
      if (value < min_normal) subnormal += scaled;
    }
    const double weight = Weight(fft, i);
    norms.sum += weight * size, norms.squares += weight * square, norms.subnormal += weight * subnormal;
  }
  return norms;
}

DD InverseSquareRoot(double n) {
  const double r = 1 / std::sqrt(n);
  // One Newton step: r + r (1 - n r^2) / 2, its correction to double's accuracy.
  const DD residual = -(TwoProd(r, r) * n) + 1.0;
  return DD{r, 0} + r * residual.hi / 2;
}

DD ScaleOf(const FftArgs& fft) {
  const auto points = static_cast<double>(fft.Points());
  if (fft.norm == FftNorm::kOrtho) return InverseSquareRoot(points);
  if (fft.norm == FftNorm::kNone || !fft.inverse) return {1, 0};
  const double q = 1 / points;
  return {q, std::fma(-q, points, 1.0) / points};
}

// Relative, of ||y||_2: every axis, and the scale with its product.
double RelativeError(const FftArgs& fft, bool fast) {
  // A double-double operation errs by at most 5 * 2^-106.
  const double u = fast ? 0x1p-53 : 0x1p-103;
  const FftArithmetic arithmetic{.u = u, .twiddle = fast ? u * (1 + 0x1p-40) : 2 * kUnitRootError};
  double sum = std::log1p(4 * u);
  bool convolution = false;
  for (const int64_t n : fft.n) {
    const std::vector<int64_t> factors = PrimeFactors(n);
    const bool bluestein = !factors.empty() && factors.back() > kLargestButterfly;
    sum += std::log1p(bluestein ? BluesteinError(n, arithmetic) : RadixError(n, arithmetic));
    convolution = convolution || bluestein;
  }
  return Compose(sum, fft.Points(), convolution);
}

template <class R>
R Load(double x, int exponent) {
  const double value = std::isfinite(x) ? std::ldexp(x, -exponent) : 0;
  if constexpr (std::is_same_v<R, DD>) {
    return {value, 0};
  } else {
    return value;
  }
}

class FftGolden {
 public:
  FftGolden(const FftArgs& fft, std::vector<double> x, bool wide, double min_normal)
      : fft_(fft),
        x_(std::move(x)),
        wide_(wide),
        points_(fft.Points()),
        in_(NumElements(fft.InputAxes())),
        out_(NumElements(fft.OutputAxes())),
        scale_(ScaleOf(fft)) {
    norms_.resize(static_cast<size_t>(fft.batch));
    ParallelFor(fft.batch, 1, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        norms_[b] = Measure(fft_, x_.data() + b * in_ * fft_.InputParts(), in_, min_normal);
      }
    });
  }

  template <class R>
  Golden Compute() {
    constexpr bool kFast = std::is_same_v<R, double>;
    Field<R> field;
    field.re.resize(static_cast<size_t>(fft_.batch * points_));
    field.im.resize(field.re.size());
    ParallelFor(fft_.batch * points_, 4096, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) LoadPoint(i, field);
    });
    R *re = field.re.data(), *im = field.im.data();
    if (fft_.inverse) std::swap(re, im);
    int64_t inner = 1;
    for (size_t axis = fft_.n.size(); axis-- > 0; inner *= fft_.n[axis]) {
      if (fft_.n[axis] == 1) continue;
      TransformAxis(re, im, fft_.batch * points_, fft_.n[axis], inner, *MakeTransform<R>(fft_.n[axis]));
    }
    Golden golden;
    golden.tier = kFast ? Tier::kFast : Tier::kReproducible;
    const int64_t size = fft_.batch * out_ * fft_.OutputParts();
    golden.value.resize(static_cast<size_t>(size));
    if (!kFast) golden.value_lo.resize(static_cast<size_t>(size));
    golden.magnitude = golden.sigma = golden.error = Plane(size, wide_);
    golden.AddExtra("norm2", wide_);
    if (std::ranges::any_of(norms_, [](const Norms& n) { return n.subnormal > 0; })) {
      golden.AddExtra("subnormal_mass", wide_);
    }
    ParallelFor(fft_.batch * out_, 4096, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) StorePoint(i, field, golden);
    });
    FillPlanes(RelativeError(fft_, kFast), golden);
    for (int64_t b = 0; b < fft_.batch; ++b) {
      const int64_t numbers = in_ * fft_.InputParts();
      if (!norms_[b].finite) MarkNonFinite(fft_, std::span(x_).subspan(b * numbers, numbers), b, golden);
    }
    return golden;
  }

 private:
  template <class R>
  void LoadPoint(int64_t i, Field<R>& field) const {
    const int64_t batch = i / points_;
    const double* x = x_.data() + batch * in_ * fft_.InputParts();
    const int exponent = norms_[batch].exponent;
    if (fft_.kind == FftKind::kR2C) {
      field.re[i] = Load<R>(x[i % points_], exponent);
      return;
    }
    const HalfIndex at = fft_.kind == FftKind::kC2R ? ToHalf(fft_.n, i % points_) : HalfIndex{i % points_, false};
    field.re[i] = Load<R>(x[2 * at.index], exponent);
    field.im[i] = Load<R>(at.conjugate ? -x[2 * at.index + 1] : x[2 * at.index + 1], exponent);
  }

  template <class R>
  void StorePoint(int64_t i, const Field<R>& field, Golden& golden) const {
    const int64_t batch = i / out_, point = i % out_;
    int64_t full = point;
    if (fft_.kind == FftKind::kR2C) {
      const int64_t last = fft_.n.back(), half = last / 2 + 1;
      full = point / half * last + point % half;
    }
    const int parts = fft_.OutputParts();
    for (int part = 0; part < parts; ++part) {
      const R value = (part == 0 ? field.re : field.im)[batch * points_ + full];
      StoreNumber(i * parts + part, value, norms_[batch].exponent, golden);
    }
  }

  void StoreNumber(int64_t i, double value, int exponent, Golden& golden) const {
    golden.value[i] = std::ldexp(fft_.norm == FftNorm::kNone ? value : value * scale_.hi, exponent);
  }
  // Back to x's scale: infinite where the true value overflows, and less accurate below double's normal range.
  void StoreNumber(int64_t i, DD value, int exponent, Golden& golden) const {
    const DD y = value * scale_;
    golden.value[i] = std::ldexp(y.hi, exponent);
    golden.value_lo[i] = std::isfinite(golden.value[i]) ? std::ldexp(y.lo, exponent) : 0;
  }

  void FillPlanes(double relative, Golden& golden) const {
    const auto points = static_cast<double>(points_);
    const int64_t numbers = out_ * fft_.OutputParts();
    const double up = 1 + 0x1p-50 * (points + 16);  // the roundings of the norms themselves
    const bool subnormals = golden.extra.size() > 1;
    for (int64_t b = 0; b < fft_.batch; ++b) {
      const Norms& norms = norms_[b];
      const double scale = scale_.hi * up;
      const double norm2 = std::sqrt(points * norms.squares) * scale;
      // Double-double's low parts underflow below 2^-1074 of the scaled data; so may the result, scaled back.
      const double error = relative * norm2 + 0x1p-1000 * norm2;
      const double lost = wide_ && norms.largest > 0 ? 0x1p-1073 : 0;
      const auto set = [&](Plane& plane, double value, double add) {
        value = std::ldexp(value, norms.exponent) + add;
        for (int64_t i = b * numbers; i < (b + 1) * numbers; ++i) plane.SetUp(i, value);
      };
      set(golden.magnitude, norms.sum * scale, 0);
      // A spectrum with few strong lines has errors of the size of those lines' own roundings.
      double peak = 0;
      for (int64_t i = b * numbers; i < (b + 1) * numbers; ++i) {
        if (std::isfinite(golden.value[i])) peak = std::max(peak, std::abs(golden.value[i]));
      }
      peak = std::ldexp(peak, -norms.exponent);
      set(golden.sigma, 0.6 * std::max(std::sqrt(std::log2(points) / points) * norm2, peak), 0);
      set(golden.error, error, lost);
      set(golden.extra[0].second, norm2, 0);
      if (subnormals) set(golden.extra[1].second, norms.subnormal * scale, 0);
    }
  }

  const FftArgs& fft_;
  std::vector<double> x_;
  bool wide_;
  int64_t points_, in_, out_;  // per transform
  DD scale_;
  std::vector<Norms> norms_;
};

}  // namespace

Shape FftArgs::Half() const {
  Shape half = n;
  half.back() = half.back() / 2 + 1;
  return half;
}

int64_t MirrorRow(const Shape& n, int64_t row) {
  int64_t mirrored = 0, stride = 1;
  for (size_t axis = n.size() - 1; axis-- > 0; stride *= n[axis], row /= n[axis]) {
    mirrored += (n[axis] - row % n[axis]) % n[axis] * stride;
  }
  return mirrored;
}

HalfIndex ToHalf(const Shape& n, int64_t full) {
  const int64_t last = n.back(), half = last / 2 + 1, row = full / last, column = full % last;
  if (column < half) return {row * half + column, false};
  return {MirrorRow(n, row) * half + last - column, true};
}

Golden GoldenFft(const FftArgs& fft, const Tensor& x, Tier tier, bool wide, double min_normal) {
  FftGolden golden(fft, x.ToDoubles(), wide, min_normal);
  return tier == Tier::kFast && !wide ? golden.Compute<double>() : golden.Compute<DD>();
}

}  // namespace assay
