// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "harness/tools/align/alignment.h"

namespace assay {
namespace {

int64_t CountElements(const Alignment& alignment) {
  const auto add = [](int64_t sum, const AlignedConfiguration& of) { return sum + of.elements; };
  return std::accumulate(alignment.configurations.begin(), alignment.configurations.end(), int64_t{0}, add);
}

// The first of the configurations that this holds of.
template <class F>
const AlignedConfiguration& First(const Alignment& alignment, F is_it) {
  return *std::ranges::find_if(alignment.configurations, is_it);
}

std::string LineOf(const AlignedConfiguration& of) {
  if (!of.refused.empty()) return "not compared: " + of.refused;
  if (of.differing == 0) return of.shows ? "equal" : "equal, as any other order would be";
  const char* bound = !of.is_within ? "" : *of.is_within ? ", within the bound" : ", beyond the bound";
  return fmt::format("{} of {} differ, first {}: {:.9g} and {:.9g}; at most {:.3g} tolerances{}", of.differing,
                     of.elements, of.place, of.expected, of.got, of.most_tolerances, bound);
}

// One that is not finite, which JSON has not, is null, and its name stands under <key>_nonfinite, as in records.
void PutNumber(Json& json, const std::string& key, double value) {
  const bool is_finite = std::isfinite(value);
  json[key] = is_finite ? Json(value) : Json(nullptr);
  if (!is_finite) json[key + "_nonfinite"] = std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

}  // namespace

std::string Alignment::Sentence() const {
  const size_t compared = CountCompared(), differing = CountDiffering(), proves_nothing = CountUnshown();
  const std::string who = sides.size() == 1 ? fmt::format("{} gives the bits of the whole case", sides[0])
                                            : fmt::format("{} gives the bits of {}", sides[1], sides[0]);
  if (compared == 0) return "NOTHING COMPARED: no configuration is taken.";
  const bool has_parts = std::ranges::any_of(
      configurations, [](const AlignedConfiguration& of) { return of.name.find(": ") != std::string::npos; });
  const std::string_view no_parts =
      has_parts ? ""
                : " It has no batch: no part of its operands is a case of its own, so calls and memory alone changed.";
  if (differing > 0) {
    const AlignedConfiguration& first = First(*this, [](const auto& of) { return of.differing > 0; });
    return fmt::format("DIFFERS: {} in {} of {} configurations; the first with others is {}, at {}.{}", who,
                       compared - differing, compared, first.name, first.place, no_parts);
  }
  if (proves_nothing > 0) {
    const AlignedConfiguration& first = First(*this, [](const auto& of) { return of.refused.empty() && !of.shows; });
    return fmt::format("NOT SHOWN: {} in all of {} configurations, but {} of them prove nothing, '{}' the first: {}.{}",
                       who, compared, proves_nothing, first.name,
                       proves_nothing == compared ? unshown : "terms in another order have the same bits there",
                       no_parts);
  }
  const auto is_refused = [](const AlignedConfiguration& of) { return !of.refused.empty(); };
  const size_t refused = configurations.size() - compared;
  return fmt::format(
      "CERTIFIED: {} in all of {} configurations, {} elements; in each of them terms in another order have "
      "other bits.{}{}",
      who, compared, CountElements(*this), no_parts,
      refused > 0 ? fmt::format(" {} others were not taken, '{}' the first, and nothing is said of them.", refused,
                                First(*this, is_refused).name)
                  : "");
}

// Configurations of one number of slices that came to the same are one line: "m: 7 of 64, from 0 28 57".
std::string TextOf(const Alignment& alignment) {
  std::vector<std::pair<std::string, std::string>> lines;
  for (const AlignedConfiguration& of : alignment.configurations) {
    const size_t from = of.name.find(", from "), last = of.name.rfind(' ');
    const std::string line = LineOf(of);
    const bool goes_on = from != std::string::npos && !lines.empty() && lines.back().second == line &&
                         lines.back().first.starts_with(of.name.substr(0, last + 1));
    if (goes_on) {
      lines.back().first += of.name.substr(last);
    } else {
      lines.emplace_back(of.name, line);
    }
  }
  size_t width = 0;
  for (const auto& [name, line] : lines) width = std::max(width, name.size());
  std::string text = alignment.case_id + "\n";
  for (const auto& [name, line] : lines) text += fmt::format("  {:<{}}  {}\n", name, width, line);
  return text + alignment.Sentence() + "\n";
}

Json ToJson(const Alignment& alignment) {
  Json configurations = Json::array();
  for (const AlignedConfiguration& of : alignment.configurations) {
    Json json = {{"name", of.name}, {"elements", of.elements}, {"differing", of.differing}, {"shows", of.shows}};
    if (!of.refused.empty()) json["refused"] = of.refused;
    if (of.is_within) json["within_bound"] = *of.is_within;
    if (of.differing > 0) {
      json["place"] = of.place;
      PutNumber(json, "expected", of.expected);
      PutNumber(json, "got", of.got);
      PutNumber(json, "tolerances", of.most_tolerances);
    }
    configurations.push_back(std::move(json));
  }
  return {{"case", alignment.case_id},
          {"input_hash", alignment.input_hash},
          {"sides", alignment.sides},
          {"configurations", std::move(configurations)},
          {"certified", alignment.IsCertified()},
          {"sentence", alignment.Sentence()}};
}

}  // namespace assay
