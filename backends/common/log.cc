// SPDX-License-Identifier: Apache-2.0
#include "backends/common/log.h"

#include <atomic>

namespace plugin {
namespace {

std::atomic<const assay_host_info*> the_host = nullptr;

}  // namespace

bool ServesHost(const assay_host_info* host) {
  if (host == nullptr) return true;
  if (ASSAY_HAS(host, log_context) && host->log != nullptr) the_host = host;
  if (ASSAY_HAS(host, abi_major) && host->abi_major == ASSAY_ABI_MAJOR) return true;
  Log(LogLevel::kError,
      "this plugin is of ABI {}.{}, the program is not; rebuild the plugin with the header of the program",
      ASSAY_ABI_MAJOR, ASSAY_ABI_MINOR);
  return false;
}

void LogText(LogLevel level, const std::string& text) {
  const assay_host_info* host = the_host;
  if (host != nullptr) host->log(host->log_context, static_cast<int32_t>(level), text.c_str());
}

}  // namespace plugin
