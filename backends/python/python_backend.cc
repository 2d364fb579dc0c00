// SPDX-License-Identifier: Apache-2.0
// Python callables as a backend: the process is the user's interpreter, which has registered what it offers; kernels
// are called back. On the host memory, checks of arguments and cold caches are those of every host backend; a device of
// the interpreter's has memory of its own.
#include <cstdlib>
#include <string>
#include <vector>

#include "backends/common/backend.h"
#include "backends/common/host.h"
#include "backends/common/status.h"
#include "backends/python/interpreter.h"

namespace python {
namespace {

const assay_op_desc* asked = nullptr;  // what query() or plan_create() has at hand: the interpreter reads it as it is

// The interpreter's durations are those of the kernel alone: a view of an operand has to be made for each execution.
template <class Base>
class InterpretedPlan : public Base {
 public:
  InterpretedPlan(uint32_t device, const std::string& implementation) : kernel_(device, asked, implementation) {}
  void ExecuteBatch(plugin::Batch& batch) override {
    bool flushed = batch.cold, device_clock = true;
    for (size_t i = 0; i < batch.args.size(); ++i) {
      if (batch.cold) flushed = this->EvictOperands(*batch.args[i]) && flushed;
      this->Execute(*batch.args[i]);
      batch.seconds[i] = kernel_.seconds();
      device_clock = device_clock && kernel_.clock_is_device();
      flushed = flushed && !kernel_.saw_copies();
    }
    batch.clock_is_device = device_clock && !batch.args.empty();
    batch.cache_was_flushed = flushed && !batch.args.empty();
  }

 protected:
  Kernel kernel_;
  std::vector<Place> places_;  // of the operands of an execution
};

class PythonHostPlan : public InterpretedPlan<plugin::HostPlan> {
 public:
  using InterpretedPlan::InterpretedPlan;

 protected:
  void Run(Pointers inputs, Pointers outputs) override {
    places_.clear();
    for (const Pointers operands : {inputs, outputs}) {
      for (std::byte* const pointer : operands) places_.push_back({0, reinterpret_cast<uint64_t>(pointer)});
    }
    kernel_.Execute(places_);
  }
};

class PythonDevicePlan : public InterpretedPlan<plugin::Plan> {
 public:
  using InterpretedPlan::InterpretedPlan;
  void Execute(const plugin::Args& args) override {
    places_.clear();
    for (const auto* operands : {&args.inputs, &args.outputs}) {
      for (const plugin::Arg& arg : *operands) {
        places_.push_back({static_cast<const DeviceMemory&>(*arg.buffer).number(), arg.byte_offset});
      }
    }
    kernel_.Execute(places_);
  }
};

// The interpreter decides about attributes, which it reads from the description itself.
void LeaveAttributes(const plugin::OpDesc& op) {
  for (uint64_t i = 0; i < asked->n_attrs; ++i) op.MayIgnore({asked->attrs[i]->key});
}

std::vector<plugin::Implementation> QueryInterpreter(uint32_t device, const plugin::OpDesc& op) {
  LeaveAttributes(op);
  const std::string found = Ask(
      [&](int32_t* status, char* text, uint64_t capacity) { Calls().query(device, asked, status, text, capacity); });
  std::vector<plugin::Implementation> list;
  for (const std::string& line : Split(found, '\n')) {
    const size_t tab = line.find('\t');
    if (tab == line.npos) throw plugin::Failure("'{}' is no implementation with its contract", line);
    list.push_back({line.substr(0, tab), line.substr(tab + 1)});
  }
  return list;
}

template <class Base, class PlanOfIt>
class Interpreted : public Base {
 public:
  explicit Interpreted(uint32_t index) : index_(index) {}
  std::vector<plugin::Implementation> Query(const plugin::OpDesc& op) override { return QueryInterpreter(index_, op); }
  std::vector<plugin::Capability> Capabilities() override {
    const std::string found =
        Ask([&](int32_t* status, char* text, uint64_t capacity) { Calls().kernels(index_, status, text, capacity); });
    std::vector<plugin::Capability> lines;
    for (const std::string& line : Split(found, '\n')) {
      const size_t tab = line.find('\t');
      lines.push_back({line.substr(0, tab), plugin::DType(), "implementation=" + line.substr(tab + 1)});
    }
    return lines;
  }
  std::unique_ptr<plugin::Plan> CreatePlan(const plugin::OpDesc& op, const std::string& implementation) override {
    LeaveAttributes(op);
    return std::make_unique<PlanOfIt>(index_, implementation);
  }

