// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/power/power_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/core/base/amounts.h"
#include "harness/tools/power/power_groups.h"

namespace assay {
namespace {

bool IsMissed(const FaultPair& pair) {
  return pair.effect > kEffective && pair.opinions[kAssayRule] == Opinion::kAccepts;
}

// JSON has no infinity.
Json NumberJson(double x) {
  return std::isfinite(x) ? Json(x) : Json(nullptr);
}

Json RuleJson(const PowerTally& tally, size_t rule) {
  const RuleSummary s = SummariseRule(tally, rule);
  Json out;
  out["caught_fraction"] = s.CaughtFraction();
  out["effective_pairs"] = s.effective_pairs;
  out["effective_caught"] = s.effective_caught;
  out["caught_all_fraction"] = s.CaughtAllFraction();
  out["all_pairs"] = s.all_pairs;
  out["all_caught"] = s.all_caught;
  out["tensor_caught_fraction"] = s.TensorCaughtFraction();
  out["tensor_effective_pairs"] = s.tensor_pairs;
  out["class_caught_fraction"] = s.ClassCaughtFraction();
  out["class_effective_pairs"] = s.class_pairs;
  out["false_alarms"] = s.false_alarms;
  out["legal_tensors"] = s.legal_tensors;
  out["whole_flow_tensors"] = s.whole_tensors;
  out["false_alarm_upper_95"] = UpperLimit(s.false_alarms, s.legal_tensors);
  out["held_back_false_alarms"] = s.held_back_alarms;
  out["held_back_tensors"] = s.held_back_tensors;
  out["held_back_upper_95"] = UpperLimit(s.held_back_alarms, s.held_back_tensors);
  out["not_applicable_pairs"] = s.not_applicable_pairs;
  out["not_applicable_tensors"] = s.not_applicable_tensors;
  return out;
}

std::string Percent(int64_t part, int64_t whole) {
  if (whole == 0) return "-";
  return fmt::format("{:.1f} % ({}/{})", 100.0 * static_cast<double>(part) / static_cast<double>(whole), part, whole);
}

std::string LimitText(int64_t events, int64_t trials) {
  return trials == 0 ? "-" : fmt::format("{:.2g} %", 100 * UpperLimit(events, trials));
}

std::string IntervalText(const Interval& interval) {
  return fmt::format("{:.1f} to {:.1f} %", 100 * interval.low, 100 * interval.high);
}

std::string RuleLine(const PowerTally& tally, size_t rule) {
  const RuleSummary s = SummariseRule(tally, rule);
  return fmt::format("{:<9} {:>22} {:>22} {:>22} {:>9} {:>20} {:>9} {:>8}\n", RuleName(rule),
                     Percent(s.effective_caught, s.effective_pairs), Percent(s.all_caught, s.all_pairs),
                     Percent(s.false_alarms, s.legal_tensors), LimitText(s.false_alarms, s.legal_tensors),
                     Percent(s.held_back_alarms, s.held_back_tensors),
                     LimitText(s.held_back_alarms, s.held_back_tensors), s.not_applicable_pairs);
}

void AddGroups(const PowerTally& tally, Json& out) {
  out["operators"] = Json::array();
  for (const OperatorPower& power : PowerByOperator(tally)) {
    out["operators"].push_back({{"op", power.op},
                                {"effective_pairs", power.pairs},
                                {"effective_caught", power.caught},
                                {"caught_low_95", power.interval.low},
                                {"caught_high_95", power.interval.high},
                                {"tensor_effective_pairs", power.tensor_pairs},
                                {"tensor_effective_caught", power.tensor_caught},
                                {"effective_faults", power.faults},
                                {"faults_caught", power.faults_caught},
                                {"never_caught", power.never_caught}});
  }
  out["channels"] = Json::array();
  for (const ChannelPower& power : PowerByChannel(tally)) {
    out["channels"].push_back({{"channel", power.channel}, {"caught", power.caught}, {"alone", power.alone}});
  }
}

std::string GroupText(const PowerTally& tally) {
  const std::vector<OperatorPower> operators = PowerByOperator(tally);
  if (operators.empty()) return "";
  std::string text = fmt::format("\n{:<19} {:>24} {:>15} {:>24} {:>24}\n", "operator", "effective pairs",
                                 "95% interval", "by the tensor's largest", "faults, on some case");
  for (const OperatorPower& power : operators) {
    text += fmt::format("{:<19} {:>24} {:>15} {:>24} {:>24}\n", power.op, Percent(power.caught, power.pairs),
                        IntervalText(power.interval), Percent(power.tensor_caught, power.tensor_pairs),
                        Percent(power.faults_caught, power.faults));
  }
  text += fmt::format("\n{:<14} {:>24} {:>24}\n", "channel", "effective pairs caught", "by no other");
  for (const ChannelPower& power : PowerByChannel(tally)) {
    text += fmt::format("{:<14} {:>24} {:>24}\n", power.channel, power.caught, power.alone);
  }
  text += "\n";
  for (const OperatorPower& power : operators) {
    for (const std::string& fault : power.never_caught) {
      text += fmt::format("caught on no case: {} of {}\n", fault, power.op);
    }
  }
  return text;
}

}  // namespace

Json PowerJson(const PowerTally& tally, const PowerRun& run) {
  Json out;
  out["suite"] = run.suite;
  out["part"] = Name(run.settings.part);
  out["corpus"] = run.corpus;
  out["cases"] = run.cases;
  if (run.too_large > 0) out["left_out_as_too_large"] = run.too_large;
  if (run.sampled_from > 0) out["sampled_from"] = run.sampled_from, out["sample_seed"] = run.sample_seed;
  out["complete_cases"] = run.complete;
  out["least_caught_fraction"] = kLeastCaught;
  out["seeds"] = run.settings.seeds;
  out["held_back_seeds"] = run.settings.held_back;
  out["first_held_back_seed"] = run.settings.held_back_from;
  out["fault_seeds"] = run.settings.fault_seeds;
  out["seconds"] = run.seconds;
  for (size_t rule = 0; rule < kRules; ++rule) out[std::string(RuleName(rule))] = RuleJson(tally, rule);
  AddGroups(tally, out);
  out["missed"] = Json::array();
  for (const FaultPair& pair : tally.pairs) {
    if (!IsMissed(pair)) continue;
    Json entry = {{"fault", pair.fault}, {"case", pair.case_id}, {"effect", NumberJson(pair.effect)}};
    if (!std::isfinite(pair.effect)) entry["effect_nonfinite"] = "inf";
    entry["reason"] = pair.reason;
    out["missed"].push_back(std::move(entry));
  }
  out["false_alarm_list"] = Json::array();
  for (const FalseAlarm& alarm : tally.false_alarms) {
    out["false_alarm_list"].push_back({{"implementation", alarm.implementation},
                                       {"case", alarm.case_id},
                                       {"held_back", alarm.held_back},
                                       {"reason", alarm.reason}});
  }
  out["could_not_run"] = tally.could_not_run;
  out["unsupported"] = tally.unsupported;
  return out;
}

std::string PowerText(const PowerTally& tally, const PowerRun& run) {
  std::string text = fmt::format("{:<9} {:>22} {:>22} {:>22} {:>9} {:>20} {:>9} {:>8}\n", "rule", "effective faults",
                                 "all faults", "false alarms", "95% limit", "held back", "95% limit", "no rule");
  for (size_t rule = 0; rule < kRules; ++rule) text += RuleLine(tally, rule);
  text += fmt::format(
      "suite {}, {} part of the corpus: {} of {} cases, envelope of {} seeds, faults on {}, {} held-back tensors of "
      "seeds from {}; {:.0f} s\n"
      "effective: the fault moves an element by more than {} times the largest error of any correct schedule there\n",
      run.suite, Name(run.settings.part), run.complete, run.cases, run.settings.seeds, run.settings.fault_seeds,
      tally.held_back.tensors, run.settings.held_back_from, run.seconds, kEffective);
  if (run.too_large > 0) text += fmt::format("left out: {} beyond --max-flops\n", Counted(run.too_large, "case"));
  if (run.sampled_from > 0) {
    text += fmt::format(
        "these cases are a random sample of {}, of each operator in proportion: --sample {} --sample-seed {}\n",
        run.sampled_from, run.cases, run.sample_seed);
  }
  text += fmt::format("{} of the correct tensors went through the whole flow, the others were executed once\n",
                      tally.legal_whole.tensors);
  if (tally.held_back.tensors < kLeastHeldBack) {
    text += fmt::format("a release needs at least {} held-back tensors: give more with --held-back\n", kLeastHeldBack);
  }
  text += GroupText(tally);
  for (const std::string& line : tally.unsupported) text += fmt::format("not in the corpus: {}\n", line);
  for (const FaultPair& pair : tally.pairs) {
    if (IsMissed(pair)) text += fmt::format("missed: {} on {}: {}\n", pair.fault, pair.case_id, pair.reason);
  }
  for (const FalseAlarm& alarm : tally.false_alarms) {
    text += fmt::format("false alarm: {} on {}: {}\n", alarm.implementation, alarm.case_id, alarm.reason);
  }
  for (const std::string& line : tally.could_not_run) text += fmt::format("could not run: {}\n", line);
  return text;
}

}  // namespace assay
