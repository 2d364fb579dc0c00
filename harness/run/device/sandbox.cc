// SPDX-License-Identifier: Apache-2.0
#include "harness/run/device/sandbox.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <set>

#include "golden/store/store.h"
#include "harness/base/check.h"
#include "harness/plan/design_store.h"

namespace assay {

SealOptions SealFor(const SandboxOptions& options) {
  SealOptions seal;
  seal.sealed = options.on;
  seal.passed = options.passed;
  seal.granted = options.granted;
  for (const std::filesystem::path& path : options.hidden) seal.hidden.push_back(path.string());
  seal.hidden.push_back(GoldenStore::DefaultRoot().string());
  seal.hidden.push_back(DesignStore::DefaultRoot().string());  // which cases there are is not theirs to change
  for (const std::string& limit : options.limits) ASSAY_CHECK(SetLimit(limit, seal.limits));
  return seal;
}

Status CheckSandbox(const SandboxOptions& options) {
  WorkerLimits limits;
  for (const std::string& limit : options.limits) {
    if (Status set = SetLimit(limit, limits); !set) return UsageError("--worker-limit: " + set.error().message);
  }
  for (const std::string& name : options.passed) {
    if (!name.empty() && name.find('=') == name.npos) continue;
    return UsageError(fmt::format(
        "--pass-env '{}': give the name of a variable only; its value is taken from the environment", name));
  }
  for (const std::string& path : options.granted) {
    std::error_code error;
    if (std::filesystem::exists(path, error)) continue;
    return UsageError(fmt::format("--grant {}: there is no such file or folder; create it first", path));
  }
  return {};
}

std::string FindUnset(const SandboxOptions& options) {
  std::vector<std::string> unset;
  for (const std::string& name : options.passed) {
    if (std::getenv(name.c_str()) == nullptr) unset.push_back(name);
  }
  if (unset.empty()) return "";
  return fmt::format("--pass-env: not set in the environment: {}; workers do not see it", fmt::join(unset, ", "));
}

std::string SandboxOf(const std::vector<Device>& devices) {
  for (const Device& device : devices) {
    if (!device.sandbox.empty()) return device.sandbox;
  }
  return "";
}

std::string SandboxGap(const std::vector<Device>& devices) {
  const std::string sandbox = SandboxOf(devices);
  if (sandbox.empty() || sandbox == kFullSeal || sandbox == kNoSeal) return "";
  return fmt::format("the sandbox of workers is {}", sandbox);
}

std::string HiddenFrom(const std::vector<Device>& devices) {
  std::set<std::string> texts;  // devices of one plugin have one
  for (const Device& device : devices) {
    if (!device.hidden.empty()) texts.insert(fmt::format("{} does not see {}", device.backend, device.hidden));
  }
  return fmt::format("{}", fmt::join(texts, "; "));
}

std::vector<std::string> SandboxWords(const SandboxOptions& options) {
  std::vector<std::string> words;
  if (!options.on) words.emplace_back("--no-sandbox");
  for (const std::string& name : options.passed) words.insert(words.end(), {"--pass-env", name});
  for (const std::string& path : options.granted) {
    words.insert(words.end(), {"--grant", std::filesystem::absolute(path).string()});
  }
  for (const std::string& limit : options.limits) words.insert(words.end(), {"--worker-limit", limit});
  return words;
}

}  // namespace assay
