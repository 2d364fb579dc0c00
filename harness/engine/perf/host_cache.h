// SPDX-License-Identifier: Apache-2.0
// The caches of the host, asked of the operating system: what a plugin says of them would move its own limits.
#pragma once

#include <filesystem>

namespace assay {

// Bytes of all last-level caches of data that the processors below `cpus` reach; 0 where the system does not tell.
double HostCacheBytes(const std::filesystem::path& cpus = "/sys/devices/system/cpu");

}  // namespace assay
