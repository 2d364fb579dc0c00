// SPDX-License-Identifier: Apache-2.0
// Tensors at rest: the safetensors format (8-byte little-endian header length, JSON header, raw bytes), written
// atomically, read with every length and offset checked. Complex tensors are stored with a last axis of 2.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/base/atomic_file.h"
#include "harness/core/base/result.h"
#include "harness/core/data/tensor.h"

namespace assay {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

struct SafetensorsFile {
  std::vector<NamedTensor> tensors;
  std::map<std::string, std::string> metadata;
  std::map<std::string, std::string> unsupported;  // tensors of other types: name to type; not read
  const Tensor* Find(std::string_view name) const;
};

struct TensorRef {
  std::string name;
  DType dtype;
  Shape shape;
  const void* data;
};

// Writes to a temporary name beside `path` and renames it.
Status WriteSafetensors(const std::filesystem::path& path, const std::vector<TensorRef>& tensors,
                        const std::map<std::string, std::string>& metadata,
                        Durability durability = Durability::kOnDisk);
// Errors say what is damaged: header length, JSON, offsets, size.
Result<SafetensorsFile> ReadSafetensors(const std::filesystem::path& path);
// Overload for a file's content.
Result<SafetensorsFile> ParseSafetensors(std::string_view bytes);
// The metadata alone, from the file's header.
Result<std::map<std::string, std::string>> ReadSafetensorsMetadata(const std::filesystem::path& path);

}  // namespace assay
