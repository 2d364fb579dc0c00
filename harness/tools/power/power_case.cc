// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/power/power_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string>

#include "harness/engine/cases/prepared_case.h"
#include "harness/engine/device/prepared_plan.h"
#include "harness/engine/trial/trial_runner.h"
#include "harness/plan/selection.h"
#include "harness/tools/explain/explained_run.h"
#include "harness/tools/power/power_effects.h"
#include "harness/tools/power/power_envelope.h"
#include "harness/tools/power/power_groups.h"
#include "harness/tools/power/power_naming.h"
#include "harness/tools/power/power_seeds.h"

namespace assay {
namespace {

constexpr std::string_view kLegal = "legal.", kFault = "fault.";
constexpr const char* kRequireNothing = "alg=any; math=any";

// The least relative accuracy of an effect: sums in double, or in long double where the outputs are f64, whose results
// are rounded to double in the end.
double EffectNoise(DType out) {
  return out == DType::kF64 || out == DType::kC128 ? 0x1p-53 : 0x1p-40;
}

bool IsFailureToRun(Verdict verdict) {
  return verdict == Verdict::kError || verdict == Verdict::kUnsupported || verdict == Verdict::kUnavailable;
}

bool Rejects(Verdict verdict) {
  return IsFailingResult(verdict) || verdict == Verdict::kCrash || verdict == Verdict::kTimeout;
}

std::string_view WithoutSuffix(std::string_view name) {
  if (name.ends_with(kEffectSuffix)) name.remove_suffix(kEffectSuffix.size());
  return name;
}

std::string MissReason(const Attempt& attempt, const ContractData* judged, double effect) {
  const bool twins = judged != nullptr && !judged->twins.empty();
  const double margin = attempt.record.bound_margin.value_or(0);
  const auto& statistic = attempt.record.stat_margin;
  return fmt::format("{}: effect {:.3g} x envelope, margin {:.3g}{}; {}", Name(attempt.verdict), effect, margin,
                     statistic ? fmt::format(", statistic {:.3g} of its threshold", *statistic) : "",
                     twins ? "its exact twins hold" : "no twin for this contract");
}

class PowerMeasurement {
 public:
  PowerMeasurement(const PlannedCase& planned, const Device& device, const PowerSettings& settings)
      : planned_(planned), device_(device), settings_(settings) {
    planned_.requirement = kRequireNothing;
    planned_.asked.clear();
    runner_.command = "assay run";
    runner_.interrupted = settings.interrupted;
    if (settings.explain_s <= 0) return;
    runner_.explain = [this](const PreparedCase& data, const Attempt& attempt) {
      const std::string other = ExplainExecutions(data, attempt);
      SearchWork work(settings_.explain_s);
      if (other.empty()) causes_[attempt.implementation] = FindCausesOf(data, attempt, work);
      return other.empty() ? other : "; " + other;
    };
  }

  PowerTally Run() {
    const auto goes_on = [this](uint64_t done, uint64_t all) { return done < all && !settings_.interrupted(); };
    Legal(0, false);
    if (!settings_.interrupted()) JudgeLegalOnOtherSeeds();
    for (const uint64_t seed : HeldBackSeeds(settings_)) {
      if (!settings_.interrupted()) Legal(seed, true);
    }
    for (uint64_t seed = 0; goes_on(seed, settings_.fault_seeds); ++seed) Faults(seed);
    return std::move(tally_);
  }

 private:
  // nullopt: noted why not. A case that the corpus does not offer is noted once.
  std::optional<PreparedCase> Prepare(uint64_t seed) {
    planned_.spec.seed = seed;
    auto data = PrepareCase(planned_.spec, "auto", GoldenStore(std::filesystem::path()));
    if (data) return std::move(*data);
    tally_.could_not_run.push_back(fmt::format("{}: {}", planned_.spec.Id(), data.error().message));
    return std::nullopt;
  }

  std::vector<ImplementationInfo> Offered(const Problem& problem, std::string_view prefix, bool effects) {
    auto offered = device_.session->Query(device_.device_index, problem);
    if (!offered) {
      const std::string text = fmt::format("{}: {}", planned_.spec.Id(), offered.error().message);
      auto& list = offered.error().kind == FailureKind::kUnsupported ? tally_.unsupported : tally_.could_not_run;
      if (planned_.spec.seed == 0 && prefix == kLegal) list.push_back(text);
      return {};
    }
    std::erase_if(*offered, [&](const ImplementationInfo& info) {
      return !info.name.starts_with(prefix) || info.name.ends_with(kEffectSuffix) != effects ||
             !settings_.parts.Has(settings_.part, planned_.spec.op, info.name) ||
             (prefix == kFault && !MatchesFilter(settings_.faults, WithoutSuffix(info.name)));
    });
    return std::move(*offered);
  }

