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
std::string Told(const char* function, assay_status status, const ErrorText& error);

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
  bool UntouchedFrom(size_t offset) const { return IsUntouched(memory_ + offset, sizeof memory_ - offset); }

 private:
  alignas(Struct) unsigned char memory_[sizeof(Struct) + kTailBytes];
};

// The file and its entry point.
Finding Loads(PluginUnderTest&);
Finding EntrySymbol(PluginUnderTest&);
Finding Exports(PluginUnderTest&);
Finding EntryIsQuiet(PluginUnderTest&);
Finding AbiVersion(PluginUnderTest&);
Finding Functions(PluginUnderTest&);
// What it says about itself.
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
Finding QueryFree(PluginUnderTest&);
Finding Implementations(PluginUnderTest&);
// Memory of the device.
Finding BufferRoundTrip(PluginUnderTest&);
Finding BufferZero(PluginUnderTest&);
Finding BufferHuge(PluginUnderTest&);
Finding BufferRange(PluginUnderTest&);
// Plans and lifetimes.
Finding OpenClose(PluginUnderTest&);
Finding PlanUnknown(PluginUnderTest&);
Finding Plans(PluginUnderTest&);
Finding ExecuteTwice(PluginUnderTest&);
Finding ExecuteBatch(PluginUnderTest&);
Finding DestroyNull(PluginUnderTest&);
Finding CloseAfterUse(PluginUnderTest&);
Finding Leaks(PluginUnderTest&);

}  // namespace assay::plugin_check
