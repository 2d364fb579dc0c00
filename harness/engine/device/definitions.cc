// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/device/definitions.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "harness/core/base/scratch.h"
#include "harness/core/base/whole_file.h"
#include "harness/engine/device/interpreter.h"
#include "harness/engine/device/program_group.h"
#include "harness/plan/catalog.h"
#include "ops/definition_file.h"

namespace assay {

namespace fs = std::filesystem;

namespace {

constexpr double kMostTraceSeconds = 60;
constexpr const char* kShippedDefinitions = "compositions";

}  // namespace

Result<std::string> TraceDefinitions(const fs::path& file, const std::string& python) {
  const auto modules = FindModules();
  if (!modules) return tl::unexpected(modules.error());
  const std::string interpreter = ChoosePython(python);
  const Scratch scratch("define");
  const fs::path out = scratch.path / "definitions.json";
  const LimitedOutput ran = RunWithin(
      kMostTraceSeconds, {interpreter, (*modules / "assay/_define_script.py").string(), file.string(), out.string()});
  if (ran.end == ProgramEnd::kLate) {
    return UsageError(fmt::format("{}: its definitions were not traced within {} s; look for a loop without an end",
                                  file.string(), kMostTraceSeconds));
  }
  std::error_code error;
  if (ran.end == ProgramEnd::kWell && fs::exists(out, error)) return ReadWholeFile(out);
  const std::string said = ran.text.substr(0, ran.text.find_last_not_of(" \n") + 1);
  if (!said.empty()) return UsageError(said);
  return UsageError(
      fmt::format("{}: the interpreter {} ended before it had traced it; name one of CPython 3.10 or "
                  "later with --python PATH or $ASSAY_PYTHON, or look whether the file ends the program",
                  file.string(), interpreter));
}

fs::path FindDefinitions(const std::string& name_or_path) {
  return name_or_path == kShippedDefinitions ? CompositionsFolder() : fs::path(name_or_path);
}

Status AddOperatorsIn(const fs::path& file_or_folder, const std::string& python) {
  std::error_code error;
  std::vector<fs::path> files = {file_or_folder};
  if (fs::is_directory(file_or_folder, error)) {
    std::vector<fs::path> entries(fs::directory_iterator(file_or_folder, error), {});
    // Files whose name begins with _ are modules that the others import.
    std::erase_if(entries, [](const fs::path& entry) {
      return entry.extension() != ".py" || entry.filename().string().starts_with('_');
    });
    if (entries.empty()) {
      return UsageError(fmt::format("{}: no file of definitions (.py) lies there", file_or_folder.string()));
    }
    std::ranges::sort(entries);
    files = std::move(entries);
  }
  for (const fs::path& file : files) {
    const auto text = file.extension() == ".py" ? TraceDefinitions(file, python) : ReadWholeFile(file);
    if (!text) return tl::unexpected(text.error());
    if (const auto added = AddDefinitions(*text, file.string()); !added) return tl::unexpected(added.error());
  }
  return {};
}

}  // namespace assay
