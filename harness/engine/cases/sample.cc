// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/cases/sample.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <regex>
#include <set>
#include <span>

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

// Places of all outputs that are always among the indices of an axis.
std::vector<int64_t> WantedAlong(const SliceableAxis& axis, const Problem& problem,
                                 const std::vector<std::vector<int64_t>>& wanted) {
  std::vector<int64_t> indices;
  for (size_t k = 0; k < problem.outputs.size(); ++k) {
    const Shape& shape = problem.outputs[k].shape;
    const int64_t inner = InnerOf(shape, axis.cut.outputs[k]);
    std::vector<int64_t> elements = {kBeyondInt - 1, kBeyondInt, kBeyondUnsigned - 1, kBeyondUnsigned};
    if (k < wanted.size()) elements.insert(elements.end(), wanted[k].begin(), wanted[k].end());
    for (const int64_t element : elements) {
      const bool is_there = 0 <= element && element < NumElements(shape);
      if (is_there) indices.push_back(element / inner % axis.extent);
    }
  }
  return indices;
}

// Empty: the sample is the whole case.
std::vector<SliceCut> DrawCuts(const Operator& op, const Problem& problem,
                               const std::vector<std::vector<int64_t>>& wanted, const SampleRequest& request) {
  const int64_t size = NumElements(problem.outputs[0].shape);
  if (request.elements == 0 || size <= request.elements) return {};
  const std::vector<SliceableAxis> axes = ListSliceableAxes(op, problem);
  const std::vector<int64_t> counts = ChooseCounts(axes, size, std::max<int64_t>(1, request.elements));
  std::vector<SliceCut> cuts;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (counts[i] == axes[i].extent) continue;
    SliceCut cut = axes[i].cut;
    cut.indices = DrawIndices(axes[i].extent, counts[i], WantedAlong(axes[i], problem, wanted), request.seed, i);
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

std::optional<DrawnPart> DrawPart(const Operator& op, const Problem& problem, std::span<const Tensor> inputs,
                                  const std::vector<std::vector<int64_t>>& wanted, const SampleRequest& request) {
  std::vector<SliceCut> cuts = DrawCuts(op, problem, wanted, request);
  if (cuts.empty()) return std::nullopt;
  std::optional<Subproblem> part = TakeSlices(op, problem, inputs, std::move(cuts));
  if (!part) return std::nullopt;
  DrawnPart drawn{*std::move(part), {problem, {}, request.seed}};
  OutputSample& sample = drawn.sample;
  sample.cuts = drawn.part.cuts;
  for (size_t k = 0; k < problem.outputs.size(); ++k) {
    sample.elements += NumElements(problem.outputs[k].shape);
    Shape shape = problem.outputs[k].shape;
    for (const SliceCut& cut : sample.cuts) shape[cut.outputs[k]] = std::ssize(cut.indices);
    sample.judged += NumElements(shape);
  }
  return drawn;
}

std::optional<Problem> BindSample(const Operator& op, const Problem& problem, int64_t elements) {
  const std::vector<SliceCut> cuts = DrawCuts(op, problem, {}, {.elements = elements, .seed = 1});
  return cuts.empty() ? std::nullopt : BindSlices(op, problem, cuts);
}

uint64_t SampleSeedOf(const std::string& input_hash) {
  return HashBytes(input_hash.data(), input_hash.size()) % 0xFFFFFFFF + 1;
}

}  // namespace assay
