// SPDX-License-Identifier: Apache-2.0
#include "reports/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "reports/summary.h"

namespace assay {
namespace {

constexpr double kWorthNaming = 0.2;  // share of a launch
constexpr double kNearlyBest = 0.8;   // of the best rate

struct SweepLabel {
  std::string key;
  double value = 0;
};

// "b=16"; nothing where the value is no number.
std::optional<SweepLabel> ReadLabel(const std::string& text) {
  const size_t equals = text.rfind('=');
  if (equals == text.npos) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(text.c_str() + equals + 1, &end);
  if (*end != '\0' || end == text.c_str() + equals + 1 || !(value > 0) || !std::isfinite(value)) return std::nullopt;
  return SweepLabel{text.substr(0, equals), value};
}

// One entry of a list, "shape.1": the list with a star there.
std::string Starred(std::string list, int entry) {
  size_t begin = 0;
  for (int i = 0; i < entry && begin != list.npos; ++i) begin = list.find('x', begin) + 1;
  if (begin > list.size()) return list;
  return list.replace(begin, list.find('x', begin) - begin, "*");
}

// The shape without the swept attribute.
std::string Rest(const std::string& shape, const std::string& key) {
  const size_t dot = key.find('.');
  const std::string name = key.substr(0, dot);
  std::string rest;
  for (size_t begin = 0; begin < shape.size();) {
    const size_t end = std::min(shape.find(',', begin), shape.size());
    const std::string entry = shape.substr(begin, end - begin);
    begin = end + 1;
    std::string kept = entry;
    if (entry.starts_with(name + "=")) {
      if (dot == key.npos) continue;
      kept = name + "=" + Starred(entry.substr(name.size() + 1), std::atoi(key.c_str() + dot + 1));
    }
    rest += (rest.empty() ? "" : ",") + kept;
  }
  return rest.empty() ? "-" : rest;
}

double LogBalance(const Record& r) {
  const bool known = r.ceiling_gflops && r.ceiling_gbytes_per_s && r.flops && r.bytes && *r.flops > 0 && *r.bytes > 0;
  if (!known) return std::nan("");
  return std::log((*r.flops / *r.ceiling_gflops) / (*r.bytes / *r.ceiling_gbytes_per_s));
}

double RateOf(const Record& r) {
  return r.flops.value_or(0) / SweepSeconds(r);
}

std::string Bounds(const SweepCurve& curve, const std::string& key) {
  const Record& first = *curve.points.front().record;
  const Record& last = *curve.points.back().record;
  if (first.bound_by.empty() || last.bound_by.empty()) return "";
  if (const Number at = CrossoverOf(curve)) {
    return fmt::format("{}-bound below {}={:.3g}, {}-bound above", first.bound_by, key, *at, last.bound_by);
  }
  if (first.bound_by != last.bound_by) return "";
  return fmt::format("{}-bound from {}={:g} to {:g}", first.bound_by, key, curve.points.front().value,
                     curve.points.back().value);
}

std::string Launch(const SweepCurve& curve, const std::string& key) {
  const SweepPointOf* worst = nullptr;
  const SweepPointOf* after = nullptr;  // the first size from which it matters no longer
  for (const SweepPointOf& point : curve.points) {
    const double share = point.record->launch_fraction.value_or(0);
    if (share >= kWorthNaming) after = nullptr;
    if (share < kWorthNaming && after == nullptr) after = &point;
    if (worst == nullptr || share > worst->record->launch_fraction.value_or(0)) worst = &point;
  }
  if (worst->record->launch_fraction.value_or(0) < kWorthNaming) return "";
  std::string text =
      fmt::format("launch overhead is {:.0f} % at {}={:g}", 100 * *worst->record->launch_fraction, key, worst->value);
  if (after != nullptr) text += fmt::format(" and less than {:.0f} % from {:g}", 100 * kWorthNaming, after->value);
  return text;
}

std::string Saturation(const SweepCurve& curve, const std::string& key) {
  if (curve.points.size() < 2) return "";
  double best = 0;
  for (const SweepPointOf& point : curve.points) best = std::max(best, RateOf(*point.record));
  const SweepPointOf* from = nullptr;
  for (const SweepPointOf& point : curve.points) {
    const bool near = RateOf(*point.record) >= kNearlyBest * best;
    if (near && from == nullptr) from = &point;
    if (!near) from = nullptr;
  }
  if (from == nullptr) {
    return fmt::format("at {}={:g} its rate is {:.0f} % of its best", key, curve.points.back().value,
                       100 * RateOf(*curve.points.back().record) / best);
  }
  if (from == &curve.points.back()) return fmt::format("its rate still grows at {}={:g}", key, from->value);
  return fmt::format("{:.0f} % of its best rate from {}={:g}", 100 * kNearlyBest, key, from->value);
}

}  // namespace

double SweepSeconds(const Record& r) {
  return r.time_cold_median_s.value_or(r.time_median_s.value_or(0));
}

std::vector<SweepGroup> SweepsOf(const RecordView& records) {
  const Columns columns(records);
  std::vector<SweepGroup> groups;
  const auto group_of = [&](const std::string& key, const std::string& title) -> SweepGroup& {
    const auto same = [&](const SweepGroup& g) { return g.key == key && g.title == title; };
    const auto it = std::ranges::find_if(groups, same);
    return it != groups.end() ? *it : groups.emplace_back(SweepGroup{key, title, {}});
  };
  ForEachRecord(records, [&](size_t place, const Record& r) {
    const auto label = ReadLabel(r.sweep);
    if (!label || !Timed(r) || !Comparable(r) || IsOfWeakerContract(r)) return;
    SweepGroup& group = group_of(
        label->key, fmt::format("{}/{}/{}/fill={}/seed={}", r.op, r.dtype, Rest(r.shape, label->key), r.fill, r.seed));
    const std::string backend = columns.BackendOf(r);
    auto curve = std::ranges::find(group.curves, backend, &SweepCurve::backend);
    if (curve == group.curves.end()) curve = group.curves.insert(curve, SweepCurve{backend, {}});
    auto point = std::ranges::find(curve->points, label->value, &SweepPointOf::value);
    if (point == curve->points.end()) {
      curve->points.push_back({label->value, place, std::make_shared<const Record>(r)});
    } else if (SweepSeconds(r) < SweepSeconds(*point->record)) {
      *point = {label->value, place, std::make_shared<const Record>(r)};
    }
  });
  for (SweepGroup& group : groups) {
    for (SweepCurve& curve : group.curves) std::ranges::sort(curve.points, {}, &SweepPointOf::value);
  }
  return groups;
}

Number CrossoverOf(const SweepCurve& curve) {
  for (size_t i = 1; i < curve.points.size(); ++i) {
    const double before = LogBalance(*curve.points[i - 1].record), after = LogBalance(*curve.points[i].record);
    if (!std::isfinite(before) || !std::isfinite(after) || (before < 0) == (after < 0)) continue;
    const double low = std::log(curve.points[i - 1].value), high = std::log(curve.points[i].value);
    return std::exp(low + (high - low) * before / (before - after));
  }
  return std::nullopt;
}

std::vector<std::string> SweepAdvice(const SweepGroup& group) {
  std::vector<std::string> lines;
  for (const SweepCurve& curve : group.curves) {
    for (const std::string& finding :
         {Bounds(curve, group.key), Launch(curve, group.key), Saturation(curve, group.key)}) {
      if (!finding.empty()) lines.push_back(curve.backend + ": " + finding);
    }
  }
  return lines;
}

}  // namespace assay
