// SPDX-License-Identifier: Apache-2.0
// A folder that is removed with all that is in it.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

namespace assay {

struct Scratch {
  std::filesystem::path path;  // "" where none could be made
  explicit Scratch(const std::string& verb) {
    std::string name = (std::filesystem::temp_directory_path() / ("assay-" + verb + "-XXXXXX")).string();
    if (mkdtemp(name.data()) != nullptr) path = name;
  }
  ~Scratch() {
    std::error_code error;
    if (!path.empty()) std::filesystem::remove_all(path, error);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
};

}  // namespace assay
