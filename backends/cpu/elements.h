// SPDX-License-Identifier: Apache-2.0
// Moving strided elements of any storage type into and out of rows of the accumulator type: the one place where
// the dtype is dispatched, so that kernels exist once per accumulator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "backends/common/dtype.h"
#include "backends/common/float8.h"
#include "backends/common/status.h"

namespace cpu {

// Calls visit(std::type_identity<Storage>{}) for the storage type of `dtype`. Throws Unsupported for others.
template <class Visitor>
auto VisitDType(plugin::DType dtype, Visitor&& visit) {
  if (dtype == plugin::kF64) return visit(std::type_identity<double>{});
  if (dtype == plugin::kF32) return visit(std::type_identity<float>{});
  if (dtype == plugin::kF16) return visit(std::type_identity<plugin::F16>{});
  if (dtype == plugin::kBF16) return visit(std::type_identity<plugin::BF16>{});
  if (dtype == plugin::kI8) return visit(std::type_identity<int8_t>{});
  if (dtype == plugin::kI16) return visit(std::type_identity<int16_t>{});
  if (dtype == plugin::kU8 || dtype == plugin::kBool8) return visit(std::type_identity<uint8_t>{});
  if (dtype == plugin::kI32) return visit(std::type_identity<int32_t>{});
  if (dtype == plugin::kI64) return visit(std::type_identity<int64_t>{});
  if (dtype == plugin::kE4M3) return visit(std::type_identity<plugin::E4M3>{});
  if (dtype == plugin::kE5M2) return visit(std::type_identity<plugin::E5M2>{});
  throw plugin::Unsupported("cpu computes f64, f32, f16, bf16, fp8 and integers; {} is none of them",
                            plugin::Name(dtype));
}

// dst[i] = src[i * stride], for i < count. memcpy, because an operand may lie at any byte.
template <class Acc>
void Load(plugin::DType dtype, const std::byte* src, int64_t stride, int64_t count, Acc* dst) {
  VisitDType(dtype, [=]<class Storage>(std::type_identity<Storage>) {
    const auto read = [=](int64_t offset) {
      Storage element;
      std::memcpy(&element, src + offset * static_cast<int64_t>(sizeof element), sizeof element);
      return plugin::ConvertAny<Acc>(element);
    };
    if (stride == 1) {  // its own loop, for the vectoriser
      for (int64_t i = 0; i < count; ++i) dst[i] = read(i);
    } else {
      for (int64_t i = 0; i < count; ++i) dst[i] = read(i * stride);
    }
  });
}

// dst[i * stride] = src[i] rounded once to nearest even.
template <class Acc>
void Store(plugin::DType dtype, const Acc* src, int64_t count, std::byte* dst, int64_t stride) {
  VisitDType(dtype, [=]<class Storage>(std::type_identity<Storage>) {
    for (int64_t i = 0; i < count; ++i) {
      const Storage element = plugin::ConvertAny<Storage>(src[i]);
      std::memcpy(dst + i * stride * static_cast<int64_t>(sizeof element), &element, sizeof element);
    }
  });
}

// values[i] rounded to `dtype` and back.
template <class Acc>
void RoundTo(plugin::DType dtype, Acc* values, int64_t count) {
  VisitDType(dtype, [=]<class Storage>(std::type_identity<Storage>) {
    for (int64_t i = 0; i < count; ++i) values[i] = plugin::ConvertAny<Acc>(plugin::ConvertAny<Storage>(values[i]));
  });
}

}  // namespace cpu
