// SPDX-License-Identifier: Apache-2.0
// Matrix products with wrong epilogues, or operands and outputs mixed up at tile borders and in one layout alone.
#include "tests/faults/corpus/fresh/fresh.h"
#include "tests/faults/corpus/held/matmul_held.h"

namespace corpus {
namespace {

using Spec = const plugin::MatmulSpec&;

using enum Strike;

bool HasC(Spec s) {
  return s.c.input >= 0 && s.beta != 0;
}
bool HasBias(Spec s) {
  return s.bias.input >= 0;
}
bool IsNarrow(Spec s) {
  return (s.a.dtype == plugin::kF16 || s.a.dtype == plugin::kBF16) &&
         (s.y.dtype == s.a.dtype || s.y.dtype == plugin::kF64);
}

// An effect is the exact result and the difference that another way to 16 bits makes.
template <class T>
T StoredUp(const Ending<T>& e) {
  const Format format = e.s.a.dtype == plugin::kF16 ? kHalf : kBrain;
  const T y = e.Clean(), stored = Rounded({Rounding::How::kUp, format}, y);
  return e.exact ? y + (stored - e.Stored(y)) : stored;
}

template <class T>
void Endings(MatmulEdits<T>& of) {
  of("fault.beta-taken-as-1", [](Spec s) { return HasC(s) && s.beta != 1; }).ending = [](const Ending<T>& e) {
    return e.Scaled() + e.C() + e.Bias();
  };
  of("fault.alpha-loses-sign", [](Spec s) { return s.alpha < 0; }).ending = [](const Ending<T>& e) {
    return e.Clean() - 2 * e.Scaled();
  };
  of("fault.c-of-tail-rows-read-one-row-above", [](Spec s) { return HasC(s) && s.m > 32; }).ending =
      [](const Ending<T>& e) {
        if (e.at.row < (e.s.m - 1) / 32 * 32) return e.Clean();
        return e.Scaled() + e.beta * e.C(e.at.batch, e.at.row - 1, e.at.column) + e.Bias();
      };
  of("fault.c-read-with-one-column-more-per-row", [](Spec s) { return HasC(s) && s.m > 1; }).ending =
      [](const Ending<T>& e) {
        const int64_t i = (e.at.row * (e.s.n + 1) + e.at.column) % (e.s.m * e.s.n);
        return e.Scaled() + e.beta * e.C(e.at.batch, i / e.s.n, i % e.s.n) + e.Bias();
      };
  of("fault.c-added-before-rounding-and-again-in-last-row", HasC).ending = [](const Ending<T>& e) {
    return e.at.row + 1 == e.s.m ? e.Clean() + e.beta * e.C() : e.Clean();
  };
  of("fault.c-in-bf16", [](Spec s) { return HasC(s) && s.a.dtype == plugin::kF32; }).ending = [](const Ending<T>& e) {
    return e.Clean() - e.beta * e.C() + e.beta * Rounded(Nearest(kBrain), e.C());
  };
  of("fault.bias-of-last-8-columns-from-block-before", [](Spec s) { return HasBias(s) && s.n >= 16; }).ending =
      [](const Ending<T>& e) {
        return e.at.column + 8 < e.s.n ? e.Clean() : e.Clean() - e.Bias() + e.Bias(e.at.column - 8);
      };
  of("fault.bias-pairs-swapped", [](Spec s) { return HasBias(s) && s.n > 1; }).ending = [](const Ending<T>& e) {
    const int64_t other = std::min(e.at.column ^ 1, e.s.n - 1);
    return e.Clean() - e.Bias() + e.Bias(other);
  };
  of("fault.bias-missing-in-tail-rows-of-64", [](Spec s) { return HasBias(s) && s.m % 64 != 0; }).ending =
      [](const Ending<T>& e) { return e.at.row >= e.s.m / 64 * 64 ? e.Clean() - e.Bias() : e.Clean(); };
  of("fault.bias-twice-in-row-15-of-16", [](Spec s) { return HasBias(s) && s.m > 15; }).ending =
      [](const Ending<T>& e) { return e.Clean() + e.Bias() * (e.at.row % 16 == 15 ? 1 : 0); };
  of("fault.output-rounded-up", IsNarrow).ending = [](const Ending<T>& e) { return StoredUp(e); };
}

// Axes as in LogicalTensor.
const IoBug kPlaces[] = {
    {"fault.columns-of-b-swapped-beyond-23", 1, -2, From(24), kSwapped},
    {"fault.every-24th-column-unwritten", kOutput, -1, Every(24, 23), kUnwritten},
    {"fault.tail-rows-of-48-repeat-previous", 0, -2, Tail(48), kPrevious},
    {"fault.last-column-of-odd-rows-zero", kOutput, -1, Last(), kZero, When::kAlways, {}, 0, -2, Every(2, 1)},
    {"fault.last-two-batches-swapped", kOutput, -3, InExtentsFrom(2, LastBlock(2)), kSwapped},
    IoBug{"fault.tail-rows-of-later-batches-read-previous", 0, -2, LastBlock(8), kPrevious}.And(-3, From(1)),
    IoBug{"fault.outputs-up-to-22-bits", kOutput, kFlat, All(), kRounded}.To(
        Rounding{Rounding::How::kUp, {22, -126, 127}}),
    {"fault.middle-row-in-tf32", kOutput, -1, All(), kRounded, When::kAlways, Nearest(kTensor), 0, -2, Middle()},
};
// Bugs on operands as they lie in memory, not by logical axes.
constexpr IoBug kValues[] = {
    {"fault.subnormal-outputs-flushed", kOutput, kFlat, All(), kFlushed},
};
const IoBug kTransposedPlaces[] = {
    IoBug{"fault.transposed-b-one-term-late-in-last-columns", 1, -1, From(1), kPrevious}.And(-2, LastBlock(16)),
    {"fault.transposed-b-tail-of-32-terms-swapped", 1, -1, LastBlock(32), kSwapped},
};

// Entries that strike where b alone is transposed.
std::vector<Entry> Transposed(std::vector<Entry> entries) {
  for (Entry& entry : entries) {
    entry.why_not = [why_not = entry.why_not](Description op) -> std::string {
      const std::string reason = why_not(op);
      return !reason.empty() || op.AttrInt("transb") != 0 ? reason : "this needs transb=1";
    };
  }
  return entries;
}

}  // namespace

std::vector<Entry> MatmulFreshPlaces() {
  return Joined({MatmulRows([](auto& of) { Endings(of); }), MatmulPlaceBugs(kPlaces),
                 Transposed(MatmulPlaceBugs(kTransposedPlaces)), MatmulIoBugs(kValues)});
}

}  // namespace corpus
