// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/device.h"

#include "backends/common/float8.h"
#include "backends/common/status.h"

namespace gpu {
namespace {

std::byte* Address(const plugin::Buffer& buffer) {
  return static_cast<const DeviceBuffer&>(buffer).get();
}

}  // namespace

Device::Device(const Traits& traits, std::span<const Row> rows) : traits_(traits), rows_(rows) {
  SelectDevice(traits_.index);
  queue_ = std::make_unique<Queue>();
}

std::vector<plugin::Implementation> Device::Query(const plugin::OpDesc& op) {
  SelectDevice(traits_.index);  // libraries are asked about the current one
  return plugin::QueryDevice(rows_, *this, tried_, op, traits_);
}

std::unique_ptr<plugin::Plan> Device::CreatePlan(const plugin::OpDesc& op, const std::string& implementation) {
  SelectDevice(traits_.index);
  tried_.RethrowFailure(implementation, op);
  return plugin::CreateFromTable(rows_, *this, op, implementation, traits_);
}

std::vector<plugin::Capability> Device::Capabilities() {
  // Matrix units are asked for products of fp8; kernels take such codes apart by themselves.
  std::vector<Row> products, others;
  for (const Row& row : rows_) (std::string_view(row.op) == "matmul" ? products : others).push_back(row);
  auto listed = plugin::CapabilitiesOf(std::span<const Row>(products), [this](plugin::DType type) {
    return traits_.has_fp8 || (type != plugin::kE4M3 && type != plugin::kE5M2);
  });
  for (auto& one : plugin::CapabilitiesOf(std::span<const Row>(others))) listed.push_back(std::move(one));
  return listed;
}

// A thread writes what it has read itself.
bool Device::TakesAliases(const plugin::OpDesc& op) {
  if (op.name() != "fused_add_rms_norm") return false;
  return op.outputs()[0].alias == 0 && op.LiesInPlace(1, 1);
}

std::unique_ptr<plugin::Buffer> Device::Alloc(uint64_t bytes) {
  SelectDevice(traits_.index);
  if (bytes > traits_.memory_bytes) {
    throw plugin::Error(ASSAY_OUT_OF_MEMORY, fmt::format("a buffer of {} bytes exceeds the memory of {}, {} bytes",
                                                         bytes, traits_.name, traits_.memory_bytes));
  }
  return std::make_unique<DeviceBuffer>(bytes);
}

void Device::Upload(plugin::Buffer& buffer, uint64_t offset, std::span<const std::byte> bytes) {
  if (!bytes.empty()) queue().ToDevice(Address(buffer) + offset, bytes.data(), bytes.size());
}

void Device::Download(const plugin::Buffer& buffer, uint64_t offset, std::span<std::byte> bytes) {
  if (!bytes.empty()) queue().ToHost(bytes.data(), Address(buffer) + offset, bytes.size());
}

bool Device::FlushCache() {
  if (traits_.cache_bytes == 0) return false;
  const uint64_t bytes = 2 * traits_.cache_bytes;
  if (stream_ == nullptr) stream_ = std::make_unique<Memory>(bytes);
  queue().Fill(stream_->get(), 0, bytes);
  return true;
}

}  // namespace gpu
