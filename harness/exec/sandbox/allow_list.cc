// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/sandbox/allow_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include "harness/core/base/text.h"
#include "harness/exec/sandbox/linked_libraries.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr const char* kReadable[] = {
    "/usr", "/lib", "/lib32", "/lib64", "/libx32", "/bin", "/sbin", "/opt", "/nix/store", "/gnu/store",
    "/run/opengl-driver", "/run/current-system",
    // How the loader, names, time zones and drivers are set up; the rest of /etc is nobody's business.
    "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld.so.preload", "/etc/alternatives",
    "/etc/OpenCL", "/etc/vulkan", "/etc/glvnd", "/etc/drirc", "/etc/nvidia", "/etc/rocm", "/etc/hsa", "/etc/localtime",
    "/etc/timezone", "/etc/locale.alias", "/etc/nsswitch.conf", "/etc/passwd", "/etc/group", "/etc/os-release",
    "/etc/debian_version", "/etc/hwloc",
    // The machine. Of /proc no other process.
    "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/loadavg", "/proc/uptime", "/proc/version",
    "/proc/filesystems", "/proc/devices", "/proc/modules", "/proc/driver", "/proc/sys", "/proc/bus", "/proc/self",
    "/sys/devices", "/sys/class", "/sys/bus", "/sys/module", "/sys/dev", "/sys/kernel/mm", "/sys/fs/cgroup",
    "/sys/firmware"};

constexpr const char* kWritable[] = {"/dev/null",    "/dev/zero",     "/dev/full",  "/dev/random",
                                     "/dev/urandom", "/dev/shm",      "/dev/dri",   "/dev/kfd",
                                     "/dev/udmabuf", "/dev/dma_heap", "/dev/accel", "/dev/nvidia-caps"};

bool IsWithin(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first == folder.end();
}

// Without links, as far as it exists and may be searched; a folder's name without a slash at its end. Never empty: all
// paths lie in an empty one.
fs::path RealPath(const fs::path& path) {
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error);  // first: weakly_canonical leaves a relative one that is absent
  fs::path real = fs::weakly_canonical(absolute, error);
  if (error || real.empty()) real = absolute.lexically_normal();
  if (real.empty()) real = path;
  return real.has_filename() || !real.has_relative_path() ? real : real.parent_path();
}

// Where files of everybody lie, or all of a user's: the root, the folder for temporary files, a home or what holds it.
bool HoldsAllKinds(const fs::path& folder) {
  std::error_code error;
  if (folder == RealPath(fs::temp_directory_path(error)) || folder == "/tmp") return true;
  const char* home = std::getenv("HOME");
  return folder == "/" || (home != nullptr && *home == '/' && IsWithin(RealPath(home), folder));
}

// Version control, virtual environments and packages of other languages: large, and nothing that a plugin imports from
// beside itself. An interpreter's own environment is granted as such.
bool IsForeign(const fs::path& folder) {
  constexpr std::string_view kNames[] = {".git", ".hg", ".svn", ".tox", ".nox", "node_modules"};
  std::error_code error;
  return std::ranges::find(kNames, folder.filename().string()) != std::end(kNames) ||
         fs::exists(folder / "pyvenv.cfg", error) || fs::exists(folder / "conda-meta", error);
}

bool IsLibrary(const fs::path& path) {
  return path.filename().string().find(".so") != std::string::npos;
}

bool IsBundle(const fs::path& path) {
  return path.native().ends_with(".tar.zst");
}

// Whether it is the folder of a run or lies in one, as failures/ with its golden values does. A file of that name
// alone, further up, may be anybody's.
bool IsInRunFolder(const fs::path& real) {
  std::error_code error;
  if (fs::exists(real / "results.jsonl", error)) return true;
  for (fs::path folder = real; folder.has_relative_path(); folder = folder.parent_path()) {
    if (fs::exists(folder / "results.jsonl", error) && fs::exists(folder / "plan.json", error)) return true;
  }
  return false;
}

std::vector<fs::path> LibraryPath() {
  std::vector<fs::path> folders;
  const char* list = std::getenv("LD_LIBRARY_PATH");
  for (const std::string_view folder : Split(list == nullptr ? "" : list, ':')) {
    if (folder.starts_with('/')) folders.emplace_back(folder);
  }
  return folders;
}

}  // namespace

