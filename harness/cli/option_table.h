// SPDX-License-Identifier: Apache-2.0
// The one list of the options of runs. A row says all of an option; from the rows come the command lines of `assay run`
// and of the verbs that share options with it, the options in environment.json, what --resume compares, and the line
// that repeats a result.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "harness/cli/number_option.h"
#include "harness/plan/options.h"

namespace assay::cli {

template <class T>
using FieldOf = T& (*)(RunOptions&);
using OptionField =
    std::variant<FieldOf<bool>, FieldOf<int>, FieldOf<double>, FieldOf<size_t>, FieldOf<std::string>,
                 FieldOf<std::vector<std::string>>, FieldOf<std::optional<bool>>, FieldOf<std::optional<int>>,
                 FieldOf<std::optional<int64_t>>, FieldOf<std::optional<uint64_t>>, FieldOf<std::optional<double>>,
                 FieldOf<std::optional<std::string>>, FieldOf<std::optional<std::filesystem::path>>>;

// The member that a row fills: Field<&RunOptions::selection, &PlanOptions::suite>().
template <auto... Members>
OptionField Field() {
  return +[](RunOptions & o) -> auto& {
    return (o.*....*Members);
  };
}

// How far results depend on an option.
enum class Effect : uint8_t {
  kNone,      // not at all
  kCompared,  // --resume wants it as it was
  kCarried,   // the line that repeats a result has it, too
};

struct OptionTraits {
  std::string value = "";  // stands for the value in the help; "": its type
  std::vector<std::string> choices = {};
  Limits<double> limits = {0, 0};                // of a number
  char separator = 0;                            // between the values of a list
  const char* variable = nullptr;                // of the environment, which gives it too
  std::string (*check)(std::string&) = nullptr;  // says what is wrong with a value, or replaces it
  bool everyday = false;                         // --help shows it; --help-all shows all
  Effect effect = Effect::kNone;
  bool recorded = false;                               // environment.json has it, by its name
  bool (*counts)(const RunOptions&) = nullptr;         // whether it means anything beside the others; null: always
  std::string (*carry)(const std::string&) = nullptr;  // its value in a line for any folder; null: as given
};

struct OptionRow {
  std::string names;  // as CLI11 takes them: "--perf,!--no-perf"
  OptionField field;
  std::string help;
  OptionTraits traits = {};
  std::string heading = "";  // of its group in the help; OptionTable fills it

  std::string Name() const { return names.substr(0, names.find(',')); }
};

inline constexpr const char* kTimesHeading = "Times";

const std::vector<OptionRow>& OptionTable();

// Precondition: there is one of that name.
const OptionRow& FindOption(std::string_view name);

}  // namespace assay::cli
