// SPDX-License-Identifier: Apache-2.0
// Dimensions of matrix products.
#include "ops/case_space.h"
#include "ops/matmul/matmul.h"

namespace assay {
namespace {

constexpr const char* kFineFactor = "1.000244140625";  // 1 + 2^-12, which f16, bf16 and tf32 round to 1

void AddMatmulExtents(CaseSpace& space) {
  for (const char* key : {"m", "n", "k"}) {
    const Extent extent = [key](const SpaceView& view) { return view.Int(key); };
    space.AddKnob(key, ExtentValues(65537));
    AddResidues(space, key, {key}, extent);
    AddMagnitude(space, key, {key}, extent, {1, 16, 256, 4096, 65535}, kInTriples);
  }
  space.Vary("batch", {"1", "2", "3", "8"}, kInTriples);
  AddComparison(space, "m", "n", kInTriples, kOnesApart);
  AddComparison(space, "m", "k", kInTriples, kOnesApart);
  AddComparison(space, "n", "k", kInTriples, kOnesApart);
}

void AddMatmulTensors(CaseSpace& space) {
  const auto product = [](const char* one, const char* other) {
    return [=](const SpaceView& view) { return view.Int("batch") * view.Int(one) * view.Int(other); };
  };
  AddTensorSize(space, "a", {"batch", "m", "k"}, product("m", "k"));
  AddTensorSize(space, "b", {"batch", "k", "n"}, product("k", "n"));
  AddTensorSize(space, "y", {"batch", "m", "n"}, product("m", "n"));
}

}  // namespace

CaseSpace MatmulSpace() {
  CaseSpace space;
  space.useless = [](const SpaceView& view) {
    const bool few = view.Int("m") * view.Int("n") * view.Int("batch") < 4;
    if (few && view.Int("k") > 4096) return "so few long sums may be equal within their bound";
    const bool fine = view.attrs.Text("alpha") == kFineFactor || view.attrs.Text("beta") == kFineFactor;
    return fine && SizeOf(view.spec.dtypes.back()) < 4 ? "outputs of 16 bits hide the last bits of a factor" : "";
  };
  space.Vary("dtypes", {"f32", "bf16", "f16", "f64", "bf16-bf16-f32", "f16-f16-f32", "i8-i8-i32"}, kInTriples);
  AddMatmulExtents(space);
  AddMatmulTensors(space);
  space.Vary("transa", {"0", "1"}, kInTriples);
  space.Vary("transb", {"0", "1"}, kInTriples);
  space.Vary("alpha", {"1", "-1", "0.5", "-2", kFineFactor}, kInTriples);
  space.Vary("beta", {"0", "1", "-1", "0.5", kFineFactor}, kInTriples);
  space.Vary("bias", {"0", "1"}, kInTriples);
  space.Vary("epilogue", {"fused", "rounded"}, kInTriples);
  space.Vary("fill", {"normal", "outlier", "cancel-1e6", "ramp", "coded", "subnormal", "special", "edges", "pow2",
                      "near_one", "large", "extremes"});
  return space;
}

}  // namespace assay
