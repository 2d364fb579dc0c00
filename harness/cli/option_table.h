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
#include "harness/engine/prepared_run.h"

namespace assay::cli {

struct EvidenceOptions {
  size_t results = 0;                         // --evidence: results whose outputs are kept; 0: none are
  std::optional<std::filesystem::path> seed;  // a file whose hash was handed in before
  std::string challenge;                      // what whoever gets the evidence adds to the draw
};

// Options of `assay run`, of which other verbs have some: what runs, and how.
struct RunOptions : RunRequest {
  std::optional<std::filesystem::path> out;  // without: out/<time> below the current directory
  bool resume = false;                       // the run in `out` goes on
  bool allow_changed = false;                // also where the environment is another one than before
  int jobs = 0;                              // host threads; 0: all cores
  bool perf = true;
  double perf_time_s = 0.02;  // per implementation, case and round
  // Both take longer than everything else of a short case; a sweep is about them.
  std::optional<bool> cold;  // the first round also with cold caches
  std::optional<bool> roofline;
  std::optional<std::filesystem::path> ceilings;  // a data sheet
  std::vector<std::string> launches_us;           // NUMBER, or BACKEND=NUMBER; else what is usual
  int rounds = 1;
  int set_aside_after = 8;          // results in a row that end with their worker; 0: never
  int most_failures = 0;            // after which the run stops; 0: never
  std::optional<int> retries;       // of crashes, timeouts, errors and changing results; without: 1, of the first two
  std::optional<int64_t> repeat;    // passes over all cases
  std::string device_lost_command;  // for a shell; "": none
  bool until_fails = false;         // without end, until something fails
  std::optional<std::string> time;  // how long passes are repeated: "8h"
  bool strict = false;
  std::string relations = "quick";  // all | quick | none
  bool store = true;
  EvidenceOptions evidence;
  std::string progress = "auto";  // auto | bar | lines | none
  std::string color = "auto";     // auto | always | never
  bool profile = false;
  std::optional<std::filesystem::path> trace;
};

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
