// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>

#include "harness/engine/device/definitions.h"

namespace assay::cli {
namespace {

template <class T>
struct OptionalOf {
  using Value = T;
  static constexpr bool kIs = false;
};
template <class T>
struct OptionalOf<std::optional<T>> {
  using Value = T;
  static constexpr bool kIs = true;
};
template <class T>
using ValueOf = typename OptionalOf<T>::Value;
template <class T>
constexpr bool kIsFlag = std::is_same_v<ValueOf<T>, bool>;
template <class T>
constexpr bool kIsNumber = std::is_arithmetic_v<ValueOf<T>> && !kIsFlag<T>;

template <class T>
Limits<T> LimitsOf(const OptionTraits& traits) {
  const auto fit = [](double limit) {  // the largest double may be one more than the largest integer
    const bool beyond = limit >= static_cast<double>(std::numeric_limits<T>::max());
    return beyond ? std::numeric_limits<T>::max() : static_cast<T>(limit);
  };
  return {fit(traits.limits.least), fit(traits.limits.most)};
}

template <class T>
CLI::Option* AddValue(CLI::App& verb, const OptionRow& row, T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return verb.add_flag(row.names, value, row.help);
  } else if constexpr (kIsFlag<T>) {  // CLI11's own would make it false where neither is given
    return verb.add_flag_function(
        row.names, [&value](int64_t count) { value = count > 0; }, row.help);
  } else if constexpr (kIsNumber<T>) {
    const auto limits = LimitsOf<ValueOf<T>>(row.traits);
    CLI::Option* const option = AddNumber<ValueOf<T>>(verb, row.names, value, limits, row.help);
    if constexpr (!OptionalOf<T>::kIs) {
      if (value < limits.least) option->default_str("");  // it stands for something that the help says
    }
    return option;
  } else {
    CLI::Option* const option = verb.add_option(row.names, value, row.help);
    if constexpr (std::is_same_v<T, std::string>) option->capture_default_str();
    return option;
  }
}

template <class T>
CLI::Option* AddRow(CLI::App& verb, const OptionRow& row, T& value) {
  const OptionTraits& traits = row.traits;
  CLI::Option* const option = AddValue(verb, row, value);
  if (!traits.value.empty()) option->type_name(traits.value);
  if (!traits.choices.empty()) option->check(CLI::IsMember(traits.choices));
  if (traits.separator != 0) option->delimiter(traits.separator);
  if (traits.variable != nullptr) option->envname(traits.variable);
  if (traits.check != nullptr) option->transform(CLI::Validator(traits.check, ""));
  return option;
}

CLI::Option* AddRow(CLI::App& verb, const OptionRow& row, RunOptions& options) {
  return std::visit([&](auto field) { return AddRow(verb, row, field(options)); }, row.field);
}

// Calls it with the value of the row's field.
template <class Visitor>
auto Visit(const OptionRow& row, const RunOptions& options, const Visitor& visitor) {
  auto& fields = const_cast<RunOptions&>(options);  // a field gives what it is asked for, and changes nothing
  return std::visit([&](auto field) { return visitor(std::as_const(field(fields))); }, row.field);
}

bool Has(const Names& names, const OptionRow& row) {
  return std::ranges::find(names, row.Name()) != names.end();
}

bool IsGiven(const OptionRow& row, const RunOptions& options) {
  if (row.traits.counts != nullptr && !row.traits.counts(options)) return false;
  const RunOptions usual;
  return std::visit(
      [&](auto field) { return field(const_cast<RunOptions&>(options)) != field(const_cast<RunOptions&>(usual)); },
      row.field);
}

// "--no-perf" of "--perf,!--no-perf", or the first name.
std::string FlagOf(const OptionRow& row, bool is_on) {
  const size_t negative = row.names.find('!');
  return is_on || negative == row.names.npos ? row.Name() : row.names.substr(negative + 1);
}

template <class T>
bool IsOn(const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value;
  } else if constexpr (kIsFlag<T>) {
    return value.value_or(false);
  } else {
    return true;
  }
}

template <class T>
std::string TextOf(const T& value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return fmt::format("{}", value);
  } else if constexpr (std::is_same_v<T, std::filesystem::path>) {
    return value.string();
  } else {
    return value;
  }
}

// The texts of its values: one, or those of a list, which its separator joins.
template <class T>
std::vector<std::string> TextsOf(const OptionRow& row, const T& value) {
  std::vector<std::string> texts;
  if constexpr (std::is_same_v<T, std::vector<std::string>>) {
    texts = value;
  } else {
    texts = {TextOf(value)};
  }
  if (row.traits.carry != nullptr) std::ranges::transform(texts, texts.begin(), row.traits.carry);
  if (row.traits.separator == 0) return texts;
  return {fmt::format("{}", fmt::join(texts, std::string_view(&row.traits.separator, 1)))};
}

