// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/check/tensor_args.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "harness/core/base/nearest_word.h"
#include "harness/core/data/npy.h"
#include "harness/core/data/safetensors.h"
#include "harness/engine/cases/host_memory.h"
#include "harness/judge/localise.h"

namespace assay {
namespace {

constexpr std::string_view kSafetensors = ".safetensors";
constexpr size_t kMostNames = 8;  // of a file's tensors in a message

// path and tensor name of "FILE.safetensors:TENSOR"; a name may hold colons, the file's ending decides.
std::pair<std::string, std::string> SplitTensorName(const std::string& path) {
  const size_t ending = path.rfind(std::string(kSafetensors) + ":");
  if (ending == std::string::npos) return {path, ""};
  const size_t colon = ending + kSafetensors.size();
  return {path.substr(0, colon), path.substr(colon + 1)};
}

Result<Tensor> LoadSafetensors(const NamedFile& file) {
  const auto [path, asked] = SplitTensorName(file.path);
  auto content = ReadSafetensors(path);
  if (!content) return tl::unexpected(content.error());
  const bool alone = asked.empty() && content->tensors.size() == 1;
  const std::string wanted = alone ? content->tensors[0].name : asked.empty() ? file.name : asked;
  const Tensor* found = content->Find(wanted);
  if (found != nullptr) return found->Clone();
  if (const auto other = content->unsupported.find(wanted); other != content->unsupported.end()) {
    return UsageError(fmt::format("{}: tensor '{}' has dtype {}, which is not supported", path, wanted, other->second));
  }
  std::vector<std::string> names;
  for (const NamedTensor& t : content->tensors) names.push_back(t.name);
  return UsageError(fmt::format("{} has no tensor '{}', it has {}{}; write {}={}:TENSOR", path, wanted,
                                FirstOf(names, kMostNames), DidYouMean(wanted, names), file.name, path));
}

// Whether double `x` and what became of it in a narrower type are the same number.
bool SameValue(double x, double y) {
  return x == y || (x != x && y != y);
}

Result<Tensor> Narrowed(const Tensor& from, DType to) {
  const std::vector<double> values = from.ToDoubles();
  Tensor result(to, from.shape());
  result.SetDoubles(values);
  const std::vector<double> back = result.ToDoubles();
  const auto differs = std::ranges::mismatch(values, back, SameValue);
  if (differs.in1 == values.end()) return result;
  return UsageError(fmt::format(
      "it is stored as {}, and {} does not hold its element {} = {:.9g} exactly; give the dtype that it was made in",
      Name(from.dtype()), Name(to), IndexText(from.shape(), differs.in1 - values.begin()), *differs.in1));
}

}  // namespace

Result<Tensor> ConvertTensor(Tensor tensor, DType to) {
  const DType from = tensor.dtype();
  if (from == to) return tensor;
  const bool components = (from == DType::kF32 && to == DType::kC64) || (from == DType::kF64 && to == DType::kC128);
  if (components && !tensor.shape().empty() && tensor.shape().back() == 2) {
    Tensor complex(to, Shape(tensor.shape().begin(), tensor.shape().end() - 1));
    std::memcpy(complex.data(), tensor.data(), tensor.bytes());
    return complex;
  }
  if (IsFloat(from) && IsFloat(to) && SizeOf(to) < SizeOf(from)) return Narrowed(tensor, to);
  if (from == DType::kBool && to == DType::kI8) {
    Tensor bytes(to, tensor.shape());
    bytes.SetDoubles(tensor.ToDoubles());
    return bytes;
  }
  if (from == DType::kI32 && to == DType::kI64) {
    Tensor wider(to, tensor.shape());
    std::ranges::copy(std::as_const(tensor).As<int32_t>(), wider.As<int64_t>().begin());
    return wider;
  }
  return UsageError(fmt::format(
      "it is stored as {}, which cannot be read as {}; convert it before it is written, as NumPy's astype does",
      Name(from), Name(to)));
}

Result<std::map<std::string, std::string>> ParsePairs(const std::vector<std::string>& texts, const std::string& what) {
  std::map<std::string, std::string> pairs;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == text.size()) {
      return UsageError(fmt::format("{} '{}' is not KEY=VALUE", what, text));
    }
    if (!pairs.emplace(text.substr(0, equals), text.substr(equals + 1)).second) {
      return UsageError(fmt::format("{} gives '{}' twice; give it once", what, text.substr(0, equals)));
    }
  }
  return pairs;
}

Result<Tensor> LoadOperand(const NamedFile& file, const std::string& as) {
  std::optional<DType> dtype;
  if (!as.empty()) {
    auto parsed = ParseDType(as);
    if (!parsed) return UsageError(fmt::format("--dtype {}={}: {}", file.name, as, parsed.error().message));
    dtype = *parsed;
  }
  const bool is_npy = file.path.ends_with(".npy");
  if (!is_npy && file.path.find(kSafetensors) == std::string::npos) {
    return UsageError(fmt::format("{}: {} is neither a .npy nor a .safetensors file", file.name, file.path));
  }
  if (auto fits = CheckFileFits(is_npy ? file.path : SplitTensorName(file.path).first); !fits) {
    return UsageError(fmt::format("{}: {}", file.name, fits.error().message));
  }
  auto tensor = is_npy ? ReadNpy(file.path, dtype) : LoadSafetensors(file);
  if (!tensor) return UsageError(fmt::format("{}: {}", file.name, tensor.error().message));
  if (!dtype) return tensor;
  auto converted = ConvertTensor(std::move(*tensor), *dtype);
  if (!converted) return UsageError(fmt::format("{}: {}: {}", file.name, file.path, converted.error().message));
  return converted;
}

bool BroadcastsTo(const Shape& from, const Shape& to) {
  for (size_t back = 1; back <= from.size(); ++back) {
    const int64_t extent = from[from.size() - back];
    if (extent != 1 && (back > to.size() || extent != to[to.size() - back])) return false;
  }
  return true;
}

Tensor BroadcastTo(const Tensor& from, const Shape& to) {
  Tensor result(from.dtype(), to);
  Shape strides(to.size(), 0);
  const Shape own = RowMajorStrides(from.shape());
  for (size_t back = 1; back <= std::min(to.size(), own.size()); ++back) {
    if (from.shape()[own.size() - back] != 1) strides[to.size() - back] = own[own.size() - back];
  }
  // Gather only reads.
  Gather({from.dtype(), to, strides, const_cast<std::byte*>(from.data())}, result);
  return result;
}

}  // namespace assay
