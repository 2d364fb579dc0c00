// SPDX-License-Identifier: Apache-2.0
// The C table. Each function checks its pointers, forwards, and lets no exception out.
#include <mutex>

#include "backends/common/api_parts.h"
#include "backends/common/args.h"
#include "backends/common/backend.h"
#include "backends/common/log.h"
#include "backends/common/status.h"

namespace plugin {
namespace {

BackendFactory factory = nullptr;

// The backend with what it said about itself: strings handed out live as long as the library.
struct Instance {
  std::unique_ptr<Backend> backend = factory();
  BackendInfo info = backend->Info();
  std::vector<std::unique_ptr<DeviceInfo>> devices;
  std::mutex mutex;
};

Instance& TheInstance() {
  // Never destroyed: a driver's own teardown at process exit must not race with ours.
  static Instance* const instance = new Instance;
  return *instance;
}

// The devices, asked for once; a failure is asked for again, since a device may appear.
const std::vector<std::unique_ptr<DeviceInfo>>& Devices() {
  Instance& instance = TheInstance();
  const std::lock_guard lock(instance.mutex);
  if (instance.devices.empty()) {
    for (DeviceInfo& device : instance.backend->Devices()) {
      instance.devices.push_back(std::make_unique<DeviceInfo>(std::move(device)));
    }
  }
  return instance.devices;
}

void CheckIndex(uint32_t index) {
  if (index >= Devices().size()) throw Failure("no device {}; there are {}", index, Devices().size());
}

assay_status Describe(assay_backend_info* out, assay_text* error) {
  return Guarded(error, [&] {
    CheckPointers("describe", out);
    const BackendInfo& info = TheInstance().info;
    Set(out, &assay_backend_info::name, info.name.c_str());
    Set(out, &assay_backend_info::vendor, info.vendor.c_str());
    Set(out, &assay_backend_info::version, info.version.c_str());
    Set(out, &assay_backend_info::library_version, info.library_version.c_str());
  });
}

assay_status DeviceCount(uint32_t* out, assay_text* error) {
  return Guarded(error, [&] {
    CheckPointers("device_count", out);
    *out = 0;
    *out = static_cast<uint32_t>(Devices().size());
  });
}

assay_status GetDeviceInfo(uint32_t index, assay_device_info* out, assay_text* error) {
  return Guarded(error, [&] {
    CheckPointers("device_info", out);
    CheckIndex(index);
    const DeviceInfo& info = *Devices()[index];
    Set(out, &assay_device_info::name, info.name.c_str());
    Set(out, &assay_device_info::driver, info.driver.c_str());
    Set(out, &assay_device_info::device_type, info.type);
    Set(out, &assay_device_info::device_id, info.id);
    Set(out, &assay_device_info::memory_bytes, info.memory_bytes);
    Set(out, &assay_device_info::properties, info.properties.c_str());
    Set(out, &assay_device_info::buffer_alignment, info.buffer_alignment);
  });
}

assay_status DeviceOpen(uint32_t index, assay_device** out, assay_text* error) {
  return Guarded(error, [&] {
    CheckPointers("device_open", out);
    CheckIndex(index);
    *out = new assay_device{TheInstance().backend->Open(index)};
  });
}

void DeviceClose(assay_device* device) {
  delete device;
}

void CheckAliases(Device& device, const OpDesc& op) {
  if (!op.HasAlias() || device.TakesAliases(op)) return;
  throw Unsupported("{}: an output in the memory of an input is not offered", op.name());
}

assay_status Query(assay_device* device, const assay_op_desc* op, const assay_implementations** out,
                   assay_text* error) {
  return Guarded(error, [&] {
    CheckPointers("query", device, out);
    *out = nullptr;
    const OpDesc desc(op);
    CheckAliases(*device->device, desc);
    auto found = std::make_unique<ImplementationList>(device->device->Query(desc));
    desc.RefuseUnknownAttrs();
    *out = found.release();
  });
}

void QueryFree(assay_device*, const assay_implementations* found) {
  delete static_cast<const ImplementationList*>(found);
}

assay_status BufferAlloc(assay_device* device, uint64_t bytes, assay_buffer** out, assay_text* error) {
  return Guarded(error, [&] {
    CheckPointers("buffer_alloc", device, out);
    *out = new assay_buffer{device->device->Alloc(bytes), bytes};
  });
}

void BufferFree(assay_device*, assay_buffer* buffer) {
  delete buffer;
}

assay_status BufferUpload(assay_device* device, assay_buffer* buffer, uint64_t offset, const void* bytes, uint64_t size,
                          assay_text* error) {
  return Guarded(error, [&] {
    CheckPointers("buffer_upload", device, buffer);
    if (size > 0) CheckPointers("buffer_upload", bytes);
    CheckRange(*buffer, offset, size, "buffer_upload");
    device->device->Upload(*buffer->buffer, offset, {static_cast<const std::byte*>(bytes), size});
  });
}

assay_status BufferDownload(assay_device* device, const assay_buffer* buffer, uint64_t offset, void* bytes,
                            uint64_t size, assay_text* error) {
  return Guarded(error, [&] {
    CheckPointers("buffer_download", device, buffer);
    if (size > 0) CheckPointers("buffer_download", bytes);
    CheckRange(*buffer, offset, size, "buffer_download");
    device->device->Download(*buffer->buffer, offset, {static_cast<std::byte*>(bytes), size});
  });
}

assay_status PlanCreate(assay_device* device, const assay_op_desc* op, const char* implementation, assay_plan** out,
                        assay_text* error) {
  return Guarded(error, [&] {
    CheckPointers("plan_create", device, implementation, out);
    OpDesc desc(op);
    CheckAliases(*device->device, desc);
    auto plan = device->device->CreatePlan(desc, implementation);
    desc.RefuseUnknownAttrs();
    *out = new assay_plan{std::move(desc), std::move(plan), {}};
  });
}

void PlanDestroy(assay_plan* plan) {
  delete plan;
}

assay_status Execute(assay_plan* plan, const assay_args* args, assay_text* error) {
  return Guarded(error, [&] {
    CheckPointers("execute", plan);
    plan->plan->Execute(CheckedArgs(plan->op, args));
    plan->plan->CheckLoans();
  });
}

assay_status ExecuteBatch(assay_plan* plan, assay_batch* batch, assay_text* error) {
  return Guarded(error, [&] {
    CheckPointers("execute_batch", plan, batch);
    CheckedBatch checked(plan->op, batch);
    plan->plan->ExecuteBatch(checked.batch);
    plan->plan->CheckLoans();
    Set(batch, &assay_batch::clock_is_device, checked.batch.clock_is_device ? 1 : 0);
    Set(batch, &assay_batch::cache_was_flushed, checked.batch.cache_was_flushed ? 1 : 0);
  });
}

assay_backend_api MakeTable() {
  assay_backend_api api{};
  api.struct_size = sizeof api;
  api.abi_major = ASSAY_ABI_MAJOR;
  api.abi_minor = ASSAY_ABI_MINOR;
  api.describe = Describe;
  api.device_count = DeviceCount;
  api.device_info = GetDeviceInfo;
  api.device_open = DeviceOpen;
  api.device_close = DeviceClose;
  api.query = Query;
  api.query_free = QueryFree;
  api.buffer_alloc = BufferAlloc;
  api.buffer_free = BufferFree;
  api.buffer_upload = BufferUpload;
  api.buffer_download = BufferDownload;
  api.plan_create = PlanCreate;
  api.plan_destroy = PlanDestroy;
  api.execute = Execute;
  api.execute_batch = ExecuteBatch;
  SetOptionalFunctions(api);
  return api;
}

}  // namespace

const assay_backend_api* Api(BackendFactory make, const assay_host_info* host) {
  if (!ServesHost(host)) return nullptr;
  factory = make;
  static const assay_backend_api api = MakeTable();
  return &api;
}

}  // namespace plugin
