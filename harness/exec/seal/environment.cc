// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/seal/environment.h"

#include <unistd.h>

#include <algorithm>

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

// What the harness itself reads says where it keeps what, or which cases there are.
constexpr std::string_view kOfHost[] = {"ASSAY_GOLDEN_STORE", "ASSAY_PLUGIN_FILES", "ASSAY_ADD_PLUGIN_FILES",
                                        "ASSAY_SUITES", "ASSAY_SHARD"};

// Also of a vendor: NVIDIA_API_KEY opens an account.
bool IsSecret(std::string_view name) {
  constexpr std::string_view kSecrets[] = {"TOKEN", "SECRET", "PASSW", "CREDENTIAL", "API_KEY", "ACCESS_KEY"};
  return std::ranges::any_of(kSecrets, [&](std::string_view secret) { return name.find(secret) != name.npos; });
}

}  // namespace

bool IsPassed(std::string_view name) {
  if (IsSecret(name)) return false;
  const auto begins_with = [&](std::string_view prefix) { return name.starts_with(prefix); };
  if (std::ranges::any_of(kOfHost, begins_with)) return false;
  return std::ranges::find(kKeptNames, name) != std::end(kKeptNames) || std::ranges::any_of(kPrefixes, begins_with);
}

std::vector<std::string> PassedVariables(std::span<const std::string> more) {
  std::vector<std::string> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    if (IsPassed(name) || std::ranges::find(more, name) != more.end()) variables.emplace_back(text);
  }
  return variables;
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
