// SPDX-License-Identifier: Apache-2.0
// Rules that every record keeps whose outputs nobody has: those of its case, of the plan, and of its fields among each
// other.
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "golden/golden.h"
#include "harness/core/base/json_text.h"
#include "harness/engine/results/exit_code.h"
#include "harness/engine/results/record_case.h"
#include "harness/judge/verdict.h"
#include "harness/tools/bundle/conform/finding.h"
#include "harness/tools/bundle/verify/bundle_contents.h"

namespace assay {
namespace {

template <size_t N>
bool IsOneOf(const std::string& text, const char* const (&words)[N]) {
  return std::ranges::find(words, text) != std::end(words);
}

bool IsHash(const std::string& text) {
  return text.size() == 16 &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool IsClass(const std::string& text) {
  for (int i = 0; i < kResultClassCount; ++i) {
    if (text == Name(static_cast<ResultClass>(i))) return true;
  }
  return false;
}

// The first field whose word is none of its list; "": there is none.
std::string FindUnknownWord(const Record& r) {
  constexpr const char* kDeciders[] = {"", "memory", "second input set", "later executions", "other layout"};
  constexpr const char* kFaults[] = {"", "library", "driver", "device", kHarnessBackend};
  constexpr const char* kSandboxes[] = {"", "full", "partial", "off"};
  constexpr const char* kClocks[] = {"", "device", "host"};
  constexpr const char* kReasons[] = {"", "settled", "time limit", "repetitions", "not flushed"};
  constexpr const char* kBounds[] = {"", "memory", "compute"};
  const auto timestamp = [](const std::string& t) {
    return t.size() == 20 && t[4] == '-' && t[10] == 'T' && t[19] == 'Z';
  };
  if (!ParseVerdict(r.verdict)) return "verdict";
  if (!IsClass(r.result_class)) return "class";
  if (!IsKnown(r) && r.outcome != "unexpected_pass" && r.outcome != r.verdict) return "outcome";
  if (r.tier != Name(Tier::kFast) && r.tier != Name(Tier::kReproducible)) return "tier";
  if (!IsOneOf(r.decided_by, kDeciders)) return "decided_by";
  if (!IsOneOf(r.fault, kFaults)) return "fault";
  if (!IsOneOf(r.sandbox, kSandboxes)) return "sandbox";
  if (!IsOneOf(r.timing_clock, kClocks)) return "timing_clock";
  if (!IsOneOf(r.stop_reason, kReasons)) return "stop_reason";
  if (!IsOneOf(r.bound_by, kBounds)) return "bound_by";
  if (!r.second_set.empty() && r.second_set != "twin" && r.second_set != "same" && !ParseId(r.second_set))
    return "second_set";
  if (!r.contract.empty() && !ParseDeclaration(r.contract) && r.verdict != "error") return "contract";
  if (!timestamp(r.timestamp)) return "timestamp";
  for (const auto& [name, hash] : {std::pair{"input_hash", &r.input_hash}, std::pair{"output_hash", &r.output_hash},
                                   std::pair{"golden_hash", &r.golden_hash}}) {
    if (!hash->empty() && !IsHash(*hash)) return name;
  }
  for (const OutputRecord& output : r.outputs) {
    if (!ParseVerdict(output.verdict) || !IsClass(output.result_class)) return "outputs";
  }
  return "";
}

bool Within(const Number& margin) {
  return !margin || (*margin >= 0 && *margin <= 1);
}

// One output of several stands in the record of all as well.
bool AgreesWithItsOutput(const Record& r) {
  const auto worst = std::ranges::find(r.outputs, r.worst_output, &OutputRecord::name);
  if (worst == r.outputs.end()) return r.outputs.empty() && r.worst_output.empty();
  const Json record = ParseJson(ToJsonLine(r));
  const Json& own = record["outputs"][static_cast<size_t>(worst - r.outputs.begin())];
  constexpr const char* kOwn[] = {"name", "dtype", "shape", "in_place", "deterministic", "properties"};
  for (const auto& [key, value] : own.items()) {
    if (!IsOneOf(key, kOwn) && record.contains(key) && record[key] != value) return false;
  }
  return true;
}

// Says what contradicts a verdict by which nothing is wrong; "": nothing does.
std::string FindContradictionOfPass(const Record& r) {
  for (const auto& [name, margin] :
       {std::pair{"exact_margin", r.exact_margin}, std::pair{"bound_margin", r.bound_margin},
        std::pair{"stat_margin", r.stat_margin}, std::pair{"exceptional_margin", r.exceptional_margin},
        std::pair{"metamorphic_margin", r.metamorphic_margin}}) {
    if (!Within(margin)) return fmt::format("{} is {}", name, *margin);
  }
  if (!r.bound_margin || !r.exceptional_margin) return "it has no margins";
  if (r.violations.value_or(1) != 0) return "violations is not 0";
  if (r.nonfinite_mismatch.value_or(1) != 0) return "nonfinite_mismatch is not 0";
  if (!r.lower_class.empty() || !r.lower_class_name.empty()) return "a weaker arithmetic explains it";
  if (!r.decided_by.empty()) return "decided_by is " + r.decided_by;
  if (!r.deterministic) return "deterministic is not said";
  if (r.result_class == Name(ResultClass::kNone)) return "it has no class";
  const bool is_weaker = r.verdict == "below_contract",
             is_lower = r.result_class == Name(ResultClass::kWithinLowerClass);
  if (is_weaker != is_lower) return "class is " + r.result_class;
  const bool is_plain = r.verdict == "pass" && r.outcome == "pass";
  const bool is_suspect = r.result_class == Name(ResultClass::kSuspect);
  if (is_plain && is_suspect != (r.reason.find("suspect: ") != std::string::npos))
    return "its reason does not fit its class";
  if (is_plain && !is_suspect && !r.reason.empty()) return "it has a reason";
  return "";
}

// A figure of outputs in a record that has none; "": there is none.
std::string FindStrayFigure(const Record& r) {
  constexpr const char* kOfAll[] = {"verdict", "class", "reason", "elements", "output_hash"};
  static const Json blank = ParseJson(ToJsonLine(Record()));
  if (!r.output_hash.empty()) return "";
  if (!r.outputs.empty()) return "outputs";
  const Json record = ParseJson(ToJsonLine(r));
  for (const auto& [key, value] : record.items()) {
    if (IsFieldOfOutputs(key) && !IsOneOf(key, kOfAll) && value != blank[key]) return key;
  }
  return "";
}

// Says what does not fit in a record by itself; "": all does.
std::string FindContradiction(const Record& r) {
  if (const std::string word = FindUnknownWord(r); !word.empty())
    return word + " is not one that assay writes: the file was changed; give it as the run left it";
  if (r.sample_judged) return "only a sample of its elements was judged (--sample), and a bundle needs all";
  if (r.backend == kHarnessBackend && r.verdict != "error")
    return r.verdict == "unsupported" ? "it was left out (--max-memory), and a bundle needs all cases"
                                      : "assay itself has no result but an error";
  const auto spec = ParseId(r.case_id);
  if (!spec) return spec.error().message;
  Record of_case;
  SetCase(of_case, *spec);
  if (of_case.case_id != r.case_id || of_case.op != r.op || of_case.dtype != r.dtype || of_case.shape != r.shape ||
      of_case.fill != r.fill || of_case.seed != r.seed) {
    return "op, dtype, shape, fill or seed is not that of its id";
  }
  const bool has_result = HoldsAsDeclared(r) || r.verdict == "below_contract" || r.verdict == "nondeterministic";
  if (r.implementation.empty() && has_result) return "it is a result without an implementation";
  if (!r.implementation.empty() && r.verdict == "unsupported") return "it was offered and is unsupported";
  if (has_result && r.output_hash.empty()) return fmt::format("it is {} and has no hash of its outputs", r.verdict);
  if (const std::string stray = FindStrayFigure(r); !stray.empty()) return "it has no outputs, and " + stray;
  if (has_result && r.contract.empty()) return "it has no contract";
  if (!AgreesWithItsOutput(r)) return "it and its output " + r.worst_output + " say different things";
  return HoldsAsDeclared(r) ? FindContradictionOfPass(r) : "";
}

class Records {
 public:
  Records(const BundleContents& bundle, Verification& found) : bundle_(bundle), found_(found) {}

  void CheckOfRun() {
    for (const Record& r : bundle_.run.records) {
      if (r.verdict == "missing") continue;
      std::string wrong = FindContradiction(r);
      if (wrong.empty()) wrong = FindOtherPlan(r);
      Note("results.jsonl", r, wrong);
    }
  }

  void CheckOfControl() {
    for (const Record& r : bundle_.control) Note(kControlFile, r, FindContradiction(r));
  }

 private:
  std::string FindOtherPlan(const Record& r) const {
    const auto found = bundle_.entries.find(r.case_id);
    if (found == bundle_.entries.end()) return "it is not planned";
    const PlanEntry& entry = *found->second;
    if (!InShard(entry, bundle_.plan.shard)) return "it is of another shard";
    // A case that could not be prepared, and a device that could not be used, have none.
    if (r.required_contract != entry.requirement && !(r.required_contract.empty() && r.implementation.empty())) {
      return "it is not planned with this requirement";
    }
    if (r.plan_hash != bundle_.plan.hash && !(r.plan_hash.empty() && r.backend == kHarnessBackend)) {
      return "plan_hash is not that of the plan";
    }
    if (r.tags != fmt::format("{}", fmt::join(entry.tags, ",")) || r.source != entry.source) {
      return "tags or source are not those of the plan";
    }
    return "";
  }

  void Note(const char* file, const Record& r, const std::string& wrong) {
    if (wrong.empty()) return;
    found_.Contradict("{}: {} of {} {}: {}", file, r.case_id, r.backend, r.implementation, wrong);
  }

  const BundleContents& bundle_;
  Verification& found_;
};

}  // namespace

void CheckRecords(const BundleContents& bundle, Verification& found) {
  const size_t before = found.contradicted.size();
  Records records(bundle, found);
  records.CheckOfRun();
  records.CheckOfControl();
  if (found.contradicted.size() == before) {
    found.Confirm("records: of all {} verdict, class, margins and words fit each other, the case and the plan",
                  bundle.run.records.size() + bundle.control.size());
  }
}

}  // namespace assay
