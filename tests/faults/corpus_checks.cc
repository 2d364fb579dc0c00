// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/corpus_checks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "harness/tools/power/power_effects.h"
#include "tests/faults/corpus_fixture.h"

namespace assay {
namespace {

constexpr std::string_view kEffect = ".effect";
// Classes that round on the way.
constexpr const char* kNarrow[] = {"mid=", "f16acc", "bf16acc", "tf32"};

PreparedCase PrepareEffect(const std::string& case_id) {
  PreparedCase data = Corpus::Prepare(case_id);
  data.problem = ForEffects(data.problem);
  return data;
}

// Values in which an effect differs from the golden value by more than the rounding of either; complex elements have
// two. Where the golden value is free (NaN by an invalid operation), nothing counts.
int64_t Changed(const Golden& golden, const Tensor& effect, const EffectLimits& limits) {
  const std::vector<double> values = effect.ToDoubles();
  double largest = 0;
  for (int64_t i = 0; i < golden.size(); ++i) {
    largest = std::isfinite(golden.value[i]) ? std::max(largest, std::abs(golden.value[i])) : largest;
  }
  int64_t changed = 0;
  for (int64_t i = 0; i < golden.size(); ++i) {
    const double y = golden.value[i], got = values[static_cast<size_t>(i)];
    const double alone = limits.of_largest ? largest : std::abs(y);
    const double magnitude = golden.magnitude.empty() ? alone : golden.magnitude[i];
    const bool both_finite = std::isfinite(y) && std::isfinite(got);
    if (both_finite ? std::abs(got - y) > limits.noise * magnitude
                    : !(got == y || (std::isnan(got) && std::isnan(y)))) {
      ++changed;
    }
  }
  return changed;
}

int64_t ChangedBy(Corpus& corpus, const PreparedCase& data, const std::string& effect, const EffectLimits& limits) {
  const std::vector<Tensor> outputs = corpus.RunAll(data.problem, data.inputs, effect);
  int64_t changed = 0;
  for (size_t k = 0; k < outputs.size(); ++k) changed += Changed(data.outputs[k].golden, outputs[k], limits);
  return changed;
}

std::vector<const char*> ChooseFills(const std::string& problem, const std::vector<const char*>& fills) {
  if (ASSAY_TEST_SEEDS > 1 || fills.size() < 3) return fills;
  return {fills[HashBytes(problem.data(), problem.size()) % fills.size()]};
}

}  // namespace

void ExpectLegalSchedulesPass(const std::string& problem, const std::vector<const char*>& fills, size_t schedules) {
  Corpus corpus;
  for (const char* fill : ChooseFills(problem, fills)) {
    for (int seed = 0; seed < ASSAY_TEST_SEEDS; ++seed) {
      const std::string id = problem + "/fill=" + fill + "/seed=" + std::to_string(seed);
      const size_t step = ASSAY_TEST_SEEDS > 1 || schedules < 8 ? 1 : 2;
      const std::vector<Judged> judged = corpus.Judge(id, "legal.", step);
      EXPECT_GE(judged.size(), schedules / step) << id;
      for (const Judged& one : judged) {
        EXPECT_TRUE(one.verdict == Verdict::kPass || one.verdict == Verdict::kInconclusive)
            << one.implementation << " on " << id << ": " << Name(one.verdict) << ": " << one.reason;
      }
    }
  }
}

void ExpectBugsHaveEffects(const std::string& case_id, const std::vector<std::string>& of_values, size_t faults,
                           const EffectLimits& limits) {
  Corpus corpus;
  const PreparedCase data = PrepareEffect(case_id);
  size_t offered = 0;
  for (const ImplementationInfo& info : corpus.Offered(data.problem, "fault.")) {
    if (!info.name.ends_with(kEffect)) continue;
    ++offered;
    const std::string fault = info.name.substr(0, info.name.size() - kEffect.size());
    if (std::ranges::find(of_values, fault) != of_values.end()) continue;
    const int64_t changed = ChangedBy(corpus, data, info.name, limits);
    EXPECT_GT(changed, 0) << fault << " changes nothing of " << case_id;
    if (fault.find("-element") != std::string::npos) {
      EXPECT_LE(changed, IsComplex(data.problem.outputs[0].dtype) ? 2 : 1) << fault;
    }
  }
  EXPECT_GE(offered, faults) << case_id;
}

void ExpectLegalSchedulesHaveNone(const std::string& case_id, const EffectLimits& limits) {
  Corpus corpus;
  const PreparedCase data = PrepareEffect(case_id);
  int compared = 0;
  for (const ImplementationInfo& info : corpus.Offered(data.problem, "legal.")) {
    const std::string& contract = info.contract_text;
    const bool is_narrow =
        std::ranges::any_of(kNarrow, [&](const char* field) { return contract.find(field) != std::string::npos; });
    if (is_narrow) continue;
    EXPECT_EQ(ChangedBy(corpus, data, info.name, limits), 0) << info.name << " of " << case_id;
    ++compared;
  }
  EXPECT_GT(compared, 0) << case_id;
}

void ExpectEffect(const std::string& case_id, const std::string& fault, const EffectLimits& limits) {
  Corpus corpus;
  const PreparedCase data = PrepareEffect(case_id);
  EXPECT_GT(ChangedBy(corpus, data, fault + std::string(kEffect), limits), 0)
      << fault << " changes nothing of " << case_id;
}

CaseFaults FaultsOf(Corpus& corpus, const std::string& case_id, const std::set<std::string>& known) {
  const PreparedCase data = PrepareEffect(case_id);
  CaseFaults faults;
  for (const ImplementationInfo& info : corpus.Offered(data.problem, "fault.")) {
    if (!info.name.ends_with(kEffect)) continue;
    const std::string fault = info.name.substr(0, info.name.size() - kEffect.size());
    faults.offered.insert(fault);
    if (!known.contains(fault) && ChangedBy(corpus, data, info.name, {}) > 0) faults.effective.insert(fault);
  }
  return faults;
}

std::set<std::string> FaultsWithEffect(const std::string& case_id, CorpusPart part,
                                       const std::set<std::string>& names) {
  Corpus corpus;
  const PreparedCase data = PrepareEffect(case_id);
  std::set<std::string> found;
  for (const ImplementationInfo& info : corpus.Offered(data.problem, "fault.", part)) {
    if (!info.name.ends_with(kEffect)) continue;
    const std::string fault = info.name.substr(0, info.name.size() - kEffect.size());
    if (names.contains(fault) && ChangedBy(corpus, data, info.name, {}) > 0) found.insert(fault);
  }
  return found;
}

}  // namespace assay
