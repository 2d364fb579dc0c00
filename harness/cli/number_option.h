// SPDX-License-Identifier: Apache-2.0
// Options that take a number. The whole text has to be one, in decimal and within limits: "nan", "-3" for a count or
// "010" read as octal would otherwise pass for what nobody meant.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <string>
#include <type_traits>

#include "harness/core/base/text.h"

namespace assay::cli {

template <class T>
struct Limits {
  T least, most;
};

inline constexpr Limits<double> kSecondsLimits{0.001, 1'000'000};
inline constexpr Limits<int> kThreadLimits{1, 1024};

// "" when the text is such a number, else what is wrong with it.
template <class T>
std::string NumberProblem(const std::string& text, const Limits<T>& limits) {
  const auto value = ParseNumber<T>(text);
  if (value && *value >= limits.least && *value <= limits.most) return "";  // false of NaN
  const auto real = ParseNumber<double>(text);
  const bool whole = real && *real == std::floor(*real);
  const char* what = !real || std::isnan(*real)        ? "not a number"
                     : std::is_integral_v<T> && !whole ? "not an integer"
                                                       : "out of range";
  return fmt::format("'{}' is {}; give {} from {} to {}", text, what, std::is_integral_v<T> ? "an integer" : "a number",
                     limits.least, limits.most);
}

// T is the type that is read, `target` an object of it or an optional one. Shows the target's present value as default
// in the help text where it has one.
template <class T, class Target>
CLI::Option* AddNumber(CLI::App& app, const std::string& name, Target& target, const Limits<T>& limits,
                       const std::string& doc) {
  CLI::Option* option = app.add_option_function<std::string>(
      name, [&target](const std::string& text) { target = *ParseNumber<T>(text); }, doc);
  option->check([limits](const std::string& text) { return NumberProblem(text, limits); });
  if constexpr (std::is_same_v<T, Target>) option->default_str(fmt::format("{}", target));
  return option->type_name("NUMBER");
}

}  // namespace assay::cli
