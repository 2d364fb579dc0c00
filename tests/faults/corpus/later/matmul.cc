// SPDX-License-Identifier: Apache-2.0
// Matrix products: epilogues in another order, operands in few bits, blocks and lanes in each other's place.
#include "tests/faults/corpus/dense.h"
#include "tests/faults/corpus/later/later.h"
#include "tests/faults/corpus/matmul_kernel.h"

namespace corpus {
namespace {

using Spec = const plugin::MatmulSpec&;

bool IsScaled(Spec s) {
  return s.alpha != 0 && s.alpha != 1;
}
bool IsFloat(Spec s) {
  return plugin::IsFloat(s.a.dtype) && plugin::IsFloat(s.b.dtype);
}

template <class T>
void Kernels(MatmulEdits<T>& of) {
  of("fault.alpha-twice-in-epilogue", IsScaled).ending = [](const Ending<T>& e) {
    return e.Clean() - e.Scaled() + e.alpha * e.Scaled();
  };
  of("fault.bias-within-alpha", [](Spec s) { return IsScaled(s) && s.bias.input >= 0; }).ending =
      [](const Ending<T>& e) { return e.Clean() - e.Bias() + e.alpha * e.Bias(); };
  of("fault.c-within-alpha", [](Spec s) { return IsScaled(s) && s.c.input >= 0 && s.beta != 0; }).ending =
      [](const Ending<T>& e) { return e.Clean() + (e.alpha - 1) * e.beta * e.C(); };
  of("fault.halves-of-terms-of-b-exchanged", [](Spec s) { return s.k > 2 && s.k % 2 == 0; }).dot =
      [](const T* a, const T* b, Spec s, const Place&) {
        T sum = 0;
        for (int64_t i = 0; i < s.k; ++i) sum += a[i] * b[(i + s.k / 2) % s.k];
        return sum;
      };
  of("fault.bias-in-reverse", [](Spec s) { return s.bias.input >= 0 && s.n > 2; }).ending = [](const Ending<T>& e) {
    return e.Clean() - e.Bias() + e.Bias(e.s.n - 1 - e.at.column);
  };
  of("fault.b-in-int8-by-column", IsFloat).dot = [](const T* a, const T* b, Spec s, const Place&) {
    const T largest = LargestMagnitude(b, s.k);
    T sum = 0;
    for (int64_t i = 0; i < s.k; ++i) sum += a[i] * InInt8(b[i], largest);
    return sum;
  };
  of("fault.blocks-of-32-summed-in-f16", [](Spec s) { return IsFloat(s) && s.k > 32; }).dot = [](const T* a, const T* b,
                                                                                                 Spec s, const Place&) {
    T sum = 0;
    for (int64_t first = 0; first < s.k; first += 32) {
      T block = 0;
      for (int64_t i = first; i < std::min(first + 32, s.k); ++i) block = Rounded(Nearest(kHalf), block + a[i] * b[i]);
      sum += block;
    }
    return sum;
  };
}

constexpr IoBug kPlaces[] = {
    {"fault.all-batches-take-b-of-first", 1, -3, All(), Strike::kFirst},
    {"fault.b-in-e4m3", 1, -1, All(), Strike::kRounded, When::kAlways, Nearest(kFp8)},
};

template <class T>
using AroundMatmul = AroundPlan<KernelMatmul, MatmulKernel, T>;

template <class T>
void Around4Lanes(Edits<Around<T>, plugin::MatmulSpec>& of) {
  of("fault.lanes-of-4-columns-rotated", [](Spec s) { return s.n >= 4; }).store = [](std::vector<T>& y,
                                                                                     Description op) {
    const int64_t n = op.outputs()[0].shape.back();
    const std::vector<T> right = y;
    for (int64_t i = 0; i < std::ssize(y); ++i) {
      const int64_t column = i % n;
      const int64_t source = column / 4 * 4 + (column + 1) % 4;
      if (column < n / 4 * 4) y[static_cast<size_t>(i)] = right[static_cast<size_t>(i - column + source)];
    }
  };
}

}  // namespace

std::vector<Entry> MatmulLater() {
  return Joined({MatmulRows([](auto& of) { Kernels(of); }), MatmulPlaceBugs(kPlaces),
                 EntriesOf<AroundMatmul, Around>("matmul", MatmulContract, MatmulWhyNot, plugin::ParseMatmul,
                                                 [](auto& of) { Around4Lanes(of); })});
}

}  // namespace corpus
