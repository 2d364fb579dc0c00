// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/check/manifest_parts.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/core/base/atomic_file.h"
#include "harness/core/base/json_text.h"
#include "harness/core/data/npy.h"
#include "harness/core/data/safetensors.h"
#include "harness/engine/results/environment.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

// "u2" where a file says it instead of the type; "" where the file says the type itself.
std::string StoredAs(DType dtype, TensorFiles files) {
  if (files == TensorFiles::kSafetensors || IsComplex(dtype)) return "";
  if (dtype == DType::kBF16) return "u2";
  return dtype == DType::kE4M3 || dtype == DType::kE5M2 ? "u1" : "";
}

void AddFiles(Json& operands, const std::string& folder, TensorFiles files) {
  for (Json& operand : operands) {
    const auto dtype = ParseDType(operand["dtype"].get<std::string>());
    operand["file"] = fmt::format("{}/{}{}", folder, operand["name"].get<std::string>(), GetFileEnding(files));
    if (const std::string stored = StoredAs(*dtype, files); !stored.empty()) operand["stored_as"] = stored;
  }
}

}  // namespace

const char* GetFileEnding(TensorFiles files) {
  return files == TensorFiles::kNpy ? ".npy" : ".safetensors";
}

Status MakeFolder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (!error) return {};
  return Fail(ErrorCode::kIo,
              fmt::format("cannot create {}: {}; give a writable --out", path.string(), error.message()));
}

Status CheckEmptyFolder(const fs::path& dir) {
  std::error_code error;
  const fs::directory_iterator first(dir, error);
  if (error || first == fs::directory_iterator()) return {};
  return UsageError(fmt::format("--out {}: it is not empty (it has {}): give a new or an empty folder", dir.string(),
                                first->path().filename().string()));
}

Status WriteTensorFile(const fs::path& folder, const Operand& operand, const Tensor& tensor, TensorFiles files) {
  const fs::path path = folder / (operand.name + GetFileEnding(files));
  const TensorRef ref{operand.name, operand.dtype, operand.shape, tensor.data()};
  return files == TensorFiles::kNpy ? WriteNpy(path, ref) : WriteSafetensors(path, {ref}, {});
}

void AddFileNames(Json& described, const std::string& folder, TensorFiles files) {
  described["folder"] = folder;
  AddFiles(described["inputs"], folder, files);
  AddFiles(described["outputs"], folder + "/" + kOutputFolder, files);
}

Status WriteManifest(const fs::path& dir, const Plan& plan, Json cases, TensorFiles files) {
  const Json manifest = {{"format", kManifestFormat},
                         {"tool_version", ToolVersion()},
                         {"tensors", files == TensorFiles::kNpy ? "npy" : "safetensors"},
                         {"plan", ParseJson(PlanJson(plan))},
                         {"cases", std::move(cases)}};
  const std::string text = DumpJson(manifest, 1) + "\n";
  return WriteFileAtomically(dir / kManifestFile, {{text.data(), text.size()}});
}

std::string TensorFileOf(const fs::path& folder, const std::string& name) {
  for (const TensorFiles files : {TensorFiles::kNpy, TensorFiles::kSafetensors}) {
    const fs::path path = folder / (name + GetFileEnding(files));
    std::error_code error;
    if (fs::exists(path, error)) return path.string();
  }
  return "";
}

}  // namespace assay
