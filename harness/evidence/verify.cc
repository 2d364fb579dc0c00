// SPDX-License-Identifier: Apache-2.0
#include "harness/evidence/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/base/atomic_file.h"
#include "harness/base/json_fields.h"
#include "harness/base/json_text.h"
#include "harness/check/suite_case.h"
#include "harness/evidence/bundle.h"
#include "harness/evidence/conform/verify_conformance.h"
#include "harness/evidence/draw.h"
#include "harness/evidence/judge_again.h"
#include "harness/evidence/statement.h"
#include "harness/evidence/stored_outputs.h"
#include "harness/plan/catalog.h"
#include "harness/plan/expectations.h"
#include "harness/results/environment.h"
#include "harness/results/exit_code.h"
#include "harness/results/finished_run.h"
#include "harness/run/trial/attempt.h"

namespace assay {
namespace fs = std::filesystem;
namespace {

class Verifier {
 public:
  Verifier(const BundleFiles& files, const fs::path& scratch) : files_(files), scratch_(scratch) {}

  // False: without plan and records there is nothing more to look at.
  bool Read() {
    for (const auto& [name, contents] : files_) {
      if (auto written = WriteFileAtomically(scratch_ / name, {{contents.data(), contents.size()}}); !written) {
        found_.contradicted.push_back(written.error().message);
        return false;
      }
    }
    auto run = ReadRun(scratch_);
    auto plan = ParsePlanJson(TextOfFile(files_, "plan.json"));
    if (!run || !plan) {
      found_.contradicted.push_back(run ? "plan.json: " + plan.error().message : run.error().message);
      return false;
    }
    run_ = *std::move(run), plan_ = *std::move(plan);
    environment_ = ParseJson(TextOfFile(files_, "environment.json"));
    return true;
  }

  void CheckPlan() {
    std::map<std::string, const PlanEntry*> entries;
    for (const PlanEntry& entry : plan_.entries) entries[entry.id] = &entry;
    const size_t before = found_.contradicted.size();
    for (const std::string& result : run_.doubled) Contradict("results.jsonl: a second record of {}", result);
    for (const Record& r : run_.records) {
      const auto entry = entries.find(r.case_id);
      if (entry != entries.end() && !InShard(*entry->second, plan_.shard)) {
        Contradict("results.jsonl: {} is of another shard", r.case_id);
      }
      const bool planned = entry != entries.end() && entry->second->requirement == r.required_contract;
      if (!planned && r.implementation.empty() && entry != entries.end()) continue;
      if (!planned) Contradict("results.jsonl: {} is not planned, or with another requirement", r.case_id);
    }
    if (plan_.golden_version != kGoldenVersion || plan_.generator_version != kGeneratorVersion) {
      Contradict(
          "plan.json: inputs and golden values are of versions {} and {}, this program has {} and {}: use assay {}",
          plan_.generator_version, plan_.golden_version, kGeneratorVersion, kGoldenVersion, plan_.tool_version);
    }
    const auto missing = std::ranges::count(run_.records, "missing", &Record::verdict);
    if (missing > 0) Open("{} planned results are missing", missing);
    if (found_.contradicted.size() > before) return;
    Confirm("plan: {} cases with hash {}, and no record that is not of it", plan_.entries.size(), plan_.hash);
  }

  void CheckClaims() {
    const Json statement = ParseJson(TextOfFile(files_, kStatementFile));
    const Json again = Claims(plan_, run_.records, run_.strict, run_.interrupted);
    if (!statement.is_object() || statement.value("claims", Json()) != again) {
      Contradict("{}: what it claims does not follow from the records: {}", kStatementFile, again.dump());
    } else {
      Confirm("statement: outcomes, exit code {} and hashes of golden values follow from {} records",
              again["exit_code"].get<int>(), run_.records.size());
    }
    Open("that the program, plugins and libraries whose hashes the statement has are what ran");
  }

  // Every outcome that a waiver changed needs one in the bundle that covers it.
  void CheckWaivers() {
    std::vector<Expectation> rules;
    for (const auto& [name, text] : files_) {
      if (!name.starts_with(kWaiverFolder)) continue;
      auto file = ParseExpectations(text, name, Catalog());
      if (!file) Contradict("{}", file.error().message);
      if (file) std::ranges::move(file->rules, std::back_inserter(rules));
    }
    size_t waived = 0;
    for (const Record& r : run_.records) {
      if (!IsKnown(r)) {
        if (r.outcome != r.verdict && r.outcome != "unexpected_pass") {
          Contradict("results.jsonl: {} of {}: outcome {} for verdict {}", r.case_id, r.backend, r.outcome, r.verdict);
        }
        continue;
      }
      ++waived;
      const auto covers = [&](const Expectation& rule) {
        const bool valid = rule.expires.empty() || rule.expires >= r.timestamp.substr(0, rule.expires.size());
        return rule.id == r.known_issue && rule.reason == r.known_reason && valid && IsAbout(rule, r) &&
               Covers(rule, r);
      };
      if (std::ranges::none_of(rules, covers)) {
        Contradict("{}: no list of the bundle has a waiver {} that covers {} of {}", "results.jsonl", r.known_issue,
                   r.case_id, r.backend);
      }
    }
    Confirm("waivers: {} results are waived, each by a rule that the bundle has", waived);
  }

