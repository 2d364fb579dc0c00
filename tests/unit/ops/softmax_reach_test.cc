// SPDX-License-Identifier: Apache-2.0
// The reach of softmax written out against the formula's propagation.
#include "ops/softmax/softmax_reach.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include "ops/formula_operator/reach.h"
#include "ops/softmax/softmax.h"
#include "tests/support/operator_cases.h"

namespace assay::test {
namespace {

struct WrittenOut {
  bool applies = false, computes = false;
  std::vector<double> reach;
};

WrittenOut WriteOut(const Problem& problem, const Contract& contract, const std::vector<double>& row) {
  WrittenOut out{.reach = std::vector<double>(row.size())};
  auto reach = SoftmaxRowReach::For(RulesFor(problem, 0, contract, false), std::ssize(row));
  if (!reach) return out;
  out.applies = true;
  std::vector<double> distance;
  const double most = std::ranges::max(row);
  for (const double x : row) distance.push_back(most - x);
  std::vector<double> y;
  for (const double d : distance) y.push_back(std::exp(-d));
  const double sum = std::accumulate(y.begin(), y.end(), 0.0);
  for (double& e : y) e /= sum;
  reach->Begin();
  const std::span<const double> distances = distance, values = y;
  for (size_t at = 0; at < y.size(); at += 700) {
    const size_t count = std::min<size_t>(700, y.size() - at);
    reach->Add(distances.subspan(at, count), values.subspan(at, count));
  }
  out.computes = reach->Finish(y);
  if (out.computes) reach->Read(distance, y, out.reach);
  return out;
}

std::vector<double> RowOf(const Problem& problem) {
  return Op("softmax").MakeInputs(problem)[0].ToDoubles();
}

TEST(SoftmaxRowReach, IsThatOfTheFormula) {
  for (const char* declared : {"acc=f32", "acc=f32;math=4", "acc=f32;math=256", "acc=f64;math=2"}) {
    const Contract contract = Declared(declared);
    for (const char* fill : {"normal", "uniform"}) {
      for (const int64_t terms : {2, 3, 32, 1000, 30000}) {
        const Problem problem = Bind(fmt::format("softmax/f32/shape=1x{}/fill={}/seed={}", terms, fill, terms));
        const std::vector<double> row = RowOf(problem);
        const WrittenOut written = WriteOut(problem, contract, row);
        ASSERT_TRUE(written.computes) << declared << " " << fill << " " << terms;
        for (int64_t k = 0; k < terms; k += std::max<int64_t>(1, terms / 3)) {
          const double expected = SoftmaxReach(problem, contract, row, k),
                       reach = written.reach[static_cast<size_t>(k)];
          EXPECT_NEAR(reach / expected, 1, 1e-9) << declared << " " << fill << " " << terms << " " << k;
        }
      }
    }
  }
}

TEST(SoftmaxRowReach, LeavesOtherArithmeticsToTheFormula) {
  const Problem problem = Bind("softmax/f32/shape=1x32/fill=normal/seed=0");
  for (const char* declared : {"acc=f32;in=tf32rn", "acc=f32;mid=bf16", "acc=f32;ftz=out", "acc=f32;ftz=in"}) {
    EXPECT_FALSE(WriteOut(problem, Declared(declared), RowOf(problem)).applies) << declared;
  }
}

// exp(-100) is below the normal numbers of f32; sums of f16 may be off by more than themselves.
TEST(SoftmaxRowReach, LeavesRowsAtTheEdgesToTheFormula) {
  const Problem problem = Bind("softmax/f32/shape=1x3/fill=normal/seed=0");
  EXPECT_FALSE(WriteOut(problem, Declared("acc=f32"), {0, -100, -1}).computes);
  EXPECT_TRUE(WriteOut(problem, Declared("acc=f64"), {0, -100, -1}).computes);
  EXPECT_FALSE(WriteOut(problem, Declared("acc=f16"), std::vector<double>(20000, 1)).computes);
}

}  // namespace
}  // namespace assay::test
