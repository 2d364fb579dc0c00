// SPDX-License-Identifier: Apache-2.0
// Strided operands of any type as dense row-major arrays of T and back: schedules then see nothing but arrays. Complex
// elements are two values, real part first.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "backends/common/dtype.h"
#include "backends/common/host.h"
#include "backends/common/op_desc.h"
#include "backends/common/status.h"
#include "tests/faults/corpus/fp8.h"

namespace corpus {

// The control's plugin has f32 and c64 alone, which takes a third of the time to compile.
#ifdef ASSAY_CORPUS_F32_ALONE
inline constexpr bool kF32Alone = true;
#else
inline constexpr bool kF32Alone = false;
#endif

// Calls visit(std::type_identity<Storage>{}) for the type of one component of `dtype`.
template <class Visitor>
auto VisitComponent(plugin::DType dtype, Visitor&& visit) {
  if (dtype == plugin::kF32 || dtype == plugin::kC64) return visit(std::type_identity<float>{});
  if constexpr (!kF32Alone) {
    if (dtype == plugin::kF64 || dtype == plugin::kC128) return visit(std::type_identity<double>{});
    if (dtype == plugin::kF16) return visit(std::type_identity<plugin::F16>{});
    if (dtype == plugin::kBF16) return visit(std::type_identity<plugin::BF16>{});
    if (dtype == plugin::kI8) return visit(std::type_identity<int8_t>{});
    if (dtype == plugin::kU8 || dtype == plugin::kBool8) return visit(std::type_identity<uint8_t>{});
    if (dtype == plugin::kI16) return visit(std::type_identity<int16_t>{});
    if (dtype == plugin::kI32) return visit(std::type_identity<int32_t>{});
    if (dtype == plugin::kI64) return visit(std::type_identity<int64_t>{});
  }
  throw plugin::Unsupported("the corpus has no {} operands", plugin::Name(dtype));
}

// Whether VisitComponent knows the type.
inline bool IsKnown(plugin::DType d) {
  return plugin::IsFloat(d) || d == plugin::kI8 || d == plugin::kU8 || d == plugin::kI16 || d == plugin::kI32 ||
         d == plugin::kI64 || d == plugin::kC64 || d == plugin::kC128 || d == plugin::kBool8;
}

inline int64_t ComponentsOf(plugin::DType dtype) {
  return dtype.code == ASSAY_TYPE_COMPLEX ? 2 : 1;
}

// The offset in elements of every element in row-major order.
inline std::vector<int64_t> ElementOffsets(const plugin::Tensor& tensor) {
  std::vector<int64_t> offsets{0};
  for (int axis = 0; axis < tensor.Rank(); ++axis) {
    const auto at = static_cast<size_t>(axis);
    std::vector<int64_t> next;
    next.reserve(offsets.size() * static_cast<size_t>(tensor.shape[at]));
    for (int64_t offset : offsets) {
      for (int64_t i = 0; i < tensor.shape[at]; ++i) next.push_back(offset + i * tensor.strides[at]);
    }
    offsets = std::move(next);
  }
  return offsets;
}

// memcpy, because an operand may lie at any byte.
template <class T>
std::vector<T> Decode(const plugin::Tensor& tensor, std::span<const int64_t> offsets, const std::byte* base) {
  if (IsFp8(tensor.dtype)) {
    std::vector<T> values;
    for (int64_t offset : offsets) {
      values.push_back(static_cast<T>(ValueOfFp8(tensor.dtype, std::to_integer<uint8_t>(base[offset]))));
    }
    return values;
  }
  return VisitComponent(tensor.dtype, [&]<class Storage>(std::type_identity<Storage>) {
    const int64_t components = ComponentsOf(tensor.dtype);
    std::vector<T> values;
    values.reserve(offsets.size() * static_cast<size_t>(components));
    for (int64_t offset : offsets) {
      for (int64_t part = 0; part < components; ++part) {
        Storage element;
        std::memcpy(&element, base + (offset * components + part) * static_cast<int64_t>(sizeof element),
                    sizeof element);
        values.push_back(plugin::Convert<T>(element));
      }
    }
    return values;
  });
}

// Output that a plan computes. `values` holds the output's former contents at first; elements marked in `unwritten`
// (empty: none) are left alone.
template <class T>
struct DenseOutput {
  std::vector<T> values;
  std::vector<bool> unwritten;  // per value

