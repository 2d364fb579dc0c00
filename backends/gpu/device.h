// SPDX-License-Identifier: Apache-2.0
// An opened GPU: its buffers, one stream, and the table of what it offers.
#pragma once

#include <memory>
#include <span>

#include "backends/common/backend.h"
#include "backends/common/table.h"
#include "backends/gpu/runtime.h"
#include "backends/gpu/traits.h"

namespace gpu {

class Device;

using Row = plugin::Row<Device, Traits>;

// The rows of one operator; defined beside the operator.
std::span<const Row> MatmulRows();
std::span<const Row> ReduceRows();
std::span<const Row> SoftmaxRows();
std::span<const Row> AttentionRows();
std::span<const Row> ConvRows();
std::span<const Row> FftRows();
std::span<const Row> LineRows();
std::span<const Row> OperandRows();
std::span<const Row> PointRows();

class DeviceBuffer : public plugin::Buffer {
 public:
  explicit DeviceBuffer(uint64_t bytes) : memory_(bytes) {}
  std::byte* get() const { return memory_.get(); }

 private:
  Memory memory_;
};

class Device : public plugin::Device {
 public:
  Device(const Traits& traits, std::span<const Row> rows);

  std::vector<plugin::Implementation> Query(const plugin::OpDesc& op) override;
  std::unique_ptr<plugin::Plan> CreatePlan(const plugin::OpDesc& op, const std::string& implementation) override;
  bool TakesAliases(const plugin::OpDesc& op) override;
  std::vector<plugin::Capability> Capabilities() override;
  std::unique_ptr<plugin::Buffer> Alloc(uint64_t bytes) override;
  void Upload(plugin::Buffer& buffer, uint64_t offset, std::span<const std::byte> bytes) override;
  void Download(const plugin::Buffer& buffer, uint64_t offset, std::span<std::byte> bytes) override;

  const Traits& traits() const { return traits_; }
  const Queue& queue() const { return *queue_; }
  // Overwrites twice the device's cache, in the queue. False when the device does not tell how large that is.
  bool FlushCache();

 private:
  const Traits traits_;
  const std::span<const Row> rows_;
  plugin::TriedPlans tried_;
  std::unique_ptr<Queue> queue_;    // made after the device is selected
  std::unique_ptr<Memory> stream_;  // of FlushCache; allocated at the first use
};

}  // namespace gpu
