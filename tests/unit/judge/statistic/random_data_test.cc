// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/statistic/random_data.h"

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
        const std::string why = WhyNotRandom(Drawn(dtype, {33, 257}, seed, draw), 24);
        refused += why.empty() ? 0 : 1, ++tried;
        if (!why.empty()) ADD_FAILURE() << Name(dtype) << " seed " << seed << ": " << why;
      }
    }
  }
  EXPECT_EQ(refused, 0) << "of " << tried;
}

TEST(RandomData, ValuesOfNarrowTypesRepeatAsTheirPrecisionMakesThem) {
  EXPECT_EQ(WhyNotRandom(Drawn(DType::kBF16, {64, 256}, 1, Normal), 24), "");
  Tensor wide = Drawn(DType::kBF16, {64, 256}, 1, Normal), same(DType::kF32, {64, 256});
  same.SetDoubles(wide.ToDoubles());
  EXPECT_EQ(WhyNotRandom(same, 24), "");
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
    const std::string why = WhyNotRandom(tensor, 24);
    EXPECT_NE(why, "") << made.what;
    EXPECT_NE(why.find(made.why), std::string::npos) << made.what << ": '" << why << "'";
  }
}

// No value repeats and neighbours have nothing in common, but each addition in f32 rounds up.
TEST(RandomData, NumbersWhoseSumsRoundOneWayAreNot) {
  Tensor tensor = Drawn(DType::kF32, {4096}, 5,
                        [](auto& random) { return std::uniform_real_distribution<double>(0.5, 1.5)(random); });
  std::mt19937_64 random(6);
  std::uniform_real_distribution<double> part(0.51, 0.7);
  float sum = 0;
  for (float& x : tensor.As<float>()) {
    const float whole = sum + x, spacing = std::nextafter(whole, INFINITY) - whole;
    x = static_cast<float>(static_cast<double>(whole) - part(random) * spacing - sum);
    sum += x;
  }
  EXPECT_NE(WhyNotRandom(tensor, 24).find("round to one side"), std::string::npos) << WhyNotRandom(tensor, 24);
}

}  // namespace
}  // namespace assay
