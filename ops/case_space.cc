// SPDX-License-Identifier: Apache-2.0
#include "ops/case_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace assay {
namespace {

std::string TextOf(const SpaceView& view, const std::string& key) {
  if (key == "dtypes") return DTypeListText(view.spec.dtypes);
  if (key == "fill") return view.spec.fill;
  return view.attrs.Text(key);
}

// 0, 1 and -1 as 0, 1 and 2; 3 is everything else.
int NearMultiple(int64_t extent, int64_t of) {
  const int64_t rest = extent % of;
  return rest == 0 ? 0 : rest == 1 ? 1 : rest == of - 1 ? 2 : 3;
}

}  // namespace

void CaseSpace::AddKnob(std::string key, std::vector<std::string> values) {
  Knob knob{.keys = {std::move(key)}, .values = {}};
  for (std::string& value : values) knob.values.push_back({std::move(value)});
  knobs.push_back(std::move(knob));
}

void CaseSpace::Vary(const std::string& key, std::vector<std::string> values, bool in_triples) {
  AddKnob(key, values);
  const auto level = [key, values](const SpaceView& view) {
    const auto found = std::ranges::find(values, TextOf(view, key));
    return found == values.end() ? -1 : static_cast<int>(found - values.begin());
  };
  dimensions.push_back({key, std::move(values), {key}, level, in_triples});
}

std::vector<std::string> ExtentValues(int64_t largest) {
  std::set<int64_t> values;
  for (int64_t small = 1; small <= 17; ++small) values.insert(small);
  for (const int64_t prime : {19, 23, 29, 37, 61}) values.insert(prime);
  for (const int64_t middle :
       {24, 32, 40, 48, 64, 80, 96, 128, 160, 192, 256, 320, 384, 448, 512, 576, 640, 1024, 4096, 65536}) {
    for (const int64_t beside : {-1, 0, 1}) values.insert(middle + beside);
  }
  std::vector<std::string> texts;
  for (const int64_t value : values) {
    if (value <= largest) texts.push_back(std::to_string(value));
  }
  return texts;
}

void AddResidues(CaseSpace& space, const std::string& name, const std::vector<std::string>& keys, const Extent& extent,
                 const std::vector<int64_t>& moduli) {
  for (const int64_t modulus : moduli) {
    const std::string text = fmt::format("{} mod {}", name, modulus);
    if (modulus >= 8) {
      AddRelation(space, text, keys, {"0", "1", "-1", "other"},
                  [=](const SpaceView& view) { return NearMultiple(extent(view), modulus); });
      continue;
    }
    std::vector<std::string> levels;
    for (int64_t rest = 0; rest < modulus; ++rest) levels.push_back(std::to_string(rest));
    AddRelation(space, text, keys, std::move(levels),
                [=](const SpaceView& view) { return static_cast<int>(extent(view) % modulus); });
  }
}

void AddMagnitude(CaseSpace& space, const std::string& name, const std::vector<std::string>& keys, const Extent& extent,
                  const std::vector<int64_t>& ends, bool in_triples) {
  std::vector<std::string> levels;
  for (const int64_t end : ends) levels.push_back(fmt::format("<={}", end));
  levels.push_back(fmt::format(">{}", ends.back()));
  const auto level = [=](const SpaceView& view) {
    return static_cast<int>(std::ranges::lower_bound(ends, extent(view)) - ends.begin());
  };
  AddRelation(space, name, keys, std::move(levels), level, in_triples);
  space.dimensions.back().grows = true;
}

void AddRelation(CaseSpace& space, const std::string& name, const std::vector<std::string>& keys,
                 std::vector<std::string> levels, std::function<int(const SpaceView&)> level, bool in_triples) {
  space.dimensions.push_back({name, std::move(levels), keys, std::move(level), in_triples});
}

void AddComparison(CaseSpace& space, const std::string& one, const std::string& other, bool in_triples,
                   bool ones_apart) {
  std::vector<std::string> levels = {"equal", "below", "above"};
  if (ones_apart) levels.insert(levels.begin(), "both 1");
  const auto level = [=](const SpaceView& view) {
    const int64_t a = view.Int(one), b = view.Int(other);
    const int first = ones_apart && (a != 1 || b != 1) ? 1 : 0;
    return first + (a == b ? 0 : a < b ? 1 : 2);
  };
  AddRelation(space, fmt::format("{} and {}", one, other), {one, other}, std::move(levels), level, in_triples);
}

std::string Take(AttrList& attrs, std::string_view key) {
  const auto found = std::ranges::find(attrs, key, &AttrList::value_type::first);
  if (found == attrs.end()) return "";
  std::string value = std::move(found->second);
  *found = std::move(attrs.back());  // the others need not stay in order
  attrs.pop_back();
  return value;
}

void AddTensorSize(CaseSpace& space, const std::string& name, const std::vector<std::string>& keys,
                   const Extent& elements, bool is_operand) {
  const std::vector<int64_t> ends = {int64_t{1} << 8, int64_t{1} << 10, int64_t{1} << 12, int64_t{1} << 16,
                                     int64_t{1} << 24};
  AddMagnitude(space, "elements of " + name, keys, elements, ends);
  if (!is_operand) return;
  std::vector<double>& least = space.dimensions.back().least_elements;
  least = {1};
  for (const int64_t end : ends) least.push_back(static_cast<double>(end + 1));
}

}  // namespace assay
