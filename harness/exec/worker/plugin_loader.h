// SPDX-License-Identifier: Apache-2.0
// Loads a plugin into this process: only ever a worker, never the host.
#pragma once

#include <string>

#include "backends/abi/assay_backend.h"
#include "harness/core/base/result.h"

namespace assay {

// The steps of LoadPlugin, for whoever wants to tell them apart. A usage error says that the file is no plugin of this
// ABI, any other one that the plugin breaks a rule.
Result<void*> OpenPluginLibrary(const std::string& path);
Result<assay_backend_entry> FindPluginEntry(void* library, const std::string& path);
// The table that the entry returned: of this ABI's major version and not from before 1.0; with every required function.
Status CheckPluginVersion(const assay_backend_api* api, const std::string& path);
Status CheckPluginFunctions(const assay_backend_api& api, const std::string& path);

// Information about this program for the plugin's entry.
const assay_host_info& HostInfo();

// The plugin's functions, checked to be of this ABI's major version and complete. The library stays loaded: unloading
// is not safe while its threads may run, and its strings live as long as it does.
Result<const assay_backend_api*> LoadPlugin(const std::string& path);

}  // namespace assay
