// SPDX-License-Identifier: Apache-2.0
// Correct products in the classes that are weaker than f32 sums in any order: the matrix units of GPUs, accumulators
// and operands of fewer bits, outputs rounded toward zero, flushed subnormals. Each declares its class.
#include "tests/faults/corpus/fused_unit.h"
#include "tests/faults/corpus/matmul_schedule.h"

namespace corpus {
namespace {

using plugin::BF16;
using plugin::F16;

std::string Sixteen(Description op) {
  if (HasInputs(op, plugin::kF16) || HasInputs(op, plugin::kBF16)) return MatmulWhyNot(op);
  return "this matrix unit takes f16 and bf16 operands";
}

std::string F16Only(Description op) {
  return HasInputs(op, plugin::kF16) ? MatmulWhyNot(op) : "this takes f16 operands";
}

std::string BF16Only(Description op) {
  return HasInputs(op, plugin::kBF16) ? MatmulWhyNot(op) : "this takes bf16 operands";
}

std::string F32Only(Description op) {
  return HasInputs(op, plugin::kF32) ? MatmulWhyNot(op) : "this takes f32 operands";
}

std::string Fp8Only(Description op) {
  return IsFp8(op.inputs()[0].dtype) && IsFp8(op.inputs()[1].dtype) ? MatmulWhyNot(op) : "this takes fp8 operands";
}

std::string NoF64(Description op) {
  if (HasDoubleInputs(op) || HasInputs(op, plugin::kI8)) return "this takes f32, f16 and bf16 operands";
  return MatmulWhyNot(op);
}

std::string SixteenBitOutput(Description op) {
  return op.outputs()[0].dtype.bits == 16 ? NoF64(op) : "this rounds to f16 or bf16 outputs";
}

// "acc=...;det=yes;batchinv=yes" as a function, which a table of entries can hold.
template <size_t n>
struct Text {
  char text[n];
  constexpr Text(const char (&from)[n]) {
    for (size_t i = 0; i < n; ++i) text[i] = from[i];
  }
};

template <Text kText>
std::string Declares(Description) {
  return std::string(kText.text) + ";det=yes;batchinv=yes";
}

template <FusedUnit kUnit, class T>
T UnitDot(const T* a, const T* b, const DotContext& x) {
  if constexpr (std::is_same_v<T, float>) return FusedDot(kUnit, a, b, x.k);
  return SequentialDot<Plain<T>>(a, b, x);  // no other type reaches a unit: its why_not sees to that
}

// CDNA1 and CDNA2: four products (two in the older bf16 instructions) added pairwise, then to the running sum.
template <int kGroup, class T>
T GroupsDot(const T* a, const T* b, const DotContext& x) {
  T sum = 0;
  for (int64_t i = 0; i < x.k; i += kGroup) {
    T p[4] = {};
    for (int64_t j = 0; j < std::min<int64_t>(kGroup, x.k - i); ++j) p[j] = a[i + j] * b[i + j];
    sum += (p[0] + p[1]) + (p[2] + p[3]);
  }
  return sum;
}

template <class T>
T Ftz(T x) {
  return Flushed(x, 0x1p-126);
}

// GroupsDot<4> with subnormal operands, sums and results flushed to zero.
template <class T>
T FlushingGroupsDot(const T* a, const T* b, const DotContext& x) {
  T sum = 0;
  for (int64_t i = 0; i < x.k; i += 4) {
    T p[4] = {};
    for (int64_t j = 0; j < std::min<int64_t>(4, x.k - i); ++j) p[j] = Ftz(a[i + j] * b[i + j]);
    sum = Ftz(sum + Ftz(Ftz(p[0] + p[1]) + Ftz(p[2] + p[3])));
  }
  return sum;
}

template <class T>
T FlushInput16(T x) {
  return Flushed(x, 0x1p-14);
}

// With a scale of its own for every operand, so that none leaves the format's range.
template <class T>
T ScaledE4M3(T x) {
  const T nearest = RoundedToBits(4, x);
  return std::isfinite(nearest) ? nearest : TruncatedTo(4, x);
}

template <class T>
struct FlushingArithmetic {
  using Value = T;
  static T MultiplyAdd(T a, T b, T c) { return Ftz(std::fma(a, b, c)); }
};

template <class T>
T FlushedResult(T x, plugin::DType y) {
  return Flushed(x, MinNormal(y));
}

// a b = (a1 + a2)(b1 + b2) in bf16 parts without a2 b2.
template <class T>
T Bf16x3Dot(const T* a, const T* b, const DotContext& x) {
  T large = 0, small = 0;
  for (int64_t i = 0; i < x.k; ++i) {
    const T a1 = RoundedTo<BF16>(a[i]), b1 = RoundedTo<BF16>(b[i]);
    const T a2 = std::isfinite(a1) ? RoundedTo<BF16>(a[i] - a1) : T{0};
    const T b2 = std::isfinite(b1) ? RoundedTo<BF16>(b[i] - b1) : T{0};
    large += a1 * b1;
    small += a1 * b2 + a2 * b1;
  }
  return std::isfinite(small) ? large + small : large;
}

// Two halves of k, each rounded to Storage before they are added: a workspace in the output's type.
template <class Storage, class T>
T RoundedPartsDot(const T* a, const T* b, const DotContext& x) {
  const int64_t half = x.k / 2;
  return RoundedTo<Storage>(SequentialDot<WithFma<T>>(a, b, {half})) +
         RoundedTo<Storage>(SequentialDot<WithFma<T>>(a + half, b + half, {x.k - half}));
}

// Sums of 32 terms, each rounded to Storage before they are added.
template <class Storage, class T>
T RoundedBlocksDot(const T* a, const T* b, const DotContext& x) {
  T sum = 0;
  for (int64_t i = 0; i < x.k; i += 32) {
    sum += RoundedTo<Storage>(SequentialDot<WithFma<T>>(a + i, b + i, {std::min<int64_t>(32, x.k - i)}));
  }
  return sum;
}

// To a 16-bit type, toward zero. Finite values beyond its range become the largest number.
template <class T>
T StoredTowardZero(T x, plugin::DType y) {
  const bool f16 = y == plugin::kF16;
  const T nearest = f16 ? RoundedTo<F16>(x) : RoundedTo<BF16>(x);
  if (std::isnan(nearest) || std::abs(nearest) <= std::abs(x)) return nearest;
  const uint16_t bits = f16 ? plugin::Convert<F16>(nearest).bits : plugin::Convert<BF16>(nearest).bits;
  const auto smaller = static_cast<uint16_t>(bits - 1);  // sign and magnitude: the next one toward zero
  return static_cast<T>(f16 ? plugin::ToFloat(F16{smaller}) : plugin::ToFloat(BF16{smaller}));
}

// Hopper's fp8 instruction keeps 13 fraction bits of everything (DeepSeek's "14-bit accumulation"); Blackwell's 25.
constexpr FusedUnit kHopperFp8{32, 13, false, 14}, kBlackwellFp8{32, 25};
constexpr FusedUnit kVolta{4, 23}, kAmpere{8, 24}, kHopper{16, 25}, kCdna3{8, 24, true}, kXf32{4, 24, true};

template <FusedUnit kUnit>
Entry Unit(const char* name, TextOf contract) {
  return ScheduleEntry(name, contract, Sixteen,
                       []<class T>(std::type_identity<T>) { return Schedule<T>{UnitDot<kUnit, T>}; });
}

template <FusedUnit kUnit>
Entry Tf32Unit(const char* name, TextOf contract) {
  return ScheduleEntry(name, contract, F32Only, []<class T>(std::type_identity<T>) {
    return Schedule<T>{UnitDot<kUnit, T>, TruncatedToTf32<T>};
  });
}

template <FusedUnit kUnit>
Entry Fp8Unit(const char* name, TextOf contract) {
  return ScheduleEntry(name, contract, Fp8Only,
                       []<class T>(std::type_identity<T>) { return Schedule<T>{UnitDot<kUnit, T>}; });
}

}  // namespace

std::vector<Entry> MatmulUnitEntries() {
  return {
      Unit<kVolta>("legal.volta-fused-4", Declares<"acc=tc<23,4>">),
      Unit<kAmpere>("legal.ampere-fused-8", Declares<"acc=tc<24,8>">),
      Unit<kHopper>("legal.hopper-fused-16", Declares<"acc=tc<25,16>">),
      Unit<kCdna3>("legal.cdna3-fused-8", Declares<"acc=tc<24,8>">),
      Tf32Unit<kAmpere>("legal.ampere-tf32", Declares<"in=tf32rz;acc=tc<24,8>">),
      Tf32Unit<kXf32>("legal.cdna3-xf32", Declares<"in=tf32rz;acc=tc<24,4>">),
      Fp8Unit<kHopperFp8>("legal.hopper-fp8", Declares<"acc=tc<13,32>">),
      Fp8Unit<kBlackwellFp8>("legal.blackwell-fp8", Declares<"acc=tc<25,32>">),
      ScheduleEntry("legal.cdna1-f16", Declares<"f32acc">, F16Only,
                    []<class T>(std::type_identity<T>) { return Schedule<T>{GroupsDot<4, T>}; }),
      ScheduleEntry("legal.cdna1-bf16-pairs", Declares<"f32acc">, BF16Only,
                    []<class T>(std::type_identity<T>) { return Schedule<T>{GroupsDot<2, T>}; }),
      ScheduleEntry("legal.cdna2-f16", Declares<"f32acc;ftz=all">, F16Only,
                    []<class T>(std::type_identity<T>) {
                      return Schedule<T>{FlushingGroupsDot<T>, FlushInput16<T>, FlushedResult<T>};
                    }),
      ScheduleEntry("legal.cdna2-bf16", Declares<"f32acc;ftz=all">, BF16Only,
                    []<class T>(std::type_identity<T>) {
                      return Schedule<T>{FlushingGroupsDot<T>, Ftz<T>, FlushedResult<T>};
                    }),
      ScheduleEntry("legal.flush-to-zero-fma", Declares<"f32acc;ftz=all">, F32Only,
                    []<class T>(std::type_identity<T>) {
                      return Schedule<T>{SequentialDot<FlushingArithmetic<T>>, Ftz<T>, FlushedResult<T>};
                    }),
      ScheduleEntry("legal.tf32-rounded", Declares<"tf32">, F32Only,
                    []<class T>(std::type_identity<T>) {
                      return Schedule<T>{SequentialDot<WithFma<T>>, RoundedToTf32<T>};
                    }),
      ScheduleEntry("legal.tf32-truncated", Declares<"in=tf32rz;acc=f32">, F32Only,
                    []<class T>(std::type_identity<T>) {
                      return Schedule<T>{SequentialDot<WithFma<T>>, TruncatedToTf32<T>};
                    }),
      ScheduleEntry("legal.scaled-e4m3-operands", Declares<"in=fp8;acc=f32">, F32Only,
                    []<class T>(std::type_identity<T>) {
                      return Schedule<T>{SequentialDot<WithFma<T>>, ScaledE4M3<T>};
                    }),
      ScheduleEntry("legal.f16-operands-flushed", Declares<"f32acc;ftz=in">, F16Only,
                    []<class T>(std::type_identity<T>) {
                      return Schedule<T>{SequentialDot<WithFma<T>>, FlushInput16<T>};
                    }),
      ScheduleEntry("legal.bf16x3", Declares<"in=bf16x3;acc=f32">, F32Only,
                    []<class T>(std::type_identity<T>) { return Schedule<T>{Bf16x3Dot<T>}; }),
      ScheduleEntry("legal.bf16-operands", Declares<"in=bf16;acc=f32">, F32Only,
                    []<class T>(std::type_identity<T>) {
                      return Schedule<T>{SequentialDot<WithFma<T>>, RoundedTo<BF16, T>};
                    }),
      ScheduleEntry("legal.f16-accumulator", Declares<"f16acc">, F16Only,
                    []<class T>(std::type_identity<T>) { return Schedule<T>{SequentialDot<Narrowed<T, F16>>}; }),
      ScheduleEntry("legal.bf16-accumulator", Declares<"bf16acc">, BF16Only,
                    []<class T>(std::type_identity<T>) { return Schedule<T>{SequentialDot<Narrowed<T, BF16>>}; }),
      ScheduleEntry("legal.f16-partials", Declares<"f32acc;mid=f16">, F16Only,
                    []<class T>(std::type_identity<T>) { return Schedule<T>{RoundedPartsDot<F16, T>}; }),
      ScheduleEntry("legal.bf16-partials", Declares<"f32acc;mid=bf16">, BF16Only,
                    []<class T>(std::type_identity<T>) { return Schedule<T>{RoundedPartsDot<BF16, T>}; }),
      ScheduleEntry("legal.f16-blocks-32", Declares<"f32acc;mid=f16">, F16Only,
                    []<class T>(std::type_identity<T>) { return Schedule<T>{RoundedBlocksDot<F16, T>}; }),
      ScheduleEntry("legal.bf16-blocks-32", Declares<"f32acc;mid=bf16">, BF16Only,
                    []<class T>(std::type_identity<T>) { return Schedule<T>{RoundedBlocksDot<BF16, T>}; }),
      ScheduleEntry("legal.results-flushed", Declares<"f32acc;ftz=out">, SixteenBitOutput,
                    []<class T>(std::type_identity<T>) {
                      return Schedule<T>{SequentialDot<WithFma<T>>, nullptr, FlushedResult<T>};
                    }),
      ScheduleEntry("legal.output-toward-zero", Declares<"f32acc;out=rz">, SixteenBitOutput,
                    []<class T>(std::type_identity<T>) {
                      return Schedule<T>{SequentialDot<WithFma<T>>, nullptr, StoredTowardZero<T>};
                    }),
  };
}

}  // namespace corpus
