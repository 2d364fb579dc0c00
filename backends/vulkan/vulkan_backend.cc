// SPDX-License-Identifier: Apache-2.0
// Compute shaders on any Vulkan 1.1 device; one device of this backend per physical device of the loader.
#include "backends/vulkan/instance.h"
#include "backends/vulkan/kernel_plan.h"
#include "backends/vulkan/operators.h"
#include "backends/vulkan/pipeline_store.h"

namespace vulkan {
namespace {

std::span<const Row> Rows() {
  static const std::vector<Row> all =
      plugin::JoinRows<Row>({MatmulRows(), ReduceRows(), SoftmaxRows(), AttentionRows(), ConvRows(), FftRows(),
                             LineRows(), PointRows(), RopeRows(), PoolRows(), CodeRows()});
  return all;
}

std::string TurnsWhyNot(const Facts& facts, const Row& row, const plugin::OpDesc& op) {
  if (!facts.MostTurns()) return "";
  for (const Step& step : row.create(facts, op).steps) {
    if (step.turns <= *facts.MostTurns()) continue;
    return fmt::format("the loops of the kernel {} would turn {} times in an invocation; {} leaves them after {}",
                       step.kernel.shader, step.turns, facts.name, *facts.MostTurns());
  }
  return "";
}

class VulkanDevice : public plugin::Device {
 public:
  VulkanDevice(std::shared_ptr<Instance> instance, const Facts& facts)
      : instance_(std::move(instance)), context_(instance_->vk(), facts), pipelines_(context_), transfer_(context_) {}

  std::vector<plugin::Implementation> Query(const plugin::OpDesc& op) override {
    return plugin::QueryRows(
        Rows(), op, [&](const Row& row) { return WhyNot(row, op); },
        [&](const Row& row) { return row.contract(context_.facts(), op); });
  }

  std::unique_ptr<plugin::Plan> CreatePlan(const plugin::OpDesc& op, const std::string& implementation) override {
    const Row& row = plugin::FindRow(Rows(), op, implementation, [&](const Row& r) { return WhyNot(r, op); });
    return std::make_unique<KernelPlan>(context_, pipelines_, op, row.create(context_.facts(), op));
  }

  std::vector<plugin::Capability> Capabilities() override {
    return plugin::CapabilitiesOf(Rows(), [&facts = context_.facts()](plugin::DType type) {
      if (type == plugin::kF64 || type == plugin::kC128) return facts.f64;
      return facts.store16 || (type != plugin::kF16 && type != plugin::kBF16);
    });
  }

  std::unique_ptr<plugin::Buffer> Alloc(uint64_t bytes) override {
    return std::make_unique<DeviceBuffer>(context_, bytes, Placement::kDevice);
  }
  void Upload(plugin::Buffer& buffer, uint64_t offset, std::span<const std::byte> bytes) override {
    transfer_.Upload(static_cast<DeviceBuffer&>(buffer), offset, bytes);
  }
  void Download(const plugin::Buffer& buffer, uint64_t offset, std::span<std::byte> bytes) override {
    transfer_.Download(static_cast<const DeviceBuffer&>(buffer), offset, bytes);
  }

 private:
  std::string WhyNot(const Row& row, const plugin::OpDesc& op) const {
    std::string reason = row.why_not(context_.facts(), op);
    if (reason.empty()) reason = DeviceWhyNot(context_.facts(), op);
    return reason.empty() ? TurnsWhyNot(context_.facts(), row, op) : reason;
  }

  std::shared_ptr<Instance> instance_;
  Context context_;
  Pipelines pipelines_;
  Transfer transfer_;
};

class VulkanBackend : public plugin::Backend {
 public:
  plugin::BackendInfo Info() override { return {"vulkan", "assay", "0.1.0", ""}; }

  std::vector<plugin::DeviceInfo> Devices() override {
    instance_ = std::make_shared<Instance>();
    std::vector<plugin::DeviceInfo> devices;
    for (const Facts& facts : instance_->devices()) {
      const size_t stored = LoadPipelineData(facts).size();
      devices.push_back({facts.name, facts.driver, ASSAY_DEVICE_VULKAN, static_cast<int32_t>(devices.size()),
                         facts.memory_bytes,
                         fmt::format("{};pipeline_cache={}", facts.Properties(),
                                     stored > 0 ? fmt::format("{} bytes", stored) : "cold")});
    }
    return devices;
  }

  std::unique_ptr<plugin::Device> Open(uint32_t index) override {
    return std::make_unique<VulkanDevice>(instance_, instance_->devices().at(index));
  }

 private:
  std::shared_ptr<Instance> instance_;
};

}  // namespace
}  // namespace vulkan

ASSAY_PLUGIN(vulkan::VulkanBackend)
