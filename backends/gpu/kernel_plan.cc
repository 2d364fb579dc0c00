// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/kernel_plan.h"

#include <array>
#include <utility>

#include "backends/common/float8.h"
#include "backends/common/status.h"

namespace gpu {
namespace {

// A mask of truth values is read as bytes.
constexpr std::array<std::pair<plugin::DType, Tag>, 11> kTags{{{plugin::kF64, Tag::kF64},
                                                               {plugin::kF32, Tag::kF32},
                                                               {plugin::kF16, Tag::kF16},
                                                               {plugin::kBF16, Tag::kBF16},
                                                               {plugin::kI8, Tag::kI8},
                                                               {plugin::kI32, Tag::kI32},
                                                               {plugin::kI64, Tag::kI64},
                                                               {plugin::kBool8, Tag::kI8},
                                                               {plugin::kU8, Tag::kU8},
                                                               {plugin::kE4M3, Tag::kE4M3},
                                                               {plugin::kE5M2, Tag::kE5M2}}};

}  // namespace

bool IsKnown(plugin::DType dtype) {
  for (const auto& [known, tag] : kTags) {
    if (known == dtype) return true;
  }
  return false;
}

Tag TagOf(plugin::DType dtype) {
  for (const auto& [known, tag] : kTags) {
    if (known == dtype) return tag;
  }
  throw plugin::Failure("{} is not among the types of the kernels", Name(dtype));
}

void* Bound::At(const std::vector<plugin::Arg>& args, const std::vector<plugin::Tensor>& tensors, size_t index) const {
  const auto bytes = static_cast<uint64_t>(plugin::Bytes(tensors[index].dtype));
  if (args[index].byte_offset % bytes != 0) {
    throw plugin::Unsupported("operand '{}' at byte {} is not aligned to its elements of {} bytes", tensors[index].name,
                              args[index].byte_offset, bytes);
  }
  return static_cast<const DeviceBuffer*>(args[index].buffer)->get() + args[index].byte_offset;
}

std::vector<const void*> Bound::Addresses() const {
  std::vector<const void*> all;
  for (size_t i = 0; i < args_.inputs.size(); ++i) all.push_back(At(args_.inputs, op_.inputs(), i));
  for (size_t i = 0; i < args_.outputs.size(); ++i) all.push_back(At(args_.outputs, op_.outputs(), i));
  return all;
}

std::byte* KernelPlan::Workspace(uint64_t bytes, const char* borrower) {
  plugin::Loan loan{borrower, "a workspace", bytes};
  memory_.push_back(std::unique_ptr<Lent>(new Lent{std::move(loan), Memory(bytes + 2 * plugin::kCanaryBytes)}));
  const Lent& lent = *memory_.back();
  info_.workspace_bytes += bytes;
  for (std::byte* zone : {lent.memory.get(), lent.data() + bytes}) {
    device_.queue().ToDevice(zone, plugin::Canary().data(), plugin::kCanaryBytes);
  }
  return lent.data();
}

void KernelPlan::CheckLoans() {
  SelectDevice(device_.traits().index);
  std::vector<std::byte> before(plugin::kCanaryBytes), behind(plugin::kCanaryBytes);
  for (const auto& lent : memory_) {
    device_.queue().ToHost(before.data(), lent->memory.get(), before.size());
    device_.queue().ToHost(behind.data(), lent->data() + lent->loan.bytes, behind.size());
    plugin::CheckCanaries(lent->loan, before, behind);
  }
}

void KernelPlan::Add(std::string_view kernel, std::function<void(const Bound&)> step) {
  if (!kernel.empty()) info_.kernel.append(info_.kernel.empty() ? "" : ",").append(kernel);
  steps_.push_back(std::move(step));
}

const std::byte* KernelPlan::Table(const void* data, uint64_t bytes) {
  std::byte* table = Workspace(bytes);
  device_.queue().ToDevice(table, data, bytes);
  return table;
}

void KernelPlan::Enqueue(const plugin::Args& args) const {
  const Bound bound(op_, args, device_.queue().get());
  for (const auto& step : steps_) {
    step(bound);
    CheckLaunch("launch of a kernel");
  }
}

void KernelPlan::Execute(const plugin::Args& args) {
  SelectDevice(device_.traits().index);
  Enqueue(args);
  device_.queue().Wait();
}

const Graph* KernelPlan::GraphOf(const plugin::Args& args) {
  constexpr size_t kMostGraphs = 256;
  if (steps_.size() < 2) return nullptr;
  const Bound bound(op_, args, device_.queue().get());
  const std::vector<const void*> addresses = bound.Addresses();
  if (const auto found = graphs_.find(addresses); found != graphs_.end()) return found->second.get();
  if (graphs_.size() >= kMostGraphs) return nullptr;
  auto graph = Graph::Record(device_.queue(), [&] { Enqueue(args); });
  return graphs_.emplace(addresses, std::move(graph)).first->second.get();
}

void KernelPlan::ExecuteBatch(plugin::Batch& batch) {
  if (!device_.traits().device_clock) return plugin::Plan::ExecuteBatch(batch);
  SelectDevice(device_.traits().index);
  Stopwatch watch;
  bool flushed = batch.cold;
  for (size_t i = 0; i < batch.args.size(); ++i) {
    const Graph* graph = GraphOf(*batch.args[i]);
    if (batch.cold) flushed = device_.FlushCache() && flushed;
    watch.Start(device_.queue());
    if (graph != nullptr) {
      graph->Launch(device_.queue());
    } else {
      Enqueue(*batch.args[i]);
    }
    watch.Stop(device_.queue());
    batch.seconds[i] = watch.Seconds();
  }
  device_.queue().Wait();
  batch.clock_is_device = true;
  batch.cache_was_flushed = flushed && !batch.args.empty();
}

bool KernelPlan::FlushCache() {
  const bool flushed = device_.FlushCache();
  device_.queue().Wait();
  return flushed;
}

}  // namespace gpu
