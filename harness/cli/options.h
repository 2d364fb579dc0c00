// SPDX-License-Identifier: Apache-2.0
// Reads the rows of the option table from a command line, and writes them into one and into environment.json.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/cli/option_table.h"
#include "harness/core/base/json.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace assay::cli {

// The heading in the help of options that only --help-all shows ends with it.
inline constexpr std::string_view kFurther = " (further)";

using Names = std::vector<std::string_view>;
inline const Names kCaseChoice = {"--suite", "--case",  "--contract", "--filter",
                                  "--op",    "--dtype", "--scale",    "--operators"};
inline const Names kSandboxOptions = {"--sandbox", "--pass-env", "--grant", "--worker-limit"};

// Adds the whole table, under headings, with --help-all.
void AddAllOptions(CLI::App& verb, RunOptions& options);
void AddOptions(CLI::App& verb, RunOptions& options, const Names& names);
void AddCases(CLI::App& verb, RunOptions& options);     // kCaseChoice, --shard, --seed, --python
void AddBackends(CLI::App& verb, RunOptions& options);  // plugins, devices and workers, without --impl
// Adds what a verb needs to run cases without timing them: AddBackends, --impl, what ends and what fails a run, output.
void AddUntimedRun(CLI::App& verb, RunOptions& options);

// Makes the operators of these files known as soon as all options of the verb are read, before anything asks for one:
// --python may stand behind --operators. Keeps references to both.
inline constexpr const char* kOperatorsOption = "--operators";
void RegisterOperators(CLI::App& verb, const std::vector<std::string>& files, const std::string& python);

// Reads the option of that name into another variable, of the type of its field.
template <class T>
CLI::Option* AddOptionFor(CLI::App& verb, std::string_view name, T& value);

// Lists the options given that only times can answer.
std::vector<std::string> ListTimesAsked(const CLI::App& verb, const RunOptions& options);

// Writes the words that give options again, as far as they differ from a plain `assay run`: the options of these names,
// or all with at least this effect.
std::vector<std::string> WriteWords(const RunOptions& options, const Names& names);
std::vector<std::string> WriteWords(const RunOptions& options, Effect least);

// Writes recorded options into environment.json, by their names without dashes.
void RecordOptions(const RunOptions& options, Json& environment);

}  // namespace assay::cli