template <class T>
void AppendWords(const OptionRow& row, const T& value, std::vector<std::string>& words) {
  if constexpr (OptionalOf<T>::kIs) {
    if (value) AppendWords(row, *value, words);
  } else if constexpr (kIsFlag<T>) {
    words.push_back(FlagOf(row, value));
  } else {
    for (const std::string& text : TextsOf(row, value)) words.insert(words.end(), {row.Name(), text});
  }
}

template <class T>
Json ToJson(const T& value) {
  if constexpr (OptionalOf<T>::kIs) {
    return value ? ToJson(*value) : Json();
  } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
    return fmt::format("{}", fmt::join(value, ", "));
  } else if constexpr (std::is_same_v<T, std::filesystem::path>) {
    return value.string();
  } else {
    return value;
  }
}

template <class Wanted>
std::vector<std::string> WriteWordsOf(const RunOptions& options, const Wanted& wanted) {
  std::vector<std::string> words;
  for (const OptionRow& row : OptionTable()) {
    if (!wanted(row) || !IsGiven(row, options)) continue;
    Visit(row, options, [&](const auto& value) { AppendWords(row, value, words); });
  }
  return words;
}

}  // namespace

void AddAllOptions(CLI::App& verb, RunOptions& options) {
  verb.set_help_all_flag("--help-all", "Print this help message with all options and exit");
  for (const OptionRow& row : OptionTable()) {
    AddRow(verb, row, options)->group(row.heading + std::string(row.traits.everyday ? "" : kFurther));
  }
  RegisterOperators(verb, options.selection.operators, options.backend.python);
}

void AddOptions(CLI::App& verb, RunOptions& options, const Names& names) {
  for (const OptionRow& row : OptionTable()) {
    if (Has(names, row)) AddRow(verb, row, options);
    if (Has(names, row) && row.Name() == kOperatorsOption) {
      RegisterOperators(verb, options.selection.operators, options.backend.python);
    }
  }
}

void RegisterOperators(CLI::App& verb, const std::vector<std::string>& files, const std::string& python) {
  verb.parse_complete_callback([&files, &python] {
    for (const std::string& file : files) {
      if (const Status added = AddOperatorsIn(file, python); !added) {
        throw CLI::ValidationError(kOperatorsOption, added.error().message);
      }
    }
  });
}

void AddCases(CLI::App& verb, RunOptions& options) {
  AddOptions(verb, options, kCaseChoice);
  AddOptions(verb, options, {"--shard", "--seed", "--python"});
}

void AddBackends(CLI::App& verb, RunOptions& options) {
  AddOptions(verb, options,
             {"--backend", "--plugin", "--kernels", "--framework", "--python", "--require-backend", "--timeout",
              "--import-timeout", "--device"});
  AddOptions(verb, options, kSandboxOptions);
}

void AddUntimedRun(CLI::App& verb, RunOptions& options) {
  AddBackends(verb, options);
  AddOptions(verb, options,
             {"--impl", "--devices", "--set-aside-after", "--out", "--jobs", "--strict", "--expectations", "--tier",
              "--progress", "--color"});
}

template <class T>
CLI::Option* AddOptionFor(CLI::App& verb, std::string_view name, T& value) {
  return AddRow(verb, FindOption(name), value);
}
template CLI::Option* AddOptionFor(CLI::App&, std::string_view, std::string&);
template CLI::Option* AddOptionFor(CLI::App&, std::string_view, std::vector<std::string>&);
template CLI::Option* AddOptionFor(CLI::App&, std::string_view, std::optional<std::string>&);
template CLI::Option* AddOptionFor(CLI::App&, std::string_view, std::optional<uint64_t>&);

std::vector<std::string> ListTimesAsked(const CLI::App& verb, const RunOptions& options) {
  std::vector<std::string> asked;
  for (const OptionRow& row : OptionTable()) {
    const bool is_given = row.heading == kTimesHeading && verb.count(row.Name()) > 0;
    if (is_given && Visit(row, options, [](const auto& value) { return IsOn(value); })) asked.push_back(row.Name());
  }
  return asked;
}

std::vector<std::string> WriteWords(const RunOptions& options, const Names& names) {
  return WriteWordsOf(options, [&](const OptionRow& row) { return Has(names, row); });
}

std::vector<std::string> WriteWords(const RunOptions& options, Effect least) {
  return WriteWordsOf(options, [&](const OptionRow& row) { return row.traits.effect >= least; });
}

void RecordOptions(const RunOptions& options, Json& environment) {
  for (const OptionRow& row : OptionTable()) {
    if (!row.traits.recorded || !IsGiven(row, options)) continue;
    std::string key = row.Name().substr(2);
    std::ranges::replace(key, '-', '_');
    environment[key] = Visit(row, options, [](const auto& value) { return ToJson(value); });
  }
}

}  // namespace assay::cli
