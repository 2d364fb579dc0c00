// SPDX-License-Identifier: Apache-2.0
// The parts of the corpus that nothing is adjusted to, held-back and fresh: each fault changes the exact result of some
// case of the suites, and each schedule is right as far as its arithmetic goes. Whether a verdict says so is measured
// elsewhere, and not adjusted here.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "harness/plan/catalog.h"
#include "harness/plan/suite.h"
#include "tests/faults/corpus_checks.h"
#include "tests/faults/corpus_fixture.h"
#include "tests/faults/full/held_cases.h"

namespace assay {
namespace {

constexpr const char* kOperators[] = {"matmul", "reduce", "softmax", "attention", "conv", "fft"};

class HeldBackPart : public testing::TestWithParam<std::tuple<CorpusPart, const char*>> {
 protected:
  static CorpusPart Part() { return std::get<0>(GetParam()); }
  static std::string Op() { return std::get<1>(GetParam()); }
  static std::set<std::string> NamesWith(const char* prefix) {
    std::set<std::string> names = NamesOf(Part(), Op());
    std::erase_if(names, [&](const std::string& name) { return !name.starts_with(prefix); });
    return names;
  }
};

TEST_P(HeldBackPart, EveryFaultChangesTheExactResultOfACase) {
  std::set<std::string> left = NamesWith("fault.");
  ASSERT_FALSE(left.empty());
  for (const std::string& id : HeldCasesOf(Op())) {
    if (left.empty()) return;
    for (const std::string& fault : FaultsWithEffect(id, Part(), left)) left.erase(fault);
  }
  for (const std::string& fault : left) ADD_FAILURE() << Op() << " " << fault << " changes none of the cases";
}

// A correct schedule whose loop most faults have, and which computes the same bits where nothing is wrong.
const char* CleanOf(const std::string& op) {
  const std::map<std::string, const char*> clean = {{"matmul", "legal.sequential"}, {"reduce", "legal.sequential"},
                                                    {"softmax", "legal.two-pass"},  {"attention", "legal.materialised"},
                                                    {"conv", "legal.direct"},       {"fft", "legal.mixed-radix"}};
  return clean.at(op);
}

bool AreSame(const Tensor& a, const Tensor& b) {
  const std::vector<double> x = a.ToDoubles(), y = b.ToDoubles();
  return std::ranges::equal(x, y, [](double p, double q) { return p == q || (std::isnan(p) && std::isnan(q)); });
}

// Other inputs of the same kind.
std::vector<Tensor> Reversed(const std::vector<Tensor>& inputs) {
  std::vector<Tensor> others;
  for (const Tensor& input : inputs) {
    std::vector<double> values = input.ToDoubles();
    std::ranges::reverse(values);
    others.push_back(input.Clone());
    others.back().SetDoubles(values);
  }
  return others;
}

// Not in exact arithmetic alone: some execution of a plan computes other bits than the correct loop.
TEST_P(HeldBackPart, EveryFaultChangesWhatACaseComputes) {
  std::set<std::string> left = NamesWith("fault.");
  Corpus corpus;
  for (const std::string& id : HeldCasesOf(Op())) {
    if (left.empty()) return;
    const PreparedCase data = Corpus::Prepare(id);
    auto faults = corpus.Offered(data.problem, "fault.", Part());
    std::erase_if(faults, [&](const ImplementationInfo& info) { return !left.contains(info.name); });
    if (faults.empty() || corpus.Offered(data.problem, CleanOf(Op())).empty()) continue;
    const std::vector<Tensor> other = Reversed(data.inputs);
    const auto clean = corpus.RunOften(data, CleanOf(Op()), 2, other);
    for (const ImplementationInfo& info : faults) {
      const int times = info.name.find("every-17th") != std::string::npos ? 18 : 3;
      const auto outputs = corpus.RunOften(data, info.name, times, other);
      for (int run = 0; run < times; ++run) {
        if (!AreSame(outputs[static_cast<size_t>(run)], clean[run + 1 < times ? 0 : 1])) left.erase(info.name);
      }
    }
  }
  for (const std::string& fault : left) ADD_FAILURE() << Op() << " " << fault << " computes the right bits";
}

// The unit in the last place of 1 of the narrowest type on the way, by what is declared and stored.
double UnitOf(const std::string& contract, DType output) {
  const auto declares = [&](const char* text) { return contract.find(text) != std::string::npos; };
  if (declares("bf16") || output == DType::kBF16) return 0x1p-8;
  if (declares("f16") || declares("tf32") || output == DType::kF16) return 0x1p-11;
  return output == DType::kF64 || output == DType::kC128 ? 0x1p-53 : 0x1p-24;
}

// A plain limit: so many units of the largest value, or of the sum of magnitudes where there is one.
constexpr double kUnits = 64;

void ExpectRight(Corpus& corpus, const PreparedCase& data, const ImplementationInfo& info) {
  const std::vector<double> got = corpus.Run(data.problem, data.inputs, info.name).ToDoubles();
  const Golden& golden = data.golden();
  const double unit = UnitOf(info.contract_text, data.problem.outputs[0].dtype);
  double largest = 0;
  for (double y : golden.value) largest = std::isfinite(y) ? std::max(largest, std::abs(y)) : largest;
  for (int64_t i = 0; i < golden.size(); ++i) {
    const double y = golden.value[i];
    if (!std::isfinite(y)) continue;
    const double magnitude = golden.magnitude.empty() ? largest : golden.magnitude[i];
    const double limit = kUnits * unit * std::max(magnitude, std::abs(y));
    ASSERT_NEAR(got[static_cast<size_t>(i)], y, limit) << info.name << " of " << data.problem.spec.Id() << " at " << i;
  }
}

TEST_P(HeldBackPart, EveryScheduleIsRight) {
  std::set<std::string> seen;
  Corpus corpus;
  for (const std::string& id : HeldCasesOf(Op())) {
    const bool has_common_values = id.find("fill=normal") != std::string::npos ||
                                   id.find("fill=uniform") != std::string::npos ||
                                   id.find("fill=near_one") != std::string::npos;
    const PreparedCase data = Corpus::Prepare(id);
    if (!has_common_values || data.golden().size() > 3000) continue;
    for (const ImplementationInfo& info : corpus.Offered(data.problem, "legal.", Part())) {
      ExpectRight(corpus, data, info);
      seen.insert(info.name);
    }
  }
  EXPECT_EQ(seen, NamesWith("legal."));
}

TEST_P(HeldBackPart, TheCasesAreOfTheSuites) {
  std::set<std::string> ids;
  for (const char* suite : {"default", "conformance"}) {
    const auto cases = LoadSuite(std::string(ASSAY_TEST_SUITES) + "/" + suite + ".suite", Catalog());
    ASSERT_TRUE(cases) << cases.error().message;
    for (const PlannedCase& one : *cases) ids.insert(one.spec.Id());
  }
  for (const std::string& id : HeldCasesOf(Op())) EXPECT_TRUE(ids.contains(id)) << id;
}

INSTANTIATE_TEST_SUITE_P(Corpus, HeldBackPart,
                         testing::Combine(testing::Values(CorpusPart::kHeld, CorpusPart::kFresh),
                                          testing::ValuesIn(kOperators)),
                         [](const auto& param) {
                           return std::string(Name(std::get<0>(param.param))) + "_" + std::get<1>(param.param);
                         });

}  // namespace
}  // namespace assay
