// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/explain/explained_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "harness/tools/explain/wrong_places.h"

namespace assay {
namespace {

constexpr double kSecondsOfOne = 2;  // more than a small case needs
constexpr size_t kMostWorstElements = 8;

class RunExplainer {
 public:
  std::string Explain(const PreparedCase& data, const Attempt& attempt) {
    if (!attempt.findings || attempt.outputs.empty()) return "";
    if (const std::string other = ExplainExecutions(data, attempt); !other.empty()) return "; " + other;
    if (!IsSmall(data.problem) || !IsWanted(data, attempt)) return "";
    SearchWork work(kSecondsOfOne);
    std::string causes;
    try {
      causes = DescribeCauses(data.problem, FindCausesOf(data, attempt, work),
                              [](const CaseChange& change) { return change.key + "=" + change.value; });
    } catch (const std::exception& fault) {  // a formula that cannot be changed is no fault of the result's
      causes = fmt::format("; its causes could not be searched: {}", fault.what());
    }
    const std::scoped_lock lock(mutex_);
    seconds_ += work.spent();
    return causes;
  }

 private:
  bool IsWanted(const PreparedCase& data, const Attempt& attempt) {
    const std::scoped_lock lock(mutex_);
    return seconds_ < kMostSeconds && counts_[{data.problem.spec.op, attempt.implementation}]++ < kMostExplained;
  }

  std::mutex mutex_;
  double seconds_ = 0;  // of work that searches have done
  std::map<std::pair<std::string, std::string>, int> counts_;
};

// The operands of one of the case's twins, in the order of ContractData::twins, if it is of this output.
std::optional<std::vector<Tensor>> MakeTwinInputs(const PreparedCase& data, const Contract& contract, size_t output,
                                                  int number) {
  int next = 0;
  for (size_t k = 0; k <= output; ++k) {
    for (int variant = 0; variant < data.op->TwinVariants(data.problem, k, contract); ++variant) {
      std::optional<Twin> twin = data.op->MakeTwin(data.problem, k, contract, variant);
      if (twin && next++ == number) return k == output ? std::optional(std::move(twin->inputs)) : std::nullopt;
    }
  }
  return std::nullopt;
}

// The attempt's result on a twin: its data are exact, and tell causes apart where the case's own cancel, or are few.
// `outputs` is null of a twin that held, whose result is the golden one.
class ResultOnTwin {
 public:
  ResultOnTwin(const WrongResult& own, std::vector<Tensor> inputs, const std::vector<Tensor>* outputs)
      : inputs_(std::move(inputs)),
        golden_(own.op.ComputeGolden(own.problem, own.output, inputs_, own.tier)),
        right_(outputs == nullptr ? RightOutputs(own, golden_) : std::vector<Tensor>()),
        result_{.op = own.op,
                .problem = own.problem,
                .inputs = inputs_,
                .got = outputs == nullptr ? right_ : *outputs,
                .contract = own.contract,
                .golden = golden_,
                .tier = own.tier,
                .output = own.output,
                .least_bits = 0,
                .is_exact = true,
                .is_right = outputs == nullptr},
        places_(result_) {
    result_.elements = places_.TakeWrongElements(kMostWorstElements);
    result_.places = &places_;
  }
  const WrongResult& result() const { return result_; }

 private:
  static std::vector<Tensor> RightOutputs(const WrongResult& own, const Golden& golden) {
    std::vector<Tensor> outputs;
    for (const Operand& output : own.problem.outputs) outputs.emplace_back(output.dtype, output.shape);
    outputs[own.output].SetDoubles(golden.value);
    return outputs;
  }

