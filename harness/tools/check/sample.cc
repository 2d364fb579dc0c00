// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/check/sample.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <mutex>
#include <regex>
#include <set>
#include <span>

#include "golden/value_range.h"
#include "harness/core/base/parallel.h"
#include "harness/core/data/fill/rng.h"

namespace assay {
namespace {

constexpr int64_t kFirstBlock = 16;
constexpr int64_t kBeyondInt = int64_t{1} << 31, kBeyondUnsigned = int64_t{1} << 32;  // where indices wrap around

int64_t InnerOf(const Shape& shape, int64_t axis) {
  return NumElements(Shape(shape.begin() + axis + 1, shape.end()));
}

// How many slices of each axis, alike where they can be, so that the output has at most so many elements.
std::vector<int64_t> ChooseCounts(const std::vector<SliceableAxis>& axes, int64_t size, int64_t elements) {
  std::vector<int64_t> counts;
  double part = static_cast<double>(size);
  for (const SliceableAxis& axis : axes) {
    counts.push_back(2);
    part *= 2 / static_cast<double>(axis.extent);
  }
  std::vector<bool> is_full(axes.size());
  while (std::ranges::find(is_full, false) != is_full.end()) {
    size_t least = 0;
    for (size_t i = 0; i < axes.size(); ++i) {
      if (is_full[least] || (!is_full[i] && counts[i] < counts[least])) least = i;
    }
    const double grown = part * static_cast<double>(counts[least] + 1) / static_cast<double>(counts[least]);
    is_full[least] = counts[least] == axes[least].extent || grown > static_cast<double>(elements) * (1 + 1e-9);
    if (is_full[least]) continue;
    part = grown;
    ++counts[least];
  }
  return counts;
}

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

std::string Grouped(int64_t count) {
  std::string text = std::to_string(count);
  for (int64_t at = std::ssize(text) - 3; at > 0; at -= 3) text.insert(static_cast<size_t>(at), ",");
  return text;
}

// The coordinate in the whole along this axis of an output.
int64_t CoordinateOf(const std::vector<SliceCut>& cuts, size_t output, int64_t axis, int64_t coordinate) {
  for (const SliceCut& cut : cuts) {
    const bool is_it = cut.outputs[output] == axis && coordinate < std::ssize(cut.indices);
    if (is_it) return cut.indices[static_cast<size_t>(coordinate)];
  }
  return coordinate;
}

std::vector<SliceCut> DrawCuts(const std::vector<SliceableAxis>& axes, const Problem& problem,
                               const std::vector<Extremes>& extremes, const SampleRequest& request) {
  const std::vector<int64_t> counts =
      ChooseCounts(axes, NumElements(problem.outputs[0].shape), std::max<int64_t>(1, request.elements));
  std::vector<SliceCut> cuts;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (counts[i] == axes[i].extent) continue;
    SliceCut cut = axes[i].cut;
    std::vector<int64_t> wanted;
    for (size_t k = 0; k < extremes.size(); ++k) {
      const Shape& shape = problem.outputs[k].shape;
      const int64_t inner = InnerOf(shape, cut.outputs[k]);
      for (const int64_t element : {extremes[k].first, extremes[k].last, extremes[k].largest, kBeyondInt - 1,
                                    kBeyondInt, kBeyondUnsigned - 1, kBeyondUnsigned}) {
        const bool is_there = 0 <= element && element < NumElements(shape);
        if (is_there) wanted.push_back(element / inner % axes[i].extent);
      }
    }
    cut.indices = DrawIndices(axes[i].extent, counts[i], wanted, request.seed, i);
    if (std::ssize(cut.indices) < axes[i].extent) cuts.push_back(std::move(cut));
  }
  return cuts;
}

}  // namespace

std::string OutputSample::Text() const {
  std::string text =
      fmt::format("judged {} of {} elements, drawn by seed {}", Grouped(judged), Grouped(elements), seed);
  if (unseen > 0)
    text += fmt::format("; {} NaN or infinite among the others", unseen == 1 ? "one is" : Grouped(unseen) + " are");
  return text;
}

int64_t OutputSample::ElementOf(size_t output, int64_t element) const {
  const Shape& shape = whole.outputs[output].shape;
  Shape part = shape;
  for (const SliceCut& cut : cuts) part[cut.outputs[output]] = std::ssize(cut.indices);
  const Shape strides = RowMajorStrides(shape), own = RowMajorStrides(part);
  int64_t index = 0;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    const int64_t coordinate = element / own[axis] % part[axis];
    index += CoordinateOf(cuts, output, static_cast<int64_t>(axis), coordinate) * strides[axis];
  }
  return index;
}

