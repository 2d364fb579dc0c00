// SPDX-License-Identifier: Apache-2.0
// The file of a bundle: a tar archive whose members are zstd frames of their own, so that `tar --zstd -xf` unpacks it
// and damage is found in the member where it is. The first member, MANIFEST, lists the SHA-256 of all others as
// sha256sum does. Behind the archive a skippable frame holds the length and the SHA-256 of every frame: a bit that no
// decoder looks at is one that was changed, too.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "harness/core/base/result.h"

namespace assay {

inline constexpr const char* kManifestName = "MANIFEST";

using BundleFiles = std::map<std::string, std::string>;  // contents by name

std::string TextOfFile(const BundleFiles& files, const std::string& name);  // "" where there is none

// Errors: a name that a header does not hold (over 100 bytes, or not below the archive), a file that cannot be written,
// which is called `shown` in the message, if given.
Status WriteContainer(const std::filesystem::path& path, const BundleFiles& files,
                      const std::filesystem::path& shown = {});

struct Container {
  BundleFiles files;                // what is whole
  std::vector<std::string> damage;  // "outputs/x.safetensors: ..."; empty: nothing was changed
};
// Error: there is no such file, or it is none that assay wrote.
Result<Container> ReadContainer(const std::filesystem::path& path);

}  // namespace assay
