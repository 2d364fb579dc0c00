// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/bundle/verify/stored_result.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "harness/core/base/json_text.h"
#include "harness/core/base/whole_file.h"
#include "harness/core/data/safetensors.h"
#include "harness/core/model/pooled_test.h"
#include "harness/engine/device/executions.h"
#include "harness/engine/trial/record_fields.h"
#include "harness/engine/trial/trial.h"
#include "harness/tools/bundle/stored_outputs.h"
#include "harness/tools/check/tensor_args.h"

namespace assay {
namespace {

constexpr const char* kFieldsOfOutputs[] = {"max_abs_err",
                                            "max_rel_err",
                                            "max_ulp_err",
                                            "rms_err",
                                            "nmse",
                                            "bound_margin",
                                            "stat_margin",
                                            "self_margin",
                                            "exceptional_margin",
                                            "effective_bits",
                                            "bias_z",
                                            "mutation_power",
                                            "outliers",
                                            "elements",
                                            "nonfinite_mismatch",
                                            "worst_index",
                                            "twin",
                                            "worst_elements",
                                            "margin_histogram",
                                            "not_judged",
                                            "violations",
                                            "where",
                                            "worst_errors",
                                            "stat_element_margin",
                                            "stat_bias_margin",
                                            "stat_cluster_margin",
                                            "stat_group_margin",
                                            "stat_row_margin",
                                            "stat_last_bits_margin",
                                            "stat_group",
                                            "stat_reason",
                                            "mutation_power_missed",
                                            "pooled",
                                            "output_hash",
                                            "verdict",
                                            "class",
                                            "reason"};
// The decision, of which results that fail have only the verdict confirmed.
constexpr const char* kOfDecision[] = {"output_hash", "verdict", "class", "reason"};
// Random data beside the case's own may decide these: they can only be worse.
constexpr const char* kMayBeWorse[] = {"bound_margin", "stat_margin", "exceptional_margin"};
constexpr const char* kOfOneOutput[] = {"name", "dtype", "shape", "in_place", "verdict", "class"};

template <size_t N>
bool IsAmong(const std::string& key, const char* const (&keys)[N]) {
  return std::ranges::find(keys, key) != std::end(keys);
}

// Figures of another processor's vectors may differ in their last bits.
bool AreClose(double a, double b) {
  return a == b || std::abs(a - b) <= 1e-6 * std::max(std::abs(a), std::abs(b));
}

// A pooled test is rounded, and its agreement is a sum that cancels: what counts is how it lies in its deviation.
bool IsSamePooled(const std::string& was, const std::string& is) {
  const std::vector<PooledTest> a = ParsePooledTests(was), b = ParsePooledTests(is);
  const auto are_close = [](double x, double y) {
    return std::abs(x - y) <= 1e-4 * std::max(std::abs(x), std::abs(y));
  };
  const auto same = [&](const PooledTest& x, const PooledTest& y) {
    const double scale = std::sqrt(std::max(y.variance, 0.0)) + std::abs(y.agreement) + y.granted;
    return x.question == y.question && x.proves == y.proves && x.data == y.data &&
           std::abs(x.agreement - y.agreement) <= 1e-3 * scale && are_close(x.information, y.information) &&
           are_close(x.variance, y.variance) && are_close(x.granted, y.granted) && are_close(x.step, y.step);
  };
  return ToText(a) == was && std::ranges::equal(a, b, same);
}

bool AreSame(const Json& a, const Json& b) {
  return a == b || (a.is_number_float() && b.is_number() && AreClose(a, b)) ||
         (b.is_number_float() && a.is_number() && AreClose(a, b));
}

Json Value(const Json& record, const std::string& key) {
  if (record.contains(key + "_nonfinite")) return record[key + "_nonfinite"];
  return record.contains(key) ? record[key] : Json();
}

// The outputs as the device gave them. Error: the file has others.
Result<std::vector<Tensor>> ReadOutputs(const BundleContents& bundle, const Record& record, const Problem& problem) {
  const std::string name = StoredOutputFile(record);
  const auto file = ReadSafetensors(bundle.folder / name);
  if (!file) return tl::unexpected(file.error());
  std::vector<Tensor> outputs;
  for (const Operand& operand : problem.outputs) {
    const Tensor* const found = file->Find(operand.name);
    if (found == nullptr) return UsageError(fmt::format("it has no output {}", operand.name));
    auto own = ConvertTensor(found->Clone(), operand.dtype);  // files hold complex numbers as pairs
    if (!own) return tl::unexpected(own.error());
    const int64_t elements = NumElements(operand.shape);
    if (own->size() != elements) return UsageError(fmt::format("output {} has another shape", operand.name));
    outputs.push_back(*std::move(own));
  }
  const std::filesystem::path again = bundle.folder / "again.safetensors";
  if (auto written = WriteOutputs(again, record, problem, outputs); !written) return tl::unexpected(written.error());
  if (ReadWholeFile(again).value_or("") != TextOfFile(bundle.files, name)) {
    return UsageError("its header is not as assay writes it");
  }
  if (HashOf(outputs) != record.output_hash) return UsageError("its record is of other outputs");
  return outputs;
}

class StoredResult {
 public:
  StoredResult(TrialContext& context, const Record& record, Recomputed& tally, Verification& found)
      : context_(context), record_(record), tally_(tally), found_(found) {}

