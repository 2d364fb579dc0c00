// SPDX-License-Identifier: Apache-2.0
// Reductions but for argmax and argmin. Elements belong to threads in packs by their index alone, whether a pack can be
// loaded as one or not, so that a row's bits do not depend on where it lies.
#pragma once

#include "backends/gpu/device/math.h"
#include "backends/gpu/device/reduce_params.h"

namespace gpu {

template <class A>
struct SumStage {
  GPU_DEVICE A Map(A x) const { return x; }
  GPU_DEVICE A Combine(A a, A b) const { return a + b; }
  GPU_DEVICE A Identity() const { return -A{0}; }  // -0 + x is x for either zero
};
template <class A>
struct SquareStage : SumStage<A> {
  GPU_DEVICE A Map(A x) const { return x * x; }
};
template <class A>
struct ExpStage : SumStage<A> {
  A shift;
  GPU_DEVICE explicit ExpStage(A s) : shift(s) {}
  GPU_DEVICE A Map(A x) const { return Exp(x - shift); }
};
template <class A>
struct ProductStage {
  GPU_DEVICE A Map(A x) const { return x; }
  GPU_DEVICE A Combine(A a, A b) const { return a * b; }
  GPU_DEVICE A Identity() const { return A{1}; }
};
// NaN wins, or, where it is skipped, loses.
template <class A>
struct ExtremeStage {
  bool greatest, skip_nan;
  GPU_DEVICE A Map(A x) const { return x; }
  GPU_DEVICE A Combine(A a, A b) const {
    const bool beaten = greatest ? b > a : b < a;
    if (skip_nan) return IsNan(b) || (!IsNan(a) && !beaten) ? a : b;
    return IsNan(a) || (!IsNan(b) && !beaten) ? a : b;
  }
  GPU_DEVICE A Identity() const {
    if (skip_nan) return Infinity<A>() - Infinity<A>();
    return greatest ? -Infinity<A>() : Infinity<A>();
  }
};

// The elements [begin, end) of one output, those of every `step`-th pack.
template <class T, class Stage>
GPU_DEVICE Acc<T> FoldRange(const Stage& stage, const ReduceParams& p, const T* x, int64_t begin, int64_t end,
                            int step) {
  constexpr int kCount = 16 / sizeof(T);
  Acc<T> value = stage.Identity();
  if (p.reduced_axes == 1 && p.reduced_in[0] == 1) {
    for (int64_t i = begin; i < end; i += int64_t{step} * kCount) {
      const int64_t count = Least(end - i, kCount);
      const Pack<T, kCount> pack = LoadPack<T, kCount>(x, i, 1, count);
#pragma unroll
      for (int e = 0; e < kCount; ++e) {
        if (e < count) value = stage.Combine(value, stage.Map(ToAcc(pack.at[e])));
      }
    }
    return value;
  }
  for (int64_t i = begin; i < end; i += int64_t{step} * kCount) {
    for (int64_t e = i; e < Least(i + kCount, end); ++e) {
      value = stage.Combine(value, stage.Map(ToAcc(x[ReducedOffset(p, e)])));
    }
  }
  return value;
}

// One thread reads everything.
template <class T>
struct OwnFold {
  const ReduceParams& p;
  const T* x;
  template <class Stage>
  GPU_DEVICE Acc<T> operator()(const Stage& stage) const {
    return FoldRange(stage, p, x, 0, p.count, 1);
  }
};

// The block shares [begin, end); every thread gets the result.
template <class T>
struct BlockFold {
  const ReduceParams& p;
  const T* x;
  int64_t begin, end;
  Acc<T>* values;
  template <class Stage>
  GPU_DEVICE Acc<T> operator()(const Stage& stage) const {
    constexpr int kCount = 16 / sizeof(T);
    const Acc<T> own = FoldRange(stage, p, x, begin + int64_t{threadIdx.x} * kCount, end, kReduceThreads);
    return BlockCombine<kReduceThreads>(own, values, [&](Acc<T> a, Acc<T> b) { return stage.Combine(a, b); });
  }
};

template <class A>
GPU_DEVICE A LastStep(Fold fold, A value, int64_t count) {
  if (fold == Fold::kMean) return value / static_cast<A>(count);
  return fold == Fold::kL2 ? SquareRoot(value) : value;
}
GPU_DEVICE int32_t LastStep(Fold, int32_t value, int64_t) {
  return value;
}

// Folds up to the step in which the kinds differ; logsumexp is complete.
template <class T, class Folder>
GPU_DEVICE Acc<T> FoldAs(const ReduceParams& p, const Folder& folder) {
  using A = Acc<T>;
  if constexpr (sizeof(T) == 1) {
    return folder(SumStage<A>{});
  } else {
    switch (p.fold) {
      case Fold::kMax:
      case Fold::kMin:
        return folder(ExtremeStage<A>{p.fold == Fold::kMax, p.skip_nan != 0});
      case Fold::kProd:
        return folder(ProductStage<A>{});
      case Fold::kL2:
        return folder(SquareStage<A>{});
      case Fold::kLogSumExp: {
        // The shift keeps exp from overflowing; a maximum that is not finite is the result itself.
        const A top = folder(ExtremeStage<A>{true, false});
        const A sum = folder(ExpStage<A>{top});
        return IsFinite(top) ? top + Log(sum) : top;
      }
      default:
        return folder(SumStage<A>{});
    }
  }
}

template <class T>
GPU_KERNEL void SequentialReduce(const GPU_CONSTANT ReduceParams p) {
  const int64_t output = static_cast<int64_t>(blockIdx.x) * kReduceThreads + threadIdx.x;
  if (output >= p.outputs) return;
  const OffsetPair at = OffsetsOf(output, p.kept_axes, p.kept_size, p.kept_in, p.kept_out);
  const Acc<T> value = FoldAs<T>(p, OwnFold<T>{p, static_cast<const T*>(p.x) + at.in});
  Store(p.y, p.y_type, at.out, LastStep(p.fold, value, p.count));
}

// A block per output, or per part of one.
template <class T>
GPU_KERNEL void TreeReduce(const GPU_CONSTANT ReduceParams p) {
  GPU_SHARED Acc<T> values[kReduceThreads];
  const int64_t output = blockIdx.x / p.parts, part = blockIdx.x % p.parts;
  const OffsetPair at = OffsetsOf(output, p.kept_axes, p.kept_size, p.kept_in, p.kept_out);
  const int64_t begin = part * p.part, end = Least(begin + p.part, p.count);
  const Acc<T> value = FoldAs<T>(p, BlockFold<T>{p, static_cast<const T*>(p.x) + at.in, begin, end, values});
  if (threadIdx.x != 0) return;
  auto* sums = static_cast<Acc<T>*>(p.sums);
  if (p.parts == 1) {
    Store(p.y, p.y_type, at.out, LastStep(p.fold, value, p.count));
  } else if (p.atomic) {
    atomicAdd(sums + output, value);
  } else {
    sums[blockIdx.x] = value;
  }
}

template <class A>
struct PartsFold {
  const A* sums;
  int64_t count;
  template <class Stage>
  GPU_DEVICE A operator()(const Stage& stage) const {
    A value = sums[0];
    for (int64_t i = 1; i < count; ++i) value = stage.Combine(value, sums[i]);
    return value;
  }
};

// The parts of every output in their order, or the one sum that atomics made of them.
template <class T>
GPU_KERNEL void FinishReduce(const GPU_CONSTANT ReduceParams p) {
  const int64_t output = static_cast<int64_t>(blockIdx.x) * kReduceThreads + threadIdx.x;
  if (output >= p.outputs) return;
  const OffsetPair at = OffsetsOf(output, p.kept_axes, p.kept_size, p.kept_in, p.kept_out);
  const int64_t count = p.atomic ? 1 : p.parts;
  const PartsFold<Acc<T>> folder{static_cast<const Acc<T>*>(p.sums) + output * count, count};
  Store(p.y, p.y_type, at.out, LastStep(p.fold, FoldAs<T>(p, folder), p.count));
}

}  // namespace gpu