AllowList::AllowList(std::vector<std::string> hidden) {
  for (const std::string& path : hidden) {
    if (!path.empty()) hidden_.push_back(RealPath(path));
  }
}

bool AllowList::IsHidden(const fs::path& real) const {
  return std::ranges::any_of(hidden_, [&](const fs::path& hidden) {
    std::error_code error;
    return IsWithin(real, hidden) || fs::equivalent(real, hidden, error);  // a hard link to it
  });
}

bool AllowList::HoldsHidden(const fs::path& real) const {
  return std::ranges::any_of(hidden_, [&](const fs::path& hidden) { return IsWithin(hidden, real); });
}

void AllowList::Grant(const fs::path& path, FileUse use) {
  const fs::path real = RealPath(path);
  HideBeside(real);
  if (IsHidden(real)) return;
  if (HoldsHidden(real)) {
    GrantAround(real, use);
  } else {
    grants_.push_back({real.string(), use});
  }
}

void AllowList::GrantOnRequest(const fs::path& path) {
  const fs::path real = RealPath(path);
  const auto told = std::tuple(runs_, unsearched_, foreign_);  // of the plugin's folder alone
  HideRuns(real, real, kMostEntries);
  std::tie(runs_, unsearched_, foreign_) = told;
  ReadAndWrite(path);
}

bool AllowList::Hides(const fs::path& path) const {
  const fs::path real = RealPath(path);
  return IsHidden(real) || IsBundle(real) || IsInRunFolder(real);
}

bool AllowList::HidesPartOf(const fs::path& path) const {
  return HoldsHidden(RealPath(path));
}

void AllowList::Search(const fs::path& folder) {
  Read(folder);
  const fs::path real = RealPath(folder);
  if (!IsHidden(real) && HoldsHidden(real)) grants_.push_back({real.string(), FileUse::kList});
}

void AllowList::GrantAround(const fs::path& folder, FileUse use) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; entry != end; entry.increment(error)) {
    if (!entry->is_symlink(error)) Grant(entry->path(), use);  // what it leads to is granted where it lies, or is not
  }
}

void AllowList::GrantLibraries(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; entry != end; entry.increment(error)) {
    if (IsLibrary(entry->path()) && entry->is_regular_file(error)) Read(entry->path());
  }
}

void AllowList::GrantSystem() {
  for (const char* path : kReadable) {
    // The worker's own: a link that has to be followed there.
    if (std::string_view(path) == "/proc/self") {
      grants_.push_back({path, FileUse::kWrite});
    } else {
      Read(path);
    }
  }
  for (const char* path : kWritable) ReadAndWrite(path);
  std::error_code error;
  for (fs::directory_iterator entry("/dev", error), end; entry != end; entry.increment(error)) {
    if (entry->path().filename().string().starts_with("nvidia")) ReadAndWrite(entry->path());
  }
}

bool AllowList::HideRuns(const fs::path& folder, const fs::path& root, int most) {
  std::error_code error;
  if (fs::exists(folder / "results.jsonl", error)) {
    runs_.push_back(folder.lexically_relative(root.parent_path()));
    hidden_.push_back(RealPath(folder));
    return true;
  }
  if (folder != root && IsForeign(folder)) {
    foreign_.push_back(RealPath(folder));
    return true;
  }
  std::vector<fs::path> folders;
  int entries = 0;
  for (fs::directory_iterator entry(folder, error), end; entry != end; entry.increment(error)) {
    if (++entries > most || ++entries_ > kMostEntriesInAll) return false;
    if (IsBundle(entry->path())) hidden_.push_back(RealPath(entry->path()));
    std::error_code unknown;
    if (!entry->is_symlink(unknown) && entry->is_directory(unknown)) folders.push_back(entry->path());
  }
  if (error) return error == std::errc::permission_denied;  // which closes it to the worker as well
  std::ranges::sort(folders);
  for (const fs::path& below : folders) {
    const int before = entries_;
    if (folder == root) {
      if (!HideRuns(below, root, kMostEntries)) unsearched_.push_back(RealPath(below));
    } else if (!HideRuns(below, root, most - entries)) {
      return false;
    }
    entries += entries_ - before;
  }
  return true;
}