 protected:
  uint32_t index_;
};

using PythonHost = Interpreted<plugin::HostDevice, PythonHostPlan>;

class PythonDevice : public Interpreted<plugin::Device, PythonDevicePlan> {
 public:
  using Interpreted::Interpreted;
  std::unique_ptr<plugin::Buffer> Alloc(uint64_t bytes) override {
    return std::make_unique<DeviceMemory>(index_, bytes);
  }
  void Upload(plugin::Buffer& buffer, uint64_t offset, std::span<const std::byte> bytes) override {
    if (!bytes.empty()) static_cast<DeviceMemory&>(buffer).Upload(offset, bytes);
  }
  void Download(const plugin::Buffer& buffer, uint64_t offset, std::span<std::byte> bytes) override {
    if (!bytes.empty()) static_cast<const DeviceMemory&>(buffer).Download(offset, bytes);
  }
};

// A device as the interpreter describes it.
struct DeviceLine {
  std::string name, properties;
  uint64_t memory_bytes = 0;
  bool has_memory = false;  // operands lie there

  explicit DeviceLine(const std::string& line) {
    std::vector<std::string> parts = Split(line, '\t');
    parts.resize(4);
    name = parts[0], properties = parts[3];
    memory_bytes = std::strtoull(parts[1].c_str(), nullptr, 10);
    has_memory = parts[2] == "1";
  }
  bool IsHost() const { return name == "cpu" || name.starts_with("cpu:"); }  // JAX can have several of the host
};

class PythonBackend : public plugin::Backend {
 public:
  plugin::BackendInfo Info() override {
    Describe();
    return {lines_[0], "assay", "0.1.0", lines_[1]};
  }
  std::vector<plugin::DeviceInfo> Devices() override {
    Describe();
    std::vector<plugin::DeviceInfo> devices;
    for (size_t i = 2; i < lines_.size(); ++i) {
      const DeviceLine device(lines_[i]);
      const bool host = device.IsHost();
      devices.push_back({device.name == "cpu" ? "host" : device.name, "", host ? ASSAY_DEVICE_CPU : ASSAY_DEVICE_EXT,
                         static_cast<int32_t>(i - 2), host ? plugin::HostMemoryBytes() : device.memory_bytes,
                         host && !device.properties.empty() ? "type=cpu;" + device.properties
                         : host                             ? "type=cpu"
                                                            : device.properties,
                         device.has_memory ? 0 : plugin::kHostAlignment});
    }
    return devices;
  }
  std::unique_ptr<plugin::Device> Open(uint32_t index) override {
    Describe();
    if (DeviceLine(lines_.at(index + 2)).has_memory) return std::make_unique<PythonDevice>(index);
    return std::make_unique<PythonHost>(index);
  }

 private:
  void Describe() {
    if (!lines_.empty()) return;
    lines_ = Split(Ask(Calls().describe), '\n');
    if (lines_.size() < 3) throw plugin::Failure("the interpreter's description is cut off");
  }
  std::vector<std::string> lines_;
};

const assay_backend_api* adapter = nullptr;

class Asking {
 public:
  explicit Asking(const assay_op_desc* op) { asked = op; }
  ~Asking() { asked = nullptr; }
};

assay_status Query(assay_device* device, const assay_op_desc* op, const assay_implementations** out,
                   assay_text* error) {
  const Asking asking(op);
  return adapter->query(device, op, out, error);
}

assay_status PlanCreate(assay_device* device, const assay_op_desc* op, const char* implementation, assay_plan** out,
                        assay_text* error) {
  const Asking asking(op);
  return adapter->plan_create(device, op, implementation, out, error);
}

assay_backend_api Table() {
  assay_backend_api table = *adapter;
  table.query = Query;
  table.plan_create = PlanCreate;
  return table;
}

std::unique_ptr<plugin::Backend> Make() {
  return std::make_unique<PythonBackend>();
}

}  // namespace
}  // namespace python

extern "C" void assay_python_register(const assay_python_calls* registered) {
  python::Register(registered);
}

extern "C" const assay_backend_api* assay_backend_v1(const assay_host_info* host) {
  python::adapter = plugin::Api(python::Make, host);
  if (python::adapter == nullptr) return nullptr;
  static const assay_backend_api table = python::Table();
  return &table;
}
