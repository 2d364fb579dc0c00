// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/shrink.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "harness/core/base/text.h"

namespace assay {
namespace {

// Whether the value is one or several numbers that count something, and no names of axes.
bool IsExtent(const AttrDef& def) {
  return (def.type == AttrType::kInt && def.axes_in.empty()) || def.type == AttrType::kDims;
}

std::vector<int64_t> NumbersIn(const std::string& text) {
  std::vector<int64_t> numbers;
  for (const std::string_view part : Split(text, 'x')) {
    const auto number = ParseNumber<int64_t>(part);
    if (!number) return {};
    numbers.push_back(*number);
  }
  return numbers;
}

// 1, then the number less half of it, less a quarter, ... less one: what depends on a remainder is met on the way. Of
// 63 all these are even, so the other half and the number less two come as well.
std::vector<int64_t> SmallerNumbers(int64_t number) {
  std::vector<int64_t> smaller;
  const auto add = [&](int64_t other) {
    if (other > 1 && other < number && std::ranges::find(smaller, other) == smaller.end()) smaller.push_back(other);
  };
  if (number > 1) smaller.push_back(1);
  add(number - number / 2);
  add(number / 2);
  for (int64_t part = number / 4; part > 0; part /= 2) add(number - part);
  add(number - 2);
  return smaller;
}

class Simpler {
 public:
  Simpler(const CaseSpec& spec, const OpSchema& schema) : spec_(spec), schema_(schema) {}

  std::vector<CaseSpec> All() {
    AddHalved();
    AddDefaults();
    AddPlainData();
    AddSmallerExtents();
    return std::move(cases_);
  }

 private:
  void Add(CaseSpec spec) {
    auto canonical = Canonicalise(std::move(spec), schema_);
    if (canonical && *canonical != spec_) cases_.push_back(*std::move(canonical));
  }

  void AddHalved() {
    CaseSpec halved = spec_;
    for (auto& [key, value] : halved.attrs) {
      std::vector<int64_t> numbers = NumbersIn(value);
      if (!IsExtent(*schema_.Find(key)) || numbers.empty()) continue;
      for (int64_t& number : numbers) number -= number / 2;
      value = fmt::format("{}", fmt::join(numbers, "x"));
    }
    Add(std::move(halved));
  }

  void AddDefaults() {
    for (size_t i = 0; i < spec_.attrs.size(); ++i) {
      if (schema_.Find(spec_.attrs[i].first)->default_value.empty()) continue;
      CaseSpec without = spec_;
      without.attrs.erase(without.attrs.begin() + static_cast<std::ptrdiff_t>(i));
      Add(std::move(without));
    }
  }

  void AddPlainData() {
    CaseSpec plain = spec_;
    plain.seed = 0;
    Add(plain);
    plain = spec_;
    plain.fill = CaseSpec().fill;
    Add(std::move(plain));
  }

  void AddSmallerExtents() {
    for (size_t i = 0; i < spec_.attrs.size(); ++i) {
      const auto& [key, value] = spec_.attrs[i];
      const std::vector<int64_t> numbers = NumbersIn(value);
      if (!IsExtent(*schema_.Find(key))) continue;
      for (size_t axis = 0; axis < numbers.size(); ++axis) {
        for (const int64_t smaller : SmallerNumbers(numbers[axis])) {
          std::vector<int64_t> other = numbers;
          other[axis] = smaller;
          CaseSpec spec = spec_;
          spec.attrs[i].second = fmt::format("{}", fmt::join(other, "x"));
          Add(std::move(spec));
        }
      }
    }
  }

  const CaseSpec& spec_;
  const OpSchema& schema_;
  std::vector<CaseSpec> cases_;
};

}  // namespace

std::vector<CaseSpec> ListSimplerCases(const CaseSpec& spec, const OpSchema& schema) {
  return Simpler(spec, schema).All();
}

CaseSpec ShrinkCase(const CaseSpec& spec, const OpSchema& schema, int most_tries,
                    const std::function<bool(const CaseSpec&)>& is_case,
                    const std::function<bool(const CaseSpec&)>& does_it) {
  CaseSpec smallest = spec;
  std::set<std::string> asked{spec.Id()};
  int tries = 0;
  const auto holds = [&](const CaseSpec& simpler) {
    return tries < most_tries && asked.insert(simpler.Id()).second && is_case(simpler) && ++tries > 0 &&
           does_it(simpler);
  };
  while (true) {
    const std::vector<CaseSpec> simpler = ListSimplerCases(smallest, schema);
    const auto found = std::ranges::find_if(simpler, holds);
    if (found == simpler.end()) return smallest;
    smallest = *found;
  }
}

std::string SuiteLineOf(const CaseSpec& spec) {
  std::string line = fmt::format("{} dtypes={}", spec.op, DTypeListText(spec.dtypes));
  for (const auto& [key, value] : spec.attrs) line += fmt::format(" {}={}", key, value);
  if (spec.fill != CaseSpec().fill) line += " fill=" + spec.fill;
  if (spec.seed != 0) line += fmt::format(" seed={}", spec.seed);
  return line;
}

}  // namespace assay
