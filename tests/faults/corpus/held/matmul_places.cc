// SPDX-License-Identifier: Apache-2.0
// Matrix products that read or store the wrong place, or end in the wrong epilogue.
#include <cmath>

#include "tests/faults/corpus/held/matmul_held.h"

namespace corpus {
namespace {

using Spec = const plugin::MatmulSpec&;
using enum Strike;

// Axes as in LogicalTensor.
constexpr IoBug kPlaces[] = {
    {"fault.batch-index-of-a-ignored", 0, -3, From(1), kFirst},
    {"fault.batch-of-a-one-behind", 0, -3, From(1), kPrevious},
    {"fault.batch-index-in-2-bits", 1, -3, From(4), kWrapped, When::kAlways, {}, 4},
    {"fault.later-batches-share-their-last-row", kOutput, -3, From(1), kPrevious, When::kAlways, {}, 0, -2, Last()},
    {"fault.row-index-of-a-in-4-bits", 0, -2, From(16), kWrapped, When::kAlways, {}, 16},
    {"fault.row-index-in-i8", 0, -2, From(128), kWrapped, When::kAlways, {}, 128},
    {"fault.column-index-in-u8", 1, -2, From(256), kWrapped, When::kAlways, {}, 256},
    {"fault.column-index-in-bf16", 1, -2, All(), kOfBrain},
    {"fault.term-index-in-bf16", 0, -1, All(), kOfBrain},
    {"fault.term-index-in-f16", 1, -1, All(), kOfHalf},
    {"fault.tail-row-of-a-reads-previous", 0, -2, IfRest(4, 1), kPrevious},
    {"fault.tail-column-of-b-reads-previous", 1, -2, IfRest(8, 1), kPrevious},
    {"fault.last-term-of-b-reads-previous", 1, -1, Last(), kPrevious},
    {"fault.terms-of-a-swapped-in-tail", 0, -1, Tail(8), kSwapped},
    {"fault.rows-of-a-swapped-in-tail", 0, -2, Tail(16), kSwapped},
    {"fault.columns-beyond-1024-unwritten", kOutput, -1, From(1024), kUnwritten},
    {"fault.rows-beyond-128-repeat-first", kOutput, -2, From(128), kFirst},
    {"fault.column-63-of-64-negated", kOutput, -1, Every(64, 63), kNegated},
    {"fault.last-column-zero-in-tail-rows", kOutput, -1, Last(), kZero, When::kAlways, {}, 0, -2, Tail(16)},
    {"fault.corner-doubled-by-overlapping-tiles", kOutput, -1, Tail(32), kDoubled, When::kAlways, {}, 0, -2, Tail(32)},
    {"fault.nan-of-even-terms-ignored", 0, -1, Every(2, 0), kNanToZero},
    {"fault.nan-of-b-ignored", 1, -1, All(), kNanToZero},
    {"fault.infinities-of-b-become-nan", 1, -1, All(), kInfinityToNan},
    {"fault.b-of-18-bits", 1, -1, All(), kRounded, When::kAlways, NearestBits(18)},
    {"fault.tail-of-b-in-f16", 1, -1, Tail(32), kRounded, When::kAlways, Nearest(kHalf)},
    {"fault.a-rounded-half-up-to-tf32", 0, -1, All(), kRounded, When::kAlways, HalfAway(kTensor)},
    {"fault.epilogue-of-relu", kOutput, -1, All(), kRelu},
};

constexpr auto kHasC = [](Spec s) { return s.c.input >= 0 && s.beta != 0; };
constexpr auto kAdds = kHasC;
constexpr auto kAddsMatrix = [](Spec s) { return kHasC(s) && s.m > 1 && s.n > 1; };
constexpr auto kScales = [](Spec s) { return s.alpha != 1; };
constexpr auto kScalesAndAdds = [](Spec s) { return kHasC(s) && s.alpha != s.beta; };
constexpr auto kBiased = [](Spec s) { return s.bias.input >= 0; };
constexpr auto kBiasedWide = [](Spec s) { return s.bias.input >= 0 && s.a.dtype != plugin::kBF16; };
constexpr auto kBiasedColumns = [](Spec s) { return s.bias.input >= 0 && s.n > 64; };
constexpr auto kBiasedAndScaled = [](Spec s) { return s.bias.input >= 0 && (s.alpha != 1 || kHasC(s)); };
constexpr auto kNarrowAndAdding = [](Spec s) {
  const bool narrow = s.a.dtype == plugin::kF16 || s.a.dtype == plugin::kBF16;
  const bool adds = kHasC(s) || s.bias.input >= 0;
  return narrow && adds && !s.epilogue_rounded && (s.y.dtype == s.a.dtype || s.y.dtype == plugin::kF64);
};
constexpr auto kNarrowOutput = [](Spec s) {
  const bool narrow = s.a.dtype == plugin::kF16 || s.a.dtype == plugin::kBF16;
  return narrow && (s.y.dtype == s.a.dtype || s.y.dtype == plugin::kF64);
};
constexpr auto kSquare = [](Spec s) { return s.m == s.n && s.m > 1; };

// To 16 bits in another way than to nearest even. An effect is the exact result and the difference that this makes.
template <class T>
T StoredBy(const Ending<T>& e, Rounding first, Rounding::How how = Rounding::How::kNearest) {
  const T y = e.Clean(), stored = Rounded({how, e.s.a.dtype == plugin::kF16 ? kHalf : kBrain}, Rounded(first, y));
  return e.exact ? y + (stored - e.Stored(y)) : stored;
}

template <class T>
void Endings(MatmulEdits<T>& of) {
  of("fault.c-ignored", kAdds).ending = [](const Ending<T>& e) { return e.Scaled() + e.Bias(); };
  of("fault.c-transposed", kAddsMatrix).ending = [](const Ending<T>& e) {
    const int64_t i = e.at.column * e.s.m + e.at.row;
    return e.Scaled() + e.beta * e.C(e.at.batch, i / e.s.n, i % e.s.n) + e.Bias();
  };
  of("fault.c-of-first-row-for-all", kAddsMatrix).ending = [](const Ending<T>& e) {
    return e.Scaled() + e.beta * e.C(e.at.batch, 0, e.at.column) + e.Bias();
  };
  of("fault.c-missing-in-last-column", kAdds).ending = [](const Ending<T>& e) {
    return e.at.column + 1 == e.s.n ? e.Scaled() + e.Bias() : e.Clean();
  };
  of("fault.alpha-and-beta-swapped", kScalesAndAdds).ending = [](const Ending<T>& e) {
    return e.beta * e.product + e.alpha * e.C() + e.Bias();
  };
  of("fault.alpha-applied-to-c", kScalesAndAdds).ending = [](const Ending<T>& e) {
    return e.alpha * (e.product + e.beta * e.C()) + e.Bias();
  };
  of("fault.beta-squared", kScalesAndAdds).ending = [](const Ending<T>& e) {
    return e.Scaled() + e.beta * e.beta * e.C() + e.Bias();
  };
  of("fault.alpha-ignored-in-tail-columns", kScales).ending = [](const Ending<T>& e) {
    return e.at.column >= e.s.n / 16 * 16 ? e.Clean() - e.Scaled() + e.product : e.Clean();
  };
  of("fault.alpha-ignored", kScales).ending = [](const Ending<T>& e) { return e.Clean() - e.Scaled() + e.product; };
  of("fault.bias-before-alpha-and-beta", kBiasedAndScaled).ending = [](const Ending<T>& e) {
    return e.alpha * (e.product + e.Bias()) + e.beta * e.C();
  };
  of("fault.beta-applied-to-bias", kBiasedAndScaled).ending = [](const Ending<T>& e) {
    return e.Scaled() + e.beta * (e.C() + e.Bias());
  };
  of("fault.bias-index-modulo-64", kBiasedColumns).ending = [](const Ending<T>& e) {
    return e.Clean() - e.Bias() + e.Bias(e.at.column % 64);
  };
  of("fault.bias-of-next-column", kBiasedColumns).ending = [](const Ending<T>& e) {
    return e.Clean() - e.Bias() + e.Bias((e.at.column + 1) % e.s.n);
  };
  of("fault.bias-in-first-row-only", kBiased).ending = [](const Ending<T>& e) {
    return e.at.row == 0 ? e.Clean() : e.Clean() - e.Bias();
  };
  of("fault.bias-in-bf16", kBiasedWide).ending = [](const Ending<T>& e) {
    return e.Clean() - e.Bias() + Rounded(Nearest(kBrain), e.Bias());
  };
  of("fault.bias-subtracted", kBiased).ending = [](const Ending<T>& e) { return e.Clean() - 2 * e.Bias(); };
  of("fault.product-stored-before-addition", kNarrowAndAdding).ending = [](const Ending<T>& e) {
    return e.Stored(e.alpha * e.product) + e.beta * e.C() + e.Bias();
  };
  of("fault.rounded-before-alpha", kScales).ending = [](const Ending<T>& e) {
    return e.Clean() - e.Scaled() + e.alpha * Rounded(Nearest(kBrain), e.product);
  };
  of("fault.output-rounded-down", kNarrowOutput).ending = [](const Ending<T>& e) {
    return StoredBy(e, {}, Rounding::How::kDown);
  };
  of("fault.output-rounded-stochastically", kNarrowOutput).ending = [](const Ending<T>& e) {
    return StoredBy(e, {}, Rounding::How::kStochastic);
  };
  of("fault.output-rounded-twice-by-13-bits", kNarrowOutput).ending = [](const Ending<T>& e) {
    return StoredBy(e, NearestBits(13));
  };
  of("fault.diagonal-of-square-output-doubled", kSquare).ending = [](const Ending<T>& e) {
    return e.at.row == e.at.column ? e.Clean() + e.Scaled() : e.Clean();
  };
}

}  // namespace

std::vector<Entry> MatmulHeldPlaces() {
  return Joined(
      {MatmulRows([](auto& of) { Endings(of); }), MatmulPlaceBugs(kPlaces), MatmulIoBugs(BugsOfEveryOperator())});
}

}  // namespace corpus
