// SPDX-License-Identifier: Apache-2.0
// Norms in f32 that lean: a wrong epsilon moves all rows to one side, by less than the roundings of a long sum may move
// each of them. Legal kernels, with functions as bad as declared and biased either way, do not lean.
#include "harness/judge/statistic/row_lean.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>
#include <random>

#include "harness/judge/statistic/row_factors.h"
#include "tests/support/full.h"
#include "tests/unit/judge/statistic/statistic_case.h"

namespace assay::test {
namespace {

enum class NormOrder : uint8_t { kSequential, kReversed, kFused, kLanes, kBlocks, kPairwise, kUpdated };
constexpr NormOrder kNormOrders[] = {NormOrder::kSequential, NormOrder::kReversed, NormOrder::kFused,
                                     NormOrder::kLanes,      NormOrder::kBlocks,   NormOrder::kPairwise,
                                     NormOrder::kUpdated};

float SumInLanes(const std::vector<float>& terms, size_t lanes) {
  std::vector<float> parts(lanes);
  for (size_t i = 0; i < terms.size(); ++i) parts[i % lanes] += terms[i];
  return std::accumulate(parts.begin(), parts.end(), 0.0F);
}

float SumTerms(std::vector<float> terms, NormOrder order) {
  if (order == NormOrder::kReversed) return std::accumulate(terms.rbegin(), terms.rend(), 0.0F);
  if (order == NormOrder::kLanes) return SumInLanes(terms, 8);
  if (order == NormOrder::kBlocks) return SumInLanes(terms, std::max<size_t>(1, terms.size() / 32));
  if (order == NormOrder::kPairwise) {
    for (size_t n = terms.size(); n > 1; n = (n + 1) / 2) {
      for (size_t i = 0; i < n / 2; ++i) terms[i] = terms[2 * i] + terms[2 * i + 1];
      if (n % 2 == 1) terms[n / 2] = terms[n - 1];
    }
    return terms[0];
  }
  return std::accumulate(terms.begin(), terms.end(), 0.0F);
}

float SumOfSquares(const std::vector<float>& x, NormOrder order) {
  if (order == NormOrder::kFused) {
    float sum = 0;
    for (const float v : x) sum = std::fma(v, v, sum);
    return sum;
  }
  std::vector<float> squares;
  for (const float v : x) squares.push_back(v * v);
  return SumTerms(std::move(squares), order);
}

// A kernel, legal unless `epsilon`, `lost` or `divisor` say otherwise.
struct NormKernel {
  NormOrder order = NormOrder::kSequential;
  int root_ulp = 0;         // by which each inverse root is off, in the same direction
  bool reciprocal = false;  // means are products with 1 / n
  double epsilon = 1e-5;
  size_t lost = 0;  // terms of each mean square
  int divisor = 0;  // more than n
};

float MoveBy(float x, int ulp) {
  for (; ulp > 0; --ulp) x = std::nextafter(x, INFINITY);
  for (; ulp < 0; ++ulp) x = std::nextafter(x, 0.0F);
  return x;
}

float MeanOfRow(float sum, size_t n, const NormKernel& kernel) {
  const auto by = static_cast<float>(static_cast<int>(n) + kernel.divisor);
  return kernel.reciprocal ? sum * (1 / by) : sum / by;
}

float ScaleOf(float mean_square, const NormKernel& kernel) {
  const float root = std::sqrt(mean_square + static_cast<float>(kernel.epsilon));
  return MoveBy(1 / root, kernel.root_ulp);
}

std::vector<float> RmsNormRow(const std::vector<float>& x, const NormKernel& kernel) {
  const std::vector<float> summed(x.begin(), x.end() - static_cast<std::ptrdiff_t>(kernel.lost));
  const float scale = ScaleOf(MeanOfRow(SumOfSquares(summed, kernel.order), x.size(), kernel), kernel);
  std::vector<float> y;
  for (const float v : x) y.push_back(v * scale);
  return y;
}

std::vector<float> LayerNormRow(const std::vector<float>& x, const NormKernel& kernel) {
  float mean = 0, squares = 0;
  std::vector<float> y = x;
  if (kernel.order == NormOrder::kUpdated) {
    for (size_t i = 0; i < x.size(); ++i) {
      const float before = x[i] - mean;
      mean += before / static_cast<float>(i + 1);
      squares += before * (x[i] - mean);
    }
    for (float& v : y) v -= mean;
  } else {
    mean = MeanOfRow(SumTerms(x, kernel.order), x.size(), {.reciprocal = kernel.reciprocal});
    for (float& v : y) v -= mean;
    squares = SumOfSquares(y, kernel.order);
  }
  const float scale = ScaleOf(MeanOfRow(squares, x.size(), kernel), kernel);
  for (float& v : y) v *= scale;
  return y;
}

// A norm without weights, on data that are drawn row by row.
class NormCase {
 public:
  using Draw = std::function<double(std::mt19937_64&, double row)>;  // `row`: a normal number of the row

