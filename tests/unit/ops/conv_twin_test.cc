// SPDX-License-Identifier: Apache-2.0
// Exact twins of conv: every legal schedule gives the expected bits, and each kind of wrong convolution does not.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "ops/binding.h"
#include "ops/conv/conv.h"
#include "tests/support/full.h"
#include "tests/support/operator_cases.h"
#include "tests/support/simulate/conv.h"

namespace assay::test {
namespace {

struct ConvTwinCase {
  const char* dtypes;
  const char* declaration;
};
constexpr ConvTwinCase kConvTwinTypes[] = {
    {"f64", "acc=f64"},      {"f32", "acc=f32"},  {"f32", "in=tf32rz;acc=f32"}, {"f32", "in=bf16;acc=f32;ftz=all"},
    {"f16", "acc=f32"},      {"bf16", "acc=f32"}, {"bf16-bf16-f32", "acc=f32"}, {"bf16-bf16-f32", "acc=tc<24,8>"},
    {"i8-i8-i32", "acc=i32"}};
constexpr const char* kConvTwinShapes[] = {"n=2,c=3,o=4,i=6x7,k=3x3,pad=1",
                                           "n=1,c=64,o=2,i=5x6,k=3x3,pad=1",
                                           "n=1,c=4,o=4,i=9x8,k=3x2,stride=2x3,pad=2x1,dilation=2x1,groups=2",
                                           "n=1,c=300,o=2,i=7,k=5,pad=2,stride=2",
                                           "n=1,c=6,o=6,i=6x6,k=3,groups=6,pad=1",
                                           "n=2,c=8,o=4,i=5x5,k=1",
                                           "n=1,c=2,o=3,i=4x5x6,k=2x3x3,pad=0x1x2"};

std::optional<Twin> MakeTwin(const Problem& problem, const char* declaration, int variant) {
  return Op("conv").MakeTwin(problem, 0, Declared(declaration), variant);
}

double Stored(const Problem& problem, double y) {
  return IsInt(problem.outputs[0].dtype) ? y : RoundTo(FormatOf(problem.outputs[0].dtype), y);
}

TEST(ConvTwin, EveryLegalScheduleGivesTheExpectedBits) {
  for (const ConvTwinCase& type : kConvTwinTypes) {
    for (const char* shape : kConvTwinShapes) {
      for (const char* bias : {"", ",bias=1"}) {
        if (type.dtypes[0] == 'i' && bias[0] != 0) continue;
        const Problem problem = Bind(fmt::format("conv/{}/{}{}/fill=normal/seed=0", type.dtypes, shape, bias));
        SCOPED_TRACE(problem.spec.Id() + " " + type.declaration);
        for (int variant : {0, 1}) {
          const std::optional<Twin> twin = MakeTwin(problem, type.declaration, variant);
          ASSERT_TRUE(twin.has_value());
          ASSERT_EQ(std::ssize(twin->expected), NumElements(problem.outputs[0].shape));
          for (double y : twin->expected) ASSERT_NE(y, 0) << "an unwritten zero would pass";
          const auto schedules = AllSchedules(7);
          for (size_t k = static_cast<size_t>(variant); k < schedules.size(); k += test::kIsFull ? 1 : 3) {
            const auto unit = ArithmeticOf(Declared(type.declaration));
            EXPECT_EQ(RunConv(problem, twin->inputs, schedules[k], unit, Padding::kMultiplied), twin->expected);
            if (HasFailure()) return;
          }
        }
      }
    }
  }
}

// Where an output has terms it is not zero; where it has none, zero or the bias is all that it can be.
TEST(ConvTwin, ZeroStandsForOutputsOfPaddingAlone) {
  for (const char* dtypes : {"f32", "bf16", "i8-i8-i32"}) {
    for (const char* shape : {"n=1,c=4,o=2,i=5x5,k=1,pad=1", "n=1,c=3,o=2,i=2,k=2,dilation=4,pad=9"}) {
      const Problem problem = Bind(fmt::format("conv/{}/{}/fill=normal/seed=0", dtypes, shape));
      SCOPED_TRACE(problem.spec.Id());
      const ConvArgs op(problem);
      const char* declaration = dtypes[0] == 'i' ? "acc=i32" : "acc=f32";
      const std::optional<Twin> twin = MakeTwin(problem, declaration, 0);
      ASSERT_TRUE(twin.has_value());
      int alone = 0;
      for (int64_t i = 0; i < std::ssize(twin->expected); ++i) {
        const bool padding = op.SeesPaddingAlone(i % op.Positions());
        EXPECT_EQ(twin->expected[i] == 0, padding) << i;
        alone += padding ? 1 : 0;
      }
      EXPECT_GT(alone, 0);
      for (const Schedule& schedule : AllSchedules(7)) {
        const auto unit = ArithmeticOf(Declared(declaration));
        EXPECT_EQ(RunConv(problem, twin->inputs, schedule, unit, Padding::kMultiplied), twin->expected);
      }
    }
  }
}

// Half-way rules of the balanced form: the exact sum is rounded once, by any IEEE kernel.
TEST(ConvTwin, ExpectsTheExactSumRoundedOnce) {
  for (const char* dtypes : {"f16", "bf16", "f32"}) {
    const Problem problem = Bind(fmt::format("conv/{}/n=1,c=512,o=3,i=7x7,k=3x3,pad=1/fill=normal/seed=0", dtypes));
    const std::optional<Twin> twin = MakeTwin(problem, "acc=f32", 0);
    ASSERT_TRUE(twin.has_value());
    const std::vector<double> exact = IntegerConv(problem, twin->inputs);
    for (size_t i = 0; i < exact.size(); ++i) ASSERT_EQ(Stored(problem, exact[i]), twin->expected[i]);
  }
}

TEST(ConvTwin, WinogradIsExactForTheSmallTile) {
  for (const char* dtypes : {"f32", "f16", "bf16", "f64"}) {
    const bool wide = std::string_view(dtypes) == "f64";
    const std::string two = fmt::format("acc={};alg=winograd<2,3>", wide ? "f64" : "f32");
    for (const char* shape : {"n=1,c=5,o=3,i=6x7,k=3x3,pad=1", "n=1,c=64,o=2,i=5x5,k=3x3,pad=1,bias=1",
                              "n=1,c=8,o=4,i=7x7,k=3x3,groups=2"}) {
      const Problem problem = Bind(fmt::format("conv/{}/{}/fill=normal/seed=0", dtypes, shape));
      SCOPED_TRACE(problem.spec.Id());
      for (int variant : {0, 1}) {
        const std::optional<Twin> twin = MakeTwin(problem, two.c_str(), variant);
        ASSERT_TRUE(twin.has_value());
        const auto unit = ArithmeticOf(Declared(two));
        EXPECT_EQ(RunWinograd(problem, twin->inputs, 2, false, unit, unit.format), twin->expected);
        EXPECT_EQ(RunWinograd(problem, twin->inputs, 2, true, unit, unit.format), twin->expected);
      }
    }
  }
  const Problem strided = Bind("conv/f32/n=1,c=2,o=2,i=8x8,k=3x3,stride=2/fill=normal/seed=0");
  EXPECT_FALSE(MakeTwin(strided, "acc=f32;alg=winograd<2,3>", 0).has_value());
  const Problem plain = Bind("conv/f16/n=1,c=64,o=2,i=8x8,k=3x3/fill=normal/seed=0");
  EXPECT_FALSE(MakeTwin(plain, "acc=f32;mid=f16;alg=winograd<2,3>", 0).has_value());
}

// The share of outputs that a fault changes, among those it touches at all.
struct Caught {
  int64_t touched = 0, changed = 0;
};

Caught Try(const Problem& problem, const Twin& twin, const Fault& fault) {
  Caught caught;
  const std::vector<double> wrong =
      IntegerConv(problem, twin.inputs, [&](int64_t i, std::vector<ConvProduct>& products) {
        const std::vector<ConvProduct> before = products;
        fault(i, products);
        const bool same = std::ranges::equal(before, products, [](const ConvProduct& a, const ConvProduct& b) {
          return (a.x < 0 && b.x < 0) || (a.x == b.x && a.w == b.w);
        });
        caught.touched += same ? 0 : 1;
      });
  for (size_t i = 0; i < wrong.size(); ++i) caught.changed += Stored(problem, wrong[i]) != twin.expected[i] ? 1 : 0;
  return caught;
}

// Products of the same output under other attributes: what a kernel with that mistake computes.
Fault As(const Problem& problem, const std::string& id) {
  return [&problem, other = Bind(id)](int64_t i, std::vector<ConvProduct>& products) {
    if (other.outputs[0].shape == problem.outputs[0].shape) products = ProductsOf(other, i);
  };
}

TEST(ConvTwin, WrongConvolutionsChangeTheBits) {
  for (const ConvTwinCase& type : kConvTwinTypes) {
    const auto id = [&](const char* attrs) { return fmt::format("conv/{}/{}/fill=normal/seed=0", type.dtypes, attrs); };
    const Problem problem = Bind(id("n=1,c=24,o=4,i=9x9,k=3x3,pad=1,stride=2,groups=2"));
    SCOPED_TRACE(problem.spec.Id() + " " + type.declaration);
    const std::optional<Twin> twin = MakeTwin(problem, type.declaration, 0);
    ASSERT_TRUE(twin.has_value());
    const int64_t pixels = 81;
    const std::pair<const char*, Fault> faults[] = {
        {"last channel dropped",
         [](int64_t, std::vector<ConvProduct>& p) {
           for (size_t k = p.size() - 9; k < p.size(); ++k) p[k].x = -1;
         }},
        {"kernel flipped",
         [](int64_t, std::vector<ConvProduct>& p) {
           for (size_t k = 0; k < p.size(); k += 9) {
             for (size_t t = 0; t < 4; ++t) std::swap(p[k + t].w, p[k + 8 - t].w);
           }
         }},
        {"kernel transposed",
         [](int64_t, std::vector<ConvProduct>& p) {
           for (size_t k = 0; k < p.size(); k += 9) {
             std::swap(p[k + 1].w, p[k + 3].w), std::swap(p[k + 2].w, p[k + 6].w), std::swap(p[k + 5].w, p[k + 7].w);
           }
         }},
        {"the other group's channels",
         [=](int64_t i, std::vector<ConvProduct>& p) {
           const int64_t shift = (i / 25 % 4 < 2 ? 12 : -12) * pixels;
           for (ConvProduct& product : p) product.x += product.x < 0 ? 0 : shift;
         }},
        {"padding at the end alone",
         [](int64_t, std::vector<ConvProduct>& p) {
           for (ConvProduct& product : p) {
             const int64_t row = product.x / 9 % 9, column = product.x % 9;
             product.x = product.x < 0 || row == 8 || column == 8 ? -1 : product.x + 10;
           }
         }},
        {"the last row and column clamped off",
         [](int64_t, std::vector<ConvProduct>& p) {
           for (ConvProduct& product : p) {
             if (product.x >= 0 && product.x % 9 == 8) product.x = -1;
           }
         }},
        {"dilation instead of stride", As(problem, id("n=1,c=24,o=4,i=9x9,k=3x3,pad=0,dilation=2,groups=2"))}};
    for (const auto& [name, fault] : faults) {
      const Caught caught = Try(problem, *twin, fault);
      ASSERT_GT(caught.touched, 0) << name;
      EXPECT_GE(static_cast<double>(caught.changed), 0.9 * static_cast<double>(caught.touched)) << name;
    }
  }
}

// Measures what the harness measures: the share of omitted terms that change a twin's stored bits.
TEST(ConvTwin, OmittedTermsChangeTheBits) {
  for (const ConvTwinCase& type : kConvTwinTypes) {
    for (const char* shape : {"n=1,c=512,o=2,i=5x5,k=3x3,pad=1", "n=1,c=3,o=4,i=12x12,k=7x7,stride=2,pad=3",
                              "n=1,c=8,o=8,i=5x5,k=3x3,groups=8", "n=1,c=700,o=2,i=5x5,k=1"}) {
      const Problem problem = Bind(fmt::format("conv/{}/{}/fill=normal/seed=0", type.dtypes, shape));
      SCOPED_TRACE(problem.spec.Id() + " " + type.declaration);
      const std::optional<Twin> twin = MakeTwin(problem, type.declaration, 0);
      ASSERT_TRUE(twin.has_value());
      std::vector<int64_t> outputs(static_cast<size_t>(NumElements(problem.outputs[0].shape)));
      for (size_t i = 0; i < outputs.size(); ++i) outputs[i] = static_cast<int64_t>(i);
      const auto mutants = Op("conv").OmittedTerms(problem, 0, twin->inputs, twin->expected, outputs);
      ASSERT_GT(mutants.size(), outputs.size());
      const auto caught = std::ranges::count_if(
          mutants, [&](const Mutant& m) { return Stored(problem, m.value) != twin->expected[m.index]; });
      EXPECT_GE(static_cast<double>(caught), 0.995 * static_cast<double>(mutants.size()));
    }
  }
}

TEST(ConvTwin, NarrowAccumulatorsFail) {
  for (const char* dtypes : {"f32", "f16-f16-f32", "bf16-bf16-f32", "f16", "bf16"}) {
    const Problem problem = Bind(fmt::format("conv/{}/n=1,c=64,o=2,i=6x6,k=3x3,pad=1/fill=normal/seed=0", dtypes));
    SCOPED_TRACE(problem.spec.Id());
    const std::optional<Twin> twin = MakeTwin(problem, "acc=f32", 0);
    ASSERT_TRUE(twin.has_value());
    for (DType narrow : {DType::kF16, DType::kBF16}) {
      EXPECT_NE(RunConv(problem, twin->inputs, {}, Arithmetic{.format = narrow}, Padding::kSkipped), twin->expected);
    }
  }
}

TEST(ConvTwin, NoneWhereExactnessCannotBePromised) {
  const auto none = [](const char* attrs, const char* types, const char* declaration) {
    return !MakeTwin(Bind(fmt::format("conv/{}/{}/fill=normal/seed=0", types, attrs)), declaration, 0).has_value();
  };
  EXPECT_TRUE(none("n=1,c=512,o=1,i=5x5,k=3x3", "f16", "acc=f16"));
  EXPECT_TRUE(none("n=1,c=2,o=1,i=5x5,k=3x3", "f32", "acc=f32;alg=fft"));
  EXPECT_TRUE(none("n=1,c=64,o=1,i=5x5,k=3x3", "bf16", "acc=f32;out=rz")) << "sums are not representable";
  // Every tap is padding for the single output but the one in the gap: no term at all.
  EXPECT_TRUE(none("n=1,c=2,o=1,i=1,k=2,dilation=4,pad=3", "f32", "acc=f32"));
}

TEST(ConvOmitted, WithoutTheTermTheResultIsWhatIsLeft) {
  const Problem problem = Bind("conv/f32/n=1,c=2,o=2,i=4,k=3,pad=1,bias=1/fill=normal/seed=0");
  const std::vector<Tensor> inputs = Op("conv").MakeInputs(problem);
  const Golden golden = Op("conv").ComputeGolden(problem, 0, inputs, Tier::kReproducible);
  const std::vector<int64_t> outputs{0, 5};
  const auto mutants = Op("conv").OmittedTerms(problem, 0, inputs, golden.value, outputs);
  ASSERT_EQ(mutants.size(), 4u + 6u) << "taps in the padding are no terms";
  size_t next = 0;
  for (int64_t i : outputs) {
    for (const ConvProduct& product : ProductsOf(problem, i)) {
      if (product.x < 0) continue;
      EXPECT_EQ(mutants[next].index, i);
      EXPECT_NEAR(mutants[next++].value,
                  golden.value[i] - ValueAt(inputs[0], product.x) * ValueAt(inputs[1], product.w), 1e-12);
    }
  }
}

}  // namespace
}  // namespace assay::test
