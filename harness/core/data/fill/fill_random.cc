// SPDX-License-Identifier: Apache-2.0
// Fills whose values are independent random deviates.
#include <algorithm>
#include <array>
#include <cmath>

#include "harness/core/base/multiversion.h"
#include "harness/core/base/parallel.h"
#include "harness/core/data/fill/fill_internal.h"
#include "harness/core/data/fill/portable_math.h"
#include "harness/core/data/scale_bits.h"

namespace assay::internal {
namespace {

constexpr int kOutlierChannels = 6;

struct Outliers {
  int count = 0;
  std::array<int64_t, kOutlierChannels> channel;
  std::array<double, kOutlierChannels> scale;
};

// Distinct channels: Floyd's sampling. A tensor with fewer than six channels has them all scaled.
Outliers ChooseOutliers(const FillJob& job) {
  const RandomStream random = job.Random(Purpose::kChannels);
  Outliers outliers;
  outliers.count = static_cast<int>(std::min<int64_t>(kOutlierChannels, job.channels));
  for (int i = 0; i < outliers.count; ++i) {
    const int64_t last = job.channels - outliers.count + i;
    const auto index = static_cast<uint64_t>(i);
    auto pick = static_cast<int64_t>(random.Below(2 * index, static_cast<uint64_t>(last) + 1));
    const auto taken = outliers.channel.begin() + i;
    if (std::find(outliers.channel.begin(), taken, pick) != taken) pick = last;
    outliers.channel[index] = pick;
    outliers.scale[index] = 40.0 + 20.0 * random.Uniform(2 * index + 1);
  }
  return outliers;
}

// The sign bit of `bits` onto a magnitude.
double WithSign(double magnitude, uint64_t bits) {
  return bits >> 63 ? -magnitude : magnitude;
}

// The deviates of f32, to be rounded to a narrower type.
template <class Fill>
void FromFloats(std::span<double> out, const Fill& fill) {
  float values[kFillChunk];
  fill(std::span(values, out.size()));
  std::copy_n(values, out.size(), out.begin());
}

ASSAY_MULTIVERSION void LognormalsOf(const uint64_t* signs, double* values, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t magnitude = std::bit_cast<uint64_t>(ExpKernel(2.0 * values[i]));
    values[i] = std::bit_cast<double>(magnitude | (signs[i] & (uint64_t{1} << 63)));
  }
}

}  // namespace

ASSAY_MULTIVERSION void ClampValues(double* values, int64_t n, double limit) {
  for (int64_t i = 0; i < n; ++i) {
    const double x = values[i] > limit ? limit : values[i];  // NaN stays
    values[i] = x < -limit ? -limit : x;
  }
}

bool FillInPlace(const FillJob& job, Tensor& out) {
  const bool uniform = job.fill.kind == FillKind::kUniform;
  const bool normal = job.fill.kind == FillKind::kNormal || HasNaN(job.fill);
  const int bytes = SizeOf(job.dtype) / job.components;
  if (job.is_int || bytes < 4 || !(uniform || normal)) return false;
  const RandomStream random = job.Random(Purpose::kValues);
  const auto fill = [&](int64_t begin, auto values) {
    const auto first = static_cast<uint64_t>(begin);
    uniform ? random.FillSymmetric(first, values) : random.FillNormal(first, values);
  };
  ParallelFor(job.size, kFillChunk, [&](int64_t begin, int64_t end) {
    const auto first = static_cast<size_t>(begin), count = static_cast<size_t>(end - begin);
    bytes == 4 ? fill(begin, out.As<float>().subspan(first, count))
               : fill(begin, out.As<double>().subspan(first, count));
  });
  return true;
}

// Only types narrower than f32 come here: those that are not are filled in place.
void GenerateUniform(const FillJob& job, int64_t first, std::span<double> out) {
  const RandomStream random = job.Random(Purpose::kValues);
  if (!job.is_int) {
    FromFloats(out, [&](std::span<float> values) { random.FillSymmetric(static_cast<uint64_t>(first), values); });
    return;
  }
  uint64_t bits[kFillChunk];
  random.FillBits(static_cast<uint64_t>(first), std::span(bits, out.size()));
  const auto max = static_cast<int64_t>(job.max_value);
  const auto range = static_cast<uint64_t>(2 * max + 1);
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<double>(static_cast<int64_t>(ScaleBits(bits[i], range)) - max);
}

void GenerateNormal(const FillJob& job, int64_t first, std::span<double> out) {
  const RandomStream random = job.Random(Purpose::kValues);
  if (!job.is_int) {
    FromFloats(out, [&](std::span<float> values) { random.FillNormal(static_cast<uint64_t>(first), values); });
    return;
  }
  random.FillNormal(static_cast<uint64_t>(first), out);
  const double scale = job.max_value / 4;
  for (double& x : out) x *= scale;
}

