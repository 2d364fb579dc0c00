// SPDX-License-Identifier: Apache-2.0
// The twin of fft: legal algorithms stay within it whatever the case's own data are, and a lost input never does.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "ops/fft/fft.h"
#include "tests/support/operator_cases.h"
#include "tests/support/simulate/fft.h"

namespace assay::test {
namespace {

using test::C32;
using test::Signal;

// All twins but impulses (fft_impulse_test.cc).
std::vector<Twin> TwinsOfAllInputs(const Problem& problem, std::string_view contract) {
  std::vector<Twin> twins = TwinsOf(problem, contract);
  std::erase_if(twins, [](const Twin& twin) { return twin.sparse; });
  return twins;
}

Signal LineOf(const Twin& twin, int64_t batch, int64_t n) {
  const std::vector<double> x = twin.inputs[0].ToDoubles();
  Signal line;
  for (int64_t j = 0; j < n; ++j) {
    const int64_t at = 2 * (batch * n + j);
    line.push_back({static_cast<float>(x[at]), static_cast<float>(x[at + 1])});
  }
  return line;
}

// Numbers of transform `batch` that are not within the twin's tolerance.
int Wrong(const Twin& twin, int64_t batch, const Signal& got) {
  const auto n = std::ssize(got);
  int wrong = 0;
  for (int64_t i = 0; i < 2 * n; ++i) {
    const int64_t at = 2 * batch * n + i;
    if (!Accepts(twin, DType::kF32, at, i % 2 == 0 ? got[i / 2].re : got[i / 2].im)) ++wrong;
  }
  return wrong;
}

TEST(FftTwin, LegalAlgorithmsPassAndALostInputFails) {
  int lost = 0;
  for (const int64_t n : {1, 2, 3, 16, 31, 37, 60, 64, 210, 256}) {
    const Problem problem = Bind(fmt::format("fft/c64/kind=c2c,n={},batch=2/fill=special/seed=0", n));
    for (const auto& line : test::LegalLines()) {
      const std::string name = line.name;
      if (name == "real packed" || (name == "stockham" && !std::has_single_bit(static_cast<uint64_t>(n)))) continue;
      const std::string contract = fmt::format("f32;alg={}", line.algorithm);
      SCOPED_TRACE(problem.spec.Id() + " " + name);
      const std::vector<Twin> twins = TwinsOfAllInputs(problem, contract);
      ASSERT_EQ(twins.size(), 1u);
      for (const int64_t batch : {0, 1}) {
        const Signal x = LineOf(twins[0], batch, n);
        ASSERT_EQ(Wrong(twins[0], batch, line.run(x, test::RoundedTwiddle)), 0);
        for (const int64_t j : {int64_t{0}, n / 2, n - 1}) {
          Signal without = x;
          without[j] = C32{};
          ASSERT_GT(Wrong(twins[0], batch, line.run(without, test::RoundedTwiddle)), n / 2) << j;
          ++lost;
        }
      }
    }
  }
  EXPECT_GT(lost, 200);
}

// Every input is shown by one of the variants; where a sum is too long for its bound there are none.
TEST(FftTwin, LongTransformsAreShownInParts) {
  for (const auto& [id, variants] :
       std::vector<std::pair<const char*, size_t>>{{"fft/c64/kind=c2c,n=4096/fill=normal/seed=0", 1},
                                                   {"fft/c64/kind=c2c,n=65536/fill=normal/seed=0", 4},
                                                   {"fft/f32-c64/kind=r2c,n=65536/fill=normal/seed=0", 2},
                                                   {"fft/c128/kind=c2c,n=65536/fill=normal/seed=0", 1},
                                                   {"fft/c64/kind=c2c,n=1048576/fill=normal/seed=0", 0}}) {
    SCOPED_TRACE(id);
    const Problem problem = Bind(id);
    const bool wide = problem.outputs[0].dtype == DType::kC128;
    const std::vector<Twin> twins = TwinsOfAllInputs(problem, wide ? "f64;alg=fft" : "f32;alg=fft");
    EXPECT_EQ(twins.size(), variants);
    if (twins.empty()) continue;
    std::vector<int> shown(static_cast<size_t>(NumElements(problem.inputs[0].shape)));
    const auto parts = static_cast<size_t>(FftArgsOf(problem).InputParts());
    for (const Twin& twin : twins) {
      const std::vector<double> x = twin.inputs[0].ToDoubles();
      for (size_t j = 0; j < shown.size(); ++j) shown[j] += x[j * parts] != 0 ? 1 : 0;
    }
    EXPECT_TRUE(std::ranges::all_of(shown, [](int times) { return times == 1; }));
  }
}

// An infinity in the case's data hides every other input of its transform; the twin has none.
TEST(FftTwin, MutantsOfCaseAndTwinHaveTheSameNames) {
  const Problem problem = Bind("fft/c64-f32/kind=c2r,n=14x14,batch=2/fill=near_one/seed=0");
  const std::vector<Twin> twins = TwinsOfAllInputs(problem, "f32;alg=fft");
  ASSERT_EQ(twins.size(), 1u);
  const std::vector<int64_t> outputs = {0, 7, 100, 300};
  const auto inputs = Op("fft").MakeInputs(problem);
  const Golden golden = Op("fft").ComputeGolden(problem, 0, inputs, Tier::kFast);
  const auto main = Op("fft").OmittedTerms(problem, 0, inputs, golden.value, outputs);
  const auto coded = Op("fft").OmittedTerms(problem, 0, twins[0].inputs, twins[0].expected, outputs);
  ASSERT_GT(main.size(), 40u);
  for (const Mutant& mutant : main) {
    EXPECT_TRUE(std::ranges::any_of(coded, [&](const Mutant& m) { return m.key == mutant.key; })) << mutant.key;
  }
}

}  // namespace
}  // namespace assay::test
