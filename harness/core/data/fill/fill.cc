// SPDX-License-Identifier: Apache-2.0
#include "harness/core/data/fill/fill.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>

#include "harness/core/base/check.h"
#include "harness/core/base/parallel.h"
#include "harness/core/data/fill/fill_internal.h"

namespace assay {
namespace {

using internal::FillJob;
using internal::Generator;

struct FillInfo {
  FillKind kind;
  std::string_view name;
  Generator generate;
  double parameter = 0;
};

constexpr std::array<FillInfo, 25> kFills = {{
    {FillKind::kUniform, "uniform", internal::GenerateUniform},
    {FillKind::kNormal, "normal", internal::GenerateNormal},
    {FillKind::kLognormal, "lognormal", internal::GenerateLognormal},
    {FillKind::kOutlier, "outlier", internal::GenerateOutlier},
    {FillKind::kCancel, "cancel-K", internal::GenerateCancel},
    {FillKind::kRamp, "ramp", internal::GenerateRamp},
    {FillKind::kCoded, "coded", internal::GenerateCoded},
    {FillKind::kSubnormal, "subnormal", internal::GenerateSubnormal},
    {FillKind::kSpecial, "special", internal::GenerateNormal},  // and then PlantSpecials
    {FillKind::kPow2, "pow2", internal::GeneratePow2},
    {FillKind::kNearOne, "near_one", internal::GenerateNearOne},
    {FillKind::kEdges, "edges", internal::GenerateNormal},  // and then PlantEdges
    {FillKind::kMasked, "masked", internal::GenerateMasked},
    {FillKind::kTies, "ties", internal::GenerateTies},
    {FillKind::kLarge, "large", internal::GenerateLarge},
    {FillKind::kNegative, "negative", internal::GenerateNegative},
    {FillKind::kOffset, "offset", internal::GenerateOffset},
    {FillKind::kExtremes, "extremes", internal::GenerateExtremes},
    {FillKind::kRepeated, "repeated", internal::GenerateRepeated},
    {FillKind::kTosa, "tosa-0", internal::GenerateTosa, 0},
    {FillKind::kTosa, "tosa-1", internal::GenerateTosa, 1},
    {FillKind::kTosa, "tosa-2", internal::GenerateTosa, 2},
    {FillKind::kTosa, "tosa-3", internal::GenerateTosa, 3},
    {FillKind::kTosa, "tosa-4", internal::GenerateTosa, 4},
    {FillKind::kTosa, "tosa-5", internal::GenerateTosa, 5},
}};

constexpr std::string_view kCancelPrefix = "cancel-";

const FillInfo& InfoOf(FillKind kind) {
  const auto info = std::ranges::find(kFills, kind, &FillInfo::kind);
  ASSAY_CHECK(info != kFills.end());
  return *info;
}

// i64 stops where doubles stop being exact. What is unsigned is made as the signed numbers of the type, and half the
// range higher (UnsignedOffset). A bool is made as a signed byte, and is true above 0.
double IntMax(DType dtype) {
  return std::min(std::ldexp(1.0, 8 * SizeOf(dtype) - 1), 0x1p53) - 1;
}

FillJob MakeJob(const FillSpec& fill, uint64_t seed, uint64_t stream, int reduced_axis, int role, const Tensor& out) {
  ASSAY_CHECK(stream >> 32 == 0);
  FillJob job{.fill = fill, .seed = seed, .stream = stream, .role = role, .dtype = out.dtype()};
  job.is_int = IsInt(job.dtype);
  job.max_value = job.is_int ? IntMax(job.dtype) : FormatOf(job.dtype).max_finite;
  job.exact_limit = job.is_int ? job.max_value : std::ldexp(1.0, FormatOf(job.dtype).precision);
  job.components = IsComplex(job.dtype) ? 2 : 1;
  job.size = out.size() * job.components;
  const Shape& shape = out.shape();
  if (shape.empty()) return job;
  job.channels = shape.back();
  job.each_element = reduced_axis == kEachElement;
  if (job.each_element) return job;
  const int rank = static_cast<int>(shape.size());
  const int axis = reduced_axis < 0 ? reduced_axis + rank : reduced_axis;
  ASSAY_CHECK(axis >= 0 && axis < rank);
  job.length = shape[static_cast<size_t>(axis)];
  for (size_t i = static_cast<size_t>(axis) + 1; i < shape.size(); ++i) job.inner *= shape[i];
  return job;
}

// Whether infinities and the lowest integer are meant.
bool MeansExtremes(const FillSpec& fill) {
  return fill.kind == FillKind::kMasked || fill.kind == FillKind::kExtremes;
}

void FillByGenerator(Generator generate, const FillJob& job, Tensor& out) {
  const int value_bytes = SizeOf(job.dtype) / job.components;
  const double offset = internal::UnsignedOffset(job.dtype);
  ParallelFor(job.size, internal::kFillChunk, [&](int64_t begin, int64_t end) {
    double buffer[internal::kFillChunk];
    for (int64_t first = begin; first < end; first += internal::kFillChunk) {
      const std::span<double> values(buffer, static_cast<size_t>(std::min(internal::kFillChunk, end - first)));
      generate(job, first, values);
      if (!MeansExtremes(job.fill)) internal::ClampValues(values.data(), std::ssize(values), job.max_value);
      if (offset != 0) {
        for (double& x : values) x += offset;
      }
      FromF64(job.dtype, values, out.data() + first * value_bytes);
    }
  });
}

}  // namespace

Result<FillSpec> ParseFill(std::string_view text) {
  if (text.starts_with(kCancelPrefix)) {
    const std::string_view number = text.substr(kCancelPrefix.size());
    double k = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), k);
    if (error != std::errc() || end != number.data() + number.size() || !(k >= 1) || !std::isfinite(k)) {
      return UsageError(
          fmt::format("fill '{}': the condition number after 'cancel-' must be a number of at least 1, "
                      "as in cancel-1e6",
                      text));
    }
    return FillSpec{FillKind::kCancel, k};
  }
  for (const FillInfo& info : kFills) {
    if (info.name == text && info.kind != FillKind::kCancel) return FillSpec{info.kind, info.parameter};
  }
  return UsageError(fmt::format("unknown fill '{}'; known: {}", text, fmt::join(KnownFills(), ", ")));
}

