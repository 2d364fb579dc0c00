// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/localise.h"

#include <fmt/format.h>

#include <bit>

namespace assay {
namespace {

struct AxisName {
  std::string one, many;
};

AxisName NameOf(size_t axis, size_t rank) {
  if (rank == 1) return {"index", "indices"};
  if (axis + 1 == rank) return {"column", "columns"};
  if (axis + 2 == rank) return {"row", "rows"};
  return {fmt::format("axis-{} index", axis), fmt::format("axis-{} indices", axis)};
}

// Distance between neighbouring coordinates when it is the same everywhere, else 0.
int64_t CommonStep(const std::vector<int64_t>& coordinates) {
  const int64_t step = coordinates[1] - coordinates[0];
  for (size_t k = 2; k < coordinates.size(); ++k) {
    if (coordinates[k] - coordinates[k - 1] != step) return 0;
  }
  return step;
}

std::string RangeText(const AxisName& name, int64_t first, int64_t last, int64_t size) {
  const int64_t width = last - first + 1;
  if (last == size - 1) return fmt::format("last {} {}", width, name.many);
  const bool tile = width >= 4 && std::has_single_bit(static_cast<uint64_t>(width)) && first % width == 0;
  return fmt::format("{}{} {}-{}", tile ? "tile " : "", name.many, first, last);
}

// Describes the failing coordinates of one axis; "" if every coordinate fails.
std::string AxisText(const AxisName& name, const std::vector<bool>& hit, bool of_sample) {
  const auto size = static_cast<int64_t>(hit.size());
  std::vector<int64_t> coordinates;
  for (int64_t k = 0; k < size; ++k) {
    if (hit[static_cast<size_t>(k)]) coordinates.push_back(k);
  }
  const auto count = static_cast<int64_t>(coordinates.size());
  if (count == size) return "";
  if (of_sample) return fmt::format("in {} of {} {}", count, size, name.many);
  if (count == 1 && coordinates[0] == size - 1) return fmt::format("last {} only", name.one);
  if (count == 1) return fmt::format("all in {} {}", name.one, coordinates[0]);
  const int64_t step = CommonStep(coordinates);
  if (step == 1) return RangeText(name, coordinates.front(), coordinates.back(), size);
  if (step > 1 && count > 2) {
    return fmt::format("{} {} to {} in steps of {}", name.many, coordinates.front(), coordinates.back(), step);
  }
  return fmt::format("in {} of {} {}", count, size, name.many);
}

}  // namespace

FailureMap::FailureMap(const Shape& shape) : shape_(shape), strides_(RowMajorStrides(shape)) {
  for (const int64_t size : shape) hit_.emplace_back(static_cast<size_t>(size), false);
}

void FailureMap::Add(int64_t index) {
  if (index == last_) return;
  if (count_++ == 0) first_ = index;
  last_ = index;
  for (size_t axis = 0; axis < shape_.size(); ++axis) {
    hit_[axis][static_cast<size_t>(index / strides_[axis] % shape_[axis])] = true;
  }
}

std::string FailureMap::Text(bool of_sample) const {
  if (count_ == 0) return "";
  const int64_t elements = NumElements(shape_);
  const char* noun = of_sample ? "judged elements" : "elements";
  if (count_ == elements) return elements == 1 ? "the only element" : fmt::format("all {} {}", elements, noun);
  if (count_ == 1) return fmt::format("1 of {} {}, {}", elements, noun, IndexText(shape_, first_));
  std::string places;
  for (size_t axis = 0; axis < shape_.size(); ++axis) {
    const std::string text = AxisText(NameOf(axis, shape_.size()), hit_[axis], of_sample);
    if (!text.empty()) places += ", " + text;
  }
  if (places.empty()) places = of_sample ? ", spread over all of them" : ", spread over the whole tensor";
  return fmt::format("{} of {} {}{}; first {}, last {}", count_, elements, noun, places, IndexText(shape_, first_),
                     IndexText(shape_, last_));
}

}  // namespace assay
