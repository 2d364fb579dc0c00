// SPDX-License-Identifier: Apache-2.0
// A plan as a list of steps, each of which puts its work into the device's stream.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backends/common/canary.h"
#include "backends/common/op_desc.h"
#include "backends/gpu/device.h"
#include "backends/gpu/device/tags.h"

namespace gpu {

// The operands of one execution as addresses of their elements zero. Throws Unsupported where one is not aligned to its
// elements.
class Bound {
 public:
  Bound(const plugin::OpDesc& op, const plugin::Args& args, void* stream) : op_(op), args_(args), stream_(stream) {}
  void* Input(int index) const { return At(args_.inputs, op_.inputs(), static_cast<size_t>(index)); }
  void* Output(int index = 0) const { return At(args_.outputs, op_.outputs(), static_cast<size_t>(index)); }
  void* stream() const { return stream_; }
  std::vector<const void*> Addresses() const;  // of all inputs, then of all outputs

 private:
  void* At(const std::vector<plugin::Arg>& args, const std::vector<plugin::Tensor>& tensors, size_t index) const;

  const plugin::OpDesc& op_;
  const plugin::Args& args_;
  void* stream_;
};

class KernelPlan : public plugin::Plan {
 public:
  KernelPlan(Device& device, const plugin::OpDesc& op) : device_(device), op_(op) {}

  // Lives as long as the plan, between canaries; `borrower` is who works in it.
  std::byte* Workspace(uint64_t bytes, const char* borrower = "a kernel of this plugin");
  // Copies `data` to the device; the copy lives as long as the plan, between canaries.
  const std::byte* Table(const void* data, uint64_t bytes);
  // `kernel`: the name that a profiler shows without its namespace and arguments; "" if a library launches it.
  void Add(std::string_view kernel, std::function<void(const Bound&)> step);
  // The algorithm's name in the words of the library that computes.
  void SetAlgorithm(std::string algorithm) { info_.algorithm = std::move(algorithm); }
  Device& device() const { return device_; }

  void Execute(const plugin::Args& args) override;
  // Timed by the device's events. Several steps are replayed as a graph, since their launches would cost more than they
  // do.
  void ExecuteBatch(plugin::Batch& batch) override;
  void CheckLoans() override;
  plugin::PlanInfo Info() const override { return info_; }

 protected:
  bool FlushCache() override;

 private:
  void Enqueue(const plugin::Args& args) const;
  // Null where the steps are launched one by one: a single one, or what cannot be recorded.
  const Graph* GraphOf(const plugin::Args& args);

  Device& device_;
  const plugin::OpDesc op_;
  struct Lent {
    plugin::Loan loan;
    Memory memory;  // canary, what is lent, canary
    std::byte* data() const { return memory.get() + plugin::kCanaryBytes; }
  };
  plugin::PlanInfo info_;
  std::vector<std::unique_ptr<Lent>> memory_;
  std::vector<std::function<void(const Bound&)>> steps_;
  // Recorded at the first batch that has operands there: kernels see addresses and nothing else. Null where the runtime
  // could not record them.
  std::map<std::vector<const void*>, std::unique_ptr<Graph>> graphs_;
};

// The tag of a type that kernels know; IsKnown before.
Tag TagOf(plugin::DType dtype);
bool IsKnown(plugin::DType dtype);

}  // namespace gpu
