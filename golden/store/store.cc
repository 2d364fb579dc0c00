// SPDX-License-Identifier: Apache-2.0
#include "golden/store/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>

#include "golden/store/store_files.h"
#include "harness/core/base/cache_folder.h"
#include "harness/core/data/safetensors.h"

namespace assay {
namespace {

using Metadata = std::map<std::string, std::string>;
constexpr std::string_view kExtraPrefix = "extra.";

Metadata MetadataOf(const GoldenKey& key, const Golden& golden) {
  Metadata metadata = {
      {"format", std::string(kStoreFormat)},
      {"case_id", key.case_id},
      {"input_hash", key.input_hash},
      {"generator_version", std::to_string(kGeneratorVersion)},
      {"golden_version", std::to_string(kGoldenVersion)},
      {"tier", std::string(Name(key.tier))},
      {"computed_tier", std::string(Name(golden.tier))},  // f64 cases are computed in the reproducible tier
      {"exact", golden.exact ? "1" : "0"},
      {"components", golden.size() == NumElements(golden.shape) ? "1" : "2"}};
  if (!key.output.empty()) metadata["output"] = key.output;
  if (!key.formula.empty()) metadata["formula"] = key.formula;
  return metadata;
}

// Everything in the file, in a canonical order, but the checksum itself.
std::string Checksum(const std::vector<TensorRef>& tensors, const Metadata& metadata) {
  std::map<std::string, std::string> lines;
  for (const auto& [name, value] : metadata) {
    if (name != "checksum") lines["m:" + name] = value;
  }
  for (const TensorRef& t : tensors) {
    const size_t bytes = static_cast<size_t>(NumElements(t.shape)) * static_cast<size_t>(SizeOf(t.dtype));
    lines["t:" + t.name] =
        fmt::format("{} {} {}", Name(t.dtype), ShapeText(t.shape), HashHex(HashBytes(t.data, bytes)));
  }
  std::string text;
  for (const auto& [name, value] : lines) text += fmt::format("{}={}\n", name, value);
  return HashHex(HashBytes(text.data(), text.size()));
}

void AddPlane(const std::string& name, const Shape& shape, const Plane& plane, std::vector<TensorRef>& out) {
  if (plane.empty()) return;
  if (plane.wide()) {
    out.push_back({name, DType::kF64, shape, plane.f64().data()});
  } else {
    out.push_back({name, DType::kF32, shape, plane.f32().data()});
  }
}

std::vector<TensorRef> TensorsOf(const Golden& golden) {
  // A complex golden has two values per element, and planes of either size: the stored shapes have to say so.
  Shape components = golden.shape;
  if (NumElements(components) != golden.size()) components.push_back(2);
  const auto shape_of = [&](const Plane& plane) {
    if (plane.size() == golden.size()) return components;
    return plane.size() == NumElements(golden.shape) ? golden.shape : Shape{plane.size()};  // one per row
  };
  std::vector<TensorRef> tensors = {{"value", DType::kF64, components, golden.value.data()}};
  if (!golden.value_lo.empty()) tensors.push_back({"value_lo", DType::kF64, components, golden.value_lo.data()});
  AddPlane("magnitude", shape_of(golden.magnitude), golden.magnitude, tensors);
  AddPlane("sigma", shape_of(golden.sigma), golden.sigma, tensors);
  AddPlane("error", shape_of(golden.error), golden.error, tensors);
  for (const auto& [name, plane] : golden.extra) {
    AddPlane(std::string(kExtraPrefix) + name, shape_of(plane), plane, tensors);
  }
  return tensors;
}

Result<Plane> PlaneOf(const Tensor& tensor) {
  if (tensor.dtype() != DType::kF32 && tensor.dtype() != DType::kF64) {
    return Fail(ErrorCode::kIo, "a plane is neither f32 nor f64");
  }
  Plane plane(tensor.size(), tensor.dtype() == DType::kF64);
  void* to = plane.wide() ? static_cast<void*>(plane.f64().data()) : static_cast<void*>(plane.f32().data());
  if (tensor.bytes() > 0) std::memcpy(to, tensor.data(), tensor.bytes());
  return plane;
}

Status CheckIdentity(const SafetensorsFile& file, const Metadata& expected) {
  for (const std::string name : {"format", "generator_version", "golden_version", "tier", "case_id", "input_hash"}) {
    const auto found = file.metadata.find(name);
    if (found == file.metadata.end()) return Fail(ErrorCode::kIo, fmt::format("not a golden file: no '{}'", name));
    if (found->second != expected.at(name)) {
      return Fail(ErrorCode::kIo, fmt::format("belongs to something else: {} is '{}', expected '{}'", name,
                                              found->second, expected.at(name)));
    }
  }
  const auto find = [](const Metadata& metadata, const std::string& name) {
    const auto found = metadata.find(name);
    return found == metadata.end() ? std::string() : found->second;
  };
  for (const std::string name : {"output", "formula"}) {
    const std::string is = find(file.metadata, name), should_be = find(expected, name);
    if (is == should_be) continue;
    return Fail(ErrorCode::kIo,
                fmt::format("belongs to something else: {} is '{}', expected '{}'", name, is, should_be));
  }
  return {};
}

Status CheckContent(const SafetensorsFile& file) {
  std::vector<TensorRef> tensors;
  for (const NamedTensor& t : file.tensors) {
    tensors.push_back({t.name, t.tensor.dtype(), t.tensor.shape(), t.tensor.data()});
  }
  const auto checksum = file.metadata.find("checksum");
  if (checksum == file.metadata.end() || checksum->second != Checksum(tensors, file.metadata)) {
    return Fail(ErrorCode::kIo, "damaged: the checksum does not match");
  }
  return {};
}

// The content is what Save wrote (the checksum says so), so that only the layout is left to follow.
Result<Golden> GoldenOf(const SafetensorsFile& file) {
  Golden golden;
  golden.tier = file.metadata.at("computed_tier") == Name(Tier::kFast) ? Tier::kFast : Tier::kReproducible;
  golden.exact = file.metadata.at("exact") == "1";
  for (const auto& [name, tensor] : file.tensors) {
    if (name == "value" || name == "value_lo") {
      const auto doubles = tensor.As<double>();
      (name == "value" ? golden.value : golden.value_lo).assign(doubles.begin(), doubles.end());
      if (name == "value") golden.shape = tensor.shape();
      if (name == "value" && file.metadata.at("components") == "2") golden.shape.pop_back();
      continue;
    }
    Result<Plane> plane = PlaneOf(tensor);
    if (!plane) return tl::unexpected(plane.error());
    if (name == "magnitude") golden.magnitude = std::move(*plane);
    if (name == "sigma") golden.sigma = std::move(*plane);
    if (name == "error") golden.error = std::move(*plane);
    if (name.starts_with(kExtraPrefix)) golden.extra.emplace_back(name.substr(kExtraPrefix.size()), std::move(*plane));
  }
  return golden;
}

}  // namespace

std::filesystem::path GoldenStore::DefaultRoot() {
  const char* root = std::getenv("ASSAY_GOLDEN_STORE");
  return root != nullptr && *root != '\0' ? std::filesystem::path(root) : CacheFolder("golden");
}

std::filesystem::path StoreFileName(const GoldenKey& key, int generator_version, int golden_version) {
  std::string text = fmt::format("{}\n{}\n{}\n{}", key.case_id, generator_version, golden_version, Name(key.tier));
  if (!key.output.empty()) text += "\n" + key.output;
  if (!key.formula.empty()) text += "\nformula\n" + key.formula;
  const std::string hash = HashHex(HashBytes(text.data(), text.size()));
  return std::filesystem::path(hash.substr(0, 2)) / (hash + std::string(kStoreExtension));
}

std::filesystem::path GoldenStore::PathOf(const GoldenKey& key) const {
  return root_ / StoreFileName(key, kGeneratorVersion, kGoldenVersion);
}

Result<Golden> ReadGolden(const std::filesystem::path& path, const GoldenKey& key) {
  Result<SafetensorsFile> file = ReadSafetensors(path);
  if (!file) return tl::unexpected(file.error());
  const auto fail = [&](const Error& e) { return Fail(e.code, fmt::format("{}: {}", path.string(), e.message)); };
  if (Status status = CheckIdentity(*file, MetadataOf(key, Golden{})); !status) return fail(status.error());
  if (Status status = CheckContent(*file); !status) return fail(status.error());
  Result<Golden> golden = GoldenOf(*file);
  if (!golden) return fail(golden.error());
  return golden;
}

Result<std::optional<Golden>> GoldenStore::Load(const GoldenKey& key) const {
  if (root_.empty()) return std::nullopt;
  const std::filesystem::path path = PathOf(key);
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::nullopt;
  Result<Golden> golden = ReadGolden(path, key);
  if (!golden && !std::filesystem::exists(path, error)) return std::nullopt;  // collected in the meantime
  if (!golden) return tl::unexpected(golden.error());
  // Reading refreshes the file's age, so that collection spares files in use. A read-only store works without it.
  std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now(), error);
  return std::optional<Golden>(std::move(*golden));
}

