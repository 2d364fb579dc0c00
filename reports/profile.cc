// SPDX-License-Identifier: Apache-2.0
#include "reports/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "harness/core/base/json_text.h"

namespace assay {
namespace {

struct StoredPhase {
  std::string backend, phase;
  double seconds = 0, share = 0;
};

struct StoredProfile {
  double wall_s = 0, backends_s = 0;
  std::vector<StoredPhase> phases;
};

std::optional<StoredProfile> ReadProfile(const std::string& text) try {
  const auto json = ParseJson(text);
  StoredProfile profile{json.at("wall_s"), json.at("backends_s"), {}};
  for (const auto& phase : json.at("phases")) {
    profile.phases.push_back({phase.at("backend"), phase.at("phase"), phase.at("seconds"), phase.at("share")});
  }
  if (!(profile.wall_s > 0) || profile.phases.empty()) return std::nullopt;
  return profile;
} catch (const Json::exception&) {
  return std::nullopt;
}

// The distinct values of a field, as they first appear.
std::vector<std::string> Distinct(const StoredProfile& profile, std::string StoredPhase::*field) {
  std::vector<std::string> values;
  for (const StoredPhase& phase : profile.phases) {
    if (std::ranges::find(values, phase.*field) == values.end()) values.push_back(phase.*field);
  }
  return values;
}

// "12.3 s (6 %)"; "" for nothing.
std::string PartText(double seconds, double share) {
  return seconds == 0 ? "" : fmt::format("{:.2f} s ({:.1f} %)", seconds, share * 100);
}

}  // namespace

Table ProfileTable(const std::string& profile_json) {
  Table table{{"phase"}, {Align::kLeft}, {}};
  const auto profile = ReadProfile(profile_json);
  if (!profile) return table;
  const std::vector<std::string> backends = Distinct(*profile, &StoredPhase::backend);
  std::map<std::pair<std::string, std::string>, std::pair<double, double>> cells;
  std::map<std::string, std::pair<double, double>> sums;
  for (const StoredPhase& p : profile->phases) {
    cells[{p.phase, p.backend}] = {p.seconds, p.share};
    sums[p.phase].first += p.seconds;
    sums[p.phase].second += p.share;
  }
  std::vector<std::string> phases = Distinct(*profile, &StoredPhase::phase);
  std::ranges::stable_sort(phases, std::ranges::greater(), [&](const std::string& phase) { return sums[phase].first; });
  table.header.emplace_back("all");
  for (const std::string& backend : backends) table.header.push_back(backend.empty() ? "host" : backend);
  table.align.resize(table.header.size(), Align::kRight);
  for (const std::string& phase : phases) {
    std::vector<std::string> row{phase, PartText(sums[phase].first, sums[phase].second)};
    for (const std::string& backend : backends) {
      const auto& [seconds, share] = cells[{phase, backend}];
      row.push_back(PartText(seconds, share));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string ProfileLine(const std::string& profile_json) {
  const auto profile = ReadProfile(profile_json);
  if (!profile) return "";
  const double inside = profile->backends_s, outside = profile->wall_s - inside;
  return fmt::format("{:.3g} s, of which {:.3g} s ({:.0f} %) with a backend at work and {:.3g} s ({:.0f} %) without",
                     profile->wall_s, inside, 100 * inside / profile->wall_s, outside, 100 * outside / profile->wall_s);
}

}  // namespace assay