  const std::vector<Tensor> inputs_;
  const Golden golden_;
  const std::vector<Tensor> right_;
  WrongResult result_;
  const WrongPlaces places_;
};

std::unique_ptr<ResultOnTwin> FindResultOnTwin(const PreparedCase& data, const Attempt& attempt,
                                               const WrongResult& own) {
  for (const KeptOutputSet& kept : attempt.kept) {
    if (kept.twin < 0 || data.whole) continue;
    auto inputs = MakeTwinInputs(data, attempt.contract, own.output, kept.twin);
    if (inputs) return std::make_unique<ResultOnTwin>(own, *std::move(inputs), &kept.outputs);
  }
  // A right result of the only output says as much of roundings.
  const std::vector<TwinResult>& twins = attempt.findings->outputs[own.output].observed.twins;
  if (twins.empty() || own.problem.outputs.size() > 1 || data.whole) return nullptr;
  if (!std::ranges::all_of(twins, &TwinResult::Holds)) return nullptr;
  auto inputs = MakeTwinInputs(data, attempt.contract, own.output, 0);
  return inputs ? std::make_unique<ResultOnTwin>(own, *std::move(inputs), nullptr) : nullptr;
}

// Whether two executions differ in an element by more than their roundings may, and by a good part of its error.
bool IsOther(const ElementJudge& judge, const Tensor& first, const Tensor& second) {
  constexpr double kGoodPart = 0.25;
  const std::vector<double> a = first.ToDoubles(), b = second.ToDoubles();
  for (size_t i = 0; i < a.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    const Judgement of_a = judge.Judge(at, a[i]), of_b = judge.Judge(at, b[i]);
    if (of_a.finite != of_b.finite) return true;
    const double error = std::max(std::fabs(of_a.error), std::fabs(of_b.error));
    if (of_a.finite && std::fabs(a[i] - b[i]) > std::max(2 * of_a.Tolerance(), kGoodPart * error)) return true;
  }
  return false;
}

WrongResult TakeOwnResult(const PreparedCase& data, const Attempt& attempt) {
  const size_t output = attempt.findings->worst;
  WrongResult wrong{.op = *data.op,
                    .problem = data.problem,
                    .inputs = data.inputs,
                    .got = attempt.outputs,
                    .contract = attempt.contract,
                    .golden = data.outputs[output].golden,
                    .tier = data.outputs[output].golden.tier,
                    .output = output};
  const std::vector<ErrorMetrics>& runs = attempt.findings->outputs[output].observed.runs;
  if (!runs.empty()) {
    for (const WorstElement& worst : runs[0].worst) wrong.elements.push_back(worst.index);
  }
  return wrong;
}

// The attempt's result on normal deviates, which show more than data that cancel.
class RandomResult {
 public:
  RandomResult(const PreparedCase& data, const WrongResult& own, const std::vector<Tensor>& outputs)
      : set_(PrepareRandomSet(data)),
        result_{.op = own.op,
                .problem = set_.problem,
                .inputs = set_.inputs,
                .got = outputs,
                .contract = own.contract,
                .golden = set_.outputs[own.output].golden,
                .tier = own.tier,
                .output = own.output} {
    const WrongPlaces places(result_);
    result_.elements = places.TakeWrongElements(kMostWorstElements);
  }
  const WrongResult& result() const { return result_; }

