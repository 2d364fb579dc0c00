// SPDX-License-Identifier: Apache-2.0
// Whether the OpenCL device does what the plugin declares for it, and what the plugin refuses.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tests/unit/backends/fft_case.h"
#include "tests/unit/backends/matmul_case.h"
#include "tests/unit/backends/reduce_case.h"

namespace plugin_test {
namespace {

Plugin& OpenCl() {
  return PluginAt(ASSAY_OPENCL_PLUGIN);
}

std::set<std::string> NamesOf(Op op) {
  std::set<std::string> names;
  for (const Implementation& implementation : OpenCl().Offered(op)) names.insert(implementation.name);
  return names;
}

std::string Properties() {
  assay_device_info info{sizeof info};
  EXPECT_EQ(OpenCl().api().device_info(0, &info, nullptr), ASSAY_OK);
  return info.properties;
}

bool DeviceHas(const std::string& property) {
  return Properties().find(property) != std::string::npos;
}

TEST(OpenCl, OffersItsImplementations) {
  using Names = std::set<std::string>;
  EXPECT_EQ(NamesOf(MatmulArgs{.m = 8, .n = 8, .k = 8}.Description()), (Names{"tiled", "splitk"}));
  EXPECT_EQ(NamesOf(ReduceArgs{.kind = "argmax", .shape = {3, 8}, .axes = {1}}.Description()),
            (Names{"sequential", "tree"}));
  EXPECT_EQ(NamesOf(FftArgs{.n = {8}}.Description()), (Names{"vkfft"}));
}

// The device's configuration decides the declaration, and the declaration holds.
TEST(OpenCl, KeepsSubnormalsWhereItDeclaresThat) {
  for (const auto& [a, b] : {std::pair{0x1p-130, 0x1p20}, {0x1p-70, 0x1p-66}}) {
    Op op = MatmulArgs{.m = 16, .n = 16, .k = 64}.Description();
    int kept = 0;
    for (const Implementation& implementation : OpenCl().Offered(op)) {
      EXPECT_EQ(implementation.Declares("ftz=all"), DeviceHas("subnormals_f32=flushed"));
      if (implementation.Declares("ftz")) continue;
      const auto got =
          OpenCl().Run(op, implementation.name, {std::vector<double>(1024, a), std::vector<double>(1024, b)});
      EXPECT_EQ(got[0], 64 * a * b) << implementation.name;
      ++kept;
    }
    EXPECT_EQ(kept > 0, !DeviceHas("subnormals_f32=flushed"));
  }
}

TEST(OpenCl, DividesAsItDeclares) {
  Op op = ReduceArgs{.kind = "mean", .shape = {49, 3}, .axes = {1}}.Description();
  std::vector<double> x;
  for (int i = 1; i <= 49; ++i) x.insert(x.end(), {static_cast<double>(i), 0, 0});
  for (const Implementation& implementation : OpenCl().Offered(op)) {
    EXPECT_EQ(implementation.Declares("math="), DeviceHas("rounded_divide_sqrt_f32=no")) << implementation.contract;
    const double ulps = implementation.Declares("math=") ? 3 : 0;
    const auto got = OpenCl().Run(op, implementation.name, {x});
    for (int i = 1; i <= 49; ++i) {
      const float exact = static_cast<float>(i) / 3.0f;
      ASSERT_LE(std::abs(got[i - 1] - exact), ulps * 0x1p-23 * exact) << implementation.name << " " << i << " / 3";
    }
  }
}

TEST(OpenCl, SumsInt8ExactlyAboveTheFloatRange) {
  Op op = MatmulArgs{.in = kI8, .out = kI32, .m = 16, .n = 16, .k = 2049}.Description();
  for (const Implementation& implementation : OpenCl().Offered(op)) {
    const auto got = OpenCl().Run(op, implementation.name,
                                  {std::vector<double>(16 * 2049, 127), std::vector<double>(16 * 2049, 127)});
    for (double value : got) ASSERT_EQ(value, 127.0 * 127 * 2049) << implementation.name;
  }
}

// A row gives the same bits wherever and among however many it stands: that is what batchinv=yes says.
TEST(OpenCl, RowsDoNotDependOnEachOther) {
  const MatmulArgs many{.m = 37, .n = 40, .k = 700}, one{.m = 1, .n = 40, .k = 700};
  Op op = many.Description(), row = one.Description();
  const auto x = many.Inputs();
  for (const Implementation& implementation : OpenCl().Offered(op)) {
    ASSERT_TRUE(implementation.Declares("batchinv=yes"));
    const auto all = OpenCl().Run(op, implementation.name, x);
    const std::vector<double> last(x[0].end() - 700, x[0].end());
    const auto alone = OpenCl().Run(row, implementation.name, {last, x[1]});
    EXPECT_EQ(alone, std::vector<double>(all.end() - 40, all.end())) << implementation.name;
  }
}

TEST(OpenCl, RefusesWhatIsLargerThanAnAllocation) {
  const std::string reason = OpenCl().Refusal(MatmulArgs{.m = 1, .n = 1 << 24, .k = 1 << 24}.Description());
  EXPECT_NE(reason.find("operand 'b' of 1125899906842624 bytes exceeds CL_DEVICE_MAX_MEM_ALLOC_SIZE"),
            std::string::npos)
      << reason;
}

TEST(OpenCl, RefusesWithAReason) {
  EXPECT_NE(OpenCl().Refusal(MatmulArgs{.in = kI32, .out = kI32}.Description()).find("i8-i8-i32"), std::string::npos);
  EXPECT_NE(OpenCl().Refusal(MatmulArgs{.in = kF64, .out = kBF16}.Description()).find("rounded twice"),
            std::string::npos);
  EXPECT_NE(OpenCl().Refusal(FftArgs{.n = {2, 3, 4, 6}}.Description()).find("4 axes"), std::string::npos);
}

TEST(OpenCl, RefusesAnOperandBetweenTwoElements) {
  Op op = MatmulArgs{}.Description();
  Text error;
  assay_plan* plan = nullptr;
  assay_buffer* buffer = nullptr;
  ASSERT_EQ(OpenCl().api().plan_create(OpenCl().device(), op.raw(), "tiled", &plan, error.raw()), ASSAY_OK);
  ASSERT_EQ(OpenCl().api().buffer_alloc(OpenCl().device(), 64, &buffer, error.raw()), ASSAY_OK);
  const assay_tensor_arg arg{sizeof arg, buffer, 6};
  const assay_tensor_arg* args[] = {&arg, &arg};
  const assay_args all{sizeof all, 2, args, 1, args, 0};
  EXPECT_EQ(OpenCl().api().execute(plan, &all, error.raw()), ASSAY_UNSUPPORTED);
  EXPECT_NE(error.str().find("byte 6"), std::string::npos) << error.str();
  OpenCl().api().plan_destroy(plan);
  OpenCl().api().buffer_free(OpenCl().device(), buffer);
}

TEST(OpenCl, DeclaresTheAlgorithmOfTransforms) {
  for (const auto& [n, algorithm] : {std::pair{int64_t{64}, "alg=fft"}, {13 * 11, "alg=fft"}, {17, "alg=bluestein"}}) {
    Op op = FftArgs{.n = {n}}.Description();
    const auto found = OpenCl().Offered(op);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_TRUE(found[0].Declares(algorithm)) << found[0].contract;
  }
}

}  // namespace
}  // namespace plugin_test
