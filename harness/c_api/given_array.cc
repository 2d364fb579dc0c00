// SPDX-License-Identifier: Apache-2.0
#include "harness/c_api/given_array.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "harness/c_api/api_call.h"
#include "harness/core/data/type_name.h"
#include "harness/engine/cases/host_memory.h"
#include "harness/tools/check/tensor_args.h"
#include "ops/binding.h"

namespace assay::c_api {
namespace {

constexpr int32_t kMaxRank = 64;  // NumPy has 64 as well

std::string TypeText(const assay_array& array) {
  const char* codes[] = {"int", "uint", "float", "opaque", "bfloat", "complex", "bool"};
  return array.type_code < std::size(codes) ? fmt::format("{}{}", codes[array.type_code], array.bits)
                                            : fmt::format("DLPack code {} of {} bits", array.type_code, array.bits);
}

constexpr const char* kKnownTypes = "f64 f32 f16 bf16 e4m3 e5m2 i8 u8 i16 i32 i64 bool c64 and c128 are judged";

struct ReadAs {
  DType stored;  // as the bytes are read
  DType wanted;  // as the values are judged
};

// Unsigned integers are the bits of what `type` says, and those of 8 bits are numbers where it says nothing.
Result<ReadAs> TypesOf(const assay_array& array) {
  if (array.lanes != 1) return UsageError(fmt::format("it has {} lanes; give one, and an axis more", array.lanes));
  std::optional<DType> wanted;
  if (array.type != nullptr) {
    const auto parsed = ParseDType(array.type);
    if (!parsed) return tl::unexpected(parsed.error());
    wanted = *parsed;
  }
  if (array.type_code == ASSAY_UINT && (array.bits == 8 || array.bits == 16)) {
    const char* possible = array.bits == 16 ? "bf16 or f16" : "e4m3, e5m2, u8 or i8";
    if (!wanted && array.bits == 8) return ReadAs{DType::kU8, DType::kU8};
    if (wanted && SizeOf(*wanted) * 8 == array.bits) return ReadAs{*wanted, *wanted};
    return UsageError(fmt::format("elements of type {} have no meaning of their own: say what the bits hold, {}",
                                  TypeText(array), possible));
  }
  const auto stored = FindDLPackType(array.type_code, array.bits);
  if (!stored) {
    const std::string_view wider = WiderInteger(array.type_code, array.bits);
    return UsageError(fmt::format(
        "elements of type {} are not judged{}; {}", TypeText(array),
        wider.empty() ? "" : fmt::format(": convert them to {}, which holds them exactly", wider), kKnownTypes));
  }
  return ReadAs{*stored, wanted.value_or(*stored)};
}

// Below it nobody is asked whether it fits: that takes longer than the copy.
constexpr double kAskedBytes = 0x1p24;

Result<Shape> ShapeOf(const assay_array& array) {
  if (array.rank < 0 || array.rank > kMaxRank) {
    return UsageError(fmt::format("it has {} axes; 0 to {} are possible", array.rank, kMaxRank));
  }
  if (array.rank > 0 && array.shape == nullptr) return UsageError("its shape is NULL");
  Shape shape(array.shape, array.shape + array.rank);
  for (const int64_t extent : shape) {
    if (extent < 0) return UsageError(fmt::format("its shape has an axis of {} elements", extent));
  }
  const bool is_empty = std::ranges::find(shape, 0) != shape.end();
  if (const std::string text = is_empty ? ShapeProblem(shape) : ""; !text.empty()) return UsageError("its " + text);
  if (array.data == nullptr && !is_empty) return UsageError("its data are NULL");
  return shape;
}

// An error where a copy cannot be in this machine's memory.
Status CheckCopyFits(const Shape& shape, DType stored) {
  double bytes = SizeOf(stored);
  for (const int64_t extent : shape) bytes *= static_cast<double>(extent);
  if (bytes <= kAskedBytes || bytes <= AvailableBytes()) return {};
  return Fail(ErrorCode::kIo, fmt::format("its {:.3g} bytes do not fit into this host's memory", bytes));
}

bool IsDense(const Shape& shape, const Shape& strides) {
  const Shape dense = RowMajorStrides(shape);
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != 1 && strides[i] != dense[i]) return false;
  }
  return true;
}

