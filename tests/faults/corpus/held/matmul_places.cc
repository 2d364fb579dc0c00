// SPDX-License-Identifier: Apache-2.0
// Matrix products that read or store the wrong place, or end in the wrong epilogue.
#include <cmath>

#include "tests/faults/corpus/held/matmul_held.h"

namespace corpus {
namespace {

using enum Strike;

// Axes as in LogicalTensor: -3 the matrix, -2 the row of a or y and the column of b, -1 the term or the column of y.
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

std::string PlaceWhyNot(const IoBug& bug, Description op) {
  const std::string reason = MatmulWhyNot(op);
  return reason.empty() ? IoBugWhyNot(bug, LogicalTensor(bug, op), op) : reason;
}

Entry Fault(const IoBug& bug) {
  return {"matmul", bug.name, MatmulContract, [bug](Description op) { return PlaceWhyNot(bug, op); },
          [bug](Description op, bool exact) {
            return WithCarrier(op, exact, [&]<class T>(std::type_identity<T>) -> std::unique_ptr<plugin::Plan> {
              return std::make_unique<StruckMatmul<T>>(bug, op, exact);
            });
          }};
}

template <class Test>
std::string Where(Description op, Test test, const char* otherwise) {
  const std::string reason = MatmulWhyNot(op);
  return !reason.empty() ? reason : test(plugin::ParseMatmul(op)) ? "" : otherwise;
}
bool HasC(const plugin::MatmulSpec& s) {
  return s.c.input >= 0 && s.beta != 0;
}
std::string Adds(Description op) {
  return Where(op, HasC, "there is no c");
}
std::string AddsMatrix(Description op) {
  return Where(
      op, [](const auto& s) { return HasC(s) && s.m > 1 && s.n > 1; }, "this needs a c of several rows and columns");
}
std::string Scales(Description op) {
  return Where(
      op, [](const auto& s) { return s.alpha != 1; }, "alpha is 1");
}
std::string ScalesAndAdds(Description op) {
  return Where(
      op, [](const auto& s) { return HasC(s) && s.alpha != s.beta; }, "this needs a c and unlike factors");
}
std::string Biased(Description op) {
  return Where(
      op, [](const auto& s) { return s.bias.input >= 0; }, "there is no bias");
}
std::string BiasedWide(Description op) {
  return Where(
      op, [](const auto& s) { return s.bias.input >= 0 && s.a.dtype != plugin::kBF16; }, "bf16 holds the bias");
}
std::string BiasedColumns(Description op) {
  return Where(
      op, [](const auto& s) { return s.bias.input >= 0 && s.n > 64; }, "this needs a bias of more than 64 columns");
}
std::string BiasedAndScaled(Description op) {
  return Where(
      op, [](const auto& s) { return s.bias.input >= 0 && (s.alpha != 1 || HasC(s)); },
      "this needs a bias and a factor");
}
std::string NarrowAndAdding(Description op) {
  return Where(
      op,
      [](const auto& s) {
        const bool narrow = s.a.dtype == plugin::kF16 || s.a.dtype == plugin::kBF16;
        const bool adds = HasC(s) || s.bias.input >= 0;
        return narrow && adds && !s.epilogue_rounded && (s.y.dtype == s.a.dtype || s.y.dtype == plugin::kF64);
      },
      "this needs a narrow output and something to add in one rounding");
}
std::string NarrowOutput(Description op) {
  return Where(
      op,
      [](const auto& s) {
        const bool narrow = s.a.dtype == plugin::kF16 || s.a.dtype == plugin::kBF16;
        return narrow && (s.y.dtype == s.a.dtype || s.y.dtype == plugin::kF64);
      },
      "this needs an output of 16 bits");
}
std::string Square(Description op) {
  return Where(
      op, [](const auto& s) { return s.m == s.n && s.m > 1; }, "this needs square outputs");
}

// `end(ending)` gives y.
template <class End>
Entry Ends(const char* name, std::string (*why_not)(Description), End end) {
  return {"matmul", name, MatmulContract, why_not, [end](Description op, bool exact) {
            return WithCarrier(op, exact, [&]<class T>(std::type_identity<T>) -> std::unique_ptr<plugin::Plan> {
              return std::make_unique<EndingMatmul<T>>(op, exact, end);
            });
          }};
}

// To 16 bits in another way than to nearest even. An effect is the exact result and the difference that this makes.
template <class T>
T StoredBy(const Ending<T>& e, Rounding first, Rounding::How how = Rounding::How::kNearest) {
  const T y = e.Clean(), stored = Rounded({how, e.s.a.dtype == plugin::kF16 ? kHalf : kBrain}, Rounded(first, y));
  return e.exact ? y + (stored - e.Stored(y)) : stored;
}

std::vector<Entry> Endings() {
  return {
      Ends("fault.c-ignored", Adds, [](const auto& e) { return e.Scaled() + e.Bias(); }),
      Ends("fault.c-transposed", AddsMatrix,
           [](const auto& e) {
             const int64_t i = e.at.column * e.s.m + e.at.row;
             return e.Scaled() + e.beta * e.C(e.at.batch, i / e.s.n, i % e.s.n) + e.Bias();
           }),
      Ends("fault.c-of-first-row-for-all", AddsMatrix,
           [](const auto& e) { return e.Scaled() + e.beta * e.C(e.at.batch, 0, e.at.column) + e.Bias(); }),
      Ends("fault.c-missing-in-last-column", Adds,
           [](const auto& e) { return e.at.column + 1 == e.s.n ? e.Scaled() + e.Bias() : e.Clean(); }),
      Ends("fault.alpha-and-beta-swapped", ScalesAndAdds,
           [](const auto& e) { return e.beta * e.product + e.alpha * e.C() + e.Bias(); }),
      Ends("fault.alpha-applied-to-c", ScalesAndAdds,
           [](const auto& e) { return e.alpha * (e.product + e.beta * e.C()) + e.Bias(); }),
      Ends("fault.beta-squared", ScalesAndAdds,
           [](const auto& e) { return e.Scaled() + e.beta * e.beta * e.C() + e.Bias(); }),
      Ends("fault.alpha-ignored-in-tail-columns", Scales,
           [](const auto& e) {
             return e.at.column >= e.s.n / 16 * 16 ? e.Clean() - e.Scaled() + e.product : e.Clean();
           }),
      Ends("fault.alpha-ignored", Scales, [](const auto& e) { return e.Clean() - e.Scaled() + e.product; }),
      Ends("fault.bias-before-alpha-and-beta", BiasedAndScaled,
           [](const auto& e) { return e.alpha * (e.product + e.Bias()) + e.beta * e.C(); }),
      Ends("fault.beta-applied-to-bias", BiasedAndScaled,
           [](const auto& e) { return e.Scaled() + e.beta * (e.C() + e.Bias()); }),
      Ends("fault.bias-index-modulo-64", BiasedColumns,
           [](const auto& e) { return e.Clean() - e.Bias() + e.Bias(e.at.column % 64); }),
      Ends("fault.bias-of-next-column", BiasedColumns,
           [](const auto& e) { return e.Clean() - e.Bias() + e.Bias((e.at.column + 1) % e.s.n); }),
      Ends("fault.bias-in-first-row-only", Biased,
           [](const auto& e) { return e.at.row == 0 ? e.Clean() : e.Clean() - e.Bias(); }),
      Ends("fault.bias-in-bf16", BiasedWide,
           [](const auto& e) { return e.Clean() - e.Bias() + Rounded(Nearest(kBrain), e.Bias()); }),
      Ends("fault.bias-subtracted", Biased, [](const auto& e) { return e.Clean() - 2 * e.Bias(); }),
      Ends("fault.product-stored-before-addition", NarrowAndAdding,
           [](const auto& e) { return e.Stored(e.alpha * e.product) + e.beta * e.C() + e.Bias(); }),
      Ends("fault.rounded-before-alpha", Scales,
           [](const auto& e) { return e.Clean() - e.Scaled() + e.alpha * Rounded(Nearest(kBrain), e.product); }),
      Ends("fault.output-rounded-down", NarrowOutput,
           [](const auto& e) { return StoredBy(e, {}, Rounding::How::kDown); }),
      Ends("fault.output-rounded-stochastically", NarrowOutput,
           [](const auto& e) { return StoredBy(e, {}, Rounding::How::kStochastic); }),
      Ends("fault.output-rounded-twice-by-13-bits", NarrowOutput,
           [](const auto& e) { return StoredBy(e, NearestBits(13)); }),
      Ends("fault.diagonal-of-square-output-doubled", Square,
           [](const auto& e) { return e.at.row == e.at.column ? e.Clean() + e.Scaled() : e.Clean(); }),
  };
}

}  // namespace

plugin::Tensor LogicalTensor(const IoBug& bug, Description op) {
  const plugin::MatmulSpec s = plugin::ParseMatmul(op);
  plugin::Tensor tensor = TensorOf(bug, op);
  tensor.shape = {s.batch, bug.operand == 1 ? s.n : s.m, bug.operand == kOutput ? s.n : s.k};
  return tensor;
}

std::vector<Entry> MatmulHeldPlaces() {
  std::vector<Entry> all = Endings();
  for (const IoBug& bug : kPlaces) all.push_back(Fault(bug));
  const auto make = []<class T>(std::type_identity<T>, const IoBug& bug, Description op, bool exact) {
    return std::make_unique<Struck<CleanMatmul<T>>>(bug, op, exact);
  };
  const auto others = IoEntries("matmul", MatmulContract, MatmulWhyNot, BugsOfEveryOperator(), make);
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

}  // namespace corpus
