// SPDX-License-Identifier: Apache-2.0
// The host's side of both GPU plugins: which launches a device can take, and how plans run, time and fail.
#include <gtest/gtest.h>

#include <array>

#include "backends/gpu/device.h"
#include "tests/unit/backends/conv_case.h"
#include "tests/unit/backends/matmul_case.h"
#include "tests/unit/backends/reduce_case.h"
#include "tests/unit/gpu/fake_runtime/fake_runtime.h"

namespace gpu {
namespace {

using plugin_test::ConvArgs;
using plugin_test::MatmulArgs;
using plugin_test::ReduceArgs;

class Host : public testing::Test {
 protected:
  void SetUp() override { fake_runtime::Reset(); }
  void TearDown() override { EXPECT_EQ(fake_runtime::Now().alive, 0); }

  static Traits TraitsOf(int64_t grid_threads) {
    Traits traits;
    traits.name = "a device", traits.memory_bytes = uint64_t{1} << 60, traits.grid_threads = grid_threads;
    traits.has_unit = true;
    return traits;
  }
  // Names of what is offered, or the reason why nothing is.
  static std::string Offered(plugin_test::Op op, int64_t grid_threads) {
    Device device(TraitsOf(grid_threads), rows_);
    try {
      std::string names;
      for (const auto& one : device.Query(plugin::OpDesc(op.raw()))) names += one.name + " ";
      return names;
    } catch (const plugin::Error& error) {
      EXPECT_EQ(error.status(), ASSAY_UNSUPPORTED);
      return error.what();
    }
  }

  inline static const std::vector<Row> rows_ = plugin::JoinRows<Row>({ConvRows(), MatmulRows(), ReduceRows()});
};

constexpr int64_t kCudaThreads = INT64_MAX, kHipThreads = UINT32_MAX;

TEST_F(Host, AConvIsOfferedWhereItsOwnGridCanBeLaunched) {
  // Groups of two outputs: a tile of the product is nearly empty, and there are more tiles than 1/16 of the outputs.
  const int64_t groups = int64_t{1} << 28;
  const auto conv = [](int64_t n, int64_t g) {
    return ConvArgs{
        .n = n, .c = g, .o = 2 * g, .groups = g, .i = {1}, .k = {1}, .stride = {1}, .pad = {0}, .dilation = {1}}
        .Description();
  };
  EXPECT_EQ(Offered(conv(7, groups), kCudaThreads), "direct implicit-gemm ");
  EXPECT_EQ(Offered(conv(8, groups), kCudaThreads), "direct ") << "2^31 tiles, 2^25 blocks of outputs";
  EXPECT_EQ(Offered(conv(1, groups / 32), kHipThreads), "direct implicit-gemm ");
  EXPECT_EQ(Offered(conv(2, groups / 32), kHipThreads), "direct ") << "2^24 blocks of 256 threads are 2^32";
}

TEST_F(Host, AMatmulIsOfferedWhereItsOwnGridCanBeLaunched) {
  const auto matmul = [](int64_t batch) { return MatmulArgs{.m = 1, .n = 1, .k = 2, .batch = batch}.Description(); };
  EXPECT_EQ(Offered(matmul((int64_t{1} << 30) - 1), kCudaThreads), "tiled splitk ");
  EXPECT_EQ(Offered(matmul((int64_t{1} << 31) - 1), kCudaThreads), "tiled ");
  EXPECT_EQ(
      Offered(matmul(int64_t{1} << 31), kCudaThreads),
      "2147483648 blocks of 256 threads; a grid has at most 2147483647 such on a device; 4294967296 blocks of 256 "
      "threads; a grid has at most 2147483647 such on a device; matrix units take operands in f16 or bf16 here");
}

TEST_F(Host, AReductionIsOfferedWhereItsOwnGridCanBeLaunched) {
  const auto rows = [](int64_t count) { return ReduceArgs{.shape = {count, 2}, .axes = {1}}.Description(); };
  EXPECT_EQ(Offered(rows((int64_t{1} << 24) - 1), kHipThreads), "sequential tree ");
  EXPECT_EQ(Offered(rows(int64_t{1} << 24), kHipThreads), "sequential ");
}

// A reduction in two launches on a device whose every runtime call can fail.
class HostPlan : public Host {
 protected:
  HostPlan() {
    fake_runtime::Reset();
    device_ = std::make_unique<Device>(TraitsOf(kCudaThreads), rows_);
    plugin_test::Op op = ReduceArgs{.shape = {2, 64}, .axes = {1}}.Description();
    const plugin::OpDesc description(op.raw());
    x_ = device_->Alloc(512), y_ = device_->Alloc(16);
    split_ = device_->CreatePlan(description, "split"), tree_ = device_->CreatePlan(description, "tree");
  }
  void SetUp() override {}
  void TearDown() override {
    split_.reset(), tree_.reset(), x_.reset(), y_.reset(), device_.reset();
    Host::TearDown();
  }