  void CheckDraws() {
    const std::string text = TextOfFile(files_, kEvidenceFile);
    if (text.empty()) return Open("any output: the run kept none (--evidence)");
    const auto draws = ParseEvidence(text);
    if (!draws) return Contradict("{}", draws.error().message);
    size_t drawn = 0, stored = 0;
    for (const EvidenceDraw& draw : *draws) {
      const std::string wrong = WrongWith(draw, plan_);
      if (!wrong.empty()) Contradict("{}: {}", kEvidenceFile, wrong);
      for (const std::string& id : draw.cases) drawn_.insert(id);
      drawn += draw.cases.size();
      Open("that the commitment {} was made before the run: compare it with what was handed in", draw.commitment);
    }
    for (const Record& r : run_.records) {
      if (r.output_hash.empty() || !drawn_.contains(r.case_id)) continue;
      const bool there = files_.contains(StoredOutputFile(r));
      stored += there;
      if (!there && IsLarge(r))
        Open("{} of {} {}: drawn, and its outputs are too large to be kept", r.case_id, r.backend, r.implementation);
      if (!there && !IsLarge(r))
        Contradict("{} of {} {}: drawn, and its outputs ({}) are not there", r.case_id, r.backend, r.implementation,
                   StoredOutputFile(r));
    }
    Confirm("sample: {} cases follow from commitment, challenge and plan, with {} results", drawn, stored);
    JsonFields environment(environment_, "environment.json");
    const std::string sandbox = environment.Text("sandbox", JsonFields::Absent::kIsFine);
    if (!environment.problem().empty()) Contradict("{}", environment.problem());
    const bool sealed =
        std::ranges::all_of(run_.records, [](const Record& r) { return r.sandbox.empty() || r.sandbox == "full"; });
    if (!sealed) Open("that plugins could not read which cases were drawn: their sandbox was not whole {}", sandbox);
  }

  void CheckConformance(const std::string& own_profile) {
    VerifyConformance(files_, plan_, run_.records, own_profile, found_);
  }

  void JudgeStored(const std::function<void(const std::string&, size_t, size_t)>& told) {
    std::map<std::string, std::vector<const Record*>> cases;
    std::deque<Record> stored;  // what `cases` refers to
    size_t unstored = 0;
    for (const Record& r : run_.records) {
      const auto verdict = ParseVerdict(r.verdict);
      const bool there = !r.output_hash.empty() && files_.contains(StoredOutputFile(r));
      if (there) cases[r.case_id].push_back(&stored.emplace_back(r));
      unstored += !there && verdict && IsFailingResult(*verdict);
    }
    Tally tally;
    size_t done = 0;
    for (const auto& [id, records] : cases) {
      told(id, done++, cases.size());
      JudgeAgain(records, scratch_, tally, found_);
    }
    if (unstored > 0) Open("{} failing results without stored outputs", unstored);
    if (cases.empty()) return;
    Confirm("inputs: those of {} cases, made again from their ids, have the recorded hashes", tally.inputs);
    Confirm("golden values: {} computed again with the recorded bits", tally.goldens);
    if (tally.other_goldens > 0) {
      Open("{} golden values of tier fast, whose last bits differ between machines; they were judged by this machine's",
           tally.other_goldens);
    }
    Confirm("judgement: {} stored outputs have the recorded hashes, and were judged again", tally.judged);
    Open("the other {} results, of which no outputs are stored; times, crashes, and what only a device can repeat",
         run_.records.size() - tally.judged);
  }

  Verification Take() { return std::move(found_); }

 private:
  template <class... T>
  void Confirm(fmt::format_string<T...> text, T&&... values) {
    found_.confirmed.push_back(fmt::format(text, std::forward<T>(values)...));
  }
  template <class... T>
  void Open(fmt::format_string<T...> text, T&&... values) {
    found_.open.push_back(fmt::format(text, std::forward<T>(values)...));
  }
  template <class... T>
  void Contradict(fmt::format_string<T...> text, T&&... values) {
    found_.contradicted.push_back(fmt::format(text, std::forward<T>(values)...));
  }

  static bool IsLarge(const Record& r) {
    const auto planned = PlanAgain(r.case_id, r.required_contract);
    if (!planned) return false;
    uint64_t bytes = 0;
    const SharedCase bound = planned->Bound();
    for (const Operand& operand : bound->problem.outputs) bytes += BytesOf(operand);
    return bytes > kMostStoredBytes;
  }

  const BundleFiles& files_;
  const fs::path& scratch_;
  FinishedRun run_;
  Plan plan_;
  Json environment_;
  std::set<std::string> drawn_;
  Verification found_;
};

}  // namespace

Verification VerifyBundle(const BundleFiles& files, const fs::path& scratch, const std::string& own_profile,
                          const std::function<void(const std::string&, size_t, size_t)>& told) {
  Verifier verifier(files, scratch);
  if (verifier.Read()) {
    verifier.CheckPlan();
    verifier.CheckClaims();
    verifier.CheckWaivers();
    verifier.CheckDraws();
    verifier.CheckConformance(own_profile);
    verifier.JudgeStored(told);
  }
  return verifier.Take();
}

}  // namespace assay
