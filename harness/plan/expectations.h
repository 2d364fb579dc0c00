// SPDX-License-Identifier: Apache-2.0
// Expectation files (TOML): which results are known not to pass, by what is wrong with them, and why. A waiver is one
// of their rules with an owner and a date. A rule is a table:
//   [[known_failure]]
//   id = "int8-sums-in-f32"              needed, once in a file
//   case = "conv/*"                      globs on case ids
//   op = ["matmul", "conv"]
//   dtype = "i8-i8-i32"                  globs, as for fill
//   fill = ["special", "edges"]
//   attributes = ["c<32", "c%2=1"]       (attr_condition.h); all have to hold
//   backend = "onednn"                   needed; a glob
//   implementation = ["jit*", "brg*"]    globs, as for device
//   device = "NVIDIA H100*"              the name that is printed
//   library = [">=2.6", "<3.4"]          all have to hold, as of driver; "2.6.3" is "=2.6.3"
//   driver = ">=535.1"
//   declares = "acc=f32"                 fields of the implementation's contract; all have to hold
//   requires = "acc=i32"                 fields of what the case demands; all have to hold, and what is declared too:
//                                        a result that behaves like something weaker is not covered
//   verdicts = ["below_contract"]        needed: of mismatch, below_contract, nondeterministic, flaky, crash,
//                                        timeout, error
//   shows.channel = "exceptional"        of a mismatch: the channels that fail
//   shows.golden = "nan"                 and what stands where something else should: nan, inf, -inf, finite
//   shows.got = ["finite", "inf"]
//   fault = "library"                    or driver, device
//   read = "https://..."                 where the proof stands; without it, this file
//   owner = "kernel team"
//   expires = 2027-03-31                 the last day on which it holds
//   reason = "int8 products are summed in f32"     needed
// A result has to fit every key that is there; of several words one has to fit, unless said otherwise. A failing result
// that a known_failure covers counts as known_failure; one that passes is an unexpected_pass and fails the run, so that
// rules do not outlive their reason. A rule of [[known_flake]] covers failing results and lets passing ones pass. No
// rule covers a fault of memory, and a rule that has expired covers nothing. The first that covers a result decides.
// established = ["x86-64-avx2", "x86-64-amx"], at the file's top, says on which classes of processors
// (results/environment.h) its rules were found to be complete.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/core/base/result.h"
#include "harness/core/model/contract.h"
#include "harness/core/model/record.h"
#include "harness/plan/attr_condition.h"
#include "harness/plan/suite.h"
#include "harness/plan/version_bound.h"

namespace assay {

using FieldValue = std::pair<std::string, std::string>;  // {"acc", "f32"}

struct Expectation {
  std::string id;
  std::string where;  // file:line
  int line = 0;
  bool flake = false;
  // Lists are alternatives, and empty ones hold always, but for those of conditions, which all have to hold.
  std::vector<std::string> case_globs, implementation_globs, device_globs;
  std::string backend_glob;
  std::vector<const OpSchema*> ops;  // of the catalog
  std::vector<std::string> dtypes, fills;
  std::vector<AttrCondition> attrs;
  std::vector<VersionBound> library, driver;
  std::vector<FieldValue> declares, demands;
  std::vector<std::string> verdicts;  // that it covers
  std::vector<std::string> channels, golden, got;
  std::string fault = "library", read_on, reason, owner;
  std::string expires;   // "2027-03-31", or "" for never
  bool expired = false;  // that day has passed: set where the day is known
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

// The first rule about this record that covers it and has not expired, or, where none does, the first about it; nullptr
// where there is none.
const Expectation* FindExpectation(const std::vector<Expectation>& rules, const Record& record);

}  // namespace assay
