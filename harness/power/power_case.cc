// SPDX-License-Identifier: Apache-2.0
#include "harness/power/power_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string>

#include "harness/cases/case_data.h"
#include "harness/power/power_effects.h"
#include "harness/power/power_envelope.h"
#include "harness/power/power_groups.h"
#include "harness/run/device/prepared_plan.h"
#include "harness/run/trial/case_runner.h"

namespace assay {
namespace {

constexpr std::string_view kLegal = "legal.", kFault = "fault.";
constexpr const char* kRequireNothing = "alg=any; math=any";

// The least relative accuracy of an effect: sums in double, or in long double where the outputs are f64, whose results
// are rounded to double in the end.
double EffectNoise(DType out) {
  return out == DType::kF64 || out == DType::kC128 ? 0x1p-53 : 0x1p-40;
}

bool CouldNotRun(Verdict verdict) {
  return verdict == Verdict::kError || verdict == Verdict::kUnsupported || verdict == Verdict::kUnavailable;
}

bool Rejects(Verdict verdict) {
  return IsFailingResult(verdict) || verdict == Verdict::kCrash || verdict == Verdict::kTimeout;
}

using OutputValues = std::vector<std::vector<double>>;  // of each output

std::string MissReason(const Attempt& attempt, const ContractData* judged, double effect) {
  const bool twins = judged != nullptr && !judged->twins.empty();
  const double margin = attempt.record.bound_margin.value_or(0);
  const auto& statistic = attempt.record.stat_margin;
  return fmt::format("{}: effect {:.3g} x envelope, margin {:.3g}{}; {}", Name(attempt.verdict), effect, margin,
                     statistic ? fmt::format(", statistic {:.3g} of its threshold", *statistic) : "",
                     twins ? "its exact twins hold" : "no twin for this contract");
}

class CaseMeasurement {
 public:
  CaseMeasurement(const PlannedCase& planned, const Device& device, const PowerSettings& settings)
      : planned_(planned), device_(device), settings_(settings) {
    planned_.requirement = kRequireNothing;
    planned_.asked.clear();
    runner_.command = "assay run";
    runner_.interrupted = settings.interrupted;
  }

  PowerTally Run() {
    const auto goes_on = [this](uint64_t done, uint64_t all) { return done < all && !settings_.interrupted(); };
    for (uint64_t seed = 0; goes_on(seed, settings_.seeds); ++seed) Legal(seed, false);
    for (const uint64_t seed : HeldBackSeeds(settings_)) {
      if (!settings_.interrupted()) Legal(seed, true);
    }
    for (uint64_t seed = 0; goes_on(seed, settings_.fault_seeds); ++seed) Faults(seed);
    return std::move(tally_);
  }

 private:
  // nullopt: noted why not. A case that the corpus does not offer is noted once.
  std::optional<CaseData> Prepare(uint64_t seed) {
    planned_.spec.seed = seed;
    auto data = PrepareCase(planned_.spec, "auto", GoldenStore(std::filesystem::path()));
    if (data) return std::move(*data);
    tally_.could_not_run.push_back(fmt::format("{}: {}", planned_.spec.Id(), data.error().message));
    return std::nullopt;
  }

  std::vector<std::string> Names(const Problem& problem, std::string_view prefix, bool effects) {
    auto offered = device_.session->Query(device_.device_index, problem);
    std::vector<std::string> names;
    if (!offered) {
      const std::string text = fmt::format("{}: {}", planned_.spec.Id(), offered.error().message);
      auto& list = offered.error().outcome == Outcome::kUnsupported ? tally_.unsupported : tally_.could_not_run;
      if (planned_.spec.seed == 0 && prefix == kLegal) list.push_back(text);
      return names;
    }
    for (const ImplementationInfo& info : *offered) {
      if (!info.name.starts_with(prefix) || info.name.ends_with(kEffectSuffix) != effects) continue;
      if (settings_.parts.Has(settings_.part, planned_.spec.op, info.name)) names.push_back(info.name);
    }
    return names;
  }

  // Runs the named implementations through the flow of `assay run`.
  template <class Done>
  void Judge(const CaseData& data, std::vector<std::string> names, Done&& done) {
    if (names.empty() || settings_.interrupted()) return;
    runner_.implementations = std::move(names);
    CaseRunner runner(planned_, data, runner_);
    std::vector<PeerCase> peers;
    for (const CaseOutput& one : data.outputs) peers.emplace_back(*data.op, one.problem, one.golden);
    runner.Judge(device_, [&](Attempt attempt) {
      if (CouldNotRun(attempt.verdict)) {
        tally_.could_not_run.push_back(
            fmt::format("{} on {}: {}", attempt.implementation, planned_.spec.Id(), attempt.record.reason));
        return;
      }
      const OutputValues got = ResultsOf(data, attempt);
      Opinions opinions;
      opinions[kAssayRule] = OpinionOf(!Rejects(attempt.verdict));
      for (size_t i = 0; i < Peers().size(); ++i) {
        opinions[i + 1] = OpinionOfAll(Peers()[i], peers, attempt.contract, got);
      }
      done(attempt, runner.context().DataOf(attempt), got, opinions);
    });
  }

