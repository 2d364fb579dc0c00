// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/explain/shared_factor.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <unordered_map>

#include "harness/core/data/infinity.h"

namespace assay {
namespace {

constexpr double kMostOfGroup = 24;        // that one group says
constexpr double kLeastSize = 2;           // elements of a group in the mean: one says nothing of a factor
constexpr double kMostOfFactor = 1. / 16;  // of the squares may be left by a factor of each group

struct Group {
  double errors = 0, left = 0, right = 0, products = 0, certain = 0, size = 0;

  void Add(const ExplainedElement& element) {
    errors += element.error * element.error, left += element.left * element.left;
    right += element.right * element.right, products += element.error * element.right;
    certain += element.certain * element.certain;
    ++size;
  }
  double LeftByFactor() const { return right > 0 ? std::max(0.0, errors - products * products / right) : errors; }
  double Bits() const {
    const double ratio = (errors + certain) / (left + certain);
    return std::isnan(ratio) ? 0 : std::clamp(std::log2(ratio) / 2, -kMostOfGroup, kMostOfGroup);
  }
};

// Calls `visit` with the groups of each way to take elements together that leaves more than one to a group.
void ForGroupings(const Shape& shape, const std::vector<ExplainedElement>& elements,
                  const std::function<void(const std::vector<Group>&)>& visit) {
  const Shape strides = RowMajorStrides(shape);
  const auto group_by = [&](const auto& key_of) {
    std::unordered_map<int64_t, Group> by_key;
    for (const ExplainedElement& element : elements) by_key[key_of(element.place)].Add(element);
    if (static_cast<double>(elements.size()) < kLeastSize * static_cast<double>(by_key.size())) return;
    std::vector<Group> groups;
    for (const auto& [key, group] : by_key) groups.push_back(group);
    visit(groups);
  };
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] < 2) continue;
    const int64_t stride = strides[axis], extent = shape[axis];
    group_by([&](int64_t place) { return place / stride % extent; });
    group_by([&](int64_t place) { return place - place / stride % extent * stride; });
  }
}

// Infinity: their errors are no factors.
double CountBitsOf(const std::vector<Group>& groups) {
  double errors = 0, left = 0, bits = 0;
  for (const Group& group : groups) errors += group.errors, left += group.LeftByFactor(), bits += group.Bits();
  return left <= kMostOfFactor * errors ? bits : kInfinity;
}

}  // namespace

double CountBitsOfFactors(const Shape& shape, const std::vector<ExplainedElement>& elements) {
  double least = kInfinity;
  ForGroupings(shape, elements,
               [&](const std::vector<Group>& groups) { least = std::min(least, CountBitsOf(groups)); });
  return least;
}

double CountBitsOfOneFactor(const std::vector<ExplainedElement>& elements) {
  Group all;
  for (const ExplainedElement& element : elements) all.Add(element);
  return CountBitsOf({all});
}

bool IsOfFewPlaces(const Shape& shape, const std::vector<ExplainedElement>& elements) {
  constexpr double kTells = 1;  // bits
  bool is_of_few = false;
  ForGroupings(shape, elements, [&](const std::vector<Group>& groups) {
    const auto for_it = std::ranges::count_if(groups, [](const Group& group) { return group.Bits() >= kTells; });
    const auto against = std::ranges::count_if(groups, [](const Group& group) { return group.Bits() <= -kTells; });
    is_of_few = is_of_few || 3 * against > for_it;
  });
  return is_of_few;
}

}  // namespace assay