  std::vector<std::string> Names(const Problem& problem, std::string_view prefix, bool effects) {
    std::vector<std::string> names;
    for (const ImplementationInfo& info : Offered(problem, prefix, effects)) names.push_back(info.name);
    return names;
  }

  // Runs the named implementations through the flow of `assay run`.
  template <class Done>
  void Judge(const PreparedCase& data, std::vector<std::string> names, Done&& done) {
    if (names.empty() || settings_.interrupted()) return;
    runner_.implementations = std::move(names);
    TrialRunner runner(planned_, data, runner_);
    std::vector<PeerRules> peers;
    for (const PreparedOutput& one : data.outputs) peers.emplace_back(*data.op, data.problem, one.number, one.golden);
    runner.Judge(device_, [&](Attempt attempt) {
      if (IsFailureToRun(attempt.verdict)) {
        tally_.could_not_run.push_back(
            fmt::format("{} on {}: {}", attempt.implementation, planned_.spec.Id(), attempt.record.reason));
        return;
      }
      const OutputValues got = ResultsOf(data, attempt);
      const Opinions opinions = OpinionsOf(!Rejects(attempt.verdict), peers, attempt.contract, got);
      done(attempt, runner.context().DataOf(attempt), got, opinions);
    });
  }

  static Opinions OpinionsOf(bool accepted, const std::vector<PeerRules>& peers, const Contract& contract,
                             const OutputValues& got) {
    Opinions opinions;
    opinions[kAssayRule] = OpinionOf(accepted);
    for (size_t i = 0; i < Peers().size(); ++i) opinions[i + 1] = OpinionOfAll(Peers()[i], peers, contract, got);
    return opinions;
  }

  // One output that is rejected is enough.
  static Opinion OpinionOfAll(const Peer& peer, const std::vector<PeerRules>& cases, const Contract& contract,
                              const OutputValues& got) {
    Opinion all = Opinion::kNoRule;
    for (size_t k = 0; k < cases.size(); ++k) {
      const Opinion one = peer.judge(cases[k], contract, got[k]);
      if (one == Opinion::kRejects) return one;
      if (one == Opinion::kAccepts) all = one;
    }
    return all;
  }

  // Outputs of the first run. A crash yields no output and any tool would notice it, so every rule sees NaN instead.
  static OutputValues ResultsOf(const PreparedCase& data, const Attempt& attempt) {
    OutputValues values;
    for (size_t k = 0; k < data.outputs.size(); ++k) {
      const PreparedOutput& one = data.outputs[k];
      if (attempt.outputs.empty()) {
        values.emplace_back(one.golden.value.size(), std::numeric_limits<double>::quiet_NaN());
        continue;
      }
      Tensor output = attempt.outputs[k].Clone();
      data.op->Canonicalise(data.problem, k, data.inputs, output);
      values.push_back(output.ToDoubles());
    }
    return values;
  }

  // Largest effect over all outputs.
  FaultEffect EffectOf(const PreparedCase& data, const OutputValues& exact, const Contract* contract) const {
    FaultEffect largest;
    for (size_t k = 0; k < data.outputs.size(); ++k) {
      const PreparedOutput& one = data.outputs[k];
      const double noise = EffectNoise(data.problem.outputs[k].dtype);
      const FaultEffect effect = envelopes_.at(k).Effect(one.golden, exact[k], noise, contract);
      largest.of_element = std::max(largest.of_element, effect.of_element);
      largest.of_tensor = std::max(largest.of_tensor, effect.of_tensor);
    }
    return largest;
  }

  // The whole flow.
  void Legal(uint64_t seed, bool held_back) {
    const auto data = Prepare(seed);
    if (!data) return;
    runner_.repetitions = seed == 0 ? RunnerSettings().repetitions : 0;  // once shows that right ones pass
    envelopes_.resize(data->outputs.size());
    const auto judged = [&](const Attempt& attempt, const ContractData*, const OutputValues& got,
                            const Opinions& opinions) {
      tally_.legal.Add(opinions);
      tally_.legal_whole.Add(opinions);
      if (held_back) tally_.held_back.Add(opinions);
      if (!held_back) AddToEnvelope(*data, attempt.contract, got);
      if (opinions[kAssayRule] != Opinion::kRejects) return;
      AddAlarm(attempt.implementation, fmt::format("{}: {}", Name(attempt.verdict), attempt.record.reason), held_back);
    };
    Judge(*data, Names(data->problem, kLegal, false), judged);
  }

