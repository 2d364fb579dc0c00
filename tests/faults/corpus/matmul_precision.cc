// SPDX-License-Identifier: Apache-2.0
// Kernels with f32 sums (f64 for f64) that lose bits somewhere.
#include <algorithm>

#include "tests/faults/corpus/matmul_schedule.h"

namespace corpus {
namespace matmul_precision {

using plugin::BF16;
using plugin::F16;

std::string Narrow(Description op) {
  if (HasDoubleInputs(op) || HasInputs(op, plugin::kI8)) return "this is a bug of f32, f16 and bf16 products";
  return MatmulWhyNot(op);
}

bool HasFp8(Description op) {
  return IsFp8(op.inputs()[0].dtype);
}

std::string F32Inputs(Description op) {
  return HasInputs(op, plugin::kF32) ? MatmulWhyNot(op) : "f16 and most bf16 operands survive this narrowing";
}

std::string NoBF16Inputs(Description op) {
  if (HasFp8(op)) return "fp8 operands survive this narrowing";
  return HasInputs(op, plugin::kBF16) ? "bf16 operands survive this narrowing" : Narrow(op);
}

std::string F64Inputs(Description op) {
  return HasDoubleInputs(op) ? MatmulWhyNot(op) : "this is a bug of f64 products";
}

// An effect has a double output: the type that the bug rounds to is then that of the operands.
std::string OutputOfOperandsType(Description op) {
  const plugin::DType y = op.outputs()[0].dtype;
  if (HasFp8(op)) return "there are no products with fp8 outputs";
  return y == op.inputs()[0].dtype || y == plugin::kF64 ? Narrow(op) : "this rounds to the type of the operands";
}

std::string NarrowOutput(Description op) {
  const bool narrow = HasInputs(op, plugin::kF16) || HasInputs(op, plugin::kBF16);
  return narrow ? OutputOfOperandsType(op) : "this rounds to f16 or bf16";
}

// Where the output keeps more than the narrowing leaves. The double output is that of an effect.
std::string WideOutput(Description op) {
  const plugin::DType y = op.outputs()[0].dtype;
  return y == plugin::kF16 || y == plugin::kBF16 ? "the output's own rounding hides this" : Narrow(op);
}

std::string NotF16Output(Description op) {
  if (HasFp8(op)) return "products of fp8 operands survive this narrowing";
  return op.outputs()[0].dtype == plugin::kF16 ? "f16 outputs are rounded to f16 anyway" : Narrow(op);
}

std::string NotBF16Output(Description op) {
  if (HasFp8(op)) return "products of fp8 operands survive this narrowing";
  return op.outputs()[0].dtype == plugin::kBF16 ? "bf16 outputs are rounded to bf16 anyway" : Narrow(op);
}

// The running sum is rounded to Storage after every panel of 32 terms.
template <class Storage, class T>
T RoundedPerPanel(const T* a, const T* b, const DotContext& x) {
  T sum = 0;
  for (int64_t i = 0; i < x.k; i += 32) {
    sum = RoundedTo<Storage>(sum + CleanDot(a + i, b + i, std::min<int64_t>(32, x.k - i)));
  }
  return sum;
}

// Products in Storage, sums wider.
template <class Storage, class T>
T RoundedProducts(const T* a, const T* b, const DotContext& x) {
  T sum = 0;
  for (int64_t i = 0; i < x.k; ++i) sum += RoundedTo<Storage>(a[i] * b[i]);
  return sum;
}

// The fp8 path of a unit: after every 32 terms the sum keeps 14 significant bits, the rest is cut off.
template <class T>
T FourteenBits(const T* a, const T* b, const DotContext& x) {
  T sum = 0;
  for (int64_t i = 0; i < x.k; i += 32) {
    sum = TruncatedTo<T>(14, sum + CleanDot(a + i, b + i, std::min<int64_t>(32, x.k - i)));
  }
  return sum;
}

// Four parts of k meet in a workspace of Storage.
template <class Storage, class T>
T RoundedWorkspace(const T* a, const T* b, const DotContext& x) {
  T sum = 0;
  for (int64_t s = 0; s < 4; ++s) {
    const int64_t first = x.k * s / 4, last = x.k * (s + 1) / 4;
    sum = RoundedTo<Storage>(sum + RoundedTo<Storage>(CleanDot(a + first, b + first, last - first)));
  }
  return sum;
}

template <class T>
T Clean(const T* a, const T* b, const DotContext& x) {
  return CleanDot(a, b, x.k);
}

template <class Storage, class T>
T StoredThrough(T y, plugin::DType) {
  return RoundedTo<Storage>(y);
}

// A conversion by truncation.
template <class T>
T TruncatedStore(T y, plugin::DType type) {
  return TruncatedTo<T>(type == plugin::kF16 ? 11 : type == plugin::kBF16 ? 8 : 24, y);
}

// To nearest, and half way between two numbers always to the larger one, as C's round() has it, or to the smaller.
template <bool kAway, class T>
T TiesOneWayStore(T y, plugin::DType type) {
  const T cut = TruncatedStore<T>(y, type);
  if (!std::isfinite(y) || cut == y) return y;
  const T unit = std::ldexp(T{1}, std::ilogb(cut) - (type == plugin::kF16 ? 10 : 7));
  const T rest = std::abs(y - cut);
  const bool up = kAway ? rest >= unit / 2 : rest > unit / 2;
  return up ? cut + std::copysign(unit, y) : cut;
}

// f16's smallest normal number for f16 operands, f32's for the others.
template <class T>
T FlushedF16(T x) {
  return Flushed(x, 0x1p-14);
}
template <class T>
T FlushedF32(T x) {
  return Flushed(x, 0x1p-126);
}

std::string F16Inputs(Description op) {
  return HasInputs(op, plugin::kF16) ? MatmulWhyNot(op) : "this flushes subnormal f16 numbers";
}

std::string F32Range(Description op) {
  if (HasInputs(op, plugin::kF32) || HasInputs(op, plugin::kBF16)) return MatmulWhyNot(op);
  return "this flushes numbers that are subnormal in f32";
}

template <class Pick>
Entry Sum(const char* name, TextOf why_not, Pick pick) {
  return ScheduleEntry(name, MatmulContract, why_not,
                       [pick]<class T>(std::type_identity<T> type) { return Schedule<T>{pick(type)}; });
}

template <class Pick>
Entry Cast(const char* name, TextOf why_not, Pick pick) {
  return ScheduleEntry(name, MatmulContract, why_not, [pick]<class T>(std::type_identity<T> type) {
    return Schedule<T>{Clean<T>, pick(type)};
  });
}

template <class Pick>
Entry Store(const char* name, TextOf why_not, Pick pick) {
  return ScheduleEntry(name, MatmulContract, why_not, [pick]<class T>(std::type_identity<T> type) {
    return Schedule<T>{Clean<T>, nullptr, pick(type)};
  });
}

template <class T>
using Type = std::type_identity<T>;

}  // namespace matmul_precision

std::vector<Entry> MatmulPrecisionFaults() {
  using namespace matmul_precision;
  return {
      Sum("fault.f16-accumulation", Narrow, []<class T>(Type<T>) { return SequentialDot<Narrowed<T, F16>>; }),
      Sum("fault.bf16-accumulation", Narrow, []<class T>(Type<T>) { return SequentialDot<Narrowed<T, BF16>>; }),
      Sum("fault.f16-accumulation-per-panel", Narrow, []<class T>(Type<T>) { return RoundedPerPanel<F16, T>; }),
      Sum("fault.bf16-accumulation-per-panel", Narrow, []<class T>(Type<T>) { return RoundedPerPanel<BF16, T>; }),
      Sum("fault.fourteen-bit-accumulation", Narrow, []<class T>(Type<T>) { return FourteenBits<T>; }),
      Sum("fault.products-rounded-to-f16", NotF16Output, []<class T>(Type<T>) { return RoundedProducts<F16, T>; }),
      Sum("fault.products-rounded-to-bf16", NotBF16Output, []<class T>(Type<T>) { return RoundedProducts<BF16, T>; }),
      Sum("fault.split-k-workspace-in-f16", WideOutput, []<class T>(Type<T>) { return RoundedWorkspace<F16, T>; }),
      Sum("fault.split-k-workspace-in-bf16", WideOutput, []<class T>(Type<T>) { return RoundedWorkspace<BF16, T>; }),
      Sum("fault.f64-sums-in-f32", F64Inputs, []<class T>(Type<T>) { return SequentialDot<Narrowed<T, float>>; }),
      Cast("fault.operands-cast-to-tf32", F32Inputs, []<class T>(Type<T>) { return RoundedToTf32<T>; }),
      Cast("fault.operands-cast-to-bf16", NoBF16Inputs, []<class T>(Type<T>) { return RoundedTo<BF16, T>; }),
      Cast("fault.operands-cast-to-f16", F32Inputs, []<class T>(Type<T>) { return RoundedTo<F16, T>; }),
      Cast("fault.operands-cast-to-f32", F64Inputs, []<class T>(Type<T>) { return RoundedTo<float, T>; }),
      Cast("fault.subnormal-operands-flushed", F32Range, []<class T>(Type<T>) { return FlushedF32<T>; }),
      Cast("fault.subnormal-f16-operands-flushed", F16Inputs, []<class T>(Type<T>) { return FlushedF16<T>; }),
      Store("fault.output-rounded-through-f16", NotF16Output, []<class T>(Type<T>) { return StoredThrough<F16, T>; }),
      Store("fault.output-rounded-through-bf16", NotBF16Output,
            []<class T>(Type<T>) { return StoredThrough<BF16, T>; }),
      Store("fault.output-truncated", OutputOfOperandsType, []<class T>(Type<T>) { return TruncatedStore<T>; }),
      Store("fault.output-ties-away", NarrowOutput, []<class T>(Type<T>) { return TiesOneWayStore<true, T>; }),
      Store("fault.output-ties-toward-zero", NarrowOutput, []<class T>(Type<T>) { return TiesOneWayStore<false, T>; }),
  };
}

}  // namespace corpus
