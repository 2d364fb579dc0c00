// SPDX-License-Identifier: Apache-2.0
// Reads and checks what a backend says about itself.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "harness/core/data/type_name.h"
#include "harness/exec/plugin_names.h"
#include "harness/exec/wire/wire.h"
#include "harness/exec/worker_session.h"
#include "harness/exec/worker_session_plan.h"

namespace assay {
namespace {

DeviceDescription ReadDevice(Reply& reply) {
  DeviceDescription device;
  device.name = reply.Text("name", kMaxNameBytes);
  device.driver = reply.Text("driver", kMaxNameBytes);
  device.type = reply.Integer("type");
  device.id = reply.Integer("id");
  device.memory_bytes = reply.Count("memory_bytes", std::numeric_limits<uint64_t>::max());
  device.properties = reply.Text("properties", kMaxTextBytes);
  return device;
}

// "" when it may stand; else what is wrong.
std::string ProblemOf(const ImplementationInfo& info, const std::vector<ImplementationInfo>& before) {
  if (!IsImplementationName(info.name)) {
    return fmt::format("'{}' is not a valid name of an implementation: use lower case letters, digits, '-', '_', '.'",
                       info.name);
  }
  const auto same = [&](const ImplementationInfo& other) { return other.name == info.name; };
  if (std::any_of(before.begin(), before.end(), same)) return fmt::format("'{}' is listed twice", info.name);
  return "";
}

}  // namespace

Call<BackendDescription> WorkerSession::Describe() {
  const Span span(Phase::kQuery);
  const Call<Json> json = Ask("describe", Json::object(), {});
  if (!json) return tl::unexpected(json.error());
  Reply reply(*json);
  BackendDescription backend;
  backend.name = reply.Text("name", kMaxNameBytes);
  backend.vendor = reply.Text("vendor", kMaxNameBytes);
  backend.version = reply.Text("version", kMaxNameBytes);
  backend.library_version = reply.Text("library_version", kMaxNameBytes);
  backend.unavailable = reply.Text("unavailable", kMaxTextBytes);
  for (const Json& entry : reply.List("devices", kMaxDevices)) {
    Reply device(entry);
    backend.devices.push_back(ReadDevice(device));
    if (!device.problem().empty()) return RejectAnswer("describe", "device: " + device.problem());
  }
  if (!reply.problem().empty()) return RejectAnswer("describe", reply.problem());
  if (!IsBackendName(backend.name)) {
    return RejectAnswer(
        "describe",
        fmt::format("'{}' is not a valid name of a backend: use lower case letters, digits, '-', '_'", backend.name));
  }
  return backend;
}

Call<std::vector<ImplementationInfo>> WorkerSession::Query(int64_t device, const Problem& problem,
                                                           const LayoutVariant& variant) {
  const std::vector<BufferLayout> layouts = LayoutsOf(problem, variant);
  const Span span(Phase::kQuery);
  const Call<Json> json = Ask("query", {{"device", device}, {"problem", EncodeProblem(problem, layouts)}}, {});
  if (!json) return tl::unexpected(json.error());
  Reply reply(*json);
  std::vector<ImplementationInfo> found;
  for (const Json& entry : reply.List("implementations", kMaxImplementations)) {
    Reply implementation(entry);
    ImplementationInfo info{implementation.Text("name", kMaxNameBytes), implementation.Text("contract", kMaxTextBytes)};
    if (!implementation.problem().empty()) return RejectAnswer("query", "implementation: " + implementation.problem());
    if (const std::string what = ProblemOf(info, found); !what.empty()) return RejectAnswer("query", what);
    found.push_back(std::move(info));
  }
  if (!reply.problem().empty()) return RejectAnswer("query", reply.problem());
  if (found.empty()) return RejectAnswer("query", "no implementation, yet not ASSAY_UNSUPPORTED with a reason");
  return found;
}

Call<std::vector<CapabilityLine>> WorkerSession::Capabilities(int64_t device) {
  const Span span(Phase::kQuery);
  const Call<Json> json = Ask("capabilities", {{"device", device}}, {});
  if (!json) return tl::unexpected(json.error());
  Reply reply(*json);
  std::vector<CapabilityLine> lines;
  for (const Json& entry : reply.List("lines", kMaxCapabilities)) {
    Reply line(entry);
    const auto code = static_cast<uint8_t>(line.Count("code", UINT8_MAX));
    const auto bits = static_cast<uint8_t>(line.Count("bits", UINT8_MAX));
    const bool is_any = code == 0 && bits == 0;  // of a file of kernels
    lines.push_back(
        {line.Text("op", kMaxNameBytes), is_any ? "any" : TypeName(code, bits), line.Text("features", kMaxNameBytes)});
    if (!line.problem().empty()) return RejectAnswer("capabilities", "line: " + line.problem());
  }
  if (!reply.problem().empty()) return RejectAnswer("capabilities", reply.problem());
  return lines;
}

}  // namespace assay
