// SPDX-License-Identifier: Apache-2.0
#include "harness/core/base/amounts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "harness/core/base/text.h"

namespace assay {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};
constexpr Unit kByteUnits[] = {{"", 1},        {"k", 1e3},     {"M", 1e6},     {"G", 1e9},    {"T", 1e12},
                               {"Ki", 0x1p10}, {"Mi", 0x1p20}, {"Gi", 0x1p30}, {"Ti", 0x1p40}};
constexpr Unit kAgeUnits[] = {{"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}, {"w", 7 * 86400}};

std::optional<double> ParseUnit(std::string_view text, std::span<const Unit> units) {
  const size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const auto number = ParseNumber<double>(text.substr(0, digits));
  for (const Unit& unit : units) {
    if (number && text.substr(digits) == unit.name) return *number * unit.factor;
  }
  return std::nullopt;
}

}  // namespace

std::optional<int64_t> ParseBytes(std::string_view text) {
  const auto bytes = ParseUnit(text, kByteUnits);
  if (!bytes || !(*bytes < 0x1p62)) return std::nullopt;
  return static_cast<int64_t>(*bytes);
}

std::optional<double> ParseAge(std::string_view text) {
  return ParseUnit(text, kAgeUnits);
}

std::string Counted(int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string BytesText(int64_t bytes) {
  constexpr std::array<const char*, 5> kUnits = {"B", "kB", "MB", "GB", "TB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 999.5 && unit + 1 < kUnits.size(); ++unit) value /= 1000;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.3g} {}", value, kUnits[unit]);
}

std::string AgeText(double seconds) {
  const Unit* unit = kAgeUnits;
  for (const Unit& larger : kAgeUnits) {
    if (seconds >= larger.factor && larger.name != "w") unit = &larger;
  }
  return fmt::format("{:.0f} {}", std::floor(seconds / unit->factor), unit->name);
}

}  // namespace assay