void GenerateRepeated(const FillJob& job, int64_t first, std::span<double> out) {
  const RandomStream random = job.Random(Purpose::kValues);
  const int64_t elements = job.size / job.components;
  const int64_t period = (elements == job.channels ? 1 : job.channels) * job.components;
  const double scale = job.is_int ? job.max_value / 4 : 1;
  for (size_t i = 0; i < out.size(); ++i) {
    const int64_t value = (first + static_cast<int64_t>(i)) % period;
    out[i] = scale * random.Normal(static_cast<uint64_t>(value));
  }
}

// A mean of a hundred deviations, in the real part of complex elements.
void GenerateOffset(const FillJob& job, int64_t first, std::span<double> out) {
  if (job.role != 0) return GenerateNormal(job, first, out);
  constexpr double kOffset = 100;
  job.Random(Purpose::kValues).FillNormal(static_cast<uint64_t>(first), out);
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] += job.components == 1 || (first + static_cast<int64_t>(i)) % 2 == 0 ? kOffset : 0;
  }
}

// Integers get the same values, rounded: a third of them are 0.
void GenerateLognormal(const FillJob& job, int64_t first, std::span<double> out) {
  uint64_t signs[kFillChunk];
  job.Random(Purpose::kSigns).FillBits(static_cast<uint64_t>(first), std::span(signs, out.size()));
  job.Random(Purpose::kValues).FillNormal(static_cast<uint64_t>(first), out);
  LognormalsOf(signs, out.data(), std::ssize(out));
}

// Integers start from a standard deviation that leaves the outliers room below the maximum.
void GenerateOutlier(const FillJob& job, int64_t first, std::span<double> out) {
  job.Random(Purpose::kValues).FillNormal(static_cast<uint64_t>(first), out);
  if (job.is_int) {
    const double scale = std::max(1.0, job.max_value / 160);
    for (double& x : out) x *= scale;
  }
  const Outliers outliers = ChooseOutliers(job);
  const int64_t row = job.channels * job.components;  // values
  const int64_t end = first + std::ssize(out);
  for (int64_t start = first - first % row; start < end; start += row) {
    for (size_t i = 0; i < static_cast<size_t>(outliers.count); ++i) {
      for (int64_t c = 0; c < job.components; ++c) {
        const int64_t value = start + outliers.channel[i] * job.components + c;
        if (value >= first && value < end) out[static_cast<size_t>(value - first)] *= outliers.scale[i];
      }
    }
  }
}

// A quarter +- m times the smallest subnormal, m < 2^(precision-1); the rest +- f 2^e with f in [1, 2) and e up to
// three above the smallest normal's. Integers, which have no subnormals: a quarter 0, the rest +-1 to +-8.
void GenerateSubnormal(const FillJob& job, int64_t first, std::span<double> out) {
  uint64_t bits[kFillChunk];
  const auto index = static_cast<uint64_t>(first);
  job.Random(Purpose::kSigns).FillBits(index, std::span(bits, out.size()));
  job.Random(Purpose::kValues).FillUniform(index, out);
  const FloatFormat one{1, 0, 1, false};
  const FloatFormat& format = job.is_int ? one : FormatOf(job.dtype);
  const double min_normal = format.MinNormal(), min_subnormal = format.MinSubnormal();
  const double codes = std::ldexp(1.0, format.precision - 1) - 1;  // subnormal magnitudes
  for (size_t i = 0; i < out.size(); ++i) {
    const bool subnormal = bits[i] % 4 == 0;
    const auto binade = static_cast<double>(1 << (bits[i] / 4 % 4));
    const double magnitude = subnormal    ? std::min(std::floor(1.0 + out[i] * codes), codes) * min_subnormal
                             : job.is_int ? std::floor(1.0 + out[i]) * binade
                                          : (1.0 + out[i]) * binade * min_normal;
    out[i] = WithSign(magnitude, bits[i]);
  }
}

// Integers: +-1, 2, 4 or 8.
void GeneratePow2(const FillJob& job, int64_t first, std::span<double> out) {
  uint64_t bits[kFillChunk];
  job.Random(Purpose::kValues).FillBits(static_cast<uint64_t>(first), std::span(bits, out.size()));
  const int lowest = job.is_int ? 0 : -3;
  const auto choices = static_cast<uint64_t>(3 - lowest + 1);
  for (size_t i = 0; i < out.size(); ++i) {
    // The top bit is the sign, the others choose the exponent.
    const auto exponent = static_cast<int>(ScaleBits(bits[i] << 1, choices)) + lowest;
    out[i] = WithSign(std::ldexp(1.0, exponent), bits[i]);
  }
}

}  // namespace assay::internal