  plugin::Args Arguments(uint64_t set = 0) const { return {{{x_.get(), 0}}, {{y_.get(), 8 * set}}}; }
  // Two sets of operands in turns.
  plugin::Batch Time(plugin::Plan& plan, std::span<double> seconds, bool cold = false) const {
    const plugin::Args sets[] = {Arguments(0), Arguments(1)};
    plugin::Batch batch;
    for (size_t i = 0; i < seconds.size(); ++i) batch.args.push_back(&sets[i % 2]);
    batch.seconds = seconds, batch.cold = cold;
    plan.ExecuteBatch(batch);
    return batch;
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<plugin::Buffer> x_, y_;
  std::unique_ptr<plugin::Plan> split_, tree_;
};

TEST_F(HostPlan, TimesSeveralLaunchesAsGraphsAndASingleOneByItself) {
  std::array<double, 5> seconds{};
  const plugin::Batch batch = Time(*split_, seconds);
  EXPECT_EQ(fake_runtime::Now().replayed, 5);
  EXPECT_EQ(fake_runtime::Now().launched, 10);
  EXPECT_TRUE(batch.clock_is_device);
  for (const double s : seconds) EXPECT_FLOAT_EQ(static_cast<float>(s), 1e-3f);
  Time(*tree_, seconds);
  EXPECT_EQ(fake_runtime::Now().replayed, 5);
  EXPECT_EQ(fake_runtime::Now().launched, 15);
}

TEST_F(HostPlan, TimesLaunchByLaunchWhereARuntimeCannotRecord) {
  std::array<double, 4> seconds{};
  fake_runtime::Fail("StreamEndCapture", 901);
  Time(*split_, seconds);
  EXPECT_EQ(fake_runtime::Now().replayed, 2) << "those of the second set of operands";
  EXPECT_EQ(fake_runtime::Now().launched, 8);
}

TEST_F(HostPlan, FillsTwiceTheCacheBeforeEveryColdRun) {
  Traits traits = TraitsOf(kCudaThreads);
  traits.cache_bytes = 1000;
  Device device(traits, rows_);
  plugin_test::Op op = ReduceArgs{.shape = {2, 64}, .axes = {1}}.Description();
  const plugin::OpDesc description(op.raw());
  const auto plan = device.CreatePlan(description, "tree");
  std::array<double, 3> seconds{};
  EXPECT_TRUE(Time(*plan, seconds, true).cache_was_flushed);
  EXPECT_EQ(fake_runtime::Now().filled, 3 * 2000u);
  EXPECT_EQ(fake_runtime::Now().launched, 3);
  EXPECT_FALSE(Time(*plan, seconds).cache_was_flushed);
  EXPECT_EQ(fake_runtime::Now().filled, 3 * 2000u);
}

TEST_F(HostPlan, SaysThatACacheOfUnknownSizeWasNotFlushed) {
  std::array<double, 2> seconds{};
  EXPECT_FALSE(Time(*split_, seconds, true).cache_was_flushed);
}

TEST_F(HostPlan, ALostDeviceFailsEveryLaterCallAsLost) {
  const auto status = [&](const auto& body) {
    try {
      body();
    } catch (const plugin::Error& error) {
      return error.status();
    }
    return assay_status{ASSAY_OK};
  };
  split_->Execute(Arguments());
  fake_runtime::Fail("StreamSynchronize", 719);
  std::array<double, 2> seconds{};
  std::array<std::byte, 8> bytes{};
  EXPECT_EQ(status([&] { split_->Execute(Arguments()); }), ASSAY_DEVICE_LOST);
  EXPECT_EQ(status([&] { device_->Download(*y_, 0, bytes); }), ASSAY_DEVICE_LOST);
  EXPECT_EQ(status([&] { Time(*split_, seconds); }), ASSAY_DEVICE_LOST);
  EXPECT_EQ(status([&] { device_->Alloc(8); }), ASSAY_DEVICE_LOST);
}

TEST_F(HostPlan, MemoryThatTheDeviceLacksIsOutOfMemory) {
  const auto text = [&](uint64_t bytes) -> std::string {
    try {
      device_->Alloc(bytes);
    } catch (const plugin::Error& error) {
      EXPECT_EQ(error.status(), ASSAY_OUT_OF_MEMORY);
      return error.what();
    }
    return "";
  };
  EXPECT_NE(text((uint64_t{1} << 60) + 1).find("exceeds the memory of a device"), std::string::npos);
  fake_runtime::Fail("Malloc", 2);
  EXPECT_NE(text(8).find("choose a smaller case"), std::string::npos);
  split_->Execute(Arguments());
  EXPECT_EQ(fake_runtime::Now().launched, 2);
}

}  // namespace
}  // namespace gpu
