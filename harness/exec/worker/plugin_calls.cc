// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/worker/plugin_calls.h"

#include <fmt/format.h>

#include <utility>

#include "harness/core/base/profile.h"
#include "harness/exec/failure.h"
#include "harness/exec/plugin_check/plugin_check.h"
#include "harness/exec/wire/wire.h"
#include "harness/exec/worker/found_implementations.h"
#include "harness/exec/worker/plugin_loader.h"

namespace assay {
namespace {

Json EncodeDevice(const assay_device_info& info) {
  return {{"name", PluginString(info.name, kMaxNameBytes)},
          {"driver", PluginString(info.driver, kMaxNameBytes)},
          {"type", info.device_type},
          {"id", info.device_id},
          {"memory_bytes", info.memory_bytes},
          {"properties", PluginString(info.properties, kMaxTextBytes)}};
}

// Returns what the plugin tells about a plan: workspace_bytes, algorithm, kernel.
Json DescribePlan(const assay_backend_api& api, const assay_plan& plan) {
  assay_plan_info info{sizeof info, 0, "", ""};
  if (api.plan_info == nullptr) return Ok();
  ErrorText error;
  const assay_status status = api.plan_info(&plan, &info, error.out());
  if (status == ASSAY_UNSUPPORTED) return Ok();
  if (status != ASSAY_OK) return PluginFailed(status, "plan_info", error);
  return {{"status", ASSAY_OK},
          {"workspace_bytes", info.workspace_bytes},
          {"algorithm", PluginString(info.algorithm, kMaxTextBytes)},
          {"kernel", PluginString(info.kernel, kMaxTextBytes)}};
}

}  // namespace

Json PluginFailed(assay_status status, const char* function, const ErrorText& error) {
  const std::string text = error.str();
  // A reason why something is not offered stands for itself; an error is better read with the call that failed.
  const bool is_reason =
      status == ASSAY_UNAVAILABLE || (status == ASSAY_UNSUPPORTED && std::string_view(function) == "query");
  if (is_reason && !text.empty()) return Failed(status, text);
  return Failed(status,
                fmt::format("{}: {}", function, text.empty() ? fmt::format("status {} without a text", status) : text));
}

PluginCalls::~PluginCalls() {
  Close();
}

Json PluginCalls::Close() {
  plans_.clear();  // before their devices
  for (const auto& [index, device] : std::exchange(devices_, {})) api_->device_close(device);
  return Ok();
}

Json PluginCalls::Answer(const Json& request, std::vector<UniqueFd> fds) {
  const std::string call = request.at("call");
  if (call == "load") return Load(request);
  if (call == "check") return RunPluginCheck(request);
  if (api_ == nullptr) return Failed(ASSAY_ERROR, "worker: no plugin is loaded");
  if (call == "describe") return Describe();
  if (call == "query") return Query(request);
  if (call == "capabilities") return Capabilities(request);
  if (call == "prepare") return Prepare(request);
  if (call == "close") return Close();
  const uint64_t plan = request.at("plan");
  if (call == "release") {
    plans_.erase(plan);
    return Ok();
  }
  const auto prepared = plans_.find(plan);
  if (prepared == plans_.end())
    return Failed(ASSAY_ERROR, fmt::format("worker: {} of plan {}, which does not exist", call, plan));
  return prepared->second.Answer(call, request, std::move(fds));
}

Json PluginCalls::Load(const Json& request) {
  const Result<const assay_backend_api*> api =
      LoadPlugin(own_plugin_.empty() ? std::string(request.at("plugin")) : own_plugin_);
  if (!api) {
    const ErrorCode code = api.error().code;
    const int64_t status = code == ErrorCode::kUsage         ? kNoPluginStatus
                           : code == ErrorCode::kUnavailable ? int64_t{ASSAY_UNAVAILABLE}
                                                             : int64_t{ASSAY_ERROR};
    return {{"status", status}, {"text", api.error().message}};
  }
  api_ = *api;
  return Ok();
}

Json PluginCalls::Describe() {
  ErrorText error;
  assay_backend_info info{};
  info.struct_size = sizeof info;
  if (const assay_status status = api_->describe(&info, error.out()); status != ASSAY_OK) {
    return PluginFailed(status, "describe", error);
  }
  Json reply = {{"status", ASSAY_OK},
                {"name", PluginString(info.name, kMaxNameBytes)},
                {"vendor", PluginString(info.vendor, kMaxNameBytes)},
                {"version", PluginString(info.version, kMaxNameBytes)},
                {"library_version", PluginString(info.library_version, kMaxNameBytes)},
                {"unavailable", ""},
                {"devices", Json::array()}};
  uint32_t count = 0;
  const assay_status counted = api_->device_count(&count, error.out());
  if (counted == ASSAY_UNAVAILABLE) {
    const std::string text = error.str();
    reply["unavailable"] = text.empty() ? "the plugin gives no reason" : text;
    return reply;
  }
  if (counted != ASSAY_OK) return PluginFailed(counted, "device_count", error);
  if (count == 0) reply["unavailable"] = "the plugin found no device";
  if (count > kMaxDevices) return Failed(ASSAY_ERROR, fmt::format("device_count: {} devices is not credible", count));
  for (uint32_t i = 0; i < count; ++i) {
    assay_device_info device{};
    device.struct_size = sizeof device;
    if (const assay_status status = api_->device_info(i, &device, error.out()); status != ASSAY_OK) {
      return PluginFailed(status, "device_info", error);
    }
    reply["devices"].push_back(EncodeDevice(device));
  }
  return reply;
}

assay_device* PluginCalls::Open(uint32_t index, Json& failure) {
  assay_device*& device = devices_[index];
  if (device != nullptr) return device;
  ErrorText error;
  const assay_status status = api_->device_open(index, &device, error.out());
  if (status == ASSAY_OK && device != nullptr) return device;
  devices_.erase(index);
  failure = status == ASSAY_OK ? Failed(ASSAY_ERROR, "device_open returned ASSAY_OK and a NULL device")
                               : PluginFailed(status, "device_open", error);
  return nullptr;
}

Json PluginCalls::Query(const Json& request) {
  Json failure;
  assay_device* device = Open(request.at("device"), failure);
  if (device == nullptr) return failure;
  const OpDescription op(request.at("problem"));
  FoundImplementations found(*api_, device);
  ErrorText error;
  if (const assay_status status = found.Query(op.get(), error); status != ASSAY_OK) {
    return PluginFailed(status, "query", error);
  }
  if (const std::string problem = found.Problem(); !problem.empty()) return Failed(ASSAY_ERROR, "query: " + problem);
  Json list = Json::array();
  for (const assay_implementation* implementation : found.items()) {
    list.push_back({{"name", PluginString(implementation->name, kMaxNameBytes)},
                    {"contract", PluginString(implementation->contract, kMaxTextBytes)}});
  }
  return {{"status", ASSAY_OK}, {"implementations", std::move(list)}};
}

Json PluginCalls::Capabilities(const Json& request) {
  if (api_->capabilities == nullptr) return Failed(ASSAY_UNSUPPORTED, "the plugin has no table of capabilities");
  Json failure;
  assay_device* device = Open(request.at("device"), failure);
  if (device == nullptr) return failure;
  const assay_capabilities* table = nullptr;
  ErrorText error;
  const assay_status status = api_->capabilities(device, &table, error.out());
  if (status != ASSAY_OK) return PluginFailed(status, "capabilities", error);
  if (table == nullptr || !ASSAY_HAS(table, items)) return Failed(ASSAY_ERROR, "capabilities: ASSAY_OK and no table");
  if (table->count > kMaxCapabilities) {
    return Failed(ASSAY_ERROR, fmt::format("capabilities: {} lines are not credible", table->count));
  }
  Json lines = Json::array();
  for (uint64_t i = 0; i < table->count; ++i) {
    const assay_capability* line = table->items[i];
    if (line == nullptr || !ASSAY_HAS(line, features)) {
      return Failed(ASSAY_ERROR, fmt::format("capabilities: line {} is NULL or cut off", i));
    }
    lines.push_back({{"op", PluginString(line->op, kMaxNameBytes)},
                     {"code", line->type_code},
                     {"bits", line->bits},
                     {"features", PluginString(line->features, kMaxNameBytes)}});
  }
  return {{"status", ASSAY_OK}, {"lines", std::move(lines)}};
}

Json PluginCalls::Prepare(const Json& request) {
  Json failure;
  assay_device* device = Open(request.at("device"), failure);
  if (device == nullptr) return failure;
  assay_plan* plan = nullptr;
  ErrorText error;
  double seconds = 0;
  Nanoseconds begin = 0;
  {
    // The description ends before the first execution: a plan that keeps pointers into it is found out.
    const OpDescription op(request.at("problem"));
    const std::string implementation = request.at("implementation");
    begin = NowNanoseconds();
    const assay_status status = api_->plan_create(device, &op.get(), implementation.c_str(), &plan, error.out());
    seconds = static_cast<double>(NowNanoseconds() - begin) * 1e-9;
    if (status != ASSAY_OK) return PluginFailed(status, "plan_create", error);
  }
  if (plan == nullptr) return Failed(ASSAY_ERROR, "plan_create returned ASSAY_OK and a NULL plan");
  plans_.try_emplace(next_plan_, *api_, device, plan);
  Json reply = {{"status", ASSAY_OK}, {"plan", next_plan_}, {"seconds", seconds}, {"begin_ns", begin}};
  if (Json what = DescribePlan(*api_, *plan); what.at("status") != ASSAY_OK) {
    plans_.erase(next_plan_);
    return what;
  } else {
    reply.update(what);
  }
  ++next_plan_;
  return reply;
}

}  // namespace assay
