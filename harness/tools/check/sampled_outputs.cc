// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/check/sampled_outputs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>

#include "golden/value_range.h"
#include "harness/core/base/parallel.h"

namespace assay {
namespace {

struct Extremes {
  int64_t nonfinite = 0, first = -1, last = -1;  // of elements that are NaN or infinite
  int64_t largest = -1;                          // the finite element of the largest magnitude
  double magnitude = -1;

  void Join(const Extremes& other) {
    nonfinite += other.nonfinite;
    if (other.first >= 0 && (first < 0 || other.first < first)) first = other.first;
    last = std::max(last, other.last);
    const bool is_equal = other.magnitude == magnitude && other.largest < largest;
    if (other.magnitude > magnitude || is_equal) magnitude = other.magnitude, largest = other.largest;
  }
};

// Adds the elements from `first` on; complex ones count by their larger part.
void AddExtremes(int64_t first, int64_t parts, std::span<const double> values, Extremes& found) {
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

Extremes FindExtremes(const Tensor& tensor) {
  constexpr int64_t kAtOnce = 2048;
  const int64_t parts = IsComplex(tensor.dtype()) ? 2 : 1;
  Extremes all;
  std::mutex mutex;
  ParallelFor(tensor.size(), kAtOnce, [&](int64_t begin, int64_t end) {
    Extremes own;
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

}  // namespace

std::optional<SampledPart> DrawSample(const Operator& op, const Problem& problem, std::span<const Tensor> inputs,
                                      std::span<const Tensor> got, const SampleRequest& request) {
  if (NumElements(problem.outputs[0].shape) <= request.elements) return std::nullopt;
  std::vector<Extremes> extremes;
  std::vector<std::vector<int64_t>> wanted;
  for (const Tensor& output : got) {
    const Extremes& found = extremes.emplace_back(FindExtremes(output));
    wanted.push_back({found.first, found.last, found.largest});
  }
  std::optional<DrawnPart> part = DrawPart(op, problem, inputs, wanted, request);
  if (!part) return std::nullopt;
  SampledPart drawn{std::move(part->part), {}, std::move(part->sample)};
  for (size_t k = 0; k < got.size(); ++k) {
    drawn.got.push_back(drawn.part.TakeOutput(got[k], k));
    drawn.sample.unseen += extremes[k].nonfinite - FindExtremes(drawn.got[k]).nonfinite;
  }
  return drawn;
}

}  // namespace assay
