// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/cases/cached_twin.h"

#include <gtest/gtest.h>

#include "harness/engine/cases/host_memory.h"
#include "harness/engine/cases/prepared_case.h"

namespace assay {
namespace {

// A twin of one operand, and how often it was made.
struct Counted {
  int made = 0;
  CachedTwin held{3, [this] {
                    ++made;
                    Twin twin;
                    twin.inputs.emplace_back(DType::kF64, Shape{2});
                    twin.inputs[0].SetDoubles(std::vector<double>{1, 2});
                    twin.expected = {5, 6};
                    twin.tolerance_ulp = 3;
                    return twin;
                  }};
};

TEST(CachedTwin, IsMadeWhenAskedForAndAgainWhenNobodyHasIt) {
  Counted counted;
  EXPECT_EQ(counted.held.ToleranceUlp(), 3);
  EXPECT_EQ(counted.made, 0);
  {
    const auto one = counted.held.Get(), other = counted.held.Get();
    EXPECT_EQ(one, other);
    EXPECT_EQ(one->expected, (std::vector<double>{5, 6}));
    EXPECT_EQ(counted.made, 1);
  }
  EXPECT_EQ(counted.held.Get()->expected, (std::vector<double>{5, 6}));
  EXPECT_EQ(counted.made, 2);
}

TEST(CachedTwin, KeepsItFromKeepOn) {
  Counted counted;
  const Twin& kept = counted.held.Keep();
  EXPECT_EQ(&counted.held.Keep(), &kept);
  EXPECT_EQ(counted.held.Get().get(), &kept);
  EXPECT_EQ(counted.held.Inputs().get(), &kept.inputs);
  EXPECT_EQ(counted.made, 1);
}

TEST(CachedTwin, KeepsInputsForEveryTimedLoop) {
  Counted counted;
  const auto* first = counted.held.Inputs().get();
  const auto again = counted.held.Inputs();
  EXPECT_EQ(again.get(), first);
  EXPECT_EQ(again->at(0).ToDoubles(), (std::vector<double>{1, 2}));
  EXPECT_EQ(counted.made, 1);
}

// Every twin of PrepareContract must equal the operator's. `kept`: it stays in memory between calls.
void ExpectHeld(const char* id, bool kept) {
  SCOPED_TRACE(id);
  const PreparedCase data = PrepareCase(ParseId(id).value(), "auto", GoldenStore(std::filesystem::path())).value();
  ASSERT_TRUE(IsLarge(data.problem));
  Contract contract;
  contract.acc = Accumulator::kF32;
  const ContractData held = PrepareContract(data, contract);
  ASSERT_FALSE(held.twins.empty());
  for (size_t i = 0; i < held.twins.size(); ++i) {
    const Twin made = data.op->MakeTwin(data.problem, 0, contract, static_cast<int>(i)).value();
    const std::weak_ptr<const Twin> got = held.twins[i].Get();
    EXPECT_EQ(!got.expired(), kept);
    const auto again = held.twins[i].Get();
    EXPECT_EQ(again->expected, made.expected);
    EXPECT_EQ(held.twins[i].ToleranceUlp(), made.tolerance_ulp);
    for (size_t k = 0; k < made.inputs.size(); ++k) EXPECT_EQ(again->inputs[k].ToDoubles(), made.inputs[k].ToDoubles());
  }
}

TEST(CachedTwin, OfLargeCasesIsMadeAgainUnlessItIsCostly) {
  ExpectHeld("matmul/f32/m=8,n=2100,k=2100/fill=normal/seed=0", false);
  ExpectHeld("fft/c64/kind=c2c,n=4096,batch=300/fill=normal/seed=0", true);
}

}  // namespace
}  // namespace assay
