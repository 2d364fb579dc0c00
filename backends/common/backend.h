// SPDX-License-Identifier: Apache-2.0
// Interface of a C++ backend: Backend -> Device -> Plan. A plugin derives these, writes ASSAY_PLUGIN(MyBackend) once,
// and is done; api.cc forwards the C table to them, checks every argument and keeps exceptions inside. Any method may
// throw; Error (status.h) chooses the status.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/abi/assay_backend.h"
#include "backends/common/op_desc.h"

namespace plugin {

struct BackendInfo {
  std::string name, vendor, version, library_version;
};

struct DeviceInfo {
  std::string name, driver;
  int32_t type = ASSAY_DEVICE_CPU;
  int32_t id = 0;
  uint64_t memory_bytes = 0;
  std::string properties;         // "key=value;key=value"
  uint64_t buffer_alignment = 0;  // bytes; 0: not stated
};

struct Implementation {
  std::string name, contract;
};

// One allocation on a device.
class Buffer {
 public:
  virtual ~Buffer() = default;
};

// Where one operand lies. Already checked to lie inside the buffer.
struct Arg {
  Buffer* buffer = nullptr;
  uint64_t byte_offset = 0;  // of the element with all indices zero
};

struct Args {
  std::vector<Arg> inputs, outputs;
};

// Executions that follow each other.
struct Batch {
  std::vector<const Args*> args;   // of each execution; those of several may be the same
  bool cold = false;               // asks for EvictOperands() before each execution
  std::span<double> seconds;       // out: as many as there are args
  bool clock_is_device = false;    // out
  bool cache_was_flushed = false;  // out
};

// Facts about a prepared plan; a name is empty if unknown.
struct PlanInfo {
  uint64_t workspace_bytes = 0;   // beside the operands
  std::string algorithm, kernel;  // in the library's words; what runs on the device, several joined by ','
};

// One implementation, prepared for one operator description. It owns its workspace.
class Plan {
 public:
  virtual ~Plan() = default;
  // Returns when the outputs are complete and visible to Download().
  virtual void Execute(const Args& args) = 0;
  // One duration per execution. This default times Execute() by the host's steady clock, flushing outside it.
  virtual void ExecuteBatch(Batch& batch);
  // Throws Failure when memory that the plan has lent to a library was written around (canary.h). Called after
  // Execute() and ExecuteBatch(), so that it is never timed.
  virtual void CheckLoans() {}
  // Throws Unsupported where it is not told, as this default does.
  virtual PlanInfo Info() const;

 protected:
  // Evicts at least these operands from the device's caches. False: this plan cannot.
  virtual bool EvictOperands(const Args&) { return FlushCache(); }
  // Flushes the whole last-level cache, for a device that cannot evict single operands. False: it cannot.
  virtual bool FlushCache() { return false; }
};

// A line of Device::Capabilities(): an operator, the type of its first operand, and what may be asked for beside dense
// tensors ("strides;permuted;in_place", see assay_capability).
struct Capability {
  std::string op;
  DType dtype;
  std::string features;
};

class Device {
 public:
  virtual ~Device() = default;
  // Throws Unsupported with the reason when there is no implementation. An attribute that neither this nor
  // CreatePlan() reads is refused by whoever calls them, unless the description may leave it out of account; see
  // OpDesc::MayIgnore().
  virtual std::vector<Implementation> Query(const OpDesc& op) = 0;
  virtual std::unique_ptr<Plan> CreatePlan(const OpDesc& op, const std::string& implementation) = 0;
  virtual std::unique_ptr<Buffer> Alloc(uint64_t bytes) = 0;
  // Ranges are already checked against the size of the allocation.
  virtual void Upload(Buffer& buffer, uint64_t offset, std::span<const std::byte> bytes) = 0;
  virtual void Download(const Buffer& buffer, uint64_t offset, std::span<std::byte> bytes) = 0;

  // The following are not offered unless a device overrides them.

  // Whether outputs of this description may lie where its aliases say; they are refused else.
  virtual bool TakesAliases(const OpDesc&) { return false; }
  virtual std::vector<Capability> Capabilities();
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual BackendInfo Info() = 0;
  // Throws Unavailable naming what is missing (driver, device). All strings of DeviceInfo are kept by the caller.
  virtual std::vector<DeviceInfo> Devices() = 0;
  virtual std::unique_ptr<Device> Open(uint32_t index) = 0;
};

using BackendFactory = std::unique_ptr<Backend> (*)();

// The C table over the backend that `make` creates at the first call that needs it; null, with a line in the host's
// log, for a host of another major version.
const assay_backend_api* Api(BackendFactory make, const assay_host_info* host);

}  // namespace plugin

// Exports the one symbol of a plugin. `Type` derives from plugin::Backend and needs no arguments.
#define ASSAY_PLUGIN(Type)                                                                                   \
  extern "C" const assay_backend_api* assay_backend_v1(const assay_host_info* host) {                        \
    return plugin::Api([]() -> std::unique_ptr<plugin::Backend> { return std::make_unique<Type>(); }, host); \
  }
