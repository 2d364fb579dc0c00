// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/sandbox/worker_setup.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "harness/core/base/whole_file.h"
#include "harness/exec/sandbox/allow_list.h"
#include "harness/exec/sandbox/environment.h"
#include "harness/exec/sandbox/supervisor.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> AllVariables() {
  std::vector<std::string> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) variables.emplace_back(*entry);
  // A worker above this process owns that folder, so this one must not remove it.
  std::erase_if(variables, [](const std::string& entry) { return entry.starts_with(kFolderVariable); });
  return variables;
}

// Where libraries look for a home and put what they compile.
std::vector<std::string> SandboxVariables(const SandboxRequest& options, const fs::path& folder,
                                          const fs::path& cache) {
  std::vector<std::string> variables = ListPassedVariables(options.passed);
  for (const char* name : {"HOME", "TMPDIR"}) SetVariable(variables, name, folder.string());
  SetVariable(variables, "XDG_CACHE_HOME", cache.string());
  SetVariable(variables, kFolderVariable, folder.string());
  // These do not ask for XDG_CACHE_HOME.
  DefaultVariable(variables, "CUDA_CACHE_PATH", (cache / "nv").string());
  DefaultVariable(variables, "MIOPEN_USER_DB_PATH", (cache / "miopen").string());
  DefaultVariable(variables, "MIOPEN_CUSTOM_CACHE_DIR", (cache / "miopen-kernels").string());
  return variables;
}

// To `hidden`: variables that are set and that the plugin asks for, as nobody would know why it finds none.
void AddNamedInVain(const std::string& plugin, const std::vector<std::string>& variables, std::string& hidden) {
  const Result<std::string> file = plugin.empty() ? Result<std::string>("") : ReadWholeFile(plugin);
  if (!file) return;  // whoever loads it says so
  const std::vector<std::string> names = FindUnpassedVariables(*file, fs::path(plugin).extension() == ".py", variables);
  if (names.empty()) return;
  hidden += fmt::format("{}{} {}, which it names; --pass-env {} shows {}", hidden.empty() ? "" : ", and ",
                        names.size() == 1 ? "the variable" : "the variables", fmt::join(names, ", "),
                        fmt::join(names, " --pass-env "), names.size() == 1 ? "it" : "them");
}

}  // namespace

Result<WorkerSetup> MakeWorkerSetup(const SandboxRequest& options, const std::string& plugin,
                                    const std::string& executable) {
  WorkerSetup made;
  made.sandbox = {options.is_on, {}, options.limits};
  if (!options.is_on) {
    made.variables = AllVariables();
    return made;
  }
  Result<WorkerFolder> folder = WorkerFolder::Create();
  if (!folder) return tl::unexpected(folder.error());
  made.folder = std::move(*folder);
  fs::path cache = plugin.empty() ? fs::path() : PluginCacheFolder(plugin);
  if (cache.empty()) cache = made.folder.path() / "cache";
  made.variables = SandboxVariables(options, made.folder.path(), cache);
  AllowList grants(options.hidden);
  grants.GrantPlugin(plugin);  // first: it finds what the others may not show
  grants.GrantSystem();
  grants.Read(executable);
  grants.GrantNamedBy(ListPassedVariables(options.passed));
  grants.ReadAndWrite(made.folder.path());
  grants.ReadAndWrite(cache);
  for (const std::string& path : options.readable) grants.Search(path);
  for (const std::string& path : options.granted) grants.GrantOnRequest(fs::absolute(path));
  made.sandbox.files = grants.all();
  made.hidden = grants.HiddenText();
  AddNamedInVain(plugin, made.variables, made.hidden);
  return made;
}

void HideThisProcess() {
  ::prctl(PR_SET_DUMPABLE, 0);
}

}  // namespace assay
