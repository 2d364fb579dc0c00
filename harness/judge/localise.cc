// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/localise.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "harness/core/data/fill/rng.h"
#include "harness/judge/place_period.h"

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

std::string PeriodText(const std::string& one, const std::string& many, const PlacePeriod& found) {
  if (found.width == 1) return fmt::format("{} {} of every {}", one, found.first, found.period);
  return fmt::format("{} {}-{} of every {}", many, found.first, found.first + found.width - 1, found.period);
}

// "rows 0-1, 5 and 9"; "" if they are more stretches than kMost.
std::string StretchesText(const AxisName& name, const std::vector<int64_t>& coordinates) {
  constexpr size_t kMost = 3;
  std::vector<std::string> stretches;
  for (size_t first = 0, k = 1; k <= coordinates.size(); ++k) {
    if (k < coordinates.size() && coordinates[k] == coordinates[k - 1] + 1) continue;
    const int64_t from = coordinates[first], to = coordinates[k - 1];
    stretches.push_back(from == to ? fmt::format("{}", from) : fmt::format("{}-{}", from, to));
    first = k;
  }
  if (stretches.size() > kMost) return "";
  const std::string last = stretches.back();
  stretches.pop_back();
  return fmt::format("{} {} and {}", name.many, fmt::join(stretches, ", "), last);
}

// Whether so many random coordinates of `size` would hardly lie as near to each other.
bool IsStretch(const std::vector<int64_t>& coordinates, int64_t size) {
  constexpr double kChance = 1e-4;
  const auto count = static_cast<double>(coordinates.size());
  const auto width = static_cast<double>(coordinates.back() - coordinates.front() + 1);
  return count * std::pow(width / static_cast<double>(size), count - 1) < kChance;
}

// Describes the failing coordinates of one axis, of so many failures; "" if all coordinates have one, or as many as
// failures in random places reach.
std::string AxisText(const AxisName& name, const std::vector<bool>& hit, int64_t failures, bool of_sample) {
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
  if (const auto period = FindPeriod(coordinates, size)) return PeriodText(name.one, name.many, *period);
  const std::string stretches = StretchesText(name, coordinates);
  const int64_t width = coordinates.back() - coordinates.front() + 1;
  if (IsStretch(coordinates, size) && (stretches.empty() || 3 * count >= 2 * width)) {
    return RangeText(name, coordinates.front(), coordinates.back(), size) + ", not all of them";
  }
  if (!stretches.empty()) return stretches;
  // Failures in random places leave about `left` coordinates without one.
  const double left = static_cast<double>(size) * std::exp(-static_cast<double>(failures) / static_cast<double>(size));
  const bool is_random = 2 * count > size && static_cast<double>(size - count) <= 3 * left + 1;
  return is_random ? "" : fmt::format("in {} of {} {}", count, size, name.many);
}

// Random, so that what is left of a period has that period and no other.
uint64_t HashOfIndex(int64_t index) {
  return RandomStream(0, 0).Bits(static_cast<uint64_t>(index));
}

}  // namespace

FailureMap::FailureMap(const Shape& shape) : shape_(shape), strides_(RowMajorStrides(shape)) {
  for (const int64_t size : shape) hit_.emplace_back(static_cast<size_t>(size), false);
}

void FailureMap::Add(int64_t index) {
  if (index == last_) return;
  if (count_++ == 0) first_ = index;
  last_ = index;
  int64_t row = 0, column = 0;
  for (size_t axis = 0; axis < shape_.size(); ++axis) {
    row = column, column = index / strides_[axis] % shape_[axis];
    hit_[axis][static_cast<size_t>(column)] = true;
  }
  least_right_ = std::min(least_right_, column - row), most_right_ = std::max(most_right_, column - row);
  least_sum_ = std::min(least_sum_, column + row), most_sum_ = std::max(most_sum_, column + row);
  constexpr size_t kMostKept = 4096;
  if (thinned_ == 0 || (HashOfIndex(index) & thinned_) == 0) kept_.push_back(index);
  if (kept_.size() <= kMostKept) return;
  thinned_ = 2 * thinned_ + 1;
  std::erase_if(kept_, [&](int64_t kept) { return (HashOfIndex(kept) & thinned_) != 0; });
}

