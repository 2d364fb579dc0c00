// SPDX-License-Identifier: Apache-2.0
// Checks how a plugin describes itself and its devices, to callers of this and of other versions.
#include <limits>

#include "harness/exec/clean_text.h"
#include "harness/exec/plugin_check/plugin_check_rules.h"
#include "harness/exec/plugin_names.h"

namespace assay::plugin_check {
namespace {

constexpr uint32_t kNoIndex = std::numeric_limits<uint32_t>::max();

std::string ProblemOf(const assay_device_info& info) {
  std::string problem = ProblemOfText("name", info.name, kMaxNameBytes);
  if (problem.empty()) problem = ProblemOfText("driver", info.driver, kMaxNameBytes);
  if (problem.empty()) problem = ProblemOfText("properties", info.properties, kMaxTextBytes);
  if (problem.empty() && *info.name == '\0') problem = "name is empty; records and reports are told apart by it";
  return problem;
}

}  // namespace

std::string ProblemOfText(const char* member, const char* text, size_t max_bytes) {
  if (text == nullptr) return fmt::format("{} is NULL; \"\" says that there is nothing to say", member);
  const size_t size = ::strnlen(text, max_bytes + 1);
  if (size > max_bytes) return fmt::format("{} is longer than {} bytes; shorten it", member, max_bytes);
  if (CleanText(text, max_bytes) != text) {
    return fmt::format("{} has control characters or is not UTF-8: \"{}\"", member, CleanText(text, max_bytes));
  }
  return "";
}

Finding Describes(PluginUnderTest& plugin) {
  ErrorText error;
  assay_backend_info info{};
  info.struct_size = sizeof info;
  const assay_status status = plugin.api->describe(&info, error.out());
  if (status != ASSAY_OK) return Bad("{}", DescribeStatus("describe", status, error));
  std::string problem = ProblemOfText("name", info.name, kMaxNameBytes);
  if (problem.empty()) problem = ProblemOfText("vendor", info.vendor, kMaxNameBytes);
  if (problem.empty()) problem = ProblemOfText("version", info.version, kMaxNameBytes);
  if (problem.empty()) problem = ProblemOfText("library_version", info.library_version, kMaxNameBytes);
  if (!problem.empty()) return Bad("describe: {}", problem);
  if (!IsBackendName(info.name)) {
    return Bad("describe: '{}' is not a valid name of a backend; use lower case letters, digits, '-', '_'", info.name);
  }
  return Good("{} {} of {}{}{}", info.name, info.version, info.vendor, *info.library_version == '\0' ? "" : ", ",
              info.library_version);
}

Finding Devices(PluginUnderTest& plugin) {
  ErrorText error;
  uint32_t count = 0;
  assay_status status = plugin.api->device_count(&count, error.out());
  if (status == ASSAY_UNAVAILABLE || (status == ASSAY_OK && count == 0)) {
    if (status == ASSAY_UNAVAILABLE && error.str().empty()) {
      return Bad("device_count is ASSAY_UNAVAILABLE without a text; say what is missing and what to install");
    }
    return Skipped("there is no device: {}", error.str());
  }
  if (status != ASSAY_OK) return Bad("{}", DescribeStatus("device_count", status, error));
  if (count > kMaxDevices) return Bad("device_count: {} devices are not plausible", count);
  std::string names;
  for (uint32_t i = 0; i < count; ++i) {
    assay_device_info info{};
    info.struct_size = sizeof info;
    status = plugin.api->device_info(i, &info, error.out());
    if (status != ASSAY_OK) return Bad("device {}: {}", i, DescribeStatus("device_info", status, error));
    if (const std::string problem = ProblemOf(info); !problem.empty()) return Bad("device_info {}: {}", i, problem);
    names += (names.empty() ? "" : ", ") + std::string(info.name);
  }
  return Good("{}: {}", count, names);
}

Finding DeviceIndex(PluginUnderTest& plugin) {
  ErrorText error;
  uint32_t count = 0;
  if (plugin.api->device_count(&count, error.out()) != ASSAY_OK) count = 0;
  for (const uint32_t index : {count, kNoIndex}) {
    assay_device_info info{};
    info.struct_size = sizeof info;
    if (plugin.api->device_info(index, &info, error.out()) == ASSAY_OK) {
      return Bad("device_info({}) of {} devices is ASSAY_OK; return an error", index, count);
    }
    assay_device* device = nullptr;
    if (plugin.api->device_open(index, &device, error.out()) == ASSAY_OK) {
      return Bad("device_open({}) of {} devices is ASSAY_OK; return an error", index, count);
    }
  }
  return Good("{} and {} are refused", count, kNoIndex);
}

Finding OlderCaller(PluginUnderTest& plugin) {
  ErrorText error;
  constexpr size_t kBackendBytes = offsetof(assay_backend_info, vendor);  // knows the name alone
  OtherVersion<assay_backend_info> backend(kBackendBytes);
  assay_status status = plugin.api->describe(backend.get(), error.out());
  if (status != ASSAY_OK) return Bad("struct_size {}: {}", kBackendBytes, DescribeStatus("describe", status, error));
  if (!backend.IsUntouchedFrom(kBackendBytes)) {
    return Bad("describe wrote beyond struct_size {}; ask ASSAY_HAS before each member, or use ASSAY_SET",
               kBackendBytes);
  }
  if (backend.get()->struct_size != kBackendBytes) return Bad("describe changed struct_size, which is the caller's");
  uint32_t count = 0;
  if (plugin.api->device_count(&count, error.out()) != ASSAY_OK || count == 0) return Good("describe; no device");
  constexpr size_t kDeviceBytes = offsetof(assay_device_info, driver);
  OtherVersion<assay_device_info> device(kDeviceBytes);
  status = plugin.api->device_info(0, device.get(), error.out());
  if (status != ASSAY_OK) return Bad("struct_size {}: {}", kDeviceBytes, DescribeStatus("device_info", status, error));
  if (!device.IsUntouchedFrom(kDeviceBytes)) {
    return Bad("device_info wrote beyond struct_size {}; ask ASSAY_HAS before each member, or use ASSAY_SET",
               kDeviceBytes);
  }
  return Good("describe and device_info");
}

Finding NewerCaller(PluginUnderTest& plugin) {
  ErrorText error;
  OtherVersion<assay_backend_info> backend(kNewerSize<assay_backend_info>);
  assay_status status = plugin.api->describe(backend.get(), error.out());
  if (status != ASSAY_OK) return Bad("a larger struct_size: {}", DescribeStatus("describe", status, error));
  if (!backend.IsUntouchedFrom(sizeof(assay_backend_info))) {
    return Bad("describe wrote behind the members that this version has; write members, not struct_size bytes");
  }
  uint32_t count = 0;
  if (plugin.api->device_count(&count, error.out()) != ASSAY_OK || count == 0) return Good("describe; no device");
  OtherVersion<assay_device_info> device(kNewerSize<assay_device_info>);
  status = plugin.api->device_info(0, device.get(), error.out());
  if (status != ASSAY_OK) return Bad("a larger struct_size: {}", DescribeStatus("device_info", status, error));
  if (!device.IsUntouchedFrom(sizeof(assay_device_info))) {
    return Bad("device_info wrote behind the members that this version has; write members, not struct_size bytes");
  }
  return Good("describe and device_info");
}

}  // namespace assay::plugin_check
