// SPDX-License-Identifier: Apache-2.0
// The parts of the corpus: no name is in two of them, and the lists name all that the tuned plugin does not have.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "harness/core/model/case_spec.h"
#include "harness/engine/cases/prepared_case.h"
#include "tests/faults/corpus_fixture.h"
#include "tests/faults/full/held_cases.h"

namespace assay {
namespace {

class PartsOfCorpus : public testing::TestWithParam<const char*> {};

// Names that the plugin offers for the cases, without the exact forms of faults.
std::set<std::string> OfferedBy(Corpus& corpus, const std::string& op) {
  std::set<std::string> all;
  for (const std::string& id : HeldCasesOf(op)) {
    std::set<std::string> own;
    const auto data = PrepareInputs(*ParseId(id));
    EXPECT_TRUE(data) << id << ": " << data.error().message;
    for (const auto& info : corpus.Offered(data->problem, "", CorpusPart::kAll)) {
      if (info.name.ends_with(kEffectSuffix)) continue;
      EXPECT_TRUE(own.insert(info.name).second) << op << " has two implementations " << info.name;
    }
    all.merge(own);
  }
  return all;
}

TEST_P(PartsOfCorpus, AreDisjointAndListedAsAWhole) {
  const std::string op = GetParam();
  std::set<std::string> listed;
  for (size_t part = 0; part < kListedParts; ++part) {
    const std::set<std::string>& names = NamesOf(static_cast<CorpusPart>(part), op);
    EXPECT_FALSE(names.empty());
    for (const std::string& name : names) EXPECT_TRUE(listed.insert(name).second) << name << " is in two lists";
  }

  Corpus tuned(ASSAY_TEST_TUNED_CORPUS), whole;
  const std::set<std::string> in_tuned = OfferedBy(tuned, op);
  std::set<std::string> beyond = OfferedBy(whole, op);
  for (const std::string& name : in_tuned) {
    EXPECT_EQ(beyond.erase(name), 1u) << name << " of the tuned plugin is not in the other";
    EXPECT_FALSE(listed.contains(name)) << name << " is tuned and listed";
  }
  for (const std::string& name : beyond) EXPECT_TRUE(listed.contains(name)) << name << " is in no list";
  for (const std::string& name : listed) EXPECT_TRUE(beyond.contains(name)) << name << " is offered for no case";
}

INSTANTIATE_TEST_SUITE_P(Corpus, PartsOfCorpus,
                         testing::Values("matmul", "reduce", "softmax", "attention", "conv", "fft"),
                         [](const auto& op) { return std::string(op.param); });

}  // namespace
}  // namespace assay
