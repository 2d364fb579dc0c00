// SPDX-License-Identifier: Apache-2.0
// The portable backend through the whole path: a correct plugin gives no false alarm, in any layout.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/exec/observations.h"
#include "tests/integration/worker_fixture.h"

namespace assay {
namespace {

TEST(RealPlugin, EveryImplementationInEveryLayout) {
  WorkerSession session(TestOptions(ASSAY_TEST_CPU_PLUGIN));
  const Call<BackendDescription> backend = session.Describe();
  ASSERT_TRUE(backend) << backend.error().message;
  EXPECT_EQ(backend->name, "cpu");
  ASSERT_FALSE(backend->devices.empty());

  const Problem problem = SmallMatmul();
  const SmallInputs inputs = MakeSmallInputs();
  for (const LayoutVariant& variant : {LayoutVariant{}, LayoutVariant{1, 3}}) {
    const auto implementations = session.Query(0, problem, variant);
    ASSERT_TRUE(implementations) << implementations.error().message;
    ASSERT_FALSE(implementations->empty());
    for (const ImplementationInfo& implementation : *implementations) {
      const Call<Prepared> prepared = session.Prepare(0, problem, implementation.name, variant);
      ASSERT_TRUE(prepared) << prepared.error().message;
      const Call<Execution> nan = session.Execute(prepared->plan, inputs.set(), Prefill::kNanPayload);
      const Call<Execution> sentinel = session.Execute(prepared->plan, inputs.set(), Prefill::kSentinel);
      ASSERT_TRUE(nan && sentinel) << implementation.name;
      EXPECT_THAT(nan->outputs[0].As<float>(), testing::ElementsAreArray(inputs.y)) << implementation.name;
      EXPECT_THAT(nan->guard_violations, testing::IsEmpty()) << implementation.name;
      EXPECT_THAT(nan->changed_inputs, testing::IsEmpty()) << implementation.name;
      EXPECT_EQ(FindUnwrittenElements(nan->outputs[0], sentinel->outputs[0]).count, 0) << implementation.name;
      session.Release(prepared->plan);
    }
  }
}

}  // namespace
}  // namespace assay
