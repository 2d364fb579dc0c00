// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/worker/plugin_loader.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "harness/core/base/build_facts.h"

namespace assay {
namespace {

// dlopen's own words for these ("invalid ELF header") say less than a look at the file does.
Status CheckFile(const std::string& path) {
  if (path.find('/') == path.npos) {
    return UsageError(fmt::format("plugin path '{}' has no folder; write an absolute path", path));
  }
  std::FILE* file = std::fopen(path.c_str(), "rbe");
  if (file == nullptr) return UsageError(fmt::format("cannot open {}: {}", path, std::strerror(errno)));
  char magic[4] = {};
  const size_t got = std::fread(magic, 1, sizeof magic, file);
  std::fclose(file);
  if (got == sizeof magic && std::memcmp(magic, "\177ELF", sizeof magic) == 0) return {};
  return UsageError(fmt::format("{} is not a shared library (no ELF header)", path));
}

// Makes an error of dlopen's last one. A missing dependency is mostly a driver or a vendor's runtime: the plugin is
// sound, but has nothing to run on.
Error LoadError(const std::string& path) {
  constexpr std::string_view kAbsent = ": cannot open shared object file: No such file or directory";
  std::string text = ::dlerror();
  if (text.ends_with("Permission denied")) {
    text += "; if only the sandbox forbids it, give --grant FOLDER or --no-sandbox";
  }
  if (!text.ends_with(kAbsent)) return {ErrorCode::kUsage, fmt::format("cannot load {}: {}", path, text)};
  text.resize(text.size() - kAbsent.size());
  return {ErrorCode::kUnavailable,
          fmt::format("{} needs {}, which is not on this system: install the driver or runtime that brings it", path,
                      text)};
}

std::string ExplainMissingEntry(void* library, const std::string& path) {
  for (int major = 2; major <= 9; ++major) {
    const std::string symbol = fmt::format("assay_backend_v{}", major);
    if (::dlsym(library, symbol.c_str()) == nullptr) continue;
    return fmt::format("{} exports {}: it was built for plugin ABI {}, this program speaks {}; rebuild one of them",
                       path, symbol, major, ASSAY_ABI_MAJOR);
  }
  return fmt::format("{} does not export {}; is it an assay plugin, and is the symbol marked ASSAY_EXPORT?", path,
                     ASSAY_BACKEND_ENTRY);
}

// Advice for a plugin that was built with a header before 1.0.
constexpr std::string_view kRebuild =
    "rebuild it with backends/abi/assay_backend.h of this program: query() returns a list that query_free() ends, "
    "execute_timed became execute_batch, assay_args has counts, the entry takes the host's information, and streams, "
    "imported memory, layout tags and lanes are gone";

// Writes to the standard error of the worker, a pipe to the host, which quotes it in failures.
void LogToStderr(void*, int32_t level, const char* text) {
  constexpr const char* kNames[] = {"debug", "info", "warning", "error"};
  const char* name = level >= ASSAY_LOG_DEBUG && level <= ASSAY_LOG_ERROR ? kNames[level] : "log";
  std::fprintf(stderr, "plugin: %s: %s\n", name, text == nullptr ? "" : text);
}

// The first required function that is absent; nullptr when all are there.
const char* FindMissingFunction(const assay_backend_api& api) {
#define ASSAY_REQUIRE(member) \
  if (!ASSAY_HAS(&api, member) || api.member == nullptr) return #member
  ASSAY_REQUIRE(describe);
  ASSAY_REQUIRE(device_count);
  ASSAY_REQUIRE(device_info);
  ASSAY_REQUIRE(device_open);
  ASSAY_REQUIRE(device_close);
  ASSAY_REQUIRE(query);
  ASSAY_REQUIRE(query_free);
  ASSAY_REQUIRE(buffer_alloc);
  ASSAY_REQUIRE(buffer_free);
  ASSAY_REQUIRE(buffer_upload);
  ASSAY_REQUIRE(buffer_download);
  ASSAY_REQUIRE(plan_create);
  ASSAY_REQUIRE(plan_destroy);
  ASSAY_REQUIRE(execute);
#undef ASSAY_REQUIRE
  return nullptr;
}

}  // namespace

Result<void*> OpenPluginLibrary(const std::string& path) {
  if (Status file = CheckFile(path); !file) return tl::unexpected(file.error());
  // LOCAL: two plugins that bring different versions of one SDK must not see each other's symbols.
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return tl::unexpected(LoadError(path));
  return library;
}

Result<assay_backend_entry> FindPluginEntry(void* library, const std::string& path) {
  const auto entry = reinterpret_cast<assay_backend_entry>(::dlsym(library, ASSAY_BACKEND_ENTRY));
  if (entry == nullptr) return UsageError(ExplainMissingEntry(library, path));
  return entry;
}

Status CheckPluginVersion(const assay_backend_api* api, const std::string& path) {
  if (api == nullptr) {
    return Fail(ErrorCode::kInternal,
                fmt::format("{}: {}() returned NULL: it does not serve this program; what it logged says why", path,
                            ASSAY_BACKEND_ENTRY));
  }
  if (!ASSAY_HAS(api, abi_minor)) {
    return Fail(ErrorCode::kInternal,
                fmt::format("{}: struct_size is {}; set it to sizeof(assay_backend_api)", path, api->struct_size));
  }
  if (api->abi_major != ASSAY_ABI_MAJOR) {
    return Fail(ErrorCode::kInternal,
                fmt::format("{} was built for plugin ABI {}.{}, this program speaks {}.{}; {}", path, api->abi_major,
                            api->abi_minor, ASSAY_ABI_MAJOR, ASSAY_ABI_MINOR,
                            api->abi_major < ASSAY_ABI_MAJOR ? kRebuild : "rebuild one of them"));
  }
  // A longer table of the same version has functions that were taken out before 1.0.
  const bool is_longer = api->struct_size > sizeof *api && api->abi_minor <= ASSAY_ABI_MINOR;
  if (ASSAY_HAS(api, capabilities) && !is_longer) return {};
  return Fail(ErrorCode::kInternal,
              fmt::format("{}: its table of {} bytes was built with a header from before ABI 1.0, or is cut off; {}",
                          path, api->struct_size, kRebuild));
}

Status CheckPluginFunctions(const assay_backend_api& api, const std::string& path) {
  const char* missing = FindMissingFunction(api);
  if (missing == nullptr) return {};
  return Fail(ErrorCode::kInternal,
              fmt::format("{}: the required function {} is NULL or beyond struct_size", path, missing));
}

const assay_host_info& HostInfo() {
  static const assay_host_info host{sizeof host, ASSAY_ABI_MAJOR, ASSAY_ABI_MINOR, "assay",
                                    kVersion,    LogToStderr,     nullptr};
  return host;
}

Result<const assay_backend_api*> LoadPlugin(const std::string& path) {
  const Result<void*> library = OpenPluginLibrary(path);
  if (!library) return tl::unexpected(library.error());
  const Result<assay_backend_entry> entry = FindPluginEntry(*library, path);
  if (!entry) return tl::unexpected(entry.error());
  const assay_backend_api* api = (*entry)(&HostInfo());
  if (Status version = CheckPluginVersion(api, path); !version) return tl::unexpected(version.error());
  if (Status functions = CheckPluginFunctions(*api, path); !functions) return tl::unexpected(functions.error());
  return api;
}

}  // namespace assay
