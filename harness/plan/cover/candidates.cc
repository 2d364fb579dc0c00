// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/cover/candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "harness/core/base/check.h"
#include "harness/core/base/text.h"
#include "harness/plan/selection.h"

namespace assay {
namespace {

double Elements(const Problem& problem) {
  const auto count = [](const Operand& operand) {
    double elements = 1;
    for (const int64_t extent : operand.shape) elements *= static_cast<double>(extent);
    return elements;
  };
  double elements = 0;
  for (const Operand& output : problem.outputs) elements += count(output);
  for (const Operand& operand : problem.inputs) elements += count(operand);
  return elements;
}

constexpr size_t kLongList = 14;  // of values

int LevelIn(const Dimension& dimension, const CaseSpec& spec, const OpSchema& schema) {
  return dimension.level(SpaceView{spec, AttrReader(spec, schema)});
}

}  // namespace

int64_t LargestSize(const Knob& knob) {
  if (knob.keys.size() != 1 || knob.values.size() <= kLongList) return 0;
  int64_t largest = 0;
  for (const std::vector<std::string>& value : knob.values) {
    const auto number = ParseNumber<int64_t>(value[0]);
    if (!number || *number < largest) return 0;
    largest = *number;
  }
  return largest;
}

bool NarrowTypes(CaseSpace& space, const std::vector<std::string>& dtypes) {
  if (dtypes.empty()) return true;
  for (Knob& knob : space.knobs) {
    const auto key = std::ranges::find(knob.keys, "dtypes");
    if (key == knob.keys.end()) continue;
    const auto at = static_cast<size_t>(key - knob.keys.begin());
    std::erase_if(knob.values, [&](const std::vector<std::string>& value) {
      return !SelectsDTypes(dtypes, ParseDTypeList(value[at]).value());
    });
    return !knob.values.empty();
  }
  return false;
}

Candidates::Candidates(const Operator& op, const CoverLimits& limits, const std::vector<std::string>& dtypes)
    : op_(&op),
      limits_(limits),
      too_many_elements_(fmt::format("more than {} elements", limits.elements)),
      too_many_flops_(fmt::format("more than {} flops", limits.flops)),
      space_(op.Space()),
      index_of_(space_.knobs.size()),
      dimensions_of_(space_.knobs.size()) {
  ASSAY_CHECK(NarrowTypes(space_, dtypes));
  for (const Knob& knob : space_.knobs) is_size_.push_back(LargestSize(knob) > 0);
  for (const Knob& knob : space_.knobs) {
    const auto key = std::ranges::find(knob.keys, "dtypes");
    if (key == knob.keys.end()) continue;
    const auto at = static_cast<size_t>(key - knob.keys.begin());
    for (const auto& value : knob.values) dtypes_.push_back(ParseDTypeList(value[at]).value());
  }
  const auto knob_of = [&](const std::string& key) {
    const auto has = [&](const Knob& knob) { return std::ranges::find(knob.keys, key) != knob.keys.end(); };
    const auto knob = std::ranges::find_if(space_.knobs, has);
    ASSAY_CHECK(knob != space_.knobs.end());
    return static_cast<int>(knob - space_.knobs.begin());
  };
  for (size_t d = 0; d < space_.dimensions.size(); ++d) {
    std::vector<int> knobs;
    for (const std::string& key : space_.dimensions[d].keys) knobs.push_back(knob_of(key));
    std::ranges::sort(knobs);
    knobs.erase(std::unique(knobs.begin(), knobs.end()), knobs.end());
    for (const int knob : knobs) dimensions_of_[static_cast<size_t>(knob)].push_back(static_cast<int>(d));
    table_.emplace_back();
    if (knobs.size() == 1) {
      Choice choice(space_.knobs.size());
      const auto knob = static_cast<size_t>(knobs[0]);
      for (choice[knob] = 0; choice[knob] < values(knob); ++choice[knob]) {
        table_[d].push_back(LevelIn(space_.dimensions[d], Write(choice), schema()));
      }
    }
    knobs_of_.push_back(std::move(knobs));
  }
}

int Candidates::Add(size_t knob, const std::string& value) {
  auto& values_of = space_.knobs[knob].values;
  std::map<std::string, int>& known = index_of_[knob];
  if (known.empty()) {
    for (int at = 0; at < values(knob); ++at) known.emplace(values_of[static_cast<size_t>(at)][0], at);
  }
  const int index = values(knob);
  const auto [found, is_new] = known.emplace(value, index);
  if (!is_new) return found->second;
  values_of.push_back({value});
  Choice choice(knobs());
  choice[knob] = index;
  for (const int dimension : DimensionsOf(knob)) {
    const auto d = static_cast<size_t>(dimension);
    if (!table_[d].empty()) table_[d].push_back(LevelIn(space_.dimensions[d], Write(choice), schema()));
  }
  return index;
}

CaseSpec Candidates::Write(const Choice& choice) const {
  CaseSpec spec{.op = schema().op};
  spec.attrs.reserve(2 * knobs());
  for (size_t k = 0; k < knobs(); ++k) {
    const Knob& knob = space_.knobs[k];
    for (size_t i = 0; i < knob.keys.size(); ++i) {
      const size_t value = k < choice.size() ? static_cast<size_t>(choice[k]) : 0;
      const std::string& text = knob.values[value][i];
      if (knob.keys[i] == "dtypes") {
        spec.dtypes = dtypes_[value];
      } else if (knob.keys[i] == "fill") {
        spec.fill = text;
      } else {
        spec.attrs.emplace_back(knob.keys[i], text);
      }
    }
  }
  if (space_.compose) space_.compose(spec.attrs);
  return spec;
}

Result<CaseSpec> Candidates::SpecOf(const Choice& choice) const {
  return Canonicalise(Write(choice), schema());
}

Result<Problem> Candidates::Bind(const CaseSpec& spec) const {
  if (space_.excluded) {
    std::string why = space_.excluded(SpaceView{spec, AttrReader(spec, schema())});
    if (!why.empty()) return UsageError(std::move(why));
  }
  return op_->Bind(spec);
}

std::string Candidates::Refusal(const CaseSpec& spec) const {
  const Result<Problem> problem = Bind(spec);
  return problem ? Refusal(*problem) : problem.error().message;
}

std::string Candidates::Refusal(const Problem& problem) const {
  if (Elements(problem) > limits_.elements) return too_many_elements_;
  if (problem.flops > limits_.flops) return too_many_flops_;
  return space_.useless ? space_.useless(SpaceView{problem.spec, AttrReader(problem.spec, schema())}) : "";
}

Result<CaseSpec> Candidates::CaseOf(const Choice& choice) const {
  Result<Problem> problem = Bind(Write(choice));
  if (!problem) return tl::unexpected(problem.error());
  if (std::string refusal = Refusal(*problem); !refusal.empty()) return UsageError(std::move(refusal));
  return std::move(problem->spec);
}

CoverLimits Candidates::CostOf(const Choice& choice) const {
  const Result<Problem> problem = Bind(Write(choice));
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  return problem ? CoverLimits{Elements(*problem), problem->flops} : CoverLimits{kInfinite, kInfinite};
}

std::string Candidates::ExplainTooLarge(const DimensionLevel& part) const {
  const std::vector<double>& least = space_.dimensions[static_cast<size_t>(part.dimension)].least_elements;
  const bool is_too_large = !least.empty() && least[static_cast<size_t>(part.level)] > limits_.elements;
  return is_too_large ? too_many_elements_ : "";
}

int Candidates::LevelOf(int dimension, const Choice& choice) const {
  std::optional<CaseSpec> written;
  return LevelOf(dimension, choice, written);
}

int Candidates::LevelOf(int dimension, const Choice& choice, std::optional<CaseSpec>& written) const {
  const auto d = static_cast<size_t>(dimension);
  if (!table_[d].empty()) return table_[d][static_cast<size_t>(choice[static_cast<size_t>(knobs_of_[d][0])])];
  if (!written) written = Write(choice);
  return LevelIn(space_.dimensions[d], *written, schema());
}

void Candidates::UpdateLevels(const Choice& choice, size_t knob, Levels& levels) const {
  std::optional<CaseSpec> spec;
  for (const int dimension : DimensionsOf(knob)) {
    const auto d = static_cast<size_t>(dimension);
    if (table_[d].empty() && !spec) spec = Write(choice);
    levels[d] = table_[d].empty() ? LevelIn(space_.dimensions[d], *spec, schema())
                                  : table_[d][static_cast<size_t>(choice[knob])];
  }
}

Levels Candidates::LevelsOf(const CaseSpec& spec) const {
  return LevelsOfCase(*op_, space_, spec);
}

Levels Candidates::LevelsOf(const Choice& choice, const CaseSpec& spec) const {
  Levels levels;
  levels.reserve(space_.dimensions.size());
  for (size_t d = 0; d < space_.dimensions.size(); ++d) {
    levels.push_back(table_[d].empty() ? LevelIn(space_.dimensions[d], spec, schema())
                                       : table_[d][static_cast<size_t>(choice[static_cast<size_t>(knobs_of_[d][0])])]);
  }
  return levels;
}

Levels LevelsOfCase(const Operator& op, const CaseSpace& space, const CaseSpec& spec) {
  Levels levels;
  for (const Dimension& dimension : space.dimensions) levels.push_back(LevelIn(dimension, spec, op.schema()));
  return levels;
}

}  // namespace assay
