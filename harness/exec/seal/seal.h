// SPDX-License-Identifier: Apache-2.0
// What a worker gives up before it loads its plugin, so that the plugin can neither see what it is judged with, nor
// change what is judged, nor outlive the case. harness/exec/README.md says what is sealed, and what is not.
#pragma once

#include <string>
#include <vector>

#include "harness/base/json.h"
#include "harness/exec/seal/landlock.h"
#include "harness/exec/seal/limits.h"

namespace assay {

// What the user and the caller say about it.
struct SealOptions {
  bool sealed = true;
  std::vector<std::string> passed;         // variables of the environment, besides those that drivers need
  std::vector<std::string> granted;        // files and folders that the plugin may read and write
  std::vector<std::string> readable = {};  // files and folders that it may read
  std::vector<std::string> hidden;         // that it must not see, wherever they lie: golden store, output
  WorkerLimits limits;
};

// What the worker is told to do.
struct Seal {
  bool sealed = true;
  std::vector<FileGrant> files;
  WorkerLimits limits;
};
Json EncodeSeal(const Seal& seal);
// Precondition: made by EncodeSeal (the host is trusted; a mistake throws nlohmann's exceptions).
Seal DecodeSeal(const Json& json);

inline constexpr const char* kFullSeal = "full";
inline constexpr const char* kNoSeal = "off";

// In the worker, which has one thread. Returns kFullSeal, kNoSeal, or what this system did not let it give up:
// "partial:
// ...; ...".
std::string ApplySeal(const Seal& seal);

}  // namespace assay