std::string OutputSample::Relocate(size_t output, const std::string& text) const {
  static const std::regex place(R"(\[\d+(,\d+)*\]|column \d+)");
  const auto rank = std::ssize(whole.outputs[output].shape);
  std::string moved;
  auto from = text.begin();
  for (std::sregex_iterator match(text.begin(), text.end(), place), end; match != end; ++match) {
    const std::string found = match->str();
    const bool is_column = found[0] != '[';
    int64_t axis = is_column ? rank - 1 : 0;
    moved.append(from, text.begin() + match->position());
    from = text.begin() + match->position() + match->length();
    if (!is_column && std::ranges::count(found, ',') + 1 != rank) {
      moved += found;
      continue;
    }
    for (auto at = found.begin(); at != found.end();) {
      const auto digits = std::find_if_not(at, found.end(), [](char c) { return '0' <= c && c <= '9'; });
      if (digits == at) {
        moved += *at++;
        continue;
      }
      moved += std::to_string(CoordinateOf(cuts, output, axis++, std::stoll(std::string(at, digits))));
      at = digits;
    }
  }
  moved.append(from, text.end());
  // Neighbours among the judged elements are none in the whole.
  static const std::regex last(R"(the last (\d+) (rows|columns))");
  static const std::regex lanes(R"(th column from )"), tile(R"( tile at )");
  moved = std::regex_replace(moved, last, "the last $1 judged $2");
  moved = std::regex_replace(moved, lanes, "th judged column from number ");
  return std::regex_replace(moved, tile, " tile of judged elements at ");
}

std::vector<int64_t> DrawIndices(int64_t extent, int64_t count, const std::vector<int64_t>& wanted, uint64_t seed,
                                 uint64_t stream) {
  std::set<int64_t> chosen = {0, extent - 1};
  chosen.insert(wanted.begin(), wanted.end());
  const RandomStream random(seed, stream);
  uint64_t drawn = 0;
  const auto below = [&](int64_t bound) {
    return static_cast<int64_t>(random.Below(drawn++, static_cast<uint64_t>(bound)));
  };
  // The smallest and the largest blocks first: few slices of a long axis have no place for all sizes.
  int64_t small = kFirstBlock, large = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(extent - 1)));
  for (bool is_small = true; small <= large && std::ssize(chosen) + 2 <= count / 2; is_small = !is_small) {
    const int64_t block = is_small ? small : large;
    const int64_t border = block * (1 + 2 * below(((extent - 1) / block + 1) / 2));  // of no larger block
    chosen.insert({border - 1, border});
    if (is_small) {
      small *= 2;
    } else {
      large /= 2;
    }
  }
  const int64_t left = std::min(count, extent) - std::ssize(chosen);
  for (int64_t k = 0; k < left; ++k) {
    const int64_t first = extent / left * k + extent % left * k / left;
    const int64_t next = extent / left * (k + 1) + extent % left * (k + 1) / left;
    int64_t index = first + below(next - first);
    while (!chosen.insert(index).second) index = (index + 1) % extent;
  }
  return {chosen.begin(), chosen.end()};
}

std::optional<SampledPart> DrawSample(const Operator& op, const Problem& problem, std::span<const Tensor> inputs,
                                      std::span<const Tensor> got, const SampleRequest& request) {
  const std::vector<SliceableAxis> axes = ListSliceableAxes(op, problem);
  if (axes.empty() || NumElements(problem.outputs[0].shape) <= request.elements) return std::nullopt;
  std::vector<Extremes> extremes;
  for (const Tensor& output : got) extremes.push_back(FindExtremes(output));
  std::vector<SliceCut> cuts = DrawCuts(axes, problem, extremes, request);
  if (cuts.empty()) return std::nullopt;
  std::optional<Subproblem> part = TakeSlices(op, problem, inputs, std::move(cuts));
  if (!part) return std::nullopt;
  SampledPart drawn{*std::move(part), {}, {problem, {}, request.seed}};
  OutputSample& sample = drawn.sample;
  sample.cuts = drawn.part.cuts;
  for (size_t k = 0; k < got.size(); ++k) {
    drawn.got.push_back(drawn.part.TakeOutput(got[k], k));
    sample.judged += drawn.got[k].size();
    sample.elements += got[k].size();
    sample.unseen += extremes[k].nonfinite - FindExtremes(drawn.got[k]).nonfinite;
  }
  return drawn;
}

}  // namespace assay