Status GoldenStore::Save(const GoldenKey& key, const Golden& golden) const {
  if (root_.empty()) return {};
  return WriteGolden(PathOf(key), key, golden, Durability::kWhenever);
}

Status WriteGolden(const std::filesystem::path& path, const GoldenKey& key, const Golden& golden,
                   Durability durability) {
  const std::vector<TensorRef> tensors = TensorsOf(golden);
  Metadata metadata = MetadataOf(key, golden);
  metadata["checksum"] = Checksum(tensors, metadata);
  return WriteSafetensors(path, tensors, metadata, durability);
}

bool IsGoldenFile(const std::filesystem::path& path) {
  const auto metadata = ReadSafetensorsMetadata(path);
  const auto format = metadata ? metadata->find("format") : Metadata::const_iterator();
  return metadata && format != metadata->end() && format->second == kStoreFormat;
}

std::string GoldenHash(const Golden& golden) {
  // One pattern for every NaN: payloads depend on the machine.
  const auto canonical = [](const std::vector<double>& values) {
    const auto is_nan = [](double x) { return std::isnan(x); };
    std::vector<double> alike;
    if (std::ranges::any_of(values, is_nan)) {
      alike = values;
      std::ranges::replace_if(alike, is_nan, std::numeric_limits<double>::quiet_NaN());
    }
    return HashBytes((alike.empty() ? values : alike).data(), values.size() * sizeof(double));
  };
  const uint64_t hashes[] = {canonical(golden.value), canonical(golden.value_lo)};
  return HashHex(HashBytes(hashes, sizeof hashes));
}

}  // namespace assay