  // Error: the contract is none.
  Status Judge(std::vector<Tensor> outputs) {
    auto contract = ParseDeclaration(record_.contract);
    if (!contract) return tl::unexpected(contract.error());
    const PreparedCase& data = context_.data();
    if (auto known = CheckDeclared(*data.op, data.problem.spec.dtypes, *contract); !known) return known;
    attempt_.contract = *contract, attempt_.contract_text = ToText(*contract);
    if (attempt_.contract_text != record_.contract) return UsageError("it is not in the form that assay writes");
    const ContractData& by = context_.DataFor(attempt_.contract);
    Findings& findings = attempt_.findings.emplace();
    for (size_t k = 0; k < outputs.size(); ++k) {
      OutputFindings& of = findings.outputs.emplace_back();
      JudgeInputs& observed = of.observed;
      observed.shape = data.problem.outputs[k].shape;
      observed.declared = attempt_.contract, observed.required = context_.required();
      observed.power = by.outputs[k].power;
      observed.bits_equal = record_.deterministic == true;
      JudgeFirstRun(context_, by, attempt_.contract, k, outputs[k], of);
      observed.runs.resize(static_cast<size_t>(std::clamp<int64_t>(record_.reps.value_or(1), 1, 3)), observed.runs[0]);
    }
    findings.Decide();
    has_random_ = !by.random_bounds.empty();
    for (const CachedTwin& twin : by.twins) with_twin_.insert(twin.output());
    return {};
  }

  void Compare(bool same_bits) {
    const bool failed = verdict() == Verdict::kMismatch;
    const bool claims_good = HoldsAsDeclared(record_);
    if (claims_good && failed) {
      return Contradict(fmt::format("it is recorded as {} and comes out as mismatch: {}", record_.verdict, reason()));
    }
    if (!claims_good && !failed) {
      found_.Open("{} of {} {}: recorded as {}, which its stored outputs alone do not show", record_.case_id,
                  record_.backend, record_.implementation, record_.verdict);
    }
    tally_.differing += record_.deterministic != true;
    tally_.has_random = tally_.has_random || has_random_;
    if (!same_bits) {
      ++tally_.verdict_alone;
      if (claims_good) CompareVerdict(false);
      return;
    }
    const Json record = ParseJson(ToJsonLine(record_)), again = ParseJson(ToJsonLine(RecordAgain()));
    if (record_.deterministic == true) {
      CompareFields(record, again, failed);
    } else {  // the worst of its executions, which need not be the stored one
      CompareField(record, again, "bound_margin", true, "");
    }
    if (claims_good) CompareDecision();
  }

 private:
  const OutputFindings& worst() const { return attempt_.findings->outputs[attempt_.findings->worst]; }
  Verdict verdict() const { return worst().decision.verdict; }
  std::string reason() const { return worst().decision.reason; }

  // The record with the figures of the stored outputs in the place of its own.
  Record RecordAgain() {
    Findings& findings = *attempt_.findings;
    for (size_t k = 0; k < record_.outputs.size() && k < findings.outputs.size(); ++k) {
      // The recorded output stays the worst: other executions may have decided that.
      if (record_.outputs[k].name == record_.worst_output) findings.worst = k;
    }
    attempt_.implementation = record_.implementation;
    Record again = record_;
    SetAttempt(again, context_.problem(), attempt_);
    again.twin = with_twin_.contains(findings.worst);
    for (size_t k = 0; k < again.outputs.size(); ++k) again.outputs[k].twin = with_twin_.contains(k);
    return again;
  }

  void CompareFields(const Json& record, const Json& again, bool failed) {
    for (const char* key : kFieldsOfOutputs) {
      if (!IsAmong(key, kOfDecision)) CompareField(record, again, key, failed, "");
    }
    const Json was = Value(record, "outputs"), is = Value(again, "outputs");
    if (was.size() != is.size()) return Contradict("it has other outputs");
    for (size_t k = 0; k < was.size(); ++k) {
      for (const auto& [key, value] : is[k].items()) {
        const bool decided = failed && (key == "verdict" || key == "class");
        if (!decided && (IsAmong(key, kOfOneOutput) || IsFieldOfOutputs(key)))
          CompareField(was[k], is[k], key, failed, " of an output");
      }
    }
  }