// "on the diagonal", "where column >= row", ... of the last two axes; "" if failures lie so by chance, as where the
// rows and columns that they are in leave no other places.
std::string FailureMap::TextOfDiagonal() const {
  const size_t rank = shape_.size();
  if (rank < 2 || kept_.size() < 4) return "";
  const int64_t columns = shape_[rank - 1], rows = shape_[rank - 2], least = least_right_, most = most_right_;
  std::vector<int64_t> before = {0};  // columns with failures before each one
  for (const bool is_hit : hit_[rank - 1]) before.push_back(before.back() + (is_hit ? 1 : 0));
  // The share of places, in rows and columns with failures, that are as far to the right of the diagonal.
  const auto share = [&](int64_t from, int64_t to) {
    int64_t inside = 0, all = 0;
    for (int64_t row = 0; row < rows; ++row) {
      if (!hit_[rank - 2][static_cast<size_t>(row)]) continue;
      const int64_t first = std::clamp<int64_t>(row + from, 0, columns), end = std::clamp(row + to + 1, first, columns);
      inside += before[static_cast<size_t>(end)] - before[static_cast<size_t>(first)];
      all += before.back();
    }
    return static_cast<double>(inside) / static_cast<double>(all);
  };
  constexpr double kChance = 1e-6;
  const auto is_meant = [&](int64_t from, int64_t to) {
    return std::pow(share(from, to), static_cast<double>(kept_.size())) < kChance;
  };
  const auto hit_columns = static_cast<double>(std::ranges::count(hit_[rank - 1], true));
  if (least_sum_ == most_sum_ && std::pow(hit_columns, -static_cast<double>(kept_.size())) < kChance)
    return fmt::format("where row + column = {}", least_sum_);
  if (least == most && is_meant(least, most))
    return least == 0 ? "on the diagonal" : fmt::format("where column = row {:+}", least);
  const auto distance = [](int64_t right) { return right == 0 ? "" : fmt::format(" {:+}", right); };
  const bool from_left = is_meant(least, columns), to_right = is_meant(-rows, most);
  if (from_left && to_right) return fmt::format("where row{} <= column <= row{}", distance(least), distance(most));
  if (from_left) return fmt::format("where column >= row{}", distance(least));
  return to_right ? fmt::format("where column <= row{}", distance(most)) : "";
}

int64_t FailureMap::PlacesOfLines() const {
  int64_t places = 1;
  for (const std::vector<bool>& hit : hit_) places *= std::ranges::count(hit, true);
  return places;
}

std::string FailureMap::Text(bool of_sample) const {
  if (count_ == 0) return "";
  const int64_t elements = NumElements(shape_);
  const char* noun = of_sample ? "judged elements" : "elements";
  if (count_ == elements) return elements == 1 ? "the only element" : fmt::format("all {} {}", elements, noun);
  if (count_ == 1) return fmt::format("1 of {} {}, {}", elements, noun, IndexText(shape_, first_));
  std::string places;
  for (size_t axis = 0; axis < shape_.size(); ++axis) {
    const std::string text = AxisText(NameOf(axis, shape_.size()), hit_[axis], count_, of_sample);
    if (!text.empty()) places += ", " + text;
  }
  const std::string diagonal = of_sample ? "" : TextOfDiagonal();
  if (!diagonal.empty()) places += ", " + diagonal;
  // Lanes of rows that are no multiple of them leave half of the places in their columns, or fewer.
  const bool may_have_period = diagonal.empty() && !of_sample && shape_.size() >= 2 && 2 * count_ <= PlacesOfLines();
  const double share = static_cast<double>(kept_.size()) / static_cast<double>(count_);
  if (const auto period = may_have_period ? FindPeriod(kept_, elements, share) : std::nullopt;
      period && (places.empty() || 2 * period->width * elements <= period->period * PlacesOfLines())) {
    places = ", " + PeriodText("element", "elements", *period) + " in row-major order";
    if (thinned_ != 0) places += fmt::format(" (of {} looked at)", kept_.size());
  }
  if (places.empty()) places = of_sample ? ", spread over all of them" : ", spread over the whole tensor";
  return fmt::format("{} of {} {}{}; first {}, last {}", count_, elements, noun, places, IndexText(shape_, first_),
                     IndexText(shape_, last_));
}

}  // namespace assay
