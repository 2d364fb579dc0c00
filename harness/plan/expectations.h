// SPDX-License-Identifier: Apache-2.0
// Expectation files: which results are known not to pass, by what is wrong with them, and why. A rule begins at the
// left edge with its kind and its name; its lines are indented:
//   known_failure int8-sums-in-f32
//     case      op=matmul|conv dtype=i8-i8-i32 fill=normal c<32 c%2=1 shape.1>64    (attr_condition.h)
//     backend   onednn library>=2.6 library<3.4 driver=... device=GLOB impl=GLOB
//     declares  acc=f32               fields of the implementation's contract
//     requires  acc=i32               fields of what the case demands
//     fails     below_contract
//     shows     channel=exceptional golden=nan got=finite|inf
//     fault     library               or driver, device
//     read      https://...           where the proof stands; without it, this file
//     reason    int8 products are summed in f32
// All of case, backend, declares, requires must hold; words are alternatives where '|' joins them, globs in dtype,
// fill, device, impl and the backend's name. `fails` names verdicts, joined by commas: mismatch, below_contract,
// nondeterministic, flaky, crash, timeout, error. `shows` narrows a mismatch by the channels that fail and by what
// stands where something else should (nan, inf, -inf, finite). backend, fails and reason are needed. The short form,
// one line, names cases and implementations by globs and knows neither version nor symptom; without verdicts it means
// the first three:
//   case glob | backend:implementation glob | known_failure or known_flake, and verdicts | reason
// A failing result that a known_failure rule covers counts as known_failure; one that passes is an unexpected_pass and
// fails the run, so that rules do not outlive their reason. A known_flake rule covers failing results and lets passing
// ones pass. No rule covers a fault of memory. A line "established x86-64-avx2, x86-64-amx" says on which classes of
// processors (results/processor_class.h) the file's rules were found to be complete. '#' begins a comment line.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/result.h"
#include "harness/model/contract.h"
#include "harness/model/record.h"
#include "harness/plan/attr_condition.h"
#include "harness/plan/suite.h"
#include "harness/plan/version_bound.h"

namespace assay {

using FieldValue = std::pair<std::string, std::string>;  // {"acc", "f32"}

struct Expectation {
  std::string name;   // "" of the short form
  std::string where;  // file:line
  bool flake = false;
  // Lists are alternatives, and empty ones hold always, but for those of conditions, which all have to hold.
  std::string case_glob = "*", backend_glob, implementation_glob = "*", device_glob = "*";
  std::vector<const OpSchema*> ops;  // of the catalog
  std::vector<std::string> dtypes, fills;
  std::vector<AttrCondition> attrs;
  std::vector<VersionBound> library, driver;
  std::vector<FieldValue> declares, demands;
  std::vector<std::string> verdicts;  // that it covers
  std::vector<std::string> channels, golden, got;
  std::string fault = "library", read_on, reason;
};

struct ExpectationFile {
  std::vector<Expectation> rules;
  std::vector<std::string> established;  // classes of processors; empty: it does not say
};

// Errors are "file:line: what; what to write instead".
Result<ExpectationFile> ParseExpectations(std::string_view text, const std::string& file, const OpCatalog& ops);
Result<ExpectationFile> LoadExpectations(const std::string& path, const OpCatalog& ops);

// Whether the rule is about the record's case.
bool IsAboutCase(const Expectation& rule, const Record& record);

// Whether it is about this result, failing or not: its case, backend and arithmetic. `version`: and the versions of
// library and driver.
bool IsAbout(const Expectation& rule, const Record& record, bool version = true);

// Whether it covers this failure: the verdict, and of a mismatch what it shows.
bool Covers(const Expectation& rule, const Record& record);

// The first rule about this record that covers it, or, where none does, the first about it; nullptr where there is
// none.
const Expectation* FindExpectation(const std::vector<Expectation>& rules, const Record& record);

}  // namespace assay
