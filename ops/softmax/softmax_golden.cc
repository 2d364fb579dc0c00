// SPDX-License-Identifier: Apache-2.0
// Golden softmax. Fast: double with an exponential below 1 ulp (portable_math.h). Reproducible: double-double.
// sigma: the rounding of x_j - m, the row's shared errors (its differences, exponentials and their sum), own
// exponential and division. The shared part is the same number for the whole row: m_eff = 1 for row groups.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "golden/dd/dd.h"
#include "golden/sums/panel_sums.h"
#include "harness/base/float_environment.h"
#include "harness/base/multiversion.h"
#include "harness/base/parallel.h"
#include "harness/data/fill/portable_math.h"
#include "harness/data/infinity.h"
#include "ops/formula_reach.h"
#include "ops/softmax/softmax.h"

namespace assay {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kLowest = -700;          // of the double-double exponential
constexpr double kExpVariance = 4.0 / 3;  // of an error uniform within 1 ulp = 2 u

// One row: x to y, with what its errors need.
struct RowWork {
  explicit RowWork(int64_t n) : x(n), distance(n), e(n), y(n), y_lo(n), error(n), size(n), sigma(n) {}
  std::vector<double> x, distance, e, y, y_lo, error, size, sigma;  // distance = m - x_j >= 0
  // variance: the row's shared part, in u^2, relative. rest: the sum of all exponentials but the largest one, which is
  // 1 exactly: so the logarithm of 1 + rest keeps its digits where the rest is small.
  double spread = 0, variance = 0, rest = 0;
  double Share() const { return rest / (1 + rest); }
};

ASSAY_MULTIVERSION void Exponentials(const double* x, double max, double* distance, double* e, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    distance[i] = max - x[i];
    e[i] = -distance[i];
  }
  internal::ExpKernels(e, e, n);
}

// -inf has weight zero and no distance worth an error.
void DropInfinite(RowWork& row) {
  for (size_t i = 0; i < row.x.size(); ++i) {
    if (row.x[i] == -kInfinity) row.e[i] = row.distance[i] = 0;
    row.distance[i] = std::min(row.distance[i], std::numeric_limits<double>::max());
  }
}

size_t LargestTerm(const RowWork& row) {
  size_t i = 0;
  while (row.distance[i] > 0 || row.e[i] == 0) ++i;
  return i;
}

// rest, sum e |x - m| and the shared variance: exponentials are independent, running sums as in panel_sums.h. Returns
// sum e. Sums of panels are joined in double-double, so that no more than a panel's additions round.
double SumRow(RowWork& row) {
  DD rest;
  double panel = 0, weighted = 0, squares = 0;
  PanelSampler sampler;
  const size_t largest = LargestTerm(row), n = row.e.size();
  for (size_t i = 0; i < n; ++i) {
    if (i != largest) panel += row.e[i];
    if (row.e[i] > 0) weighted += row.e[i] * row.distance[i];
    squares += row.e[i] * row.e[i] * (kExpVariance + row.distance[i] * row.distance[i]);
    if ((i + 1) % kSigmaPanel != 0 && i + 1 < n) continue;
    rest = rest + std::exchange(panel, 0.0);
    if (i + 1 < n) sampler.End(rest.hi + (largest <= i ? 1 : 0));
  }
  row.rest = rest.hi;
  const double total = 1 + row.rest;
  row.spread = weighted / total;
  const double sigma = sampler.Sigma(total, total, std::ssize(row.e));
  row.variance = (sigma * sigma + squares) / (total * total);
  return total;
}

void FastRow(bool log, double max, RowWork& row) {
  const double total = SumRow(row), log_total = std::log1p(row.rest);
  // In u = 2^-53: differences; of the rest's share 2 for each exp, the 64 additions of a panel and one to double. The
  // own difference and exponential, the addition of 1 and the division come on top.
  const double shared = row.spread + row.Share() * (3 + static_cast<double>(kSigmaPanel));
  for (size_t i = 0; i < row.x.size(); ++i) {
    const double y = log ? row.x[i] - max - log_total : row.e[i] / total;
    // In quarters, since sums of the largest numbers would overflow.
    const double distance = row.distance[i] / 4, quarter = shared / 4;
    const double units = log ? distance + quarter + log_total / 2 + std::abs(y) / 4 : y * (quarter + distance + 1);
    row.y[i] = y;
    row.error[i] = (y == 0 && !log ? 0 : units * 0x1p-51 * (1 + 0x1p-20)) + 0x1p-1073;
  }
}

void ReproducibleRow(bool log, double max, RowWork& row) {
  SumRow(row);
  const auto n = static_cast<double>(row.x.size());
  std::vector<DD> e(row.x.size());
  const size_t largest = LargestTerm(row);
  DD rest;
  for (size_t i = 0; i < e.size(); ++i) {
    const DD d = TwoSum(row.x[i], -max);
    if (d.hi > kLowest) {
      e[i] = Exp(d);
    } else if (d.hi > 2 * kLowest) {  // below double's normal range: a plain number
      const DD root = Exp(Scale(d, 0.5));
      e[i] = {root.hi * root.hi + 2 * root.hi * root.lo, 0};
    }
    if (i != largest) rest = rest + e[i];
  }
  const DD total = rest + 1.0, log_total = Log1p(rest);
  for (size_t i = 0; i < e.size(); ++i) {
    const bool gone = row.x[i] == -kInfinity;
    const double plain = row.x[i] - max;
    const DD of_log = plain == -kInfinity ? DD{plain, 0} : TwoSum(row.x[i], -max) - log_total;
    const DD y = log ? of_log : e[i] / total;
    row.y[i] = y.hi;
    row.y_lo[i] = gone || !std::isfinite(y.hi) ? 0 : y.lo;
    const double size = log ? row.Share() + log_total.hi + std::abs(row.y[i]) * 0x1p-8 : row.y[i];
    const bool tiny = !log && !gone && row.distance[i] >= -kLowest;
    row.error[i] = gone || size == kInfinity ? 0
                                             : size * (8 * kDDFunctionError + n * 0x1p-103) +
                                                   (tiny ? 0x1p-50 * row.y[i] * (1 + row.distance[i]) : 0) + 0x1p-1040;
  }
}

