// SPDX-License-Identifier: Apache-2.0
// Which plugins there are to try. Nothing is loaded here (plugin_loader.h does that, in a worker).
//   1. What the user named: --plugin or --kernels, PATH or NAME=PATH, in the order given; a relative path is relative
//      to the current directory, since the user typed it there; NAME replaces the name that the plugin gives itself.
//   2. ASSAY_PLUGIN_FILES, when set (even to nothing), instead of the installed plugins:
//      <folder of the program>/../lib/assay/plugins/*.so, by name.
//   3. ASSAY_ADD_PLUGIN_FILES, besides these.
// Both variables are lists of absolute paths separated by ':'. The current directory is never searched. A file that
// is named twice counts once, also where NAME is what it calls itself.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/base/result.h"

namespace assay {

inline constexpr const char* kInstalledOrigin = "installed";
inline constexpr const char *kPluginOption = "--plugin", *kKernelsOption = "--kernels",
                            *kFrameworkOption = "--framework";

// A plugin or a file of kernels, as the user named it.
struct PluginArgument {
  std::string option = kPluginOption;
  std::string text;                 // its value: [name=]PATH, or the name of a framework
  std::filesystem::path file = {};  // the kernels of a framework
};

struct PluginCandidate {
  std::string name;  // the user's name for the backend; "": the plugin's own
  std::filesystem::path path;
  std::string origin;   // "--plugin", "--kernels", "ASSAY_PLUGIN_FILES", "installed", ...
  std::string problem;  // why it cannot be tried; "" when it can
};

struct DiscoveryOptions {
  std::vector<PluginArgument> plugin_args;
  std::optional<std::string> plugin_files;      // ASSAY_PLUGIN_FILES
  std::optional<std::string> add_plugin_files;  // ASSAY_ADD_PLUGIN_FILES
  std::filesystem::path executable_folder;
};

// Fills in the variables (ignored by a program with raised privileges) and the folder of this program.
DiscoveryOptions DiscoveryFromEnvironment(std::vector<PluginArgument> plugin_args);

// Explains why the file cannot be a plugin, and what to do; "" if it may be one. `kind`: suffix of such files.
std::string FindFileProblem(const std::filesystem::path& path, std::string_view kind = ".so");

// Names a plugin at the beginning of a message: "plugin from --plugin", "kernels from --kernels", "--framework torch".
std::string NamedBy(const std::string& origin, const std::string& name);

std::vector<PluginCandidate> DiscoverPlugins(const DiscoveryOptions& options);

// The first problem of a candidate that the user named (anything but an installed one), as a usage error.
Status CheckNamedPlugins(const std::vector<PluginCandidate>& candidates);

}  // namespace assay
