// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/statistic/random_data.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

namespace assay {
namespace {

using Draw = std::function<double(std::mt19937_64&)>;

Tensor Drawn(DType dtype, const Shape& shape, uint64_t seed, const Draw& draw) {
  std::mt19937_64 random(seed);
  Tensor tensor(dtype, shape);
  std::vector<double> values(static_cast<size_t>(tensor.size()));
  for (double& x : values) x = draw(random);
  tensor.SetDoubles(values);
  return tensor;
}

double Normal(std::mt19937_64& random) {
  return std::normal_distribution<double>()(random);
}

TEST(RandomData, DrawnNumbersAreTakenForWhatTheyAre) {
  const Draw uniform = [](auto& random) { return std::uniform_real_distribution<double>(0, 1)(random); };
  int refused = 0, tried = 0;
  for (const Draw& draw : {Draw(Normal), uniform, Draw([](auto& random) { return 10 + Normal(random); })}) {
    for (const DType dtype : {DType::kF32, DType::kF64, DType::kF16}) {
      for (uint64_t seed = 0; seed < 5; ++seed) {
        const std::string why = ExplainNotRandom(Drawn(dtype, {33, 257}, seed, draw));
        refused += why.empty() ? 0 : 1, ++tried;
        if (!why.empty()) ADD_FAILURE() << Name(dtype) << " seed " << seed << ": " << why;
      }
    }
  }
  EXPECT_EQ(refused, 0) << "of " << tried;
}

TEST(RandomData, ValuesOfNarrowTypesRepeatAsTheirPrecisionMakesThem) {
  EXPECT_EQ(ExplainNotRandom(Drawn(DType::kBF16, {64, 256}, 1, Normal)), "");
  Tensor wide = Drawn(DType::kBF16, {64, 256}, 1, Normal), same(DType::kF32, {64, 256});
  same.SetDoubles(wide.ToDoubles());
  EXPECT_EQ(ExplainNotRandom(same), "");
}

struct Made {
  const char* what;
  std::function<double(int64_t row, int64_t column, double normal)> value;
  const char* why;
};

TEST(RandomData, MadeNumbersAreNot) {
  constexpr int64_t kRows = 64, kColumns = 512;
  const Made all[] = {
      {"smooth", [](auto i, auto j, double) { return std::sin(0.01 * static_cast<double>(j + 100 * i)); }, ""},
      {"ramp", [](auto i, auto j, double) { return 0.1 + static_cast<double>(i * kColumns + j) / 3; }, "related"},
      {"sparse", [](auto, auto j, double x) { return j % 3 == 0 ? x : 0; }, "repeat"},
      {"image", [](auto, auto, double x) { return std::floor(64 + 10 * x) / 255; }, "repeat"},
      {"one large", [](auto i, auto j, double x) { return i == 3 && j == 4 ? 1e4 : x; }, "far larger"},
      {"scaled rows", [](auto i, auto, double x) { return x * static_cast<double>(1 + i % 5); }, "related"},
      {"not finite", [](auto i, auto j, double x) { return i == 3 && j == 4 ? NAN : x; }, "finite"},
      {"noisy ramp", [](auto, auto j, double x) { return x + 0.02 * static_cast<double>(j); }, "related"},
  };
  for (const Made& made : all) {
    Tensor tensor = Drawn(DType::kF32, {kRows, kColumns}, 7, Normal);
    std::vector<double> values = tensor.ToDoubles();
    for (int64_t i = 0; i < std::ssize(values); ++i) values[i] = made.value(i / kColumns, i % kColumns, values[i]);
    tensor.SetDoubles(values);
    const std::string why = ExplainNotRandom(tensor);
    EXPECT_NE(why, "") << made.what;
    EXPECT_NE(why.find(made.why), std::string::npos) << made.what << ": '" << why << "'";
  }
}

struct Asked {
  explicit Asked(const std::string& id) : spec(ParseId(id).value()), op(*OperatorRegistry::Global().Find(spec.op)) {
    problem = op.Bind(spec).value();
  }
  std::string Why(const std::vector<Tensor>& inputs, int64_t furthest = 0) const {
    return ExplainNotRandom(op, problem, 0, inputs, furthest, ParseDeclaration("acc=f32").value());
  }
  CaseSpec spec;
  const Operator& op;
  Problem problem;
};

// No value repeats and neighbours have nothing in common, but each addition in f32 rounds up: of operators that add the
// numbers themselves.
TEST(RandomData, NumbersWhoseSumsRoundOneWayAreNot) {
  Tensor tensor = Drawn(DType::kF32, {1, 4096}, 5,
                        [](auto& random) { return std::uniform_real_distribution<double>(0.5, 1.5)(random); });
  std::mt19937_64 random(6);
  std::uniform_real_distribution<double> part(0.51, 0.7);
  float sum = 0;
  for (float& x : tensor.As<float>()) {
    const float whole = sum + x, spacing = std::nextafter(whole, INFINITY) - whole;
    x = static_cast<float>(static_cast<double>(whole) - part(random) * spacing - sum);
    sum += x;
  }
  std::vector<Tensor> inputs;
  inputs.push_back(std::move(tensor));
  for (const char* id : {"reduce/f32/shape=1x4096,axes=1", "reduce/f32/shape=1x4096,axes=1,kind=mean"}) {
    EXPECT_NE(Asked(id + std::string("/fill=normal/seed=0")).Why(inputs).find("round to one side"), std::string::npos);
  }
  EXPECT_NE(Asked("cumsum/f32/rows=1,n=4096/fill=normal/seed=0").Why(inputs, 4095), "");
  for (const char* id : {"reduce/f32/shape=1x4096,axes=1,kind=max", "softmax/f32/shape=1x4096"}) {
    EXPECT_EQ(Asked(id + std::string("/fill=normal/seed=0")).Why(inputs), "") << id;
  }
}

// Squares of 150,000 random numbers and more round down in f32, far below what terms of their size may lose.
TEST(RandomData, LongRowsAreForEachOperatorThatSumsThem) {
  for (const char* shape :
       {"softmax/f32/shape=2x200000", "softmax/f32/shape=2x200000,log=1", "softmax/f32/shape=1x1000000",
        "softmax/f32/shape=200000x2,axis=0", "reduce/f32/shape=2x200000,axes=1",
        "reduce/f32/shape=2x200000,axes=1,kind=l2", "reduce/f32/shape=2x200000,axes=1,kind=logsumexp",
        "rms_norm/f32/rows=2,n=200000", "layer_norm/f32/rows=2,n=200000", "softmax_backward/f32/rows=2,n=200000",
        "cumsum/f32/rows=2,n=200000", "matmul/f32/m=4,n=2,k=200000", "matmul/f32/m=200000,n=2,k=4",
        "attention/f32/b=1,h=1,l=2,s=200000,d=4", "conv/f32/n=200000,c=1,o=1,i=3,k=2"}) {
    for (int seed = 0; seed < 3; ++seed) {
      const Asked asked(fmt::format("{}/fill=normal/seed={}", shape, seed));
      EXPECT_EQ(asked.Why(asked.op.MakeInputs(asked.problem), 1), "") << shape << " seed " << seed;
    }
  }
}

// The sums of an element are those that its definition adds, each with all of its terms.
TEST(SummedTerms, AreThoseOfTheElement) {
  const auto terms = [](const char* id, int64_t output, const std::vector<std::vector<double>>& data) {
    const Asked asked(id);
    std::vector<Tensor> inputs = asked.op.MakeInputs(asked.problem);
    for (size_t k = 0; k < data.size(); ++k) inputs[k].SetDoubles(data[k]);
    return asked.op.SummedTerms(asked.problem, 0, inputs, ParseDeclaration("acc=f32").value(), output);
  };
  using Sums = std::vector<std::vector<double>>;
  EXPECT_EQ(terms("rms_norm/f32/rows=2,n=3/fill=normal/seed=0", 4, {{1, 2, 3, 4, 5, 6}}), (Sums{{16, 25, 36}}));
  EXPECT_EQ(terms("cumsum/f32/rows=2,n=3/fill=normal/seed=0", 4, {{1, 2, 3, 4, 5, 6}}), (Sums{{4, 5}}));
  EXPECT_EQ(terms("layer_norm/f32/rows=2,n=3/fill=normal/seed=0", 0, {{1, 2, 3, 4, 5, 6}}),
            (Sums{{1, 2, 3}, {1, 0, 1}}));
  EXPECT_EQ(terms("softmax_backward/f32/rows=2,n=2/fill=normal/seed=0", 3, {{1, 2, 3, 4}, {5, 6, 7, 8}}),
            (Sums{{21, 32}}));
  EXPECT_EQ(terms("scatter_add/f32-i64-f32-f32/rows=3,n=4,d=2/fill=normal/seed=0", 5,
                  {{1, 2, 3, 4, 5, 6}, {2, 0, 2, 1}, {10, 11, 12, 13, 14, 15, 16, 17}}),
            (Sums{{6, 11, 15}}));
  EXPECT_EQ(terms("reduce/f32/shape=2x3,axes=0,kind=l2/fill=normal/seed=0", 1, {{1, 2, 3, 4, 5, 6}}), (Sums{{4, 25}}));
  EXPECT_EQ(terms("softmax/f32/shape=2x2,axis=0/fill=normal/seed=0", 1, {{0, 7, 1, 7}}), (Sums{{1, 1}}));
  EXPECT_EQ(terms("matmul/f32/m=2,n=1,k=2,alpha=2/fill=normal/seed=0", 1, {{1, 2, 3, 4}, {5, 6}}), (Sums{{15, 24}}));
  EXPECT_EQ(terms("conv/f32/n=1,c=1,o=1,i=3,k=2/fill=normal/seed=0", 1, {{1, 2, 3}, {5, 6}}), (Sums{{10, 18}}));
  EXPECT_EQ(terms("gelu/f32/n=3/fill=normal/seed=0", 1, {}), Sums());
}

}  // namespace
}  // namespace assay
