// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/sandbox/environment.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace assay {
namespace {

constexpr std::string_view kKeptNames[] = {
    "PATH", "LANG", "LANGUAGE", "TZ", "GLIBC_TUNABLES", "DRI_PRIME", "XDG_DATA_DIRS", "XDG_CONFIG_DIRS",
    // Sanitizers, for a plugin that was built with one.
    "ASAN_OPTIONS", "ASAN_SYMBOLIZER_PATH", "LSAN_OPTIONS", "MSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"};

constexpr std::string_view kPrefixes[] = {
    "LC_", "LD_", "MALLOC_",
    // Threads and their places.
    "OMP_", "GOMP_", "KMP_", "HWLOC_", "TBB_",
    // Libraries of kernels.
    "ONEDNN_", "DNNL_", "MKL_", "OPENBLAS_", "BLIS_",
    // CUDA.
    "CUDA_", "NVIDIA_", "CUDNN_", "CUBLAS_", "CUBLASLT_", "CUFFT_", "NVRTC_",
    // ROCm.
    "HIP_", "HSA_", "ROCR_", "ROCM_", "ROCBLAS_", "HIPBLASLT_", "TENSILE_", "MIOPEN_", "AMD_", "AMDGPU_", "GPU_",
    // Vulkan and Mesa.
    "VK_", "MESA_", "LIBGL_", "LP_", "LVP_", "GALLIUM_", "RADV_", "ANV_", "NVK_", "INTEL_",
    // OpenCL and SYCL.
    "OCL_", "OPENCL_", "POCL_", "NEO_", "IGC_", "ZE_", "ZET_", "SYCL_", "ONEAPI_",
    // The plugins' own.
    "ASSAY_"};

// Variables of the harness itself: they tell where it keeps its files and which cases there are.
constexpr std::string_view kOfHost[] = {"ASSAY_GOLDEN_STORE", "ASSAY_PLUGIN_FILES", "ASSAY_ADD_PLUGIN_FILES",
                                        "ASSAY_SUITES", "ASSAY_SHARD"};

// Variables of a vendor can be secret too: NVIDIA_API_KEY opens an account.
bool IsSecret(std::string_view name) {
  constexpr std::string_view kSecrets[] = {"TOKEN", "SECRET", "PASSW", "CREDENTIAL", "API_KEY", "ACCESS_KEY"};
  return std::ranges::any_of(kSecrets, [&](std::string_view secret) { return name.find(secret) != name.npos; });
}

// Variables that every session has; a library has words like these for other reasons.
constexpr std::string_view kOfSession[] = {"USER",  "LOGNAME", "SHELL", "SHLVL", "TERM",    "PWD",     "OLDPWD",
                                           "MAIL",  "EDITOR",  "PAGER", "LINES", "COLUMNS", "DISPLAY", "HOSTNAME",
                                           "TMOUT", "VISUAL",  "LESS",  "PS1",   "PS2",     "IFS",     "VIRTUAL_ENV"};

// Finds the name as a text of its own: between quotes in a script, at the end of a string in a library. memmem() is
// many times as quick as std::string_view::find() in libraries of megabytes, in which first letters abound.
bool Names(std::string_view file, std::string_view name, bool is_script) {
  const auto has = [&](char around) {
    const std::string text = around + std::string(name) + around;
    return ::memmem(file.data(), file.size(), text.data(), text.size()) != nullptr;
  };
  return is_script ? has('"') || has('\'') : has('\0');
}

std::string_view NameOf(std::string_view variable) {
  return variable.substr(0, variable.find('='));
}

}  // namespace

bool IsPassed(std::string_view name) {
  if (IsSecret(name)) return false;
  const auto begins_with = [&](std::string_view prefix) { return name.starts_with(prefix); };
  if (std::ranges::any_of(kOfHost, begins_with)) return false;
  return std::ranges::find(kKeptNames, name) != std::end(kKeptNames) || std::ranges::any_of(kPrefixes, begins_with);
}

std::vector<std::string> ListPassedVariables(std::span<const std::string> more) {
  std::vector<std::string> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    if (IsPassed(name) || std::ranges::find(more, name) != more.end()) variables.emplace_back(text);
  }
  return variables;
}

std::vector<std::string> FindUnpassedVariables(std::string_view file, bool is_script,
                                               std::span<const std::string> variables) {
  std::vector<std::string> names;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view name = NameOf(*entry);
    const auto is_it = [&](std::string_view variable) { return NameOf(variable) == name; };
    const auto begins_with = [&](std::string_view prefix) { return name.starts_with(prefix); };
    if (name.size() < 4 || std::ranges::any_of(variables, is_it) || std::ranges::any_of(kOfHost, begins_with)) continue;
    if (std::ranges::find(kOfSession, name) != std::end(kOfSession) || !Names(file, name, is_script)) continue;
    names.emplace_back(name);
  }
  std::ranges::sort(names);
  return names;
}

void DefaultVariable(std::vector<std::string>& variables, std::string_view name, std::string_view value) {
  const auto same = [&](std::string_view entry) { return entry.substr(0, entry.find('=')) == name; };
  if (std::ranges::none_of(variables, same)) variables.push_back(std::string(name) + "=" + std::string(value));
}

void SetVariable(std::vector<std::string>& variables, std::string_view name, std::string_view value) {
  std::erase_if(variables, [&](std::string_view entry) { return entry.substr(0, entry.find('=')) == name; });
  DefaultVariable(variables, name, value);
}

}  // namespace assay
