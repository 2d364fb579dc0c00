// SPDX-License-Identifier: Apache-2.0
// assay golden verify --recompute, on files whose checksum fits: what a program with a fault would have written.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "harness/cli/golden/verb_golden.h"
#include "harness/cli/verbs.h"
#include "harness/engine/cases/prepared_case.h"
#include "tests/unit/temporary_folder.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

class Recomputing : public testing::Test {
 protected:
  int ExitCodeWith(const std::string& tier, const std::function<void(Golden&)>& change) {
    const CaseSpec spec = ParseId(id_).value();
    PreparedCase data = PrepareCase(spec, tier, GoldenStore(fs::path())).value();
    change(data.outputs[0].golden);
    const GoldenKey key{spec.Id(), data.input_hash, ChooseTier(tier, data.problem)};
    EXPECT_TRUE(WriteGolden(GoldenStore(store_).PathOf(key), key, data.golden()));
    GoldenOptions options;
    options.store = store_.string();
    options.recompute = true;
    options.run.progress = "none";
    return VerifyGoldens(options);
  }

  std::string id_ = "matmul/f32/m=3,n=5,k=7/fill=normal/seed=0";
  const TemporaryFolder folder_;
  const fs::path store_ = folder_.Path("store");
};

TEST_F(Recomputing, FindsNothingInWhatIsComputedNow) {
  EXPECT_EQ(ExitCodeWith("fast", [](Golden&) {}), kExitOk);
  EXPECT_EQ(ExitCodeWith("reproducible", [](Golden&) {}), kExitOk);
}

TEST_F(Recomputing, TheReproducibleTierIsComparedBitForBit) {
  const auto found = [this](const std::function<void(Golden&)>& change) {
    return ExitCodeWith("reproducible", change) == kExitFailed;
  };
  EXPECT_TRUE(found([](Golden& g) { g.value.back() = std::nextafter(g.value.back(), HUGE_VAL); }));
  EXPECT_TRUE(found([](Golden& g) { g.value_lo.at(4) = std::nextafter(g.value_lo.at(4), HUGE_VAL); }));
  EXPECT_TRUE(found([](Golden& g) { g.value_lo.clear(); }));
}

TEST_F(Recomputing, TheSignOfZeroIsOneOfTheBits) {
  id_ = "matmul/f32/m=3,n=5,k=1/fill=normal/seed=0";  // a product of two f32 leaves no low part
  const auto negate = [](Golden& g) {
    ASSERT_EQ(g.value_lo.at(1), 0);
    g.value_lo[1] = -g.value_lo[1];
  };
  EXPECT_EQ(ExitCodeWith("reproducible", negate), kExitFailed);
}

TEST_F(Recomputing, TheFastTierMayDifferByBothErrors) {
  const auto off_by = [](double errors) { return [errors](Golden& g) { g.value.at(2) += errors * g.error[2]; }; };
  EXPECT_EQ(ExitCodeWith("fast", off_by(1)), kExitOk);
  EXPECT_EQ(ExitCodeWith("fast", off_by(3)), kExitFailed);
}

// A value of a formula that the operator no longer has is none that the program looks for.
TEST(FormerFormula, IsToldFromOtherValuesAndCollected) {
  const TemporaryFolder folder;
  const GoldenStore store(folder.Path("store"));
  const CaseSpec spec = ParseId("layer_norm/f32/rows=2,n=8,stats=1/fill=normal/seed=0").value();
  const PreparedCase data = PrepareCase(spec, "auto", store).value();
  GoldenKey former = KeyOf(data, 2, Tier::kFast);
  former.formula = "0123456789abcdef";
  ASSERT_TRUE(store.Save(former, data.outputs[2].golden));
  GoldenOptions options;
  options.store = store.root().string();
  options.run.progress = "none";
  const auto count = [&](StoreFile::Kind kind) {
    return std::ranges::count(FilesOf(options).value(), kind, &StoreFile::kind);
  };
  EXPECT_EQ(count(StoreFile::Kind::kGolden), 3);
  EXPECT_EQ(count(StoreFile::Kind::kOtherFormula), 1);
  options.recompute = true;
  EXPECT_EQ(VerifyGoldens(options), kExitOk);
  EXPECT_EQ(CollectGoldens(options), kExitOk);
  EXPECT_EQ(count(StoreFile::Kind::kGolden), 3);
  EXPECT_EQ(count(StoreFile::Kind::kOtherFormula), 0);
}

}  // namespace
}  // namespace assay::cli
