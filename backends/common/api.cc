// SPDX-License-Identifier: Apache-2.0
// The C table. Each function checks its pointers, forwards, and lets no exception out.
#include <mutex>
#include <type_traits>

#include "backends/common/args.h"
#include "backends/common/backend.h"
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

template <class... Pointers>
void CheckPointers(const char* call, Pointers... pointers) {
  if (((pointers == nullptr) || ...)) throw Failure("{}: a required pointer is NULL", call);
}

// Writes a member of a caller's struct when the caller, as it was compiled, knows it.
template <class Struct, class Member>
void Set(Struct* out, Member Struct::*member, std::type_identity_t<Member> value) {
  const auto* end = reinterpret_cast<const char*>(&(out->*member) + 1);
  if (static_cast<uint64_t>(end - reinterpret_cast<const char*>(out)) <= out->struct_size) out->*member = value;
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
  });
}

assay_status DeviceOpen(uint32_t index, assay_device** out, assay_text* error) {
  return Guarded(error, [&] {
    CheckPointers("device_open", out);
    CheckIndex(index);
    *out = new assay_device{TheInstance().backend->Open(index), {}};
  });
}

void DeviceClose(assay_device* device) {
  delete device;
}

const assay_implementation* Intern(assay_device& device, Implementation text) {
  auto& slot = device.implementations[{text.name, text.contract}];
  if (slot == nullptr) {
    slot = std::make_unique<InternedImplementation>(InternedImplementation{std::move(text)});
    slot->raw = {sizeof(assay_implementation), slot->text.name.c_str(), slot->text.contract.c_str()};
  }
  return &slot->raw;
}

assay_status Query(assay_device* device, const assay_op_desc* op, const assay_implementation** out, uint64_t* count,
                   assay_text* error) {
  return Guarded(error, [&] {
    CheckPointers("query", device, count);
    const uint64_t room = out == nullptr ? 0 : *count;
    *count = 0;
    uint64_t found = 0;
    for (Implementation& text : device->device->Query(OpDesc(op))) {
      const assay_implementation* implementation = Intern(*device, std::move(text));
      if (found < room) out[found] = implementation;
      ++found;
    }
    *count = found;
  });
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
    auto plan = device->device->CreatePlan(desc, implementation);
    *out = new assay_plan{std::move(desc), std::move(plan)};
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

assay_status ExecuteTimed(assay_plan* plan, assay_timing* timing, assay_text* error) {
  return Guarded(error, [&] {
    CheckPointers("execute_timed", plan, timing);
    Timing checked = CheckedTiming(plan->op, timing);
    plan->plan->ExecuteTimed(checked);
    plan->plan->CheckLoans();
    Set(timing, &assay_timing::clock_is_device, checked.clock_is_device ? 1 : 0);
    Set(timing, &assay_timing::cache_was_flushed, checked.cache_was_flushed ? 1 : 0);
  });
}

}  // namespace

const assay_backend_api* Api(BackendFactory make) {
  factory = make;
  static const assay_backend_api api{sizeof(assay_backend_api),
                                     ASSAY_ABI_MAJOR,
                                     ASSAY_ABI_MINOR,
                                     Describe,
                                     DeviceCount,
                                     GetDeviceInfo,
                                     DeviceOpen,
                                     DeviceClose,
                                     Query,
                                     BufferAlloc,
                                     BufferFree,
                                     BufferUpload,
                                     BufferDownload,
                                     PlanCreate,
                                     PlanDestroy,
                                     Execute,
                                     ExecuteTimed};
  return &api;
}

}  // namespace plugin
