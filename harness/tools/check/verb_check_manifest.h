// SPDX-License-Identifier: Apache-2.0
// assay check --manifest: what came back for the cases that `assay inputs` wrote, judged and reported like a run.
#pragma once

#include <filesystem>
#include <string>

namespace assay::cli {

struct ManifestOptions {
  std::filesystem::path manifest;  // the folder; "": none was given
  std::string contract;            // by which all are judged; "": JudgeOutputs' own
  std::string requirement;         // that all have to meet; "": what the manifest says of each
  std::string backend = "user";    // the name of the column
  std::filesystem::path out;       // "": out/<time>
  bool strict = false;
  std::string progress = "auto", color = "auto";
};

int CheckManifest(const ManifestOptions& options);

}  // namespace assay::cli
