// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/cases/value_extremes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>
#include <span>

#include "golden/value_range.h"
#include "harness/core/base/parallel.h"

namespace assay {
namespace {

// Adds the elements from `first` on; complex ones count by their larger part.
void AddExtremes(int64_t first, int64_t parts, std::span<const double> values, ValueExtremes& found) {
  for (size_t i = 0; i < values.size(); ++i) {
    const double size = std::fabs(values[i]);
    const int64_t element = first + static_cast<int64_t>(i) / parts;
    if (std::isfinite(size)) {
      if (size > found.magnitude) found.magnitude = size, found.largest = element;
    } else if (found.last != element) {
      found.Join({.nonfinite = 1, .first = element, .last = element});
    }
  }
}

}  // namespace

void ValueExtremes::Join(const ValueExtremes& other) {
  nonfinite += other.nonfinite;
  if (other.first >= 0 && (first < 0 || other.first < first)) first = other.first;
  last = std::max(last, other.last);
  const bool is_equal = other.magnitude == magnitude && other.largest < largest;
  if (other.magnitude > magnitude || is_equal) magnitude = other.magnitude, largest = other.largest;
}

ValueExtremes FindValueExtremes(const Tensor& tensor) {
  constexpr int64_t kAtOnce = 2048;
  const int64_t parts = IsComplex(tensor.dtype()) ? 2 : 1;
  ValueExtremes all;
  std::mutex mutex;
  ParallelFor(tensor.size(), kAtOnce, [&](int64_t begin, int64_t end) {
    ValueExtremes own;
    std::array<double, 2 * kAtOnce> buffer;
    for (int64_t at = begin; at < end; at += kAtOnce) {
      const auto values = std::span(buffer).first(static_cast<size_t>(std::min(kAtOnce, end - at) * parts));
      tensor.Read(at * parts, values);
      const ValueRange range = RangeOf(values.data(), std::ssize(values));
      if (!range.all_finite || range.max_abs > own.magnitude) AddExtremes(at, parts, values, own);
    }
    const std::lock_guard lock(mutex);
    all.Join(own);
  });
  return all;
}

}  // namespace assay
