// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/loaded_libraries.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "harness/core/base/text.h"
#include "harness/core/base/whole_file.h"

namespace assay {
namespace {

// A product, how the names of its files begin, and a word of `library_version` that names it.
struct Product {
  std::string_view name, file, word;
};

constexpr Product kProducts[] = {{"oneDNN", "libdnnl", "onednn"},
                                 {"oneDNN", "libmkldnn", "onednn"},
                                 {"MKL", "libmkl_", "mkl"},
                                 {"OpenBLAS", "libopenblas", "openblas"},
                                 {"BLIS", "libblis", "blis"},
                                 {"BLAS", "libblas", "blas"},
                                 {"ATLAS", "libatlas", "atlas"},
                                 {"Arm Performance Libraries", "libarmpl", "arm"},
                                 {"FFTW", "libfftw3", "fftw"},
                                 {"XNNPACK", "libxnnpack", "xnnpack"},
                                 {"cuBLAS", "libcublas", "cu"},
                                 {"cuDNN", "libcudnn", "cu"},
                                 {"cuFFT", "libcufft", "cu"},
                                 {"TensorRT", "libnvinfer", "tensorrt"},
                                 {"rocBLAS", "librocblas", "hip"},
                                 {"hipBLASLt", "libhipblaslt", "hip"},
                                 {"MIOpen", "libMIOpen", "hip"},
                                 {"rocFFT", "librocfft", "hip"},
                                 {"PyTorch", "libtorch", "torch"},
                                 {"ONNX Runtime", "libonnxruntime", "onnx"},
                                 {"TensorFlow", "libtensorflow", "tensorflow"}};

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

std::string_view FileName(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

bool IsLibrary(std::string_view file) {
  return file.ends_with(".so") || file.find(".so.") != file.npos;
}

}  // namespace

LibraryPaths LibrariesInMaps(std::string_view maps) {
  constexpr std::string_view kDeleted = " (deleted)";
  LibraryPaths paths;
  for (std::string_view line : Split(maps, '\n')) {
    const size_t path_at = line.find('/');
    const size_t rights_at = line.find(' ');
    if (path_at == line.npos || rights_at + 3 >= path_at || line[rights_at + 3] != 'x') continue;
    std::string_view path = line.substr(path_at);
    if (path.ends_with(kDeleted)) path.remove_suffix(kDeleted.size());
    if (IsLibrary(FileName(path))) paths.emplace(path);
  }
  return paths;
}

LibraryPaths LibrariesLoadedBy(pid_t pid) {
  LibraryPaths loaded = LibrariesInMaps(ReadStream(fmt::format("/proc/{}/maps", pid)).value_or(""));
  for (const std::string& own : LibrariesInMaps(ReadStream("/proc/self/maps").value_or(""))) loaded.erase(own);
  return loaded;
}

std::string FindUnnamedLibraries(const LibraryPaths& loaded, std::string_view library_version) {
  const std::string said = LowerCase(library_version);
  std::string text;
  for (const std::string& path : loaded) {
    const std::string_view file = FileName(path);
    const auto is_it = [&](const Product& product) { return file.starts_with(product.file); };
    const auto* const product = std::ranges::find_if(kProducts, is_it);
    if (product == std::end(kProducts) || said.find(product->word) != said.npos) continue;
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", file, product->name);
  }
  return text;
}

}  // namespace assay