  NormCase(const char* op, const char* type, int rows, int n, const Draw& draw, const char* contract = "acc=f32;math=4")
      : case_(fmt::format("{}/{}/rows={},n={},eps=1e-05/fill=normal/seed=0", op, type, rows, n), contract),
        n_(static_cast<size_t>(n)) {
    std::mt19937_64 random(11);
    std::vector<double> x;
    for (int row = 0; row < rows; ++row) {
      const double of_row = std::normal_distribution<double>()(random);
      for (int i = 0; i < n; ++i) x.push_back(static_cast<double>(static_cast<float>(draw(random, of_row))));
    }
    case_.inputs[0].SetDoubles(x);
    for (size_t k = 1; k < case_.inputs.size(); ++k) {
      case_.inputs[k].SetDoubles(std::vector<double>(n_, k == 1 ? 1 : 0));
    }
    case_.golden = case_.op.ComputeGolden(case_.problem, 0, case_.inputs, Tier::kFast);
    case_.bound = case_.op.Bound(case_.problem, 0, case_.golden, case_.contract);
  }

  std::vector<double> Compute(const NormKernel& kernel) const {
    const std::vector<double> x = case_.inputs[0].ToDoubles();
    std::vector<double> y;
    for (size_t row = 0; row < x.size(); row += n_) {
      const std::vector<float> of_row(x.begin() + static_cast<std::ptrdiff_t>(row),
                                      x.begin() + static_cast<std::ptrdiff_t>(row + n_));
      const std::vector<float> got =
          case_.problem.spec.op == "rms_norm" ? RmsNormRow(of_row, kernel) : LayerNormRow(of_row, kernel);
      y.insert(y.end(), got.begin(), got.end());
    }
    return y;
  }
  std::optional<RowLean> Find(const NormKernel& kernel) const {
    const ElementJudge judge(case_.golden, case_.bound, case_.contract, DType::kF32);
    return FindRowLean(case_.op, case_.problem, 0, case_.inputs, judge, case_.contract, case_.Output(Compute(kernel)));
  }
  ErrorMetrics Judge(const NormKernel& kernel) const { return case_.Judge(Compute(kernel)); }

