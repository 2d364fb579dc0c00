// SPDX-License-Identifier: Apache-2.0
// Operators and suites as this program finds them, and the cases that a selection plans.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/plan/options.h"
#include "harness/plan/plan.h"
#include "harness/plan/selection.h"
#include "harness/plan/suite.h"
#include "harness/plan/sweep.h"

namespace assay {

OpCatalog Catalog();  // the linked operators

inline constexpr const char* kFromCaseOption = "--case";  // PlannedCase::where of a case named by its id

// "; suite formulas has cases of top_k": the first shipped suite that names one of these operators in a line of its
// own, but for the one that is given; "": there is none.
std::string SuggestSuites(const std::vector<std::string>& ops, std::string_view but);

// Where suites are looked up by name: $ASSAY_SUITES, then the shipped ones, then the folder of shipped definitions if
// --operators named one of these.
std::vector<std::string> SuiteDirectories();
std::string ExecutablePath();

// The suite that the options ask for: "default" where they name neither one nor a case; "" for none.
std::string SuiteName(const PlanOptions& options);

// The folder that bin/ or lib/ is in: of the program, or of the shared library that this code is part of, whatever
// program has loaded it.
std::filesystem::path OwnPrefix();

// <prefix>/share/assay/<name>; the folder `in_tree` of the source tree when the program or library is that of the build
// folder. Elsewhere the source tree counts for nothing, even where it still exists: an installed program is what was
// installed.
std::filesystem::path ShippedFolder(const char* name, const char* in_tree);

// The folder of definitions that are shipped with suites of their own.
std::filesystem::path CompositionsFolder();

// "" where that folder is there; else, to end a message: ": there is no folder ...; what to do".
std::string ExplainMissingFolder(const char* name, const char* in_tree);
std::string ExplainMissingSuites();

// The selected cases, with what their operators ask for, and the plan that plan.json will hold. An empty selection is
// not an error here (Selection::empty); the verbs make it exit code 4.
struct PlannedRun {
  Selection selection;
  Plan plan;
  std::optional<Sweep> sweep;
  std::string note;  // what became of --scale; ""
};
// `env`: where a shard may be stated; null: nobody has one but the options.
Result<PlannedRun> PlanCases(PlanOptions options, const EnvLookup& env);
Result<PlannedRun> PlanCases(const PlanOptions& options);  // std::getenv

}  // namespace assay
