// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/traits.h"

#include <gtest/gtest.h>

#include "backends/common/status.h"
#include "backends/gpu/device/unit_layout.h"

namespace gpu {
namespace {

Traits Found(const char* name, const char* architecture) {
  Traits t;
  t.name = name, t.architecture = architecture;
  return t;
}

std::vector<Traits> KeepSm90(std::vector<Traits> found) {
  return KeepBuiltFor(
      std::move(found), [](const Traits& t) { return t.architecture == "sm_90"; }, "sm_90 and later", "ARCHITECTURES");
}

template <class Layout>
void ExpectLaunchedAsCompiled(int threads) {
  Traits t;
  t.SetUnit<Layout>("acc=tc<24,8>");
  EXPECT_TRUE(t.has_unit);
  EXPECT_EQ(t.unit_accumulator, "acc=tc<24,8>");
  EXPECT_EQ(t.lanes, Layout::kLanes);
  EXPECT_EQ(t.ProductThreads(), threads);
}

TEST(Traits, ABlockOnMatrixUnitsHasTheThreadsOfItsLayout) {
  ExpectLaunchedAsCompiled<NvidiaLayout>(128);
  ExpectLaunchedAsCompiled<CdnaLayout>(256);
  ExpectLaunchedAsCompiled<RdnaLayout>(256);
  ExpectLaunchedAsCompiled<PlainLayout>(128);
}

TEST(KeepBuiltFor, LeavesOutWhatThePluginHasNoCodeFor) {
  const auto kept = KeepSm90({Found("old", "sm_75"), Found("new", "sm_90"), Found("older", "sm_70")});
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0].name, "new");
}

TEST(KeepBuiltFor, SaysWhatWasFoundAndHowToBuildForIt) {
  try {
    KeepSm90({Found("old", "sm_75"), Found("older", "sm_70")});
    FAIL() << "no device is left";
  } catch (const plugin::Error& e) {
    EXPECT_EQ(e.status(), ASSAY_UNAVAILABLE);
    EXPECT_STREQ(e.what(),
                 "no device of an architecture that this plugin has code for (sm_90 and later): old is sm_75; older is "
                 "sm_70; configure with its architecture in ARCHITECTURES");
  }
}

}  // namespace
}  // namespace gpu