  // One output that is rejected is enough.
  static Opinion OpinionOfAll(const Peer& peer, const std::vector<PeerCase>& cases, const Contract& contract,
                              const OutputValues& got) {
    Opinion all = Opinion::kNoRule;
    for (size_t k = 0; k < cases.size(); ++k) {
      const Opinion one = peer.judge(cases[k], contract, got[k]);
      if (one == Opinion::kRejects) return one;
      if (one == Opinion::kAccepts) all = one;
    }
    return all;
  }

  // As its first run left it. Nothing came back from a crash: any tool would notice, so every rule sees NaN.
  static OutputValues ResultsOf(const CaseData& data, const Attempt& attempt) {
    OutputValues values;
    for (size_t k = 0; k < data.outputs.size(); ++k) {
      const CaseOutput& one = data.outputs[k];
      if (attempt.outputs.empty()) {
        values.emplace_back(one.golden.value.size(), std::numeric_limits<double>::quiet_NaN());
        continue;
      }
      Tensor output = attempt.outputs[k].Clone();
      data.op->Canonicalise(one.problem, data.inputs, output);
      values.push_back(output.ToDoubles());
    }
    return values;
  }

  // Of the output that shows it most.
  double EffectOf(const CaseData& data, const OutputValues& exact, const Contract* contract) const {
    double largest = 0;
    for (size_t k = 0; k < data.outputs.size(); ++k) {
      const CaseOutput& one = data.outputs[k];
      const double noise = EffectNoise(one.problem.output().dtype);
      largest = std::max(largest, envelopes_.at(k).Effect(one.golden, exact[k], noise, contract));
    }
    return largest;
  }

  void Legal(uint64_t seed, bool held_back) {
    const auto data = Prepare(seed);
    if (!data) return;
    runner_.repetitions = seed == 0 ? RunnerSettings().repetitions : 0;  // once shows that right ones pass
    envelopes_.resize(data->outputs.size());
    const auto judged = [&](const Attempt& attempt, const ContractData*, const OutputValues& got,
                            const Opinions& opinions) {
      tally_.legal.Add(opinions);
      if (held_back) tally_.held_back.Add(opinions);
      for (size_t k = 0; k < got.size() && !held_back; ++k) {
        envelopes_[k].Add(attempt.contract, data->outputs[k].golden, got[k]);
      }
      if (opinions[kAssayRule] == Opinion::kRejects) {
        tally_.false_alarms.push_back({attempt.implementation, planned_.spec.Id(),
                                       fmt::format("{}: {}", Name(attempt.verdict), attempt.record.reason), held_back});
      }
    };
    Judge(*data, Names(data->problem, kLegal, false), judged);
  }

  void Faults(uint64_t seed) {
    const auto data = Prepare(seed);
    if (!data) return;
    runner_.repetitions = RunnerSettings().repetitions;
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
      FaultPair pair{attempt.implementation,
                     planned_.spec.Id(),
                     EffectOf(*data, exact->second, nullptr),
                     EffectOf(*data, exact->second, &attempt.contract),
                     opinions,
                     ""};
      const bool missed = opinions[kAssayRule] != Opinion::kRejects;
      if (!missed) pair.channels = RejectingChannels(attempt.record);
      pair.reason = missed ? MissReason(attempt, contract, pair.effect) : attempt.record.reason;
      tally_.pairs.push_back(std::move(pair));
    };
    Judge(*data, names, judged);
  }

  using EffectMap = std::map<std::string, OutputValues>;

  // By the name of the fault: its results on the case's inputs in exact arithmetic.
  EffectMap Effects(const CaseData& data) {
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
      OutputValues& values = effects[name.substr(0, name.size() - kEffectSuffix.size())];
      for (size_t k = 0; k < execution->outputs.size(); ++k) {
        values.push_back(CanonicalEffect(data, k, execution->outputs[k]));
      }
    }
    return effects;
  }

  // Places that are as right as the golden ones are no effect.
  static std::vector<double> CanonicalEffect(const CaseData& data, size_t output, const Tensor& exact) {
    const Problem& problem = data.outputs[output].problem;
    if (problem.output().dtype != DType::kI64) return exact.ToDoubles();
    Tensor places(DType::kI64, exact.shape());
    places.SetDoubles(exact.ToDoubles());
    data.op->Canonicalise(problem, data.inputs, places);
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
};

}  // namespace

std::vector<uint64_t> HeldBackSeeds(const PowerSettings& settings) {
  std::vector<uint64_t> seeds;
  for (uint64_t i = 0; i < settings.held_back; ++i) seeds.push_back(settings.held_back_from + i);
  return seeds;
}

PowerTally MeasureCase(const PlannedCase& planned, const Device& device, const PowerSettings& settings) {
  return CaseMeasurement(planned, device, settings).Run();
}

}  // namespace assay
