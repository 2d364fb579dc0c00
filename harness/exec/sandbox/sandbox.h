// SPDX-License-Identifier: Apache-2.0
// Sandbox that a worker enters before it loads its plugin. The plugin can then neither see what it is judged by, nor
// change what is judged, nor outlive the case. harness/exec/README.md says what the sandbox covers.
#pragma once

#include <string>
#include <vector>

#include "harness/core/base/json.h"
#include "harness/exec/sandbox/landlock.h"
#include "harness/exec/sandbox/limits.h"

namespace assay {

// Settings of the sandbox by the user and the caller.
struct SandboxRequest {
  bool is_on = true;
  std::vector<std::string> passed;         // variables of the environment, besides those that drivers need
  std::vector<std::string> granted;        // files and folders that the plugin may read and write
  std::vector<std::string> readable = {};  // files and folders that it may read
  std::vector<std::string> hidden;         // that it must not see, wherever they lie: golden store, output
  WorkerLimits limits;
};

// Settings that the worker receives.
struct Sandbox {
  bool is_on = true;
  std::vector<FileGrant> files;
  WorkerLimits limits;
};
Json EncodeSandbox(const Sandbox& sandbox);
// Precondition: made by EncodeSandbox (the host is trusted; a mistake throws nlohmann's exceptions).
Sandbox DecodeSandbox(const Json& json);

inline constexpr const char* kFullSandbox = "full";
inline constexpr const char* kNoSandbox = "off";

// Runs in the worker while it has one thread. Returns kFullSandbox, kNoSandbox, or what this system does not support:
// "partial: ...; ...".
std::string EnterSandbox(const Sandbox& sandbox);

}  // namespace assay