Result<Tensor> Read(const assay_array& array, bool may_borrow) {
  const auto types = TypesOf(array);
  if (!types) return tl::unexpected(types.error());
  const auto shape = ShapeOf(array);
  if (!shape) return tl::unexpected(shape.error());
  const Shape strides =
      array.strides == nullptr ? RowMajorStrides(*shape) : Shape(array.strides, array.strides + array.rank);
  const bool is_aligned = reinterpret_cast<uintptr_t>(array.data) % static_cast<uintptr_t>(SizeOf(types->stored)) == 0;
  if (may_borrow && types->stored == types->wanted && is_aligned && IsDense(*shape, strides)) {
    return Tensor::Borrow(types->stored, *shape, static_cast<const std::byte*>(array.data));
  }
  if (auto fits = CheckCopyFits(*shape, types->stored); !fits) return tl::unexpected(fits.error());
  Tensor tensor(types->stored, *shape);
  // Gather only reads.
  auto* data = const_cast<std::byte*>(static_cast<const std::byte*>(array.data));
  Gather({types->stored, *shape, strides, data}, tensor);
  return ConvertTensor(std::move(tensor), types->wanted);
}

// The operands of one side in the operator's order, optional ones included.
std::vector<std::string> OrderOf(const OpSchema& schema, bool outputs) {
  if (outputs) return schema.outputs;
  std::vector<std::string> all;
  for (const OperandDoc& o : schema.layouts) all.push_back(o.name);
  if (all.empty()) all = schema.operands;
  std::erase_if(
      all, [&](const std::string& name) { return std::ranges::find(schema.outputs, name) != schema.outputs.end(); });
  return all;
}

// Names those without one.
Status NameAll(const OpSchema& schema, bool are_outputs, GivenArrays& given) {
  const std::vector<std::string> order = OrderOf(schema, are_outputs);
  auto next = order.begin();
  for (std::string& name : given.names) {
    if (!name.empty()) continue;
    while (next != order.end() && std::ranges::find(given.names, *next) != given.names.end()) ++next;
    if (next == order.end()) {
      return UsageError(fmt::format("{} has {} {}, and {} were given: {}", schema.op, order.size(),
                                    are_outputs ? "outputs" : "inputs", given.names.size(), fmt::join(order, ", ")));
    }
    name = *next;
  }
  return {};
}

}  // namespace

Result<GivenArrays> TakeArrays(const OpSchema& schema, const assay_array* const* arrays, uint64_t count,
                               bool are_outputs) {
  const char* what = are_outputs ? "outputs" : "inputs";
  if (count > 0 && arrays == nullptr) return UsageError(fmt::format("{} is NULL, but has {} arrays", what, count));
  GivenArrays given;
  for (uint64_t i = 0; i < count; ++i) {
    auto array = Known(arrays[i], fmt::format("{}[{}]", what, i).c_str());
    if (!array) return tl::unexpected(array.error());
    given.arrays.push_back(*array);
    given.names.push_back(TextOr(array->name));
  }
  if (auto named = NameAll(schema, are_outputs, given); !named) return tl::unexpected(named.error());
  return given;
}

Result<std::vector<NamedTensor>> ReadArrays(const GivenArrays& given, bool may_borrow) {
  std::vector<NamedTensor> tensors;
  for (size_t i = 0; i < given.arrays.size(); ++i) {
    auto tensor = Read(given.arrays[i], may_borrow);
    if (!tensor) return Fail(tensor.error().code, given.names[i] + ": " + tensor.error().message);
    tensors.push_back({given.names[i], *std::move(tensor)});
  }
  return tensors;
}

Status ShowArray(const std::string& name, DType dtype, const Shape& shape, const void* data, assay_array* array) {
  if (auto known = Known<assay_array>(array, "array"); !known) return tl::unexpected(known.error());
  const DTypeInfo& info = Info(dtype);
  array->name = name.c_str();
  array->data = data;
  array->shape = shape.data();
  array->strides = nullptr;
  array->rank = static_cast<int32_t>(shape.size());
  array->type_code = info.dlpack_code;
  array->bits = info.dlpack_bits;
  array->lanes = 1;
  array->type = nullptr;
  return {};
}

}  // namespace assay::c_api
