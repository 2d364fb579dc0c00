// SPDX-License-Identifier: Apache-2.0
// Error texts: the caller's buffer, its capacity, its end. The failing call is one that fails for every plugin.
#include <limits>

#include "harness/exec/plugin_check/plugin_check_rules.h"

namespace assay::plugin_check {
namespace {

constexpr uint32_t kNoDevice = std::numeric_limits<uint32_t>::max();

struct Failure {
  assay_status status = ASSAY_OK;
  const char* function = "";
};

Failure FailingOpen(const PluginUnderTest& plugin, assay_text* error) {
  assay_device* device = nullptr;
  return {plugin.api->device_open(kNoDevice, &device, error), "device_open"};
}

Failure FailingInfo(const PluginUnderTest& plugin, assay_text* error) {
  assay_device_info info{};
  info.struct_size = sizeof info;
  return {plugin.api->device_info(kNoDevice, &info, error), "device_info"};
}

constexpr Failure (*kFailingCalls[])(const PluginUnderTest&, assay_text*) = {FailingOpen, FailingInfo};

// A text of a given capacity in memory that shows what is written around it.
struct GuardedText {
  explicit GuardedText(uint64_t room) : text{sizeof text, memory + kTailBytes, room} {
    std::memset(memory, kUntouched, sizeof memory);
  }
  bool HasWrittenOutside() const {
    const size_t end = kTailBytes + text.capacity;
    return !IsUntouched(memory, kTailBytes) || !IsUntouched(memory + end, sizeof memory - end);
  }
  char memory[3 * kTailBytes];
  assay_text text;
};

}  // namespace

Finding ErrorReason(PluginUnderTest& plugin) {
  std::string sample;
  for (const auto call : kFailingCalls) {
    ErrorText error;
    const Failure failure = call(plugin, error.out());
    if (failure.status == ASSAY_OK) continue;  // device-index tells
    if (error.str().empty()) {
      return Bad("{} failed with status {} and no text; say what was wrong and what to do", failure.function,
                 failure.status);
    }
    sample = error.str();
  }
  return Good("\"{}\"", sample);
}

Finding ErrorNull(PluginUnderTest& plugin) {
  for (const auto call : kFailingCalls) call(plugin, nullptr);
  return Good("no text is written without a place for it");
}

Finding ErrorEmpty(PluginUnderTest& plugin) {
  for (const auto call : kFailingCalls) {
    assay_text nothing{sizeof nothing, nullptr, 0};
    const Failure failure = call(plugin, &nothing);
    GuardedText no_room(0);
    call(plugin, &no_room.text);
    if (no_room.HasWrittenOutside()) return Bad("{} wrote a text into a capacity of 0", failure.function);
    GuardedText older(kTailBytes);
    older.text.struct_size = sizeof older.text.struct_size;  // without data and capacity
    call(plugin, &older.text);
    if (!IsUntouched(older.memory, sizeof older.memory)) {
      return Bad("{} wrote through an assay_text whose struct_size ends before data", failure.function);
    }
  }
  return Good("capacity 0, with and without data, and a struct without data");
}

Finding ErrorShort(PluginUnderTest& plugin) {
  for (const auto call : kFailingCalls) {
    for (const uint64_t capacity : {1, 2, 7}) {
      GuardedText guarded(capacity);
      const Failure failure = call(plugin, &guarded.text);
      if (failure.status == ASSAY_OK) continue;
      if (guarded.HasWrittenOutside()) {
        return Bad("{} wrote outside of a text of capacity {}; the terminator counts", failure.function, capacity);
      }
      if (std::memchr(guarded.text.data, '\0', capacity) == nullptr) {
        return Bad("{} left a text of capacity {} without a terminator", failure.function, capacity);
      }
    }
  }
  return Good("capacities 1, 2 and 7");
}

}  // namespace assay::plugin_check