 private:
  StatisticCase case_;
  size_t n_;
};

double DrawNormal(std::mt19937_64& random, double) {
  return std::normal_distribution<double>()(random);
}

struct Data {
  const char* name;
  NormCase::Draw draw;
};

const Data kData[] = {
    {"normal", DrawNormal},
    {"from 0 to 1", [](auto& random, double) { return std::uniform_real_distribution<double>()(random); }},
    {"from 1 to 2", [](auto& random, double) { return 1 + std::uniform_real_distribution<double>()(random); }},
    {"lognormal", [](auto& random, double row) { return std::exp(DrawNormal(random, row)); }},
    {"scales of rows", [](auto& random, double row) { return std::exp(row) * DrawNormal(random, row); }},
    {"a mean of 100 deviations", [](auto& random, double row) { return 100 + DrawNormal(random, row); }},
    {"a mean of 3,000 deviations", [](auto& random, double row) { return 3000 + DrawNormal(random, row); }},
    {"constant rows", [](auto&, double row) { return row; }},
    {"signs alone", [](auto& random, double row) { return DrawNormal(random, row) > 0 ? row : -row; }},
    {"integers", [](auto& random, double row) { return std::round(9 * DrawNormal(random, row)); }},
    {"steps of 1/4096", [](auto& random, double row) { return std::round(4096 * DrawNormal(random, row)) / 4096; }},
    {"bf16", [](auto& random, double row) { return RoundTo(FormatOf(DType::kBF16), DrawNormal(random, row)); }},
};

void ExpectQuiet(const NormCase& norm, const NormKernel& kernel, const std::string& what) {
  const auto found = norm.Find(kernel);
  EXPECT_FALSE(found) << what << " order " << static_cast<int>(kernel.order) << " root " << kernel.root_ulp << ": "
                      << found->Text();
}

TEST(RowLean, OfLegalNormsIsNone) {
  uint64_t turn = 0;
  for (const char* op : {"rms_norm", "layer_norm"}) {
    for (const auto& [rows, n] : {std::pair(300, 3), {100, 100}, {40, 4096}}) {
      ++turn;  // else each size would leave out the same pairs of data and orders
      for (const Data& data : kData) {
        const NormCase norm(op, "f32", rows, n, data.draw);
        for (const NormOrder order : kNormOrders) {
          if (IsLeftOut(turn++, 3)) continue;
          const int ulp = order < NormOrder::kLanes ? 3 : -3;
          ExpectQuiet(norm, {.order = order, .root_ulp = ulp, .reciprocal = ulp > 0},
                      fmt::format("{} of {}, rows of {},", op, data.name, n));
        }
      }
    }
  }
}

// The epsilons that libraries have by default, one in place of the other.
TEST(RowLean, OfAnotherEpsilonIsFound) {
  uint64_t turn = 0;
  for (const auto& [op, most] : {std::pair("rms_norm", 16384), {"layer_norm", 8192}}) {
    for (const int n : {4096, most}) {
      if (!kIsFull && n == most) continue;
      const NormCase norm(op, "f32", 40, n, DrawNormal);
      for (const NormOrder order : kNormOrders) {
        if (IsLeftOut(turn++, 3)) continue;
        const NormKernel wrong{.order = order, .epsilon = 1e-6};
        const ErrorMetrics metrics = norm.Judge(wrong);
        EXPECT_TRUE(metrics.Holds()) << n << ": the bound shows it";
        const auto found = norm.Find(wrong);
        ASSERT_TRUE(found) << op << " n=" << n << " order " << static_cast<int>(order);
        EXPECT_EQ(found->rows, 40);
        EXPECT_GE(found->to_one_side, 36);
        EXPECT_NEAR(found->factor, 4.5e-6, 1.2e-6);
        EXPECT_LT(found->permitted, 4.5e-6);
        RecordProperty(fmt::format("permitted_{}_{}_{}", op, n, static_cast<int>(order)),
                       fmt::format("{:.2g}", found->permitted));
      }
    }
  }
}

TEST(RowLean, OfLostTermsAndAnotherDivisorIsFound) {
  const NormCase norm("rms_norm", "f32", 40, 16384, DrawNormal);
  for (const NormKernel& wrong : {NormKernel{.divisor = -1}, NormKernel{.divisor = 1}, NormKernel{.lost = 8}}) {
    EXPECT_TRUE(norm.Find(wrong)) << wrong.divisor << " " << wrong.lost;
  }
}

// Less than functions are granted, fewer rows than a test of signs needs, or a sum so long that one after the other
// loses as much.
TEST(RowLean, OfLessThanLegalKernelsMayLeanIsNone) {
  EXPECT_FALSE(NormCase("rms_norm", "f32", 64, 4096, DrawNormal).Find({.epsilon = 1.1e-5}));
  EXPECT_FALSE(NormCase("rms_norm", "f32", 20, 4096, DrawNormal).Find({.epsilon = 1e-6}));
  EXPECT_FALSE(NormCase("rms_norm", "f32", 24, 50000, DrawNormal).Find({.epsilon = 1e-6}));
}

TEST(RowLean, SaysHowFarTheRowsThatCountAreOff) {
  const RowExcess excess =
      MeanExcess(std::vector<double>{-4e-17, -2e-17, 1e-6, -1}, std::vector<double>{1e-17, 1e-17, 1e-17, INFINITY});
  EXPECT_DOUBLE_EQ(excess.factor, -3e-17);
  EXPECT_DOUBLE_EQ(excess.permitted, 1e-17);
  const RowLean lean{.rows = 4, .to_one_side = 2, .factor = excess.factor, .permitted = excess.permitted, .stored = ""};
  EXPECT_EQ(lean.Text(),
            "2 of 4 rows are off to the same side, by a factor of 1 - 3e-17 in the mean, and operations and sums may "
            "move them by 1e-17. Compare the kernel's epsilon, divisor and number of summed terms with the reference, "
            "or declare its functions' error with math=");
}

// 64 ulp of the inverse root are as much as the epsilon.
TEST(RowLean, OfWhatTheContractGrantsFunctionsIsNone) {
  for (const char* contract : {"acc=f32;math=64", "acc=f32;math=256"}) {
    EXPECT_FALSE(NormCase("rms_norm", "f32", 64, 4096, DrawNormal, contract).Find({.epsilon = 1e-6})) << contract;
  }
}

}  // namespace
}  // namespace assay::test
