// SPDX-License-Identifier: Apache-2.0
// Dimensions of transform cases. n is composed of its last axis and the axes before it.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>

#include "ops/case_space.h"
#include "ops/fft/fft.h"

namespace assay {
namespace {

void ComposeFft(AttrList& attrs) {
  const std::string lead = Take(attrs, "lead"), last = Take(attrs, "last");
  attrs.emplace_back("n", lead.empty() ? last : lead + "x" + last);
}

int64_t LastAxis(const SpaceView& view) {
  return view.attrs.List("n").back();
}

int64_t LargestPrime(int64_t n) {
  int64_t largest = 1;
  for (int64_t prime = 2; prime <= n; ++prime) {
    for (; n % prime == 0; n /= prime) largest = prime;
  }
  return largest;
}

// Adds a dimension for the largest prime factor: the primes that kernels are written for, or larger ones.
void AddRadix(CaseSpace& space) {
  constexpr int64_t kPrimes[] = {1, 2, 3, 5, 7, 11, 13};
  std::vector<std::string> levels;
  for (const int64_t prime : kPrimes) levels.push_back(std::to_string(prime));
  levels.emplace_back("above");
  AddRelation(
      space, "largest prime of the last axis", {"last"}, std::move(levels),
      [=](const SpaceView& view) {
        const int64_t largest = LargestPrime(LastAxis(view));
        return static_cast<int>(std::ranges::find(kPrimes, largest) - std::begin(kPrimes));
      },
      kInTriples);
}

void AddKindsAndTypes(CaseSpace& space) {
  const std::vector<std::vector<std::string>> pairs = {{"c2c", "c64"},  {"r2c", "f32-c64"},  {"c2r", "c64-f32"},
                                                       {"c2c", "c128"}, {"r2c", "f64-c128"}, {"c2r", "c128-f64"}};
  space.knobs.push_back({{"kind", "dtypes"}, pairs});
  std::vector<std::string> levels;
  for (const auto& pair : pairs) levels.push_back(pair[0] + " of " + pair[1]);
  AddRelation(
      space, "kind", {"kind"}, std::move(levels),
      [pairs](const SpaceView& view) {
        const std::vector<std::string> own = {view.attrs.Text("kind"), DTypeListText(view.spec.dtypes)};
        const auto found = std::ranges::find(pairs, own);
        return found == pairs.end() ? -1 : static_cast<int>(found - pairs.begin());
      },
      kInTriples);
}

std::vector<std::string> FftLengths() {
  std::vector<std::string> lengths = ExtentValues(4097);
  for (const int64_t smooth : {18,  21,  22,  25,  26,  27,  35,  44,  55,  60,  75,  77,   81,   91,   100,
                               105, 121, 125, 143, 169, 243, 343, 360, 400, 500, 600, 1000, 2000, 2048, 3000}) {
    lengths.push_back(std::to_string(smooth));
  }
  std::ranges::sort(lengths, {}, [](const std::string& text) { return std::stoll(text); });
  return lengths;
}

}  // namespace

CaseSpace FftSpace() {
  CaseSpace space;
  space.compose = ComposeFft;
  space.useless = [](const SpaceView& view) {
    const std::vector<int64_t> n = view.attrs.List("n");
    const int64_t points = std::accumulate(n.begin(), n.end(), int64_t{1}, std::multiplies<>());
    const bool wide = SizeOf(view.spec.dtypes.front()) + SizeOf(view.spec.dtypes.back()) > 16;
    if (!wide && points > (view.spec.fill == "near_one" ? 16384 : 8192))
      return "one of so many inputs is within the bound";
    if (view.spec.fill == "extremes" && points * view.Int("batch") < 8) return "so few extremes may all be equal";
    const bool spoiled = view.spec.fill == "special" || view.spec.fill == "edges";
    if (!spoiled || (view.Int("batch") >= 4 && n.size() == 1)) return "";
    return "one special value spoils a whole transform: fill=special and edges need several of one axis";
  };
  AddKindsAndTypes(space);
  space.AddKnob("last", FftLengths());
  space.AddKnob("lead", {"", "2", "3", "5", "8", "13", "2x3", "4x4", "7x5"});
  space.AddKnob("batch", ExtentValues(129));
  const Extent batch = [](const SpaceView& view) { return view.Int("batch"); };
  AddResidues(space, "last axis", {"last"}, LastAxis);
  AddMagnitude(space, "last axis", {"last"}, LastAxis, {1, 16, 256, 1024, 4095}, kInTriples);
  AddRadix(space);
  AddResidues(space, "batch", {"batch"}, batch, {2, 3, 8, 32});
  AddMagnitude(space, "batch", {"batch"}, batch, {1, 16}, kInTriples);
  AddRelation(
      space, "axes", {"lead"}, {"1", "2", "3"},
      [](const SpaceView& view) { return static_cast<int>(view.attrs.List("n").size()) - 1; }, kInTriples);
  AddTensorSize(space, "the real side", {"last", "lead", "batch"}, [](const SpaceView& view) {
    const std::vector<int64_t> n = view.attrs.List("n");
    return std::accumulate(n.begin(), n.end(), view.Int("batch"), std::multiplies<>());
  });
  space.Vary("dir", {"fwd", "inv"}, kInTriples);
  space.Vary("norm", {"none", "ortho", "backward"}, kInTriples);
  space.Vary(
      "fill",
      {"near_one", "normal", "outlier", "ramp", "coded", "subnormal", "special", "edges", "pow2", "large", "extremes"},
      kInTriples);
  return space;
}

}  // namespace assay
