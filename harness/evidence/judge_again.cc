// SPDX-License-Identifier: Apache-2.0
#include "harness/evidence/judge_again.h"

#include <fmt/format.h>

#include "harness/check/suite_case.h"
#include "harness/check/tensor_args.h"
#include "harness/data/safetensors.h"
#include "harness/evidence/stored_outputs.h"
#include "harness/run/device/executions.h"
#include "harness/run/trial/attempt.h"

namespace assay {
namespace {

bool Exceeds(const Number& margin) {
  return margin && !(*margin <= 1);
}

// The tier of the records, so that golden values can be the same bits.
void ComputeGoldens(CaseData& data, const std::string& tier) {
  for (CaseOutput& output : data.outputs) {
    output.golden = data.op->ComputeGolden(output.problem, data.inputs, ChooseTier(tier, data.problem));
  }
  data.golden_hash = GoldenHashOf(data);
}

// A declaration says math=0 by leaving it out, a user's contract something wider.
std::string ContractText(const Record& r) {
  return r.contract.empty() || r.contract.find("math=") != std::string::npos ? r.contract : r.contract + ";math=0";
}

// What one record says of one set of outputs.
class OneResult {
 public:
  OneResult(const Record& record, Verification& found) : record_(record), found_(found) {}

  void CheckVerdict(const Record& again) {
    const bool failed = again.verdict == "mismatch" || again.verdict == "below_contract";
    const bool claims_pass = record_.verdict == "pass" || record_.verdict == "inconclusive";
    const bool claims_values = record_.verdict == "mismatch" &&
                               (Exceeds(record_.bound_margin) || Exceeds(record_.exceptional_margin)) &&
                               record_.decided_by.empty();
    if (claims_pass && failed) {
      Contradict(
          fmt::format("it is recorded as {} and comes out as {}: {}", record_.verdict, again.verdict, again.reason));
    } else if (claims_values && !failed) {
      Open("recorded as mismatch, and the stored execution holds: another of its executions failed");
    } else if (!claims_pass && !failed) {
      Open(fmt::format("recorded as {}, which its stored outputs alone do not show", record_.verdict));
    }
  }

  void Contradict(const std::string& what) { found_.contradicted.push_back(Named(what)); }
  void Open(const std::string& what) { found_.open.push_back(Named(what)); }

 private:
  std::string Named(const std::string& what) const {
    return fmt::format("{} of {} {} ({}): {}", record_.case_id, record_.backend, record_.implementation,
                       StoredOutputFile(record_), what);
  }

  const Record& record_;
  Verification& found_;
};

// The case with its golden values, and what its records say of them.
class CaseAgain {
 public:
  CaseAgain(UserCase user, const std::filesystem::path& folder, Tally& tally)
      : user_(std::move(user)), folder_(folder), tally_(tally) {}

  void Look(const Record& record, OneResult& result) {
    if (record.input_hash != user_.data.input_hash) return result.Contradict("its inputs are not those of the case");
    const bool same = record.golden_hash == user_.data.golden_hash;
    if (!same && record.tier == "reproducible") {
      return result.Contradict("its golden value is not that of the case");
    }
    ++(same ? tally_.goldens : tally_.other_goldens);
    const auto file = ReadSafetensors(folder_ / StoredOutputFile(record));
    if (!file) return result.Contradict(file.error().message);
    std::vector<NamedTensor> outputs;
    std::vector<Tensor> bits;
    for (const Operand& operand : user_.data.problem.outputs) {
      const Tensor* const found = file->Find(operand.name);
      if (found == nullptr) return result.Contradict(fmt::format("it has no output {}", operand.name));
      auto own = ConvertTensor(found->Clone(), operand.dtype);  // files hold complex numbers as pairs
      if (!own) return result.Contradict(own.error().message);
      bits.push_back(own->Clone());
      outputs.push_back({operand.name, *std::move(own)});
    }
    if (HashOf(bits) != record.output_hash) return result.Contradict("its record is of other outputs");
    const auto judged = JudgeOutputs(user_, std::move(outputs), ContractText(record));
    if (!judged) return result.Contradict(judged.error().message);
    ++tally_.judged;
    result.CheckVerdict(judged->record);
  }

 private:
  UserCase user_;
  const std::filesystem::path& folder_;
  Tally& tally_;
};

}  // namespace

void JudgeAgain(std::span<const Record* const> records, const std::filesystem::path& folder, Tally& tally,
                Verification& found) {
  const Record& first = *records.front();
  auto planned = PlanAgain(first.case_id, first.required_contract);
  auto user = planned ? MakeSuiteCase(*planned, Asker::kCommandLine) : tl::unexpected(planned.error());
  if (!user) {
    found.open.push_back(fmt::format("{}: this program cannot make the case: {}", first.case_id, user.error().message));
    return;
  }
  ComputeGoldens(user->data, first.tier);
  ++tally.inputs;
  CaseAgain again(*std::move(user), folder, tally);
  for (const Record* record : records) {
    OneResult result(*record, found);
    again.Look(*record, result);
  }
}

}  // namespace assay
