// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/candidate/verb_judge_sides.h"

#include <algorithm>

namespace assay::cli {
namespace fs = std::filesystem;

std::string JudgeSide::Version() const {
  return devices.empty() ? "" : devices.front().description.library_version;
}

JudgeSide OpenSide(const fs::path& file, const std::string& name, BackendOptions options,
                   const std::vector<fs::path>& hidden) {
  JudgeSide side;
  side.file = fs::absolute(file);
  options.sandbox.hidden.insert(options.sandbox.hidden.end(), hidden.begin(), hidden.end());
  side.devices = OpenPlugin({.name = name, .path = side.file, .origin = "--kernels", .problem = ""}, options);
  for (const Device& device : side.devices) {
    if (side.problem.empty()) side.problem = device.problem;
  }
  std::erase_if(side.devices, [](const Device& device) { return !device.problem.empty(); });
  if (!side.devices.empty()) side.problem.clear();
  return side;
}

std::vector<fs::path> FilesOf(const fs::path& file) {
  const fs::path whole = fs::weakly_canonical(file);
  std::vector<fs::path> files = {whole};
  std::error_code error;
  const std::string begin = whole.stem().string() + ".";
  for (const fs::directory_entry& entry : fs::directory_iterator(whole.parent_path() / "__pycache__", error)) {
    if (entry.path().filename().string().starts_with(begin)) files.push_back(entry.path());
  }
  return files;
}

bool Takes(const JudgeSide& side, const PlannedCase& planned) {
  return std::ranges::any_of(side.devices, [&](const Device& device) {
    const auto offered = device.session->Query(device.device_index, planned.Bound()->problem, {});
    return offered && !offered->empty();
  });
}

}  // namespace assay::cli