 private:
  const PreparedCase set_;
  WrongResult result_;
};

// null: the kernel had no other data, or was right on them.
std::unique_ptr<RandomResult> FindRandomResult(const PreparedCase& data, const Attempt& attempt,
                                               const WrongResult& own) {
  const auto is_random = [](const KeptOutputSet& kept) { return kept.twin == KeptOutputSet::kRandomSet; };
  const auto kept = std::ranges::find_if(attempt.kept, is_random);
  return kept == attempt.kept.end() || data.whole ? nullptr : std::make_unique<RandomResult>(data, own, kept->outputs);
}

// Exact data alone, where the case's own hide what is wrong, may have several causes within their bounds: one has to
// make each bit of the result, and to be the only one that does.
void KeepExact(std::vector<Cause>& causes) {
  std::erase_if(causes, [](const Cause& cause) { return cause.fit.equal != cause.fit.values; });
  if (causes.size() > 1) causes.clear();
}

std::vector<Cause> FindCausesBeside(WrongResult wrong, const ResultOnTwin* twin, SearchWork& work) {
  if (twin == nullptr) return FindCauses(wrong, work);
  const WrongResult other = twin->result();
  wrong.beside = &other;
  return FindCauses(wrong, work);
}

// Causes of what is wrong on the twin, which have to agree with the case's own data.
std::vector<Cause> FindCausesOnTwin(WrongResult own, const ResultOnTwin& twin, SearchWork& work) {
  WrongResult other = twin.result();
  own.least_bits = 0;
  const WrongPlaces places(own);
  own.places = &places;
  own.work = &work;
  other.least_bits = kLeastBits, other.beside = &own;
  std::vector<Cause> causes = FindCauses(other, work);
  if (!places.HasWrong()) KeepExact(causes);
  return causes;
}

// Causes of what is wrong on normal deviates. They have to agree with the twin, and with what is wrong on the case's
// own data.
std::vector<Cause> FindCausesOnRandom(WrongResult own, const RandomResult& random, const ResultOnTwin* twin,
                                      SearchWork& work) {
  own.least_bits = 0;
  const WrongPlaces places(own);
  own.places = &places;
  own.work = &work;
  own.elements = places.TakeWrongElements(kMostWorstElements);
  const WrongResult* const wrong_own = places.HasWrong() ? &own : nullptr;
  WrongResult wrong = random.result();
  wrong.beside = wrong_own;
  if (twin == nullptr) return FindCauses(wrong, work);
  WrongResult other = twin->result();
  other.beside = wrong_own;
  wrong.beside = &other;
  return FindCauses(wrong, work);
}

}  // namespace

std::string ExplainExecutions(const PreparedCase& data, const Attempt& attempt) {
  std::vector<const KeptOutputSet*> kept;
  for (const KeptOutputSet& set : attempt.kept) {
    if (set.twin == KeptOutputSet::kOwn) kept.push_back(&set);
  }
  for (size_t k = 0; k < data.outputs.size(); ++k) {
    const JudgeInputs& found = attempt.findings->outputs[k].observed;
    if (found.bits_equal || found.runs.empty()) continue;
    const auto is_wrong = [](const ErrorMetrics& run) { return run.violations + run.nonfinite_mismatch > 0; };
    const auto wrong = std::ranges::count_if(found.runs, is_wrong);
    const bool is_all = wrong == std::ssize(found.runs);
    bool is_other = wrong > 0 && !is_all;
    if (is_all && kept.size() > 1 && !data.whole && IsSmall(data.problem) && !IsInt(data.problem.outputs[k].dtype)) {
      const Golden& golden = data.outputs[k].golden;
      const BoundModel bound = data.op->Bound(data.problem, k, golden, attempt.contract);
      const ElementJudge judge(golden, bound, attempt.contract, data.problem.outputs[k].dtype);
      is_other = IsOther(judge, kept[0]->outputs[k], kept[1]->outputs[k]);
    }
    if (is_other)
      return std::string(kOtherExecutions) + ": look for a race, or memory that is read before it is written";
  }
  return "";
}

std::vector<Cause> FindCausesOf(const PreparedCase& data, const Attempt& attempt, SearchWork& work) {
  const WrongResult own = TakeOwnResult(data, attempt);
  const auto twin = FindResultOnTwin(data, attempt, own);
  std::vector<Cause> causes = FindCausesBeside(own, twin.get(), work);
  if (!causes.empty()) return causes;
  SearchWork of_random(work.Most());
  const auto random = FindRandomResult(data, attempt, own);
  if (random != nullptr) causes = FindCausesOnRandom(own, *random, twin.get(), of_random);
  const bool twin_may_tell = twin != nullptr && !twin->result().is_right;
  if (causes.empty() && twin_may_tell) causes = FindCausesOnTwin(own, *twin, work);
  work.Spend(of_random.spent());
  return causes;
}

std::function<std::string(const PreparedCase&, const Attempt&)> MakeRunExplainer() {
  return [explainer = std::make_shared<RunExplainer>()](const PreparedCase& data, const Attempt& attempt) {
    return explainer->Explain(data, attempt);
  };
}

}  // namespace assay