  // One execution of each.
  void JudgeLegalOnOtherSeeds() {
    std::vector<PreparedCase> prepared;
    for (uint64_t seed = 1; seed < settings_.seeds && !settings_.interrupted(); ++seed) {
      if (auto data = Prepare(seed)) prepared.push_back(std::move(*data));
    }
    ManySeeds seeds(std::move(prepared));
    if (seeds.empty()) return;
    for (const ImplementationInfo& schedule : Offered(seeds.problem(), kLegal, false)) {
      if (settings_.interrupted()) return;
      const auto judged = [&](const SeedResult& result) {
        planned_.spec.seed = result.data.problem.spec.seed;
        const Opinions opinions = OpinionsOf(result.problem.empty(), result.peers, result.contract, result.values);
        tally_.legal.Add(opinions);
        AddToEnvelope(result.data, result.contract, result.values);
        if (!result.problem.empty()) AddAlarm(schedule.name, result.problem, false);
      };
      if (const auto ran = seeds.Execute(device_, schedule, judged); !ran) Note(schedule.name, ran.error().message);
    }
  }

  void AddToEnvelope(const PreparedCase& data, const Contract& contract, const OutputValues& got) {
    for (size_t k = 0; k < got.size(); ++k) envelopes_[k].Add(contract, data.outputs[k].golden, got[k]);
  }

  void AddAlarm(const std::string& schedule, const std::string& reason, bool held_back) {
    tally_.false_alarms.push_back({schedule, planned_.spec.Id(), reason, held_back});
  }

  void Faults(uint64_t seed) {
    const auto data = Prepare(seed);
    if (!data) return;
    runner_.repetitions = RunnerSettings().repetitions;
    causes_.clear();
    const std::vector<std::string> names = Names(data->problem, kFault, false);
    const auto effects = names.empty() ? EffectMap() : Effects(*data);
    const auto judged = [&](const Attempt& attempt, const ContractData* contract, const OutputValues&,
                            const Opinions& opinions) {
      const auto exact = effects.find(attempt.implementation);
      if (exact == effects.end()) {
        tally_.could_not_run.push_back(
            fmt::format("{}{} on {}: not offered", attempt.implementation, kEffectSuffix, planned_.spec.Id()));
        return;
      }
      const FaultEffect effect = EffectOf(*data, exact->second, nullptr);
      FaultPair pair{.fault = attempt.implementation,
                     .case_id = planned_.spec.Id(),
                     .effect = effect.of_element,
                     .class_effect = EffectOf(*data, exact->second, &attempt.contract).of_element,
                     .opinions = opinions,
                     .reason = "",
                     .tensor_effect = effect.of_tensor};
      const bool missed = opinions[kAssayRule] != Opinion::kRejects;
      if (!missed) pair.channels = FindRejectingChannels(attempt.record);
      pair.reason = missed ? MissReason(attempt, contract, pair.effect) : attempt.record.reason;
      if (settings_.explain_s > 0) pair.named = ListNames(data->problem, attempt, causes_[attempt.implementation]);
      tally_.pairs.push_back(std::move(pair));
    };
    Judge(*data, names, judged);
  }

  using EffectMap = std::map<std::string, OutputValues>;

  // By the name of the fault: its results on the case's inputs in exact arithmetic.
  EffectMap Effects(const PreparedCase& data) {
    EffectMap effects;
    const Problem exact = ForEffects(data.problem);
    for (const std::string& name : Names(exact, kFault, true)) {
      const auto plan = PreparedPlan::Make(device_, exact, name);
      if (!plan) {
        Note(name, plan.error().message);
        continue;
      }
      const auto execution = plan->Execute(data.inputs, Prefill::kNanPayload);
      if (!execution) {
        Note(name, execution.error().message);
        continue;
      }
      OutputValues& values = effects[std::string(WithoutSuffix(name))];
      for (size_t k = 0; k < execution->outputs.size(); ++k) {
        values.push_back(CanonicalEffect(data, k, execution->outputs[k]));
      }
    }
    return effects;
  }

  // Places that are as right as the golden ones are no effect.
  static std::vector<double> CanonicalEffect(const PreparedCase& data, size_t output, const Tensor& exact) {
    if (data.problem.outputs[output].dtype != DType::kI64) return exact.ToDoubles();
    Tensor places(DType::kI64, exact.shape());
    places.SetDoubles(exact.ToDoubles());
    data.op->Canonicalise(data.problem, output, data.inputs, places);
    return places.ToDoubles();
  }

  void Note(const std::string& implementation, const std::string& why) {
    tally_.could_not_run.push_back(fmt::format("{} on {}: {}", implementation, planned_.spec.Id(), why));
  }

  PlannedCase planned_;
  const Device& device_;
  const PowerSettings& settings_;
  RunnerSettings runner_;
  std::vector<Envelope> envelopes_;  // of each output
  PowerTally tally_;
  std::map<std::string, std::vector<Cause>> causes_;  // by fault, of the present seed
};

}  // namespace

std::vector<uint64_t> HeldBackSeeds(const PowerSettings& settings) {
  std::vector<uint64_t> seeds;
  for (uint64_t i = 0; i < settings.held_back; ++i) seeds.push_back(settings.held_back_from + i);
  return seeds;
}

PowerTally MeasureCase(const PlannedCase& planned, const Device& device, const PowerSettings& settings) {
  return PowerMeasurement(planned, device, settings).Run();
}

}  // namespace assay