  void LeaveUnwritten(int64_t i) {
    unwritten.resize(values.size());
    unwritten[static_cast<size_t>(i)] = true;
  }
};

// Values rounded once to nearest even.
template <class T>
void Encode(const plugin::Tensor& tensor, std::span<const int64_t> offsets, const DenseOutput<T>& output,
            std::byte* base) {
  if (IsFp8(tensor.dtype)) {
    for (size_t i = 0; i < output.values.size(); ++i) {
      if (!output.unwritten.empty() && output.unwritten[i]) continue;
      base[offsets[i]] = std::byte{BitsOfFp8(tensor.dtype, static_cast<double>(output.values[i]))};
    }
    return;
  }
  VisitComponent(tensor.dtype, [&]<class Storage>(std::type_identity<Storage>) {
    const auto components = static_cast<size_t>(ComponentsOf(tensor.dtype));
    for (size_t i = 0; i < output.values.size(); ++i) {
      if (!output.unwritten.empty() && output.unwritten[i]) continue;
      const Storage element = plugin::Convert<Storage>(output.values[i]);
      const size_t at = static_cast<size_t>(offsets[i / components]) * components + i % components;
      std::memcpy(base + at * sizeof element, &element, sizeof element);
    }
  });
}

// A plan over dense arrays with one output. Derive it, implement Compute.
template <class T>
class DensePlan : public plugin::HostPlan {
 public:
  using Carrier = T;
  // `exact`: unwritten elements become NaN.
  DensePlan(plugin::OpDesc op, bool exact) : op_(std::move(op)), exact_(exact) {
    for (const plugin::Tensor& input : op_.inputs()) input_offsets_.push_back(ElementOffsets(input));
    output_offsets_ = ElementOffsets(op_.outputs()[0]);
  }

 protected:
  virtual void Compute(std::span<const std::vector<T>> inputs, DenseOutput<T>& output) = 0;
  // For bugs around any computation: of operands before it, of the output behind it; `former`: what the output held.
  virtual void Load(std::vector<std::vector<T>>& /*inputs*/) {}
  virtual void Store(const std::vector<T>& /*former*/, DenseOutput<T>& /*output*/) {}
  // For bugs that touch memory they should not: runs after the output is stored.
  virtual void Trample(Pointers /*inputs*/, Pointers /*outputs*/) {}

  const plugin::OpDesc& op() const { return op_; }
  bool exact() const { return exact_; }

 private:
  void Run(Pointers inputs, Pointers outputs) final {
    std::vector<std::vector<T>> dense;
    for (size_t i = 0; i < inputs.size(); ++i) {
      dense.push_back(Decode<T>(op_.inputs()[i], input_offsets_[i], inputs[i]));
    }
    const plugin::Tensor& y = op_.outputs()[0];
    DenseOutput<T> output{Decode<T>(y, output_offsets_, outputs[0]), {}};
    const std::vector<T> former = output.values;
    Load(dense);
    Compute(dense, output);
    Store(former, output);
    if (exact_ && !output.unwritten.empty()) {
      for (size_t i = 0; i < output.values.size(); ++i) {
        if (output.unwritten[i]) output.values[i] = std::numeric_limits<T>::quiet_NaN();
      }
      output.unwritten.clear();
    }
    Encode(y, output_offsets_, output, outputs[0]);
    Trample(inputs, outputs);
  }

  const plugin::OpDesc op_;
  const bool exact_;
  std::vector<std::vector<int64_t>> input_offsets_;
  std::vector<int64_t> output_offsets_;
};

// One element more than there is: the store of a vector without a mask.
inline void ClearBehindTheEnd(const plugin::Tensor& y, std::byte* base) {
  std::memset(base + y.ByteExtent().last, 0, static_cast<size_t>(plugin::Bytes(y.dtype)));
}

// Whether any operand is f64 or c128: then exact arithmetic is long double. The output of an effect does not count.
inline bool HasDoubleInputs(const plugin::OpDesc& op) {
  for (const plugin::Tensor& input : op.inputs()) {
    if (input.dtype == plugin::kF64 || input.dtype == plugin::kC128) return true;
  }
  return false;
}

// make(std::type_identity<T>{}) for the type that carries the values: float or, for f64 operands and integers, double;
// in exact arithmetic double or, for f64 operands, long double.
template <class Make>
auto WithCarrier(const plugin::OpDesc& op, bool exact, Make&& make) {
  const bool integers = op.inputs()[0].dtype.code == ASSAY_TYPE_INT;
  const plugin::DType out = op.outputs()[0].dtype;
  const bool wide = HasDoubleInputs(op) || out == plugin::kF64 || out == plugin::kC128;
  if constexpr (!kF32Alone) {
    if (exact && HasDoubleInputs(op)) return make(std::type_identity<long double>{});
    if (exact || integers || wide) return make(std::type_identity<double>{});
  }
  return make(std::type_identity<float>{});
}

}  // namespace corpus
