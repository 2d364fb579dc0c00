// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/explain/verb_bisect_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "harness/core/base/atomic_file.h"
#include "harness/core/base/text.h"
#include "harness/core/base/whole_file.h"
#include "harness/exec/sandbox/environment.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

constexpr double kMostIndexSeconds = 300, kMostInstallSeconds = 3600;

struct VersionRange {
  std::string package, first, last;
};

Result<VersionRange> ParseRange(const std::string& text) {
  const size_t equals = text.find("=="), dots = text.find("..", equals == text.npos ? 0 : equals);
  if (equals != text.npos && equals > 0 && dots != text.npos) {
    VersionRange range{text.substr(0, equals), text.substr(equals + 2, dots - equals - 2), text.substr(dots + 2)};
    // A name that begins like an option would be one to pip.
    if (!range.first.empty() && !range.last.empty() && range.package.front() != '-') return range;
  }
  return UsageError(fmt::format("--pip '{}' is no PACKAGE==FIRST..LAST, such as jaxlib==0.4.30..0.4.35", text));
}

// The versions of "Available versions: 2.0, 1.0", the oldest first.
std::vector<std::string> ReadVersions(const std::string& text) {
  constexpr std::string_view kHeading = "Available versions:";
  std::vector<std::string> versions;
  const size_t begin = text.find(kHeading);
  if (begin == text.npos) return versions;
  const std::string_view line = Split(std::string_view(text).substr(begin + kHeading.size()), '\n')[0];
  for (const std::string_view version : Split(line, ',')) versions.emplace_back(Trim(version));
  std::ranges::reverse(versions);
  return versions;
}

// Environments of one version each.
class VersionEnvironments {
 public:
  VersionEnvironments(PackageSearch search, std::string package)
      : search_(std::move(search)), package_(std::move(package)) {}

  void Prepare(BisectSetting& setting) const {
    const fs::path place = search_.folder / setting.name;
    const std::string python = (fs::absolute(place) / "bin/python").string();
    setting.words = {"--python", python};
    // Kernels in Python get NumPy's arrays.
    std::vector<std::string> wanted{setting.name};
    if (package_ != "numpy") wanted.emplace_back("numpy");
    wanted.insert(wanted.end(), search_.with.begin(), search_.with.end());
    const std::string made_of = fmt::format("{} {}\n", search_.python, fmt::join(wanted, " "));
    const fs::path mark = place / "assay-installed";
    if (ReadWholeFile(mark).value_or("") == made_of) return;
    std::vector<std::string> install{python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--"};
    install.insert(install.end(), wanted.begin(), wanted.end());
    for (const auto& words :
         {std::vector<std::string>{search_.python, "-m", "venv", "--clear", place.string()}, install}) {
      const LimitedOutput done = RunWithErrors(kMostInstallSeconds, words);
      if (done.end == ProgramEnd::kWell) continue;
      setting.problem = done.end == ProgramEnd::kLate ? "installing it took more than an hour" : LastLine(done.text);
      return;
    }
    if (auto written = WriteFileAtomically(mark, {{made_of.data(), made_of.size()}}); !written) {
      setting.problem = written.error().message;
    }
  }

 private:
  PackageSearch search_;
  std::string package_;
};

}  // namespace

Result<SettingsToTry> ListVariableSettings(const std::string& env) {
  const size_t equals = env.find('=');
  const std::string name = env.substr(0, equals);
  if (equals == env.npos || name.empty()) {
    return UsageError(fmt::format("--env '{}' is no NAME=a,b,c; give the values to try in their order", env));
  }
  SettingsToTry settings;
  std::set<std::string_view> met;
  for (const std::string_view value : Split(std::string_view(env).substr(equals + 1), ',')) {
    if (!met.insert(value).second) {
      return UsageError(fmt::format("--env {}: the value '{}' is given twice; give each once", name, value));
    }
    const std::string variable = fmt::format("{}={}", name, value);
    settings.list.push_back({.name = variable, .variables = {variable}});
    if (!IsPassed(name)) settings.list.back().words = {"--pass-env", name};
  }
  if (settings.list.size() > 1) return settings;
  return UsageError(fmt::format("--env {} has one value; give two or more, NAME=a,b", name));
}

Result<SettingsToTry> ListPackageSettings(const PackageSearch& search) {
  const auto range = ParseRange(search.range);
  if (!range) return tl::unexpected(range.error());
  const LimitedOutput index = RunWithErrors(kMostIndexSeconds, {search.python, "-m", "pip", "index", "versions",
                                                                "--disable-pip-version-check", "--", range->package});
  const std::vector<std::string> versions = ReadVersions(index.text);
  if (versions.empty()) {
    return UsageError(fmt::format("--pip: {} -m pip index versions {} lists none: {}", search.python, range->package,
                                  LastLine(index.text)));
  }
  const auto first = std::ranges::find(versions, range->first), last = std::ranges::find(versions, range->last);
  for (const auto& [end, name] : {std::pair{first, range->first}, std::pair{last, range->last}}) {
    if (end != versions.end()) continue;
    return UsageError(fmt::format("--pip: pip does not offer {} {} for this interpreter; it offers {}", range->package,
                                  name, fmt::join(versions, ", ")));
  }
  if (first >= last) {
    return UsageError(
        fmt::format("--pip: {} is not older than {}; give the older one first", range->first, range->last));
  }
  SettingsToTry settings;
  for (auto version = first; version <= last; ++version) {
    settings.list.push_back({.name = fmt::format("{}=={}", range->package, *version)});
  }
  settings.prepare = [environments = VersionEnvironments(search, range->package)](BisectSetting& setting) {
    environments.Prepare(setting);
  };
  return settings;
}

}  // namespace assay::cli
