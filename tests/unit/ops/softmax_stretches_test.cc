// SPDX-License-Identifier: Apache-2.0
// Rows of softmax that are worked on in several stretches.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "ops/binding.h"
#include "ops/exp_error.h"
#include "ops/softmax/softmax.h"
#include "ops/softmax/softmax_rows.h"
#include "tests/support/operator_cases.h"
#include "tests/unit/special_values.h"

namespace assay::test {
namespace {

constexpr int64_t kRows = 2;

// Both layouts of rows of `terms` numbers: contiguous, or with their terms `kRows` apart.
Problem BindRows(int64_t terms, bool contiguous, bool log) {
  const std::string shape = contiguous ? fmt::format("{}x{}", kRows, terms) : fmt::format("{}x{}", terms, kRows);
  return Bind(fmt::format("softmax/f32/shape={},axis={},log={}/fill=normal/seed={}", shape, contiguous ? 1 : 0,
                          log ? 1 : 0, terms));
}

Golden ComputeRows(const Problem& problem, const Tensor& x, Tier tier) {
  return SoftmaxGolden(problem, x, tier);
}

constexpr int64_t kTerms[] = {1, 2, 2047, kSoftmaxStretch, 2049, 4097, 5000};

// Whole rows in double-double are the reference of stretches in double.
TEST(SoftmaxStretches, HaveTheValuesAndDeviationsOfWholeRows) {
  for (const int64_t terms : kTerms) {
    for (const bool contiguous : {true, false}) {
      for (const bool log : {false, true}) {
        const Problem problem = BindRows(terms, contiguous, log);
        const Tensor x = std::move(Op("softmax").MakeInputs(problem)[0]);
        const Golden fast = ComputeRows(problem, x, Tier::kFast), whole = ComputeRows(problem, x, Tier::kReproducible);
        for (int64_t i = 0; i < fast.size(); ++i) {
          const auto k = static_cast<size_t>(i);
          const double off = std::fabs((fast.value[k] - whole.value[k]) - whole.value_lo[k]);
          ASSERT_LE(off, fast.error[i] + whole.error[i]) << problem.spec.Id() << " " << i;
          ASSERT_NEAR(fast.sigma[i], whole.sigma[i], 1e-6 * whole.sigma[i]) << problem.spec.Id() << " " << i;
        }
      }
    }
  }
}

// One special number in the first, the second and the last stretch.
TEST(SoftmaxStretches, FindSpecialNumbersAnywhere) {
  constexpr int64_t kLong = 5000;
  for (const int64_t at : {0, 2048, 4999}) {
    for (const double special : {kNaN, kInf, -kInf, 50.0}) {
      for (const bool contiguous : {true, false}) {
        const Problem problem = BindRows(kLong, contiguous, false);
        const SoftmaxArgs op(problem);
        Tensor x = std::move(Op("softmax").MakeInputs(problem)[0]);
        x.As<float>()[static_cast<size_t>(op.Offset(1, at))] = static_cast<float>(special);
        const Golden golden = ComputeRows(problem, x, Tier::kFast);
        const BoundModel bound = SoftmaxBound(problem, golden, Declared("acc=f32;masked=nan"));
        const double there = golden.value[static_cast<size_t>(op.Offset(1, at))];
        const double other = golden.value[static_cast<size_t>(op.Offset(1, at == 7 ? 8 : 7))];
        if (special == -kInf) {
          EXPECT_EQ(there, 0);
          EXPECT_GT(other, 0);
        } else if (special == 50) {
          EXPECT_NEAR(there, 1, 1e-15);
        } else {
          EXPECT_TRUE(std::isnan(there) && std::isnan(other));
        }
        EXPECT_TRUE(std::isfinite(golden.value[static_cast<size_t>(op.Offset(0, at))]));
        EXPECT_EQ(bound.terms.size(), 1U);
      }
    }
  }
}

TEST(SoftmaxStretches, MayBeginWithNothingButMinusInfinity) {
  const Problem problem = BindRows(5000, true, false);
  Tensor x = std::move(Op("softmax").MakeInputs(problem)[0]);
  std::fill_n(x.As<float>().begin(), 3000, -std::numeric_limits<float>::infinity());
  const Golden golden = ComputeRows(problem, x, Tier::kFast);
  EXPECT_EQ(golden.value[2999], 0);
  double sum = 0;
  for (int64_t k = 0; k < 5000; ++k) sum += golden.value[static_cast<size_t>(k)];
  EXPECT_NEAR(sum, 1, 1e-12);
}

// The reach of the formula, and the base-2 exponential's (InCommon in softmax_bound.cc): half a unit roundoff of the
// mean distance and of the element's own.
TEST(SoftmaxStretches, HaveTheBoundOfTheFormula) {
  const Contract contract = Declared("acc=f32");
  const double u = OperationErrors(contract).u;
  for (const int64_t terms : {2049, 5000}) {
    for (const bool contiguous : {true, false}) {
      const Problem problem = BindRows(terms, contiguous, false);
      const SoftmaxArgs op(problem);
      const Tensor x = std::move(Op("softmax").MakeInputs(problem)[0]);
      const Golden golden = ComputeRows(problem, x, Tier::kFast);
      const BoundModel bound = SoftmaxBound(problem, golden, contract);
      std::vector<double> row;
      for (int64_t k = 0; k < terms; ++k) row.push_back(ValueAt(x, op.Offset(1, k)));
      const double max = std::ranges::max(row);
      double spread = 0;
      for (int64_t k = 0; k < terms; ++k) {
        spread += golden.value[static_cast<size_t>(op.Offset(1, k))] * (max - row[static_cast<size_t>(k)]);
      }
      for (const int64_t k : {int64_t{0}, int64_t{2047}, int64_t{2048}, terms - 1}) {
        const int64_t i = op.Offset(1, k);
        const double y = golden.value[static_cast<size_t>(i)], distance = max - row[static_cast<size_t>(k)];
        const double expected = SoftmaxReach(problem, contract, row, k) + 0.5 * u * y * (spread + distance);
        EXPECT_NEAR((*bound.terms[0].plane)[i] / expected, 1, 2e-6) << problem.spec.Id() << " " << k;
      }
    }
  }
}

}  // namespace
}  // namespace assay::test
