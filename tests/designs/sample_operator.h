// SPDX-License-Identifier: Apache-2.0
// An operator whose cases a covering design combines.
#pragma once

#include "ops/case_space.h"
#include "ops/operator.h"
#include "tests/unit/plan/test_catalog.h"

namespace assay {

// An operator with six attributes, one of them a size. Refuses bias with i8, and more than 64 rows.
class SampleOperator : public Operator {
 public:
  const OpSchema& schema() const override { return MatmulSchema(); }

  CaseSpace Space() const override {
    CaseSpace space;
    space.Vary("dtypes", {"f32", "bf16", "i8-i8-i32"}, kInTriples);
    space.AddKnob("m", ExtentValues(129));
    space.AddKnob("n", {"1"});
    space.AddKnob("k", {"1"});
    const Extent m = [](const SpaceView& view) { return view.Int("m"); };
    AddResidues(space, "m", {"m"}, m, {2, 3, 8});
    AddMagnitude(space, "m", {"m"}, m, {1, 16, 64}, kInTriples);
    space.Vary("transa", {"0", "1"}, kInTriples);
    space.Vary("bias", {"0", "1"}, kInTriples);
    space.Vary("fill", {"normal", "ramp", "special"}, kInTriples);
    space.useless = [](const SpaceView& view) {
      return view.spec.fill == "ramp" && view.Int("transa") == 1 ? "ramps look alike" : "";
    };
    return space;
  }

  Result<Problem> Bind(const CaseSpec& spec) const override {
    const AttrReader attrs(spec, schema());
    if (attrs.Int("m") > 64) return UsageError("too many rows");
    if (attrs.Int("bias") == 1 && IsInt(spec.dtypes.front())) return UsageError("bias=1 must be 0 for integers");
    Problem problem;
    problem.spec = assay::Canonicalise(spec, schema()).value();
    problem.outputs = {{"y", DType::kF32, {attrs.Int("m")}}};
    problem.flops = static_cast<double>(attrs.Int("m"));
    return problem;
  }

  std::vector<Tensor> MakeInputs(const Problem&) const override { return {}; }
  Golden ComputeGolden(const Problem&, size_t /*output*/, std::span<const Tensor>, Tier) const override { return {}; }
  BoundModel Bound(const Problem&, size_t /*output*/, const Golden&, const Contract&) const override { return {}; }
  std::optional<Twin> MakeTwin(const Problem&, size_t /*output*/, const Contract&, int) const override {
    return std::nullopt;
  }
  std::vector<Mutant> OmittedTerms(const Problem&, size_t /*output*/, std::span<const Tensor>, std::span<const double>,
                                   std::span<const int64_t>) const override {
    return {};
  }
};

}  // namespace assay
