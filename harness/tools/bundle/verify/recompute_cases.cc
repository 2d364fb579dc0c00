// SPDX-License-Identifier: Apache-2.0
// Inputs and golden values of cases, made again from their ids, and the outputs that are stored, judged by them.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "harness/core/base/amounts.h"
#include "harness/core/base/stopwatch.h"
#include "harness/tools/bundle/sha256.h"
#include "harness/tools/bundle/stored_outputs.h"
#include "harness/tools/bundle/verify/bundle_contents.h"
#include "harness/tools/bundle/verify/stored_result.h"
#include "harness/tools/check/suite_case.h"

namespace assay {
namespace {

constexpr const char* kFieldsOfCase[] = {
    "schema_version", "case_id",     "op",     "dtype",           "shape",        "fill",           "seed",
    "backend",        "device",      "driver", "library_version", "pool",         "implementation", "required_contract",
    "outcome",        "known_issue", "fault",  "read_on",         "known_reason", "known_where",    "known_owner",
    "known_expires",  "tier",        "flops",  "bytes",           "input_hash",   "golden_hash",    "plan_hash",
    "tool_version",   "tags",        "source", "sandbox"};

// A case with all of its records.
struct RecomputeJob {
  std::string rank;  // by which cases that have no stored outputs come in an order that nobody chose
  std::vector<Record> records;
  bool has_outputs = false;
};

class Recomputation {
 public:
  Recomputation(const BundleContents& bundle, Recomputed& tally, Verification& found)
      : bundle_(bundle), tally_(tally), found_(found) {}

  void Look(const std::vector<Record>& records) {
    const Record& first = records.front();
    const std::string requirement = RequirementIn(records);
    const auto planned = PlanAgain(first.case_id, requirement);
    if (!planned) return found_.Contradict("{}: {}", first.case_id, planned.error().message);
    if (const auto read = ParseRequirement(RequirementOf(*planned)); !read) {
      return found_.Contradict("{}: {}", first.case_id, read.error().message);
    }
    const SharedCase bound = planned->Bound();
    auto data = PrepareInputs(*bound);
    if (!data) return found_.Open("{}: this machine cannot make the case: {}", first.case_id, data.error().message);
    ComputeGoldens(*data, first.tier);
    TrialContext context(*planned, *data);
    bool compared = false, same_golden = true;
    for (const Record& record : records) {
      const std::optional<bool> same = CheckRecord(context, record);
      compared = compared || same, same_golden = same_golden && same.value_or(true);
    }
    tally_.cases += compared, tally_.golden_cases += compared && same_golden;
  }

 private:
  // Records of devices that could not be used say nothing of it.
  static std::string RequirementIn(const std::vector<Record>& records) {
    for (const Record& r : records) {
      if (!r.required_contract.empty()) return r.required_contract;
    }
    return "";
  }

  static void ComputeGoldens(PreparedCase& data, const std::string& tier) {
    for (PreparedOutput& output : data.outputs) {
      output.golden = data.op->ComputeGolden(data.problem, output.number, data.inputs, ChooseTier(tier, data.problem));
    }
    data.golden_hash = GoldenHashOf(data);
  }

  // Returns whether the golden values have the recorded bits; nothing where the record is not of these inputs.
  std::optional<bool> CheckRecord(TrialContext& context, const Record& record) {
    // A case that no device can take has no data.
    if (record.input_hash.empty() && record.golden_hash.empty() && record.implementation.empty()) return {};
    const PreparedCase& data = context.data();
    const auto contradict = [&](const std::string& what) -> std::optional<bool> {
      found_.Contradict("{} of {} {}: {}", record.case_id, record.backend, record.implementation, what);
      return {};
    };
    if (record.input_hash != data.input_hash) return contradict("its inputs are not those of the case");
    if (record.tier != Name(data.golden().tier)) return contradict("its tier is not that of the case");
    if (record.flops != data.problem.flops || record.bytes != data.problem.bytes) {
      return contradict("flops or bytes are not those of the case");
    }
    const auto has_elements = [&](const Operand& output) { return record.elements == NumElements(output.shape); };
    if (std::ranges::none_of(data.problem.outputs, has_elements)) {
      return contradict("elements are not those of an output of the case");
    }
    const bool same = record.golden_hash == data.golden_hash;
    if (!same && record.tier == Name(Tier::kReproducible)) {
      return contradict("its golden value is not that of the case");
    }
    tally_.other_goldens += !same;
    const bool stored = !record.output_hash.empty() && bundle_.files.contains(StoredOutputFile(record));
    if (stored && record.backend != kHarnessBackend) JudgeStoredResult(bundle_, context, record, same, tally_, found_);
    return same;
  }

