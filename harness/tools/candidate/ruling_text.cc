// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/candidate/ruling_text.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/tools/candidate/judge_results.h"

namespace assay {
namespace {

Json CountsJson(const VerdictCounts& counts) {
  return {{"cases", counts.cases},   {"passed", counts.passed},     {"inconclusive", counts.inconclusive},
          {"failed", counts.failed}, {"disputed", counts.disputed}, {"not_run", counts.not_run}};
}

Json FailureJson(const CandidateFailure& failure) {
  Json json = {{"what", failure.what},
               {"set", failure.set},
               {"case_id", failure.case_id},
               {"implementation", failure.implementation},
               {"reason", failure.reason},
               {"where", failure.where},
               {"worst_elements", failure.worst_elements},
               {"reproduce", failure.reproduce}};
  const bool explained = !failure.arithmetic.empty();
  json["arithmetic"] = explained ? Json(failure.arithmetic) : Json();
  if (!explained) json["arithmetic_unknown"] = failure.why_unexplained;
  return json;
}

// The ratio is the reference's time over the candidate's: above 1 the candidate is faster.
void AddRatio(const TimeComparison& time, Json& json) {
  json["ratio"] = 1 / time.ratio;
  json["low"] = time.bounded ? Json(1 / time.high) : Json();
  json["high"] = time.bounded ? Json(1 / time.low) : Json();
  json["verdict"] = Name(time.verdict);
  json["rounds"] = time.new_rounds;
}

Json SpeedJson(const CandidateSpeed& speed) {
  Json json = {{"ratio", nullptr}, {"low", nullptr}, {"high", nullptr},   {"verdict", "not timed"},
               {"rounds", 0},      {"why", ""},      {"confidence", 0.9}, {"notes", speed.notes}};
  if (speed.why.empty()) AddRatio(speed.all, json);
  json["why"] = speed.why.empty() ? speed.all.why : speed.why;
  const TimeComparison& wall = speed.wall;
  const bool has_wall = wall.verdict != TimeVerdict::kNotTimed && wall.ratio > 0;
  json["wall_ratio"] = has_wall ? Json(1 / wall.ratio) : Json();
  json["wall_low"] = has_wall && wall.bounded ? Json(1 / wall.high) : Json();
  json["wall_high"] = has_wall && wall.bounded ? Json(1 / wall.low) : Json();
  json["wall_verdict"] = Name(wall.verdict);
  json["cases"] = Json::array();
  for (const SpeedRatios& of : speed.cases) {
    Json one = {{"case_id", of.case_id},
                {"candidate", of.candidate},
                {"reference", of.reference},
                {"candidate_s", of.candidate_s},
                {"reference_s", of.reference_s},
                {"candidate_wall_s", of.candidate_wall_s},
                {"reference_wall_s", of.reference_wall_s}};
    AddRatio(of.time, one);
    json["cases"].push_back(std::move(one));
  }
  return json;
}

std::string LineOf(const char* name, const VerdictCounts& counts) {
  return fmt::format("  {:<8} {:>5} {:>7} {:>7} {:>13} {:>9} {:>8}\n", name, counts.cases, counts.passed, counts.failed,
                     counts.inconclusive, counts.disputed, counts.not_run);
}

}  // namespace

Json RulingJson(const Ruling& ruling, const RulingContext& context) {
  Json json;
  json["schema_version"] = kRulingSchemaVersion;
  json["verdict"] = Name(ruling.verdict);
  json["exit_code"] = context.exit_code;
  json["reason"] = ruling.reason;
  json["explanation"] = ruling.explanation;
  json["correctness"] = {
      {"visible", CountsJson(ruling.visible)}, {"hidden", CountsJson(ruling.hidden)}, {"suspects", ruling.suspects}};
  json["correctness"]["hidden"]["undrawn"] = context.undrawn;
  const bool failed = !ruling.failures.empty();
  json["first_failure"] = failed ? FailureJson(ruling.failures.front()) : Json();
  json["failures_in_all"] = ruling.failures_in_all;
  json["failures"] = Json::array();
  for (const CandidateFailure& failure : ruling.failures) json["failures"].push_back(FailureJson(failure));
  json["times_invalid"] = ruling.times_invalid;
  json["speed"] = SpeedJson(ruling.speed);
  json["hidden_seed"] = context.hidden_seed;
  json["hidden_seed_drawn"] = context.drawn;
  json["again"] = context.again;
  json["candidate"] = {{"file", context.candidate_file},
                       {"sha256", context.candidate_hash},
                       {"library_version", context.candidate_version}};
  json["reference"] = {{"file", context.reference_file},
                       {"sha256", context.reference_hash},
                       {"library_version", context.reference_version}};
  json["sandbox"] = context.sandbox;
  json["out"] = context.out;
  json["tool_version"] = context.tool_version;
  json["seconds"] = context.seconds;
  return json;
}

std::string RulingText(const Ruling& ruling, const RulingContext& context) {
  std::string text = fmt::format("{}: {}\n", Name(ruling.verdict), ruling.explanation);
  if (ruling.visible.cases > 0) {
    text += "\n             cases    pass    fail  inconclusive  disputed  not run\n";
    text += LineOf("visible", ruling.visible) + LineOf("hidden", ruling.hidden);
    if (context.undrawn > 0) {
      text += fmt::format(
          "  {} hidden cases are missing, since the reference takes too few of the drawn shapes: let it take more, or "
          "name further cases with --case\n",
          context.undrawn);
    }
  }
  for (const CandidateFailure& failure : ruling.failures) {
    if (failure.case_id.empty()) continue;
    text += fmt::format("\n{} on {}{}\n  {}\n  again: {}\n", failure.what, failure.case_id,
                        failure.set == "hidden" ? " (hidden)" : "", failure.reason, failure.reproduce);
  }
  if (ruling.failures_in_all > ruling.failures.size()) {
    text += fmt::format("\n... and {} more\n", ruling.failures_in_all - ruling.failures.size());
  }
  if (ruling.verdict == RulingVerdict::kAccepted) {
    text += fmt::format("\nspeed: {}\n", SpeedText(ruling.speed));
    for (const std::string& note : ruling.speed.notes) text += fmt::format("  {}\n", note);
  }
  if (!context.again.empty()) text += fmt::format("\nto judge by the same hidden cases: {}\n", context.again);
  if (!context.out.empty()) text += fmt::format("records: {}\n", context.out);
  return text;
}

}  // namespace assay