std::string FillText(const FillSpec& fill) {
  if (fill.kind == FillKind::kTosa) return fmt::format("tosa-{}", fill.parameter);
  if (fill.kind != FillKind::kCancel) return std::string(InfoOf(fill.kind).name);
  char buffer[32];
  const char* end = std::to_chars(buffer, std::end(buffer), fill.parameter, std::chars_format::scientific).ptr;
  const std::string_view number(buffer, static_cast<size_t>(end - buffer));  // 1e+06
  const size_t e = number.find('e');
  const size_t digits = std::min(number.find_first_not_of("+0", e + 1), number.size() - 1);
  return fmt::format("{}{}e{}", kCancelPrefix, number.substr(0, e), number.substr(digits));
}

bool IsRandomLike(const FillSpec& fill) {
  switch (fill.kind) {
    case FillKind::kUniform:
    case FillKind::kNormal:
    case FillKind::kLognormal:
    case FillKind::kOutlier:
    case FillKind::kCancel:
    case FillKind::kSubnormal:
    case FillKind::kSpecial:
    case FillKind::kNearOne:
    case FillKind::kEdges:
    case FillKind::kMasked:
    case FillKind::kLarge:
    case FillKind::kOffset:
      return true;
    default:
      return false;
  }
}

bool HasNaN(const FillSpec& fill) {
  return fill.kind == FillKind::kSpecial || fill.kind == FillKind::kEdges;
}

std::vector<std::string> KnownFills() {
  std::vector<std::string> names;
  for (const FillInfo& info : kFills) names.emplace_back(info.name);
  return names;
}

void FillTensor(const FillSpec& fill, uint64_t seed, uint64_t stream, int reduced_axis, int role, Tensor& out) {
  if (out.size() == 0) return;
  const FillJob job = MakeJob(fill, seed, stream, reduced_axis, role, out);
  if (!internal::FillInPlace(job, out)) FillByGenerator(InfoOf(fill.kind).generate, job, out);
  if (fill.kind == FillKind::kSpecial) internal::PlantSpecials(job, out);
  if (fill.kind == FillKind::kEdges) internal::PlantEdges(job, out);
}

}  // namespace assay
