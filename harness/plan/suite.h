// SPDX-License-Identifier: Apache-2.0
// Suite files: cases as data. One line is one of
//   matmul dtypes=f32|bf16 {m,n,k}={1,4096,4096}|{32,4096,11008} fill=normal|outlier seed=0|1   # comment
//       a case family: '|' separates alternatives, and the cross product of all of them is planned, the rightmost
//       varying fastest. {keys}={values}|{values} vary together. dtypes= is required; fill is normal and seed 0 when
//       left out; the other keys are the operator's. No spaces inside a word.
//   others
//       few small cases, which are not timed, of every operator that neither a line above nor an included file names:
//       of all that make cases from their own declaration (Operator::FewCases).
//   include other.suite
//       that file's cases, here; the path is relative to the including file. A cycle is an error.
//   require contract=f32acc; det=yes
//       what implementations must meet, for the following lines of this file; the rest of the line is the contract.
//       `require contract=none` goes back to the default of the operator's dtypes.
//   tag layer.3.ffn calls=32 source=https://...
//       a label, how often a program calls each of the cases (the tag calls-32), and where the shapes come from, for
//       the following lines of this file; `tag none` ends it.
//   scale n k shape.0
//       keys, and entries of lists, of the following lines whose extents --scale divides; `scale none` ends it.
//   timed no
//       the cases of the following lines are not timed; `timed yes` ends it.
//   thorough 2
//       the following lines have so many cases of each operator and list of types that are executed 40 times over where
//       they are not timed (RunnerSettings::repetitions), in relation to other executions. The others are executed 20
//       times. `thorough all` ends it.
//   sample 4096
//       about so many elements of each larger output of the following lines are judged, unless the run says another
//       number; `sample all` ends it.
// None of require, scale, tag, timed, thorough and sample reaches into an included file or out of one. '#' starts a
// comment at the beginning of a line or after a space, so that it may stand inside a URL. A case that several lines
// plan is planned once, with all their tags and the sum of their calls; two lines that require different things of it
// are an error.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/base/result.h"
#include "harness/core/model/case_spec.h"
#include "harness/plan/scale.h"
#include "ops/bound_case.h"

namespace assay {

using SchemaLookup = std::function<const OpSchema*(std::string_view)>;

struct OpCatalog {
  SchemaLookup find;               // null for an unknown operator
  std::vector<std::string> names;  // for messages
  // The canonical case as its operator takes it; errors say "key=value" of what is wrong. Empty: nobody asks.
  std::function<Result<SharedCase>(const CaseSpec&)> bind = {};
  std::function<const Operator*(std::string_view)> op = {};  // null for an unknown one; empty: `others` finds none
};

// Names the known operators, or says where they are listed if they are many, and which of them may be meant.
std::string KnownOperators(std::string_view name, const OpCatalog& ops);

// That there is none of this name, and which may be meant.
tl::unexpected<Error> UnknownOperator(std::string_view name, const OpCatalog& ops);

// There may be a million of them: what their operators make of them takes many times as much memory, and is made anew
// whenever it is asked for.
struct PlannedCase {
  CaseSpec spec;                  // canonical
  std::string requirement;        // contract text; "": DefaultRequirement
  std::vector<std::string> tags;  // in order of appearance
  std::string source;             // where the shapes come from; ""
  std::string where;              // "file:line" of the first line that plans it
  std::string asked = {};         // ProblemTraits::required_fields of the case; "": nothing
  SharedCase held = {};           // what Bound() gives, where that is something else than its operator makes of `spec`
  bool timed = true;              // false: planned by `others` and after `timed no` alone; shapes that are of no use
  bool thorough = true;           // false: planned after `thorough N` alone, beyond the first N
  int64_t sample = 0;             // elements that are judged after `sample N`; 0: all

  // Returns the bound case. Precondition: the operator takes it, as OpCatalog::bind has checked.
  SharedCase Bound() const { return held ? held : BindCase(spec).value(); }
};

// Default requirement of a case whose suite states none: "f64", "f32", or "f32acc" for 16 and 8 bit floats, by the
// narrowest float among its dtypes, each with a limit of `out` and `math`; "acc=i32" for integers alone. Complex types
// count as their components.
std::string DefaultRequirement(const CaseSpec& spec);

// The contract text that a case is judged by: what its suite states, or the default, and those fields of `asked` that
// this leaves open. A suite that states a field has the last word on it.
std::string RequirementOf(const PlannedCase& planned);

// A case that is judged and not timed. `requirement`: "": its own default. Precondition: the operator takes it.
PlannedCase PlanUntimed(CaseSpec spec, const std::string& requirement);

// Adds a tag unless it is "" or there; of calls-N the numbers add up.
void AddTag(std::string_view tag, std::vector<std::string>& tags);

// Errors are "file:line:column: what; what to write instead", all three counted from 1; of a file that is not text,
// "file:line: ...". `scale`: by what extents are divided, and gets what became of it; null: they stay.
Result<std::vector<PlannedCase>> LoadSuite(const std::string& path, const OpCatalog& ops, SuiteScale* scale = nullptr);

// Parses the text of a suite without a file. `name` stands for the file in messages; includes are relative to it.
Result<std::vector<PlannedCase>> ParseSuite(std::string_view text, const std::string& name, const OpCatalog& ops,
                                            SuiteScale* scale = nullptr);

}  // namespace assay