// Sizes and standard deviations of the row's results; what is not finite has neither, nor an error.
ASSAY_MULTIVERSION void MeasureDeviations(bool log, const double* __restrict y, const double* __restrict distance,
                                          double variance, double* __restrict size, double* __restrict sigma,
                                          double* __restrict error, int64_t n) {
  const double largest = std::numeric_limits<double>::max();
  for (int64_t i = 0; i < n; ++i) {
    const bool finite = std::abs(y[i]) <= largest;
    size[i] = finite ? std::abs(y[i]) : 0;
    error[i] = finite ? error[i] : 0;
    const double own = distance[i] * distance[i], square = size[i] * size[i];
    const double relative = log ? own + square : square * (own + 2 * kExpVariance);
    const double deviation = std::sqrt(relative + (log ? 1 : square) * variance);
    sigma[i] = finite && deviation <= largest ? deviation : 0;
  }
}

// The row's maximum; NaN when a NaN or +inf makes it undefined, -inf when all are.
double Maximum(const std::vector<double>& x) {
  double max = -kInfinity;
  for (double value : x) {
    if (std::isnan(value) || value == kInfinity) return kNaN;
    max = std::max(max, value);
  }
  return max;
}

class Builder {
 public:
  Builder(const Problem& problem, const Tensor& x, Tier tier)
      : op_(problem), tier_(tier), masked_(static_cast<size_t>(op_.rows)) {
    KeepInputs({&x, 1}, golden_);
    const bool wide = SizeOf(problem.output().dtype) == 8;
    golden_.shape = problem.output().shape;
    golden_.tier = tier;
    golden_.value.resize(static_cast<size_t>(x.size()));
    if (tier == Tier::kReproducible) golden_.value_lo.resize(golden_.value.size());
    for (Plane* plane : {&golden_.magnitude, &golden_.sigma, &golden_.error}) {
      *plane = Plane::Unset(x.size(), wide);
    }
  }

  Golden Run() {
    ParallelFor(op_.rows, std::max<int64_t>(1, 4096 / op_.terms), [&](int64_t begin, int64_t end) {
      RowWork work(op_.terms);
      for (int64_t row = begin; row < end; ++row) Row(row, work);
    });
    if (std::ranges::find(masked_, 1) != masked_.end()) AddMasked();
    return std::move(golden_);
  }

 private:
  void Row(int64_t row, RowWork& work) {
    const Plane& x = golden_.extra[0].second;
    for (int64_t k = 0; k < op_.terms; ++k) work.x[k] = x[op_.Offset(row, k)];
    const double max = Maximum(work.x);
    if (!std::isfinite(max)) {
      for (int64_t k = 0; k < op_.terms; ++k) StoreNaN(op_.Offset(row, k));
      masked_[static_cast<size_t>(row)] = max == -kInfinity ? 1 : 0;
      return;
    }
    Exponentials(work.x.data(), max, work.distance.data(), work.e.data(), op_.terms);
    DropInfinite(work);
    tier_ == Tier::kFast ? FastRow(op_.log, max, work) : ReproducibleRow(op_.log, max, work);
    MeasureDeviations(op_.log, work.y.data(), work.distance.data(), work.variance, work.size.data(), work.sigma.data(),
                      work.error.data(), op_.terms);
    Store(row, work);
  }

  void AddMasked() {
    Plane& plane = golden_.AddExtra("masked", false);
    for (int64_t row = 0; row < op_.rows; ++row) {
      for (int64_t k = 0; k < op_.terms; ++k) plane.Set(op_.Offset(row, k), masked_[static_cast<size_t>(row)]);
    }
  }

  void StoreNaN(int64_t i) {
    golden_.value[i] = kNaN;
    for (Plane* plane : {&golden_.magnitude, &golden_.sigma, &golden_.error}) plane->Set(i, 0);
  }

  void Store(int64_t row, const RowWork& work) {
    const int64_t first = op_.Offset(row, 0);
    for (int64_t k = 0; k < op_.terms; ++k) {
      const auto i = static_cast<size_t>(first + k * op_.inner);
      golden_.value[i] = work.y[k];
      if (!golden_.value_lo.empty()) golden_.value_lo[i] = work.y_lo[k];
    }
    if (op_.inner == 1) {
      golden_.magnitude.SetRowUp(first, work.size);
      golden_.error.SetRowUp(first, work.error);
      golden_.sigma.SetRow(first, work.sigma);
      return;
    }
    for (int64_t k = 0; k < op_.terms; ++k) {
      const int64_t i = first + k * op_.inner;
      golden_.magnitude.SetUp(i, work.size[k]);
      golden_.error.SetUp(i, work.error[k]);
      golden_.sigma.Set(i, work.sigma[k]);
    }
  }

  const SoftmaxCase op_;
  const Tier tier_;
  Golden golden_;
  std::vector<char> masked_;  // by row: nothing but -inf
};

}  // namespace

Golden SoftmaxGolden(const Problem& problem, const Tensor& x, Tier tier) {
  RequireFloatEnvironment("golden softmax");
  return Builder(problem, x, tier).Run();
}

}  // namespace assay
