// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/plugin_discovery.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

namespace assay {

namespace fs = std::filesystem;

std::string FindFileProblem(const fs::path& path, std::string_view kind) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) {
    return fmt::format("there is no file {}; check the path", path.string());
  }
  if (error) return fmt::format("{} cannot be read: {}", path.string(), error.message());
  if (fs::is_directory(status)) return fmt::format("{} is a folder; name the {} file itself", path.string(), kind);
  if (!fs::is_regular_file(status))
    return fmt::format("{} is not a regular file; name the {} file itself", path.string(), kind);
  return "";
}

std::string NamedBy(const std::string& origin, const std::string& name) {
  if (origin == kFrameworkOption) return fmt::format("{} {}", origin, name);
  return fmt::format("{} from {}", origin == kKernelsOption ? "kernels" : "plugin", origin);
}

namespace {

bool IsGivenName(std::string_view text) {
  return !text.empty() && text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_") == text.npos;
}

PluginCandidate ParsePluginArgument(const PluginArgument& argument) {
  if (!argument.file.empty()) return {argument.text, argument.file, argument.option, FindFileProblem(argument.file)};
  std::string_view text = argument.text;
  PluginCandidate candidate;
  candidate.origin = argument.option;
  // A '=' later in a path (lib/a=b/x.so) is part of it: what stands before it is then no name.
  const size_t equals = text.find('=');
  if (equals != text.npos && IsGivenName(text.substr(0, equals))) {
    candidate.name = text.substr(0, equals);
    text.remove_prefix(equals + 1);
  }
  if (text.empty()) {
    candidate.problem = fmt::format("{0} names no file; write {0} PATH or {0} NAME=PATH", argument.option);
    return candidate;
  }
  // Absolute, so that the loader never falls back to the library search path for a name without a slash.
  candidate.path = fs::absolute(fs::path(text));
  candidate.problem = FindFileProblem(candidate.path, argument.option == kKernelsOption ? ".py" : ".so");
  return candidate;
}

void AddFromList(std::string_view list, const char* variable, std::vector<PluginCandidate>& out) {
  while (!list.empty()) {
    const std::string_view entry = list.substr(0, list.find(':'));
    list.remove_prefix(std::min(list.size(), entry.size() + 1));
    if (entry.empty()) continue;  // not the current directory, as it would be in PATH
    PluginCandidate candidate{"", fs::path(entry), variable, ""};
    candidate.problem = candidate.path.is_absolute()
                            ? FindFileProblem(candidate.path)
                            : fmt::format("'{}' in {} is relative; write an absolute path", entry, variable);
    out.push_back(std::move(candidate));
  }
}

void AddInstalled(const fs::path& executable_folder, std::vector<PluginCandidate>& out) {
  const fs::path folder = (executable_folder / "../lib/assay/plugins").lexically_normal();
  std::error_code error;
  std::vector<fs::path> paths;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".so") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  for (fs::path& path : paths) {
    std::string problem = FindFileProblem(path);  // a dangling link
    out.push_back({"", std::move(path), kInstalledOrigin, std::move(problem)});
  }
}

void DropRepeated(std::vector<PluginCandidate>& candidates) {
  std::vector<fs::path> seen;
  std::erase_if(candidates, [&](const PluginCandidate& candidate) {
    if (!candidate.problem.empty()) return false;
    std::error_code error;
    fs::path real = fs::weakly_canonical(candidate.path, error);
    // One file under two names is two backends on purpose, for example to compare it with itself.
    real += "=" + candidate.name;
    if (std::find(seen.begin(), seen.end(), real) != seen.end()) return true;
    seen.push_back(std::move(real));
    return false;
  });
}

std::optional<std::string> Variable(const char* name) {
  const char* value = ::secure_getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

}  // namespace

DiscoveryOptions DiscoveryFromEnvironment(std::vector<PluginArgument> plugin_args) {
  std::error_code error;
  return {std::move(plugin_args), Variable("ASSAY_PLUGIN_FILES"), Variable("ASSAY_ADD_PLUGIN_FILES"),
          fs::read_symlink("/proc/self/exe", error).parent_path()};
}

std::vector<PluginCandidate> DiscoverPlugins(const DiscoveryOptions& options) {
  std::vector<PluginCandidate> candidates;
  for (const PluginArgument& argument : options.plugin_args) candidates.push_back(ParsePluginArgument(argument));
  if (options.plugin_files) {
    AddFromList(*options.plugin_files, "ASSAY_PLUGIN_FILES", candidates);
  } else if (!options.executable_folder.empty()) {
    AddInstalled(options.executable_folder, candidates);
  }
  if (options.add_plugin_files) AddFromList(*options.add_plugin_files, "ASSAY_ADD_PLUGIN_FILES", candidates);
  DropRepeated(candidates);
  return candidates;
}

Status CheckNamedPlugins(const std::vector<PluginCandidate>& candidates) {
  for (const PluginCandidate& candidate : candidates) {
    if (candidate.problem.empty() || candidate.origin == kInstalledOrigin) continue;
    return UsageError(fmt::format("{}: {}", NamedBy(candidate.origin, candidate.name), candidate.problem));
  }
  return {};
}

}  // namespace assay
