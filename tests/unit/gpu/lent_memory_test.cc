// SPDX-License-Identifier: Apache-2.0
// Libraries that write beside the workspace that a plan of a GPU plugin lends them.
#include <gtest/gtest.h>

#include "backends/common/status.h"
#include "backends/gpu/kernel_plan.h"
#include "tests/unit/backends/reduce_case.h"
#include "tests/unit/gpu/fake_runtime/fake_runtime.h"

namespace gpu {
namespace {

constexpr int64_t kBytes = 100;

// The finding of CheckLoans() after an execution that writes one byte at `at` of the second of two workspaces.
std::string FindingAfterWriteAt(int64_t at) {
  fake_runtime::Reset();
  Traits traits;
  traits.name = "a device", traits.memory_bytes = uint64_t{1} << 30;
  Device device(traits, {});
  plugin_test::Op op = plugin_test::ReduceArgs{.shape = {2, 64}, .axes = {1}}.Description();
  const auto x = device.Alloc(512), y = device.Alloc(8);
  KernelPlan plan(device, plugin::OpDesc(op.raw()));
  plan.Workspace(kBytes);
  std::byte* workspace = plan.Workspace(kBytes, "cuBLASLt");
  plan.Add("Stray", [workspace, at](const Bound&) { workspace[at] = std::byte{0}; });
  plan.Execute({{{x.get(), 0}}, {{y.get(), 0}}});
  try {
    plan.CheckLoans();
  } catch (const plugin::Error& error) {
    return error.what();
  }
  return "";
}

TEST(LentMemory, MayBeWrittenFromEndToEnd) {
  EXPECT_EQ(FindingAfterWriteAt(0), "");
  EXPECT_EQ(FindingAfterWriteAt(kBytes - 1), "");
}

TEST(LentMemory, AWriteBesideItIsNamed) {
  constexpr auto kZone = static_cast<int64_t>(plugin::kCanaryBytes);
  for (const int64_t at : {-kZone, int64_t{-1}, kBytes, kBytes + kZone - 1}) {
    const std::string text = FindingAfterWriteAt(at);
    EXPECT_NE(text.find("cuBLASLt wrote"), std::string::npos) << text;
    EXPECT_NE(text.find(fmt::format("at bytes {0} to {0} of a workspace", at)), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace gpu
