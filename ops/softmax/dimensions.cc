// SPDX-License-Identifier: Apache-2.0
// In what ways cases of softmax differ. Their shape is put together from the axis that sums to one and from what stands
// before and behind it; axes of extent 1 are left out.
#include <numeric>

#include "ops/case_space.h"
#include "ops/softmax/softmax.h"

namespace assay {
namespace {

const std::vector<std::string> kSoftmaxKeys = {"lead", "outer", "terms", "inner"};

void ComposeSoftmax(AttrList& attrs) {
  std::string shape = Take(attrs, "lead");
  int64_t axis = shape.empty() ? 0 : 1;
  for (const char* key : {"outer", "terms", "inner"}) {
    const std::string extent = Take(attrs, key);
    if (extent == "1" && std::string_view(key) != "terms") continue;
    shape += shape.empty() ? extent : "x" + extent;
    axis += std::string_view(key) == "outer" ? 1 : 0;
  }
  attrs.emplace_back("axis", std::to_string(axis));
  attrs.emplace_back("shape", std::move(shape));
}

struct SoftmaxShape {
  explicit SoftmaxShape(const SpaceView& view) {
    const std::vector<int64_t> shape = view.attrs.List("shape");
    rank = std::ssize(shape);
    const int64_t axis = (view.Int("axis") + rank) % rank;
    for (int64_t i = 0; i < rank; ++i) (i < axis ? outer : i == axis ? terms : inner) *= shape[static_cast<size_t>(i)];
  }
  int64_t rank = 0, outer = 1, terms = 1, inner = 1;
};

// One of n alike terms is about 1/n of their sum, and e^-3.5 of that where it lies three deviations low. Kernels of
// fast functions may be off by 2^9 roundings of f32 and the n of the sum: at n = 480 the one is as large as the other.
// The logarithm of the sum, some log n, is rounded as a whole.
std::string WhyTermsAreLost(const SpaceView& view, int64_t terms) {
  const std::string& fill = view.spec.fill;
  if (view.Int("log") == 1) {
    const int64_t most = view.spec.dtypes.front() == DType::kBF16 ? 16 : 192;
    return terms > most ? "a term of so many is below the rounding of the logarithm" : "";
  }
  if (fill == "lognormal" || fill == "outlier" || fill == "coded") return "";  // some terms are large
  return terms > 321 ? "a term of so many alike ones is below what fast functions may err" : "";
}

// Cases in which a constant would be right as well.
std::string WhyUselessSoftmax(const SpaceView& view) {
  const int64_t terms = SoftmaxShape(view).terms;
  if (terms == 1) return "terms=1 gives 1 whatever the input";
  const bool alike = view.spec.fill == "ties" || view.spec.fill == "coded" || view.spec.fill == "subnormal";
  if (alike && terms < 4) return "lines of so few terms may be alike";
  // Subnormal numbers of f16 are as large as its rounding.
  const bool invisible = view.spec.fill == "subnormal" && view.spec.dtypes.front() != DType::kF16;
  if (invisible) return "the exponentials of subnormal numbers are all 1";
  return WhyTermsAreLost(view, terms);
}

}  // namespace

CaseSpace SoftmaxSpace() {
  CaseSpace space;
  space.compose = ComposeSoftmax;
  space.useless = WhyUselessSoftmax;
  space.Vary("dtypes", {"f32", "bf16", "f16", "f64"}, kInTriples);
  space.AddKnob("lead", {"", "2", "3"});
  space.AddKnob("outer", ExtentValues(65537));
  space.AddKnob("terms", ExtentValues(65537));
  space.AddKnob("inner", ExtentValues(641));
  const Extent terms = [](const SpaceView& view) { return SoftmaxShape(view).terms; };
  const Extent inner = [](const SpaceView& view) { return SoftmaxShape(view).inner; };
  const Extent rows = [](const SpaceView& view) {
    const SoftmaxShape shape(view);
    return shape.outer * shape.inner;
  };
  AddResidues(space, "terms", {"terms"}, terms);
  AddMagnitude(space, "terms", {"terms"}, terms, {16, 256, 4096, 65535}, kInTriples);
  AddResidues(space, "inner", {"inner"}, inner, {2, 3, 8, 32});
  AddMagnitude(space, "inner", {"inner"}, inner, {1, 16}, kInTriples);
  AddResidues(space, "rows", {"lead", "outer", "inner"}, rows, {2, 3, 8, 32, 128});
  AddMagnitude(space, "rows", {"lead", "outer", "inner"}, rows, {1, 16, 256, 65535}, kInTriples);
  AddRelation(
      space, "rank", {"lead", "outer", "inner"}, {"1", "2", "3", "4"},
      [](const SpaceView& view) { return static_cast<int>(SoftmaxShape(view).rank) - 1; }, kInTriples);
  AddTensorSize(space, "x", kSoftmaxKeys, [](const SpaceView& view) {
    const std::vector<int64_t> shape = view.attrs.List("shape");
    return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  });
  space.Vary("log", {"0", "1"}, kInTriples);
  space.Vary("fill",
             {"normal", "lognormal", "outlier", "ramp", "coded", "subnormal", "special", "edges", "masked", "ties",
              "large", "pow2"},
             kInTriples);
  return space;
}

}  // namespace assay
