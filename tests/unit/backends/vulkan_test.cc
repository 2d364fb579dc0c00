// SPDX-License-Identifier: Apache-2.0
// Properties of the vulkan plugin alone: subgroups, the device's own clock, staging, limits of bindings and memory, and
// a contract that follows from the device's properties. Skipped where there is no Vulkan device.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <set>

#include "tests/unit/backends/fft_case.h"
#include "tests/unit/backends/matmul_case.h"
#include "tests/unit/backends/reduce_case.h"

namespace plugin_test {
namespace {

class Vulkan : public testing::Test {
 protected:
  void SetUp() override {
    if (!HasDevice(ASSAY_VULKAN_PLUGIN)) GTEST_SKIP() << "no Vulkan device; install mesa-vulkan-drivers";
  }
  Plugin& plugin() { return PluginAt(ASSAY_VULKAN_PLUGIN); }
  std::string Properties() {
    assay_device_info info{sizeof info};
    EXPECT_EQ(plugin().api().device_info(0, &info, nullptr), ASSAY_OK);
    return info.properties;
  }
  std::set<std::string> NamesFor(Op op) {
    std::set<std::string> names;
    for (const Implementation& implementation : plugin().Offered(op)) names.insert(implementation.name);
    return names;
  }
};

TEST_F(Vulkan, OffersSeveralAlgorithms) {
  EXPECT_EQ(NamesFor(MatmulArgs{.m = 4, .n = 4, .k = 4}.Description()),
            (std::set<std::string>{"tile", "subgroup-tile", "subgroup-dot"}));
  EXPECT_EQ(NamesFor(FftArgs{.n = {12}}.Description()), (std::set<std::string>{"radix", "bluestein"}));
  EXPECT_EQ(NamesFor(FftArgs{.n = {37}}.Description()), (std::set<std::string>{"bluestein"}));
  EXPECT_EQ(NamesFor(ReduceArgs{.shape = {3, 4096}, .axes = {1}}.Description()),
            (std::set<std::string>{"tree", "split"}));
}

// Sizes one off the widths of subgroups, tiles and panels; every implementation.
TEST_F(Vulkan, SumsExactlyAroundTheWidthsOfSubgroupsAndTiles) {
  for (int64_t m : {1, 3, 31, 33, 65}) {
    for (int64_t n : {1, 31, 33, 65}) {
      for (int64_t k : {1, 7, 31, 33, 65}) {
        Op op = MatmulArgs{.m = m, .n = n, .k = k, .strided = (m + n + k) % 2 == 0}.Description();
        std::vector<double> a, b, expected(static_cast<size_t>(m * n), 0);
        for (int64_t i = 0; i < m * k; ++i) a.push_back(static_cast<double>(i * 7 % 13 - 6));
        for (int64_t i = 0; i < k * n; ++i) b.push_back(static_cast<double>(i * 5 % 11 - 5));
        for (int64_t i = 0; i < m * n * k; ++i) {
          const int64_t row = i / k / n, column = i / k % n, p = i % k;
          expected[static_cast<size_t>(row * n + column)] +=
              a[static_cast<size_t>(row * k + p)] * b[static_cast<size_t>(p * n + column)];
        }
        for (const Implementation& implementation : plugin().Offered(op)) {
          ASSERT_EQ(plugin().Run(op, implementation.name, {a, b}), expected)
              << implementation.name << " m=" << m << " n=" << n << " k=" << k;
        }
      }
    }
  }
}

TEST_F(Vulkan, DeclaresWhatTheDevicePromises) {
  const bool flushes = Properties().find("f32=rn,subnormals may be flushed") != std::string::npos;
  const auto contract = [&](Op op) { return plugin().Offered(op).at(0); };
  EXPECT_EQ(contract(MatmulArgs{}.Description()).Declares("ftz=all"), flushes);
  EXPECT_EQ(contract(MatmulArgs{.in = kBF16, .out = kBF16}.Description()).Declares("ftz=all"), flushes);
  // Halves are taken apart as integers, and elements are selected as integers.
  EXPECT_FALSE(contract(MatmulArgs{.in = kF16, .out = kF16}.Description()).Declares("ftz"));
  EXPECT_FALSE(contract(ReduceArgs{.kind = "max", .shape = {5}, .axes = {0}}.Description()).Declares("ftz"));
  EXPECT_TRUE(contract(ReduceArgs{.kind = "mean", .shape = {5}, .axes = {0}}.Description()).Declares("math=2.5"));
}

TEST_F(Vulkan, KeepsSubnormalsWhereItDeclaresThat) {
  Op halves = MatmulArgs{.in = kF16, .out = kF16, .m = 2, .n = 3, .k = 4}.Description();
  for (const Implementation& implementation : plugin().Offered(halves)) {
    const auto got =
        plugin().Run(halves, implementation.name, {std::vector<double>(8, 0x1p-20), std::vector<double>(12, 0x1p-4)});
    EXPECT_EQ(got[0], 0x1p-22) << implementation.name;
  }
  Op least = ReduceArgs{.kind = "max", .shape = {3}, .axes = {0}}.Description();
  for (const Implementation& implementation : plugin().Offered(least)) {
    EXPECT_EQ(plugin().Run(least, implementation.name, {{-1, 0x1p-149, 0}}).at(0), 0x1p-149) << implementation.name;
  }
}

TEST_F(Vulkan, RefusesWhatOneBindingCannotHold) {
  const std::string reason =
      plugin().Refusal(ReduceArgs{.in = kF64, .out = kF64, .shape = {1, int64_t{1} << 30}, .axes = {1}}.Description());
  EXPECT_NE(reason.find("maxStorageBufferRange"), std::string::npos) << reason;
  EXPECT_NE(reason.find("8589934592 bytes"), std::string::npos) << reason;
}

// Work that exceeds a binding is done in parts: a few transforms or heads at a time give the same bits as all at once.
TEST_F(Vulkan, PartsGiveTheSameBitsAsTheWhole) {
  Op fft = FftArgs{.n = {6, 35}, .batch = 7}.Description();
  Op attention("attention");
  for (const char* name : {"q", "k", "v"}) attention.In(Dense(name, kF32, {2, 3, 33, 8}));
  attention.Out(Dense("o", kF32, {2, 3, 33, 8}));
  attention.Int("b", 2).Int("h", 3).Int("hkv", 3).Int("l", 33).Int("s", 33).Int("d", 8).Int("dv", 8).Int("causal", 1);
  attention.String("align", "br").Int("window", 0).Float("scale", 0.5).Float("softcap", 0).String("mask", "none");
  attention.String("masked_rows", "zero").Int("mask_per_head", 0);
  struct Part {
    Op* op;
    const char *implementation, *bytes;
  };
  // Seven convolutions of 768 points and six heads of 33 x 33 scores; the operands themselves fit.
  const Part parts[] = {{&fft, "bluestein", "12288"}, {&attention, "materialised", "8000"}};
  for (const Part& part : parts) {
    const auto inputs = RandomInputs(*part.op);
    const auto whole = plugin().Run(*part.op, part.implementation, inputs);
    ::setenv("ASSAY_VULKAN_MAX_BINDING", part.bytes, 1);
    const auto in_parts = plugin().Run(*part.op, part.implementation, inputs);
    ::setenv("ASSAY_VULKAN_MAX_BINDING", "64", 1);
    EXPECT_NE(plugin().Refusal(MatmulArgs{.m = 9, .n = 9, .k = 9}.Description()).find("binds at most 64"),
              std::string::npos);
    ::unsetenv("ASSAY_VULKAN_MAX_BINDING");
    EXPECT_EQ(in_parts, whole) << part.implementation;
  }
}

TEST_F(Vulkan, RefusesMixedDoublesWithAReason) {
  EXPECT_NE(plugin().Refusal(MatmulArgs{.in = kF32, .out = kF64}.Description()).find("f64 alone"), std::string::npos);
}

TEST_F(Vulkan, StagedTransfersKeepEveryByte) {
  ::setenv("ASSAY_VULKAN_STAGING", "1", 1);
  constexpr size_t kBytes = (size_t{33} << 20) + 5;  // more than two staging buffers
  std::vector<std::byte> sent(kBytes), got(kBytes);
  for (size_t i = 0; i < kBytes; ++i) sent[i] = static_cast<std::byte>(i * 2654435761u >> 13);
  Text error;
  assay_buffer* buffer = nullptr;
  const assay_backend_api& api = plugin().api();
  ASSERT_EQ(api.buffer_alloc(plugin().device(), kBytes, &buffer, error.raw()), ASSAY_OK) << error.str();
  ASSERT_EQ(api.buffer_upload(plugin().device(), buffer, 0, sent.data(), kBytes, error.raw()), ASSAY_OK);
  ASSERT_EQ(api.buffer_upload(plugin().device(), buffer, 3, sent.data() + 100, 7, error.raw()), ASSAY_OK);
  ASSERT_EQ(api.buffer_download(plugin().device(), buffer, 0, got.data(), kBytes, error.raw()), ASSAY_OK);
  std::copy_n(sent.begin() + 100, 7, sent.begin() + 3);
  EXPECT_TRUE(got == sent);
  api.buffer_free(plugin().device(), buffer);
  Op op = MatmulArgs{.m = 5, .n = 6, .k = 7}.Description();
  EXPECT_EQ(plugin().Run(op, "tile", {std::vector<double>(35, 2), std::vector<double>(42, 3)}),
            std::vector<double>(30, 42));
  ::unsetenv("ASSAY_VULKAN_STAGING");
}

// Provokes the driver's lack of memory by limiting the host's, which the driver uses.
TEST_F(Vulkan, ReportsTheDriversOwnLackOfMemory) {
  if (Properties().find("type=cpu") == std::string::npos) GTEST_SKIP() << "the device has memory of its own";
  long pages = 0;
  FILE* statm = std::fopen("/proc/self/statm", "r");
  ASSERT_EQ(std::fscanf(statm, "%ld", &pages), 1);
  std::fclose(statm);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &before), 0);
  const rlimit tight{static_cast<rlim_t>(pages) * 4096 + (rlim_t{64} << 20), before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &tight), 0);
  Text error;
  assay_buffer* buffer = nullptr;
  const assay_status status = plugin().api().buffer_alloc(plugin().device(), uint64_t{512} << 20, &buffer, error.raw());
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_EQ(status, ASSAY_OUT_OF_MEMORY);
  EXPECT_NE(error.str().find("536870912 bytes"), std::string::npos) << error.str();
  EXPECT_NE(error.str().find("VK_ERROR_OUT_OF"), std::string::npos) << error.str();
}

}  // namespace
}  // namespace plugin_test
