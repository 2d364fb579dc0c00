// SPDX-License-Identifier: Apache-2.0
// The file, its symbols and its entry point.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "harness/exec/plugin_check/elf_exports.h"
#include "harness/exec/plugin_check/plugin_check_rules.h"
#include "harness/exec/worker/plugin_loader.h"

namespace assay::plugin_check {
namespace {

namespace fs = std::filesystem;

constexpr size_t kNamesShown = 5;

size_t Threads() {
  std::error_code error;
  return static_cast<size_t>(std::distance(fs::directory_iterator("/proc/self/task", error), {}));
}

// Open files below /dev that are no part of every process.
std::set<std::string> OpenDevices() {
  std::set<std::string> devices;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc/self/fd", error)) {
    const std::string target = fs::read_symlink(entry.path(), error).string();
    const bool is_ordinary = target == "/dev/null" || target == "/dev/zero" || target == "/dev/random" ||
                             target == "/dev/urandom" || target.starts_with("/dev/pts") ||
                             target.starts_with("/dev/shm");
    if (target.starts_with("/dev/") && !is_ordinary) devices.insert(target);
  }
  return devices;
}

// The table of a library that loads; for checks that come before the table is known to be good.
Result<const assay_backend_api*> Table(const std::string& path) {
  const Result<void*> library = OpenPluginLibrary(path);
  if (!library) return tl::unexpected(library.error());
  const Result<assay_backend_entry> entry = FindPluginEntry(*library, path);
  if (!entry) return tl::unexpected(entry.error());
  return (*entry)(&HostInfo());
}

}  // namespace

Finding Loads(PluginUnderTest& plugin) {
  const Result<void*> library = OpenPluginLibrary(plugin.path);
  return library ? Good("loaded into a process of its own") : Bad("{}", library.error().message);
}

Finding EntrySymbol(PluginUnderTest& plugin) {
  const Result<const assay_backend_api*> first = Table(plugin.path);
  if (!first) return Bad("{}", first.error().message);
  if (*first == nullptr)
    return Bad("{}() returned NULL to a host of ABI {}.{}; return the address of a static table", ASSAY_BACKEND_ENTRY,
               ASSAY_ABI_MAJOR, ASSAY_ABI_MINOR);
  const Result<const assay_backend_api*> second = Table(plugin.path);
  if (*second != *first) {
    return Bad("{}() returned two tables; return the address of one static table", ASSAY_BACKEND_ENTRY);
  }
  return Good("{}() returns one table", ASSAY_BACKEND_ENTRY);
}

Finding Exports(PluginUnderTest& plugin) {
  const Result<std::vector<std::string>> symbols = ReadExportedSymbols(plugin.path);
  if (!symbols) return Skipped("{}", symbols.error().message);
  std::vector<std::string> others = *symbols;
  std::erase(others, ASSAY_BACKEND_ENTRY);
  if (others.empty()) return Good("{} alone", ASSAY_BACKEND_ENTRY);
  const size_t shown = std::min(others.size(), kNamesShown);
  return Bad(
      "{} other symbols are exported, such as {}: they can clash with those of other libraries; compile with "
      "-fvisibility=hidden and link with the version script of the package (assay_add_plugin does both)",
      others.size(), fmt::join(others.begin(), others.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
}

// Checks what is visible from outside of the plugin: threads and open device files. A driver that is started in other
// ways goes unnoticed.
Finding EntryIsQuiet(PluginUnderTest& plugin) {
  const Result<void*> library = OpenPluginLibrary(plugin.path);
  if (!library) return Bad("{}", library.error().message);
  const Result<assay_backend_entry> entry = FindPluginEntry(*library, plugin.path);
  if (!entry) return Bad("{}", entry.error().message);
  const size_t threads = Threads();
  const std::set<std::string> devices = OpenDevices();
  (*entry)(&HostInfo());
  if (const size_t now = Threads(); now > threads) {
    return Bad("{}() started {} threads; start them in device_open or later", ASSAY_BACKEND_ENTRY, now - threads);
  }
  for (const std::string& device : OpenDevices()) {
    if (!devices.contains(device)) {
      return Bad("{}() opened {}; look for devices in device_count", ASSAY_BACKEND_ENTRY, device);
    }
  }
  return Good("no thread and no file below /dev");
}

Finding NewerHost(PluginUnderTest& plugin) {
  const Result<void*> library = OpenPluginLibrary(plugin.path);
  if (!library) return Bad("{}", library.error().message);
  const Result<assay_backend_entry> entry = FindPluginEntry(*library, plugin.path);
  if (!entry) return Bad("{}", entry.error().message);
  OtherVersion<assay_host_info> host(HostInfo(), kNewerSize<assay_host_info>);
  host.get()->abi_minor = ASSAY_ABI_MINOR + 1;
  if ((*entry)(host.get()) != nullptr)
    return Good("the same table for ABI {}.{}", ASSAY_ABI_MAJOR, ASSAY_ABI_MINOR + 1);
  return Bad("{}() returned NULL to a host of ABI {}.{}; a later minor version serves every plugin of {}",
             ASSAY_BACKEND_ENTRY, ASSAY_ABI_MAJOR, ASSAY_ABI_MINOR + 1, ASSAY_ABI_MAJOR);
}

Finding AbiVersion(PluginUnderTest& plugin) {
  const Result<const assay_backend_api*> api = Table(plugin.path);
  if (!api) return Bad("{}", api.error().message);
  if (const Status version = CheckPluginVersion(*api, plugin.path); !version) return Bad("{}", version.error().message);
  const uint32_t minor = (*api)->abi_minor;
  return Good("{}.{}{}", (*api)->abi_major, minor,
              minor > ASSAY_ABI_MINOR
                  ? fmt::format("; this program knows {}.{} and uses no more of it", ASSAY_ABI_MAJOR, ASSAY_ABI_MINOR)
                  : "");
}

Finding Functions(PluginUnderTest& plugin) {
  const Result<const assay_backend_api*> api = Table(plugin.path);
  if (!api) return Bad("{}", api.error().message);
  if (const Status all = CheckPluginFunctions(**api, plugin.path); !all) return Bad("{}", all.error().message);
  const bool batches = ASSAY_HAS(*api, execute_batch) && (*api)->execute_batch != nullptr;
  return Good("all are there{}", batches ? "" : "; without execute_batch the host's clock is used");
}

}  // namespace assay::plugin_check