void AllowList::GrantFolder(const fs::path& folder) {
  std::error_code error;
  if (!HideRuns(folder, folder, kMostEntries)) {
    if (fs::exists(folder, error)) unsearched_.push_back(folder);
    return;
  }
  // For this folder's sake alone: what else names one of them, as an interpreter's path does, opens it.
  const size_t hidden = hidden_.size();
  for (const auto* left_out : {&unsearched_, &foreign_}) {
    hidden_.insert(hidden_.end(), left_out->begin(), left_out->end());
  }
  Search(folder);
  hidden_.resize(hidden);
}

std::string AllowList::HiddenText() const {
  std::string text;
  if (!runs_.empty()) {
    text = fmt::format("{} of earlier runs beside it ({}{})",
                       runs_.size() == 1 ? "a folder" : fmt::format("{} folders", runs_.size()),
                       runs_.size() == 1 ? "" : "such as ", runs_.front().string());
  }
  if (!unsearched_.empty()) {
    const bool one = unsearched_.size() == 1;
    text += fmt::format("{}all of {}{}, which {} more than {} entries or cannot be read; --grant shows {}",
                        text.empty() ? "" : ", and ", one ? "" : fmt::format("{} folders such as ", unsearched_.size()),
                        unsearched_.front().string(), one ? "has" : "have", kMostEntries, one ? "it" : "them");
  }
  return text;
}

void AllowList::GrantLinked(const fs::path& plugin) {
  std::set<fs::path> folders;
  for (const fs::path& file : std::set{fs::absolute(plugin).lexically_normal(), RealPath(plugin)}) {
    if (fs::path folder = RealPath(file.parent_path()); !HoldsAllKinds(folder)) folders.insert(std::move(folder));
    grants_.push_back({file.string(), FileUse::kRead});
    for (const fs::path& library : LinkedLibraries(file, LibraryPath())) Read(library);
  }
  beside_.assign(folders.begin(), folders.end());
}

void AllowList::HideBeside(const fs::path& real) {
  std::erase_if(beside_, [&](const fs::path& folder) {
    if (!IsWithin(folder, real) && !IsWithin(real, folder)) return false;
    HideRuns(folder, folder, kMostEntries);
    runs_.clear(), unsearched_.clear(), foreign_.clear();  // reported for files of kernels alone
    return true;
  });
}

void AllowList::GrantPlugin(const fs::path& plugin) {
  if (plugin.empty()) return;
  if (plugin.extension() != ".py") return GrantLinked(plugin);
  for (const fs::path& file : std::set{fs::absolute(plugin).lexically_normal(), RealPath(plugin)}) {
    const fs::path folder = RealPath(file.parent_path());
    grants_.push_back({file.string(), FileUse::kRead});
    GrantLibraries(folder);
    if (HoldsAllKinds(folder)) continue;
    const fs::path brought = RealPath(folder / "../deps");  // where a package keeps what it brings
    for (const fs::path& whole : {folder, brought}) GrantFolder(whole);
  }
}

void AllowList::GrantNamedBy(const std::vector<std::string>& variables) {
  std::error_code error;  // a driver that cannot use its folder says so better
  for (const std::string& variable : variables) {
    const size_t equals = variable.find('=');
    const std::string_view name = std::string_view(variable).substr(0, equals);
    if (name == "PATH" || equals == std::string::npos) continue;
    const bool searched = name.starts_with("XDG_");  // for a folder of this name, and much else
    for (size_t at = equals + 1, end; at < variable.size(); at = end + 1) {
      end = std::min(variable.find(':', at), variable.size());
      const fs::path path(variable.substr(at, end - at));
      if (!path.is_absolute() || (!searched && HoldsAllKinds(RealPath(path)))) continue;
      const bool is_cache = name.find("CACHE") != std::string_view::npos;
      if (is_cache && !name.ends_with("_FILE")) fs::create_directories(path, error);  // as the driver would
      Grant(searched ? path / "vulkan" : path, is_cache ? FileUse::kWrite : FileUse::kRead);
      if (name == "LD_LIBRARY_PATH") GrantLibraries(path);
    }
  }
}

}  // namespace assay