  const BundleContents& bundle_;
  Recomputed& tally_;
  Verification& found_;
};

std::vector<RecomputeJob> CasesOf(const BundleContents& bundle) {
  std::map<std::string, RecomputeJob> cases;
  const auto add = [&](const Record& r, const char* of) {
    if (r.verdict == "missing") return;
    RecomputeJob& work = cases[of + r.case_id];
    work.records.push_back(r);
    work.has_outputs = work.has_outputs || (!r.output_hash.empty() && bundle.files.contains(StoredOutputFile(r)));
  };
  for (const Record& r : bundle.run.records) add(r, "run ");
  for (const Record& r : bundle.control) add(r, "control ");
  const std::string drawn_by = bundle.sample ? bundle.sample->committed : bundle.plan.hash;
  std::vector<RecomputeJob> list;
  for (auto& [key, work] : cases) {
    work.rank = Sha256Hex(drawn_by + key);
    list.push_back(std::move(work));
  }
  std::ranges::sort(list, [](const RecomputeJob& a, const RecomputeJob& b) {
    return std::pair(!a.has_outputs, a.rank) < std::pair(!b.has_outputs, b.rank);
  });
  return list;
}

std::string Thousands(size_t number) {
  std::string text = std::to_string(number);
  for (size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

}  // namespace

bool IsFieldOfCase(const std::string& field) {
  return std::ranges::find(kFieldsOfCase, field) != std::end(kFieldsOfCase);
}

std::string Recomputed::ShareText() const {
  const double percent = results == 0 ? 0 : 100.0 * static_cast<double>(judged) / static_cast<double>(results);
  return fmt::format("{} of {} result{} ({:.3g} %)", Thousands(judged), Thousands(results), results == 1 ? "" : "s",
                     percent);
}

Recomputed RecomputeCases(const BundleContents& bundle, double seconds,
                          const std::function<void(const std::string&, size_t, size_t)>& on_case, Verification& found) {
  Recomputed tally;
  for (const Record& r : bundle.run.records) tally.results += !r.output_hash.empty();
  const std::vector<RecomputeJob> cases = CasesOf(bundle);
  tally.all_cases = cases.size();
  const size_t contradicted = found.contradicted.size();
  Recomputation again(bundle, tally, found);
  const Stopwatch watch;
  size_t done = 0;
  for (const RecomputeJob& work : cases) {
    if (!work.has_outputs && seconds > 0 && watch.Seconds() > seconds) break;
    on_case(work.records.front().case_id, done++, cases.size());
    again.Look(work.records);
  }
  if (tally.other_goldens > 0) {
    found.Open(
        "golden values of tier fast, whose last bits differ between machines, of {}: outputs were judged by this "
        "machine's",
        Counted(tally.other_goldens, "result"));
  }
  if (done < cases.size()) {
    found.Open("inputs and golden values of {} of {} cases: the time for them was over, see --recompute",
               cases.size() - done, cases.size());
  }
  if (found.contradicted.size() > contradicted) return tally;
  found.Confirm(
      "inputs of {}, and golden values of {}, of {} in all, made again from their ids, have the recorded hashes",
      Counted(tally.cases, "case"), tally.golden_cases, tally.all_cases);
  if (tally.judged > 0) {
    found.Confirm(
        "judgement: the stored outputs of {} have the recorded hashes, and figures, class and verdict follow "
        "from them{}",
        tally.ShareText(),
        tally.verdict_alone == 0 ? "" : fmt::format(", of {} of them the verdict alone", tally.verdict_alone));
  }
  return tally;
}

}  // namespace assay