  void CompareField(const Json& record, const Json& again, const std::string& key, bool failed, const char* of) {
    const Json was = Value(record, key), is = Value(again, key);
    const bool may_be_worse = (has_random_ || failed) && IsAmong(key, kMayBeWorse);
    if (key == "pooled" && was.is_string() && is.is_string() && IsSamePooled(was, is)) return;
    if (AreSame(was, is) || (may_be_worse && IsWorse(was, is))) return;
    Contradict(fmt::format("{}{} is recorded as {} and comes out as {}", key, of, was.dump(), is.dump()));
  }

  static bool IsWorse(const Json& was, const Json& is) {
    return was == "inf" || is.is_null() || (was.is_number() && is.is_number() && was.get<double>() > is.get<double>());
  }

  // Compares the verdict of a result that holds, which follows from its outputs alone. Returns whether it is the same.
  bool CompareVerdict(bool same_bits) {
    attempt_.findings->Decide();
    const Decision& decision = worst().decision;
    const bool is_suspect = decision.result_class == ResultClass::kSuspect && decision.verdict == Verdict::kPass;
    const bool hides_suspicion = !same_bits && is_suspect && record_.result_class != Name(ResultClass::kSuspect);
    if (Name(decision.verdict) == record_.verdict && !hides_suspicion) return true;
    const std::string what = fmt::format("it is recorded as {} and comes out as {}", record_.verdict,
                                         hides_suspicion ? "suspect" : Name(decision.verdict));
    if (!same_bits && MayFollowFromLastBits(decision.verdict)) {
      found_.Open("{} of {} {}: {} by this machine's golden values", record_.case_id, record_.backend,
                  record_.implementation, what);
    } else {
      Contradict(what);
    }
    return false;
  }

  // The share of faults that would be caught depends on the last bits of golden values, by a fault or two.
  bool MayFollowFromLastBits(Verdict is) const {
    constexpr double kNear = 0.02;
    const auto by_power = [](std::string_view v) { return v == "pass" || v == "inconclusive"; };
    const auto is_near = [](const OutputFindings& of) {
      return of.observed.power && std::abs(of.observed.power->power - kRequiredMutationPower) <= kNear;
    };
    return record_.verdict != Name(is) && by_power(record_.verdict) && by_power(Name(is)) &&
           std::ranges::any_of(attempt_.findings->outputs, is_near);
  }

  // Compares verdict, class and reason of a result that holds, which follow from its outputs alone.
  void CompareDecision() {
    if (!CompareVerdict(true) || record_.deterministic != true) return;
    const Findings& findings = *attempt_.findings;
    const Decision& of_record = findings.outputs[IndexOfWorst()].decision;
    if (Name(of_record.result_class) != record_.result_class) {
      Contradict(fmt::format("class is recorded as {} and comes out as {}", record_.result_class,
                             Name(of_record.result_class)));
    }
    const std::string again =
        (of_record.reason.empty() ? "" : NamingOutput(context_.problem(), IndexOfWorst())) + of_record.reason;
    const bool is_plain = record_.outcome == record_.verdict;
    if (is_plain && record_.reason != again && !record_.reason.starts_with(again + " [")) {
      Contradict(fmt::format("reason is recorded as '{}' and comes out as '{}'", record_.reason, again));
    }
  }

  size_t IndexOfWorst() const {
    for (size_t k = 0; k < record_.outputs.size(); ++k) {
      if (record_.outputs[k].name == record_.worst_output) return k;
    }
    return 0;
  }

  void Contradict(const std::string& what) {
    found_.Contradict("{} of {} {} ({}): {}", record_.case_id, record_.backend, record_.implementation,
                      StoredOutputFile(record_), what);
  }

  TrialContext& context_;
  const Record& record_;
  Recomputed& tally_;
  Verification& found_;
  Attempt attempt_;
  bool has_random_ = false;
  std::set<size_t> with_twin_;  // outputs that have one
};

}  // namespace

bool IsFieldOfOutputs(const std::string& field) {
  return IsAmong(field, kFieldsOfOutputs);
}

void JudgeStoredResult(const BundleContents& bundle, TrialContext& context, const Record& record, bool same_bits,
                       Recomputed& tally, Verification& found) {
  const auto contradict = [&](const std::string& what) {
    found.Contradict("{} of {} {} ({}): {}", record.case_id, record.backend, record.implementation,
                     StoredOutputFile(record), what);
  };
  auto outputs = ReadOutputs(bundle, record, context.problem());
  if (!outputs) return contradict(outputs.error().message);
  StoredResult result(context, record, tally, found);
  if (auto judged = result.Judge(*std::move(outputs)); !judged)
    return contradict("contract: " + judged.error().message);
  ++tally.judged;
  result.Compare(same_bits);
}

}  // namespace assay
