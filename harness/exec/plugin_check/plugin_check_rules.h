// SPDX-License-Identifier: Apache-2.0
// Private to plugin_check*.cc: the checks, one function each, and what they share.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "harness/exec/plugin_check/plugin_check.h"
#include "harness/exec/worker/error_text.h"

namespace assay::plugin_check {

inline constexpr auto kOk = Finding::Kind::kOk;

template <class... Args>
Finding Good(fmt::format_string<Args...> format, Args&&... args) {
  return {Finding::Kind::kOk, fmt::format(format, std::forward<Args>(args)...)};
}
template <class... Args>
Finding Bad(fmt::format_string<Args...> format, Args&&... args) {
  return {Finding::Kind::kFail, fmt::format(format, std::forward<Args>(args)...)};
}
template <class... Args>
Finding Skipped(fmt::format_string<Args...> format, Args&&... args) {
  return {Finding::Kind::kSkip, fmt::format(format, std::forward<Args>(args)...)};
}

// "device_open returned status 3: no such device"
std::string DescribeStatus(const char* function, assay_status status, const ErrorText& error);

inline constexpr unsigned char kUntouched = 0xA5;
inline constexpr size_t kTailBytes = 64;  // behind a struct, a text or an array
template <class Struct>
inline constexpr uint64_t kNewerSize = sizeof(Struct) + kTailBytes;  // what a newer caller announces

bool IsUntouched(const void* bytes, size_t size);

// A struct as a caller of another version of the ABI has it: `announced` bytes, the rest of the memory untouched.
template <class Struct>
class OtherVersion {
 public:
  explicit OtherVersion(uint64_t announced) {
    std::memset(memory_, kUntouched, sizeof memory_);
    get()->struct_size = announced;
  }
  OtherVersion(const Struct& today, uint64_t announced) : OtherVersion(announced) {
    std::memcpy(memory_, &today, sizeof today);
    get()->struct_size = announced;
  }
  Struct* get() { return reinterpret_cast<Struct*>(memory_); }
  bool IsUntouchedFrom(size_t offset) const { return IsUntouched(memory_ + offset, sizeof memory_ - offset); }

 private:
  alignas(Struct) unsigned char memory_[sizeof(Struct) + kTailBytes];
};

struct Answer {
  assay_status status = ASSAY_OK;
  uint64_t count = 0;
  std::string reason;
};
// Calls query().
Answer Ask(const PluginUnderTest& plugin, const assay_op_desc& op);
// Checks for ASSAY_UNSUPPORTED with a reason, a plugin's answer to anything that it does not know; it is no error.
Finding IsDeclined(const Answer& answer, const std::string& what);
// "" or what is wrong with a string that the plugin handed out.
std::string ProblemOfText(const char* member, const char* text, size_t max_bytes);
bool ClaimsSameBits(const CheckedOffer::Implementation& implementation);

// Loads the plugin and takes it as far as the stage.
Finding Reach(PluginUnderTest& plugin, PluginStage stage, const Json& problems);

// The file and its entry point.
Finding Loads(PluginUnderTest&);
Finding EntrySymbol(PluginUnderTest&);
Finding Exports(PluginUnderTest&);
Finding EntryIsQuiet(PluginUnderTest&);
Finding NewerHost(PluginUnderTest&);
Finding AbiVersion(PluginUnderTest&);
Finding Functions(PluginUnderTest&);
// The plugin's description of itself.
Finding Describes(PluginUnderTest&);
Finding Devices(PluginUnderTest&);
Finding DeviceIndex(PluginUnderTest&);
// Callers of other versions.
Finding OlderCaller(PluginUnderTest&);
Finding NewerCaller(PluginUnderTest&);
Finding NewerDescription(PluginUnderTest&);
// Error texts.
Finding ErrorReason(PluginUnderTest&);
Finding ErrorNull(PluginUnderTest&);
Finding ErrorEmpty(PluginUnderTest&);
Finding ErrorShort(PluginUnderTest&);
// Queries.
Finding UnknownOperator(PluginUnderTest&);
Finding UnknownType(PluginUnderTest&);
Finding UnknownAttribute(PluginUnderTest&);
Finding UnknownFlags(PluginUnderTest&);
Finding InPlace(PluginUnderTest&);
Finding Outputs(PluginUnderTest&);
Finding Capabilities(PluginUnderTest&);
Finding QueryFree(PluginUnderTest&);
Finding Implementations(PluginUnderTest&);
// Memory of the device.
Finding BufferRoundTrip(PluginUnderTest&);
Finding BufferZero(PluginUnderTest&);
Finding BufferHuge(PluginUnderTest&);
Finding BufferRange(PluginUnderTest&);
Finding BufferAlignment(PluginUnderTest&);
// Plans and lifetimes.
Finding OpenClose(PluginUnderTest&);
Finding PlanUnknown(PluginUnderTest&);
Finding Plans(PluginUnderTest&);
Finding ExecuteTwice(PluginUnderTest&);
Finding ExecuteBatch(PluginUnderTest&);
Finding ArgumentFlags(PluginUnderTest&);
Finding FloatEnvironment(PluginUnderTest&);
Finding ChangedInputs(PluginUnderTest&);
Finding PlanInfo(PluginUnderTest&);
Finding DestroyNull(PluginUnderTest&);
Finding CloseAfterUse(PluginUnderTest&);
Finding Leaks(PluginUnderTest&);
Finding Unload(PluginUnderTest&);

}  // namespace assay::plugin_check
