// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/twin_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "harness/core/base/check.h"
#include "harness/core/data/unsigned_nan.h"
#include "harness/judge/localise.h"

namespace assay {
namespace {

double UlpOf(DType dtype, double x) {
  return IsInt(dtype) ? 1 : UlpAt(FormatOf(dtype), x);
}

constexpr size_t kMostDecoded = 64;  // wrong elements; more are not read
constexpr size_t kMostNamed = 4;     // terms

struct WrongElement {
  int64_t index;
  double missing;  // expected - got
};

// The terms that every wrong element lacks, or has twice where `sign` is -1.
std::vector<int64_t> CommonTerms(const Twin& twin, const std::vector<WrongElement>& wrong, double sign) {
  std::vector<int64_t> common = twin.terms_of(wrong[0].index, sign * wrong[0].missing);
  for (size_t i = 1; i < wrong.size() && !common.empty(); ++i) {
    const std::vector<int64_t> terms = twin.terms_of(wrong[i].index, sign * wrong[i].missing);
    std::vector<int64_t> both;
    std::ranges::set_intersection(common, terms, std::back_inserter(both));
    common = std::move(both);
  }
  return common;
}

// Terms that share a defect.
struct SharedDefect {
  const char* defect;
  std::vector<int64_t> terms;
};

std::string TermsText(const SharedDefect& d) {
  const size_t named = std::min(d.terms.size(), kMostNamed);
  const std::string rest = d.terms.size() > named ? fmt::format(" or {} others", d.terms.size() - named) : "";
  return fmt::format("k={}{} {}", fmt::join(std::span(d.terms).first(named), " or "), rest, d.defect);
}

// The first and the last term before all others: loops go wrong at their ends. The others only as missing ones, where
// there are any.
std::vector<SharedDefect> Plausible(const Twin& twin, const std::vector<int64_t>& missing,
                                    const std::vector<int64_t>& twice) {
  const auto of = [&](const std::vector<int64_t>& all, bool ends) {
    std::vector<int64_t> some;
    std::ranges::copy_if(all, std::back_inserter(some),
                         [&](int64_t k) { return (k == 0 || k == twin.terms - 1) == ends; });
    return some;
  };
  std::vector<SharedDefect> found{{"missing", of(missing, true)}, {"added twice", of(twice, true)}};
  const SharedDefect others =
      missing.empty() ? SharedDefect{"added twice", of(twice, false)} : SharedDefect{"missing", of(missing, false)};
  std::erase_if(found, [](const SharedDefect& d) { return d.terms.empty(); });
  if (!found.empty() && found.back().defect == std::string_view(others.defect)) {
    found.back().terms.insert(found.back().terms.end(), others.terms.begin(), others.terms.end());
  } else if (!others.terms.empty()) {
    found.push_back(others);
  }
  return found;
}

// Deduces the cause from the wrong values; "" if they do not agree on one.
std::string Decode(const Twin& twin, const std::vector<WrongElement>& wrong, const TwinResult& result) {
  if (result.nonfinite) return "";
  if (!twin.terms_of) return result.wrong < result.elements ? twin.code : "";
  std::string text;
  for (const SharedDefect& d : Plausible(twin, CommonTerms(twin, wrong, 1), CommonTerms(twin, wrong, -1))) {
    text += (text.empty() ? "looks like term " : ", or ") + TermsText(d);
  }
  return text;
}

bool HasBits(int bits, double x) {
  int exponent = 0;
  const double significand = std::ldexp(std::frexp(x, &exponent), bits);
  return significand == std::trunc(significand);
}

bool IsAsRounded(int bits, double expected, double got) {
  constexpr double kRoundings = 64;  // of a sum; a sum without a large term is off by more
  const double unit = std::ldexp(std::fabs(expected), -bits);
  return HasBits(bits, got) && std::fabs(got - expected) <= kRoundings * unit;
}

// Precondition: some value is wrong. Values of fewer bits than the output's tell nothing.
int SumBits(const Twin& twin, const Tensor& got) {
  const DType dtype = got.dtype();
  if (IsComplex(dtype)) return 0;
  const std::vector<double> values = got.ToDoubles();
  for (const DType narrow : {DType::kF32, DType::kF16, DType::kBF16}) {
    const int bits = FormatOf(narrow).precision;
    if (!IsInt(dtype) && FormatOf(dtype).precision <= bits) continue;
    const double exact = std::ldexp(1.0, bits);
    const auto fits = [&](size_t i) {
      const double expected = twin.expected[i];
      const bool right = TwinAccepts(expected, values[i], twin.ToleranceAt(static_cast<int64_t>(i)), dtype);
      if (right) return std::fabs(expected) <= exact || HasBits(bits, values[i]);
      return std::fabs(expected) > exact && IsAsRounded(bits, expected, values[i]);
    };
    bool all = true;
    for (size_t i = 0; i < values.size() && all; ++i) all = fits(i);
    if (all) return bits;
  }
  return 0;
}

}  // namespace

bool TwinAccepts(double expected, double got, double tolerance_ulp, DType dtype) {
  if (std::isinf(tolerance_ulp)) return true;  // no bound: what is right may be anything
  if (std::isnan(expected) || std::isnan(got)) return std::isnan(expected) && std::isnan(got);
  if (expected == got) return true;
  if (!std::isfinite(expected) || !std::isfinite(got)) return false;
  return std::fabs(got - expected) <= tolerance_ulp * UlpOf(dtype, expected);
}

double TwinResult::Margin() const {
  if (nonfinite) return std::numeric_limits<double>::infinity();
  return rms_limit > 0 ? std::max(margin, rms / rms_limit) : margin;
}

std::string TwinResult::Reason(const Shape& shape) const {
  if (wrong == 0) {
    return fmt::format(
        "exact twin {}: errors of {:.3g} of their bounds in the root mean square over all outputs, permitted {:.3g}; "
        "{}",
        variant, rms, rms_limit, code);
  }
  std::string text = fmt::format(
      "exact twin {}: {} wrong, first element {} got {:.17g}, expected {:.17g}, difference {:.17g}", variant, wrong,
      IndexText(shape, first), UnsignedNan(got), UnsignedNan(expected), UnsignedNan(got - expected));
  if (tolerance_ulp > 0) text += fmt::format(", permitted {:g} ulp", tolerance_ulp);
  text += "; " + where;
  if (!code.empty()) text += "; " + code;
  return text;
}

TwinResult CheckTwin(const Twin& twin, int variant, const Tensor& got) {
  constexpr size_t kChunk = 4096;  // a multiple of the parts of an element
  const size_t parts = IsComplex(got.dtype()) ? 2 : 1, size = static_cast<size_t>(got.size()) * parts;
  ASSAY_CHECK(size == twin.expected.size());
  TwinResult result{
      .variant = variant, .elements = got.size(), .tolerance_ulp = twin.tolerance_ulp, .rms_limit = twin.rms};
  double squares = 0;
  std::vector<WrongElement> wrong;
  FailureMap map(got.shape());
  std::vector<double> chunk(std::min(size, kChunk));
  for (size_t i = 0; i < size; ++i) {
    if (i % kChunk == 0) {
      const std::byte* from = got.data() + i / parts * static_cast<size_t>(SizeOf(got.dtype()));
      ToF64(got.dtype(), from, std::span(chunk).first(std::min(kChunk, size - i)));
    }
    const double value = chunk[i % kChunk];
    const double expected = twin.expected[i];
    const double difference = std::fabs(value - expected);
    const double tolerance = twin.ToleranceAt(static_cast<int64_t>(i));
    if (std::isfinite(difference)) {
      const double ulps = difference / UlpOf(got.dtype(), expected);
      result.max_ulp = std::max(result.max_ulp, ulps);
      if (ulps > 0) result.margin = std::max(result.margin, ulps / tolerance);
      if (twin.rms > 0) squares += std::pow(ulps / tolerance, 2);
    }
    if (TwinAccepts(expected, value, tolerance, got.dtype())) continue;
    if (!std::isfinite(difference)) result.nonfinite = true;
    map.Add(static_cast<int64_t>(i / parts));
    if (wrong.size() < kMostDecoded) wrong.push_back({static_cast<int64_t>(i), expected - value});
    if (result.examples.size() < kWorstCount) {
      result.examples.push_back({.index = static_cast<int64_t>(i / parts),
                                 .component = static_cast<int>(i % parts),
                                 .got = value,
                                 .golden = expected,
                                 .error = value - expected,
                                 .tolerance = tolerance * UlpOf(got.dtype(), expected)});
    }
    if (result.first >= 0) continue;
    result.first = static_cast<int64_t>(i / parts);
    result.expected = expected;
    result.got = value;
    result.tolerance_ulp = tolerance;
  }
  result.wrong = map.count();
  result.where = map.Text();
  result.rms = std::sqrt(squares / static_cast<double>(size));
  if (!wrong.empty()) {
    result.code = Decode(twin, wrong, result);
    result.sum_bits = result.nonfinite ? 0 : SumBits(twin, got);
  } else if (result.IsTooSpread()) {
    result.code = twin.code;
  }
  return result;
}

}  // namespace assay
