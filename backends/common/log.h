// SPDX-License-Identifier: Apache-2.0
// The log of the program that loaded the plugin: what is written there appears with the backend's failures.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

#include "backends/abi/assay_backend.h"

namespace plugin {

enum class LogLevel : int32_t {
  kDebug = ASSAY_LOG_DEBUG,
  kInfo = ASSAY_LOG_INFO,
  kWarning = ASSAY_LOG_WARNING,
  kError = ASSAY_LOG_ERROR
};

// Keeps the host's log from here on. False, with the reason there, for a host of another major version; a host that
// says nothing about itself is served without a log.
bool ServesHost(const assay_host_info* host);

// From any thread.
void LogText(LogLevel level, const std::string& text);

template <class... Args>
void Log(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
  LogText(level, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace plugin
