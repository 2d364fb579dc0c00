// SPDX-License-Identifier: Apache-2.0
#include "harness/engine/device/sandbox.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <set>

#include "golden/store/store.h"
#include "harness/core/base/check.h"
#include "harness/core/base/identifier.h"
#include "harness/core/base/text.h"
#include "harness/exec/sandbox/allow_list.h"

namespace assay {
namespace {

// Golden values and what the run hides: none of it is for workers to read or to change.
std::vector<std::string> ListHiddenPaths(const SandboxOptions& options) {
  std::vector<std::string> paths;
  for (const std::filesystem::path& path : options.hidden) paths.push_back(path.string());
  paths.push_back(GoldenStore::DefaultRoot().string());
  return paths;
}

Status CheckPassed(const std::string& name) {
  if (IsIdentifier(name)) return {};
  std::string what = "it is not the name of a variable; give one such as --pass-env HF_HOME";
  if (name.find('=') != name.npos) {
    what = "give the name of a variable only; its value is taken from the environment";
  } else if (name.find(',') != name.npos) {
    std::vector<std::string_view> names = Split(name, ',');
    std::erase(names, "");
    what = fmt::format("it takes one name; give --pass-env {}", fmt::join(names, " --pass-env "));
  }
  return UsageError(fmt::format("--pass-env '{}': {}", name, what));
}

Status CheckGranted(const std::string& path, const SandboxOptions& options) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return UsageError(fmt::format("--grant {}: no file or folder of this name; create it first", path));
  }
  if (!options.on || !AllowList(ListHiddenPaths(options)).Hides(path)) return {};
  return UsageError(
      fmt::format("--grant {}: workers may not see it, since it holds answers or the secret of --evidence-seed (output "
                  "folder, golden store, a run, a bundle); grant another file or folder",
                  path));
}

}  // namespace

SandboxRequest MakeSandboxRequest(const SandboxOptions& options) {
  SandboxRequest sandbox;
  sandbox.is_on = options.on;
  sandbox.passed = options.passed;
  sandbox.granted = options.granted;
  sandbox.hidden = ListHiddenPaths(options);
  for (const std::string& limit : options.limits) ASSAY_CHECK(SetLimit(limit, sandbox.limits));
  return sandbox;
}

Status CheckSandbox(const SandboxOptions& options) {
  WorkerLimits limits;
  for (const std::string& limit : options.limits) {
    if (Status set = SetLimit(limit, limits); !set) return UsageError("--worker-limit: " + set.error().message);
  }
  for (const std::string& name : options.passed) {
    if (auto fine = CheckPassed(name); !fine) return fine;
  }
  for (const std::string& path : options.granted) {
    if (auto fine = CheckGranted(path, options); !fine) return fine;
  }
  return {};
}

std::string FindPartlyGranted(const SandboxOptions& options) {
  if (!options.on) return "";
  const AllowList hidden(ListHiddenPaths(options));
  std::vector<std::string> partly = options.granted;
  std::erase_if(partly, [&](const std::string& path) { return !hidden.HidesPartOf(path); });
  if (partly.empty()) return "";
  return fmt::format(
      "--grant {}: it contains something hidden from workers (output folder, golden store, file of --evidence-seed), "
      "so they can make nothing new directly in it; grant another folder to let them write",
      fmt::join(partly, ":"));
}

std::string FindUnset(const SandboxOptions& options) {
  std::vector<std::string> unset;
  for (const std::string& name : options.passed) {
    if (std::getenv(name.c_str()) == nullptr) unset.push_back(name);
  }
  if (unset.empty()) return "";
  return fmt::format("--pass-env: not set in the environment: {}; workers do not see it", fmt::join(unset, ", "));
}

std::string DescribeSandbox(const std::vector<Device>& devices) {
  for (const Device& device : devices) {
    if (!device.sandbox.empty()) return device.sandbox;
  }
  return "";
}

std::string DescribeSandboxGap(const std::vector<Device>& devices) {
  const std::string sandbox = DescribeSandbox(devices);
  if (sandbox.empty() || sandbox == kFullSandbox || sandbox == kNoSandbox) return "";
  return fmt::format("the sandbox of workers is {}", sandbox);
}

std::string DescribeHiddenFolders(const std::vector<Device>& devices) {
  std::set<std::string> texts;  // devices of one plugin have one
  for (const Device& device : devices) {
    if (!device.hidden.empty()) texts.insert(fmt::format("{} does not see {}", device.backend, device.hidden));
  }
  return fmt::format("{}", fmt::join(texts, "; "));
}

}  // namespace assay
