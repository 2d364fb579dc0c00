// SPDX-License-Identifier: Apache-2.0
// Golden softmax. Fast: double with an exponential below 1 ulp (portable_math.h). Reproducible: double-double.
// sigma: the rounding of x_j - m, the row's shared errors (its differences, exponentials and their sum), own
// exponential and division. The shared part is the same number for the whole row: m_eff = 1 for row groups.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "golden/big_buffer.h"
#include "golden/dd/dd.h"
#include "golden/sums/panel_sums.h"
#include "harness/core/base/float_environment.h"
#include "harness/core/base/multiversion.h"
#include "harness/core/base/parallel.h"
#include "harness/core/data/fill/portable_math.h"
#include "harness/core/data/infinity.h"
#include "ops/formula_operator/reach.h"
#include "ops/softmax/softmax.h"
#include "ops/softmax/softmax_rows.h"

namespace assay {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kLowest = -700;          // of the double-double exponential
constexpr double kExpVariance = 4.0 / 3;  // of an error uniform within 1 ulp = 2 u

// A stretch of a row, x to y with what its errors need: fast rows are worked on in several, others are a single one.
struct RowWork {
  explicit RowWork(int64_t n) : x(n), distance(n), e(n), y(n), y_lo(n), error(n), size(n), sigma(n) {}
  void Resize(int64_t n) {
    for (auto* array : {&x, &distance, &e, &y, &y_lo, &error, &size, &sigma}) array->resize(static_cast<size_t>(n));
  }
  std::vector<double> x, distance, e, y, y_lo, error, size, sigma;  // distance = m - x_j >= 0
};

// -inf has weight zero and no distance worth an error.
ASSAY_MULTIVERSION void Exponentials(const double* __restrict x, double max, double* __restrict distance,
                                     double* __restrict e, int64_t n) {
  const double largest = std::numeric_limits<double>::max();
  for (int64_t i = 0; i < n; ++i) {
    const double d = max - x[i], finite = d < largest ? d : largest;
    distance[i] = x[i] == -kInfinity ? 0 : finite;
    e[i] = -d;
  }
  internal::ExpKernels(e, e, n);
  for (int64_t i = 0; i < n; ++i) e[i] = x[i] == -kInfinity ? 0 : e[i];
}

// Where the row's largest term is, as long as the stretch has one.
size_t FindLargest(const RowWork& stretch) {
  size_t i = 0;
  while (i < stretch.e.size() && (stretch.distance[i] > 0 || stretch.e[i] == 0)) ++i;
  return i;
}

// Sums of a row's exponentials, which are independent; running sums as in panel_sums.h. Sums of panels are joined in
// double-double, so that no more than a panel's additions round.
class RowSums {
 public:
  explicit RowSums(int64_t terms) : terms_(terms) {}

  // The next stretch, of whole panels unless it is the last one.
  void Add(RowWork& stretch) {
    const size_t at = has_largest_ ? stretch.e.size() : FindLargest(stretch);
    const bool has = at < stretch.e.size();
    const double largest = has ? std::exchange(stretch.e[at], 0.0) : 0;
    panels_.resize((stretch.e.size() + kSigmaPanel - 1) / kSigmaPanel);
    SumPanels(stretch.e, stretch.distance, kExpVariance, panels_.data(), sums_);
    if (has) stretch.e[at] = largest, sums_.squares += kExpVariance;
    for (size_t p = 0; p < panels_.size(); ++p) {
      has_largest_ = has_largest_ || (has && at < (p + 1) * kSigmaPanel);
      rest_ = rest_ + panels_[p];
      added_ += kSigmaPanel;
      if (added_ < terms_) sampler_.End(rest_.hi + (has_largest_ ? 1 : 0));
    }
  }

  // The sum of all exponentials but the largest one, which is 1 exactly: the logarithm of 1 + rest keeps its digits
  // where the rest is small.
  double rest() const { return rest_.hi; }
  double total() const { return 1 + rest_.hi; }
  double share() const { return rest() / total(); }
  double spread() const { return sums_.weighted / total(); }  // sum e (m - x) / sum e
  // Relative variance of the row's shared error, in u^2.
  double Variance() const {
    const double sigma = sampler_.Sigma(total(), total(), terms_);
    return (sigma * sigma + sums_.squares) / (total() * total());
  }

 private:
  int64_t terms_, added_ = 0;
  bool has_largest_ = false;
  DD rest_;
  SquaredSums sums_;
  PanelSampler sampler_;
  std::vector<double> panels_;
};

// In u = 2^-53: differences; of the rest's share 2 for each exp, the 64 additions of a panel and one to double. The own
// difference and exponential, the addition of 1 and the division come on top. In quarters, since sums of the largest
// numbers would overflow.
constexpr double kQuarterUnit = 0x1p-51 * (1 + 0x1p-20);

ASSAY_MULTIVERSION void Quotients(double total, double shared, const double* __restrict e,
                                  const double* __restrict distance, double* __restrict y, double* __restrict error,
                                  int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    y[i] = e[i] / total;
    const double units = y[i] * (shared / 4 + distance[i] / 4 + 1);
    const bool gone = e[i] == 0 && distance[i] == 0;  // x is -inf: the weight 0 is exact
    error[i] = gone ? 0 : (y[i] == 0 ? 0 : units * kQuarterUnit) + 0x1p-1073;
  }
}

ASSAY_MULTIVERSION void Logarithms(double max, double log_total, double shared, const double* __restrict x,
                                   const double* __restrict distance, double* __restrict y, double* __restrict error,
                                   int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    y[i] = x[i] - max - log_total;
    const double units = distance[i] / 4 + shared / 4 + log_total / 2 + std::abs(y[i]) / 4;
    error[i] = units * kQuarterUnit + 0x1p-1073;
  }
}

void FastStretch(bool log, double max, const RowSums& row, RowWork& w) {
  const double shared = row.spread() + row.share() * (3 + static_cast<double>(kSigmaPanel));
  const int64_t n = std::ssize(w.x);
  log ? Logarithms(max, std::log1p(row.rest()), shared, w.x.data(), w.distance.data(), w.y.data(), w.error.data(), n)
      : Quotients(row.total(), shared, w.e.data(), w.distance.data(), w.y.data(), w.error.data(), n);
}

void ReproducibleRow(bool log, double max, const RowSums& sums, RowWork& row) {
  const auto n = static_cast<double>(row.x.size());
  std::vector<DD> e(row.x.size());
  const size_t largest = FindLargest(row);
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
    const double size = log ? sums.share() + log_total.hi + std::abs(row.y[i]) * 0x1p-8 : row.y[i];
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

class Builder {
 public:
  Builder(const Problem& problem, const Tensor& x, Tier tier)
      : op_(problem),
        tier_(tier),
        stretch_(tier == Tier::kFast ? std::min(op_.terms, kSoftmaxStretch) : op_.terms),
        masked_(static_cast<size_t>(op_.rows)) {
    KeepInputs({&x, 1}, golden_);
    const bool wide = SizeOf(problem.outputs[0].dtype) == 8;
    golden_.shape = problem.outputs[0].shape;
    golden_.tier = tier;
    ResizeValues(x.size(), golden_.value);
    if (tier == Tier::kReproducible) golden_.value_lo.resize(golden_.value.size());
    for (Plane* plane : {&golden_.magnitude, &golden_.sigma, &golden_.error}) {
      *plane = Plane::Unset(x.size(), wide);
    }
  }

  Golden Run() {
    ParallelFor(op_.rows, std::max<int64_t>(1, 4096 / op_.terms), [&](int64_t begin, int64_t end) {
      RowWork work(stretch_);
      for (int64_t row = begin; row < end; ++row) AddRow(row, work);
    });
    if (std::ranges::find(masked_, 1) != masked_.end()) AddMasked();
    return std::move(golden_);
  }

 private:
  void AddRow(int64_t row, RowWork& work) {
    const double max = Maximum(row, work);
    if (!std::isfinite(max)) {
      for (int64_t k = 0; k < op_.terms; ++k) StoreNaN(op_.Offset(row, k));
      masked_[static_cast<size_t>(row)] = max == -kInfinity ? 1 : 0;
      return;
    }
    RowSums sums(op_.terms);
    const auto weigh = [&](int64_t at) {
      if (stretch_ < op_.terms) Read(row, at, work);
      Exponentials(work.x.data(), max, work.distance.data(), work.e.data(), std::ssize(work.x));
    };
    for (int64_t at = 0; at < op_.terms; at += stretch_) {
      weigh(at);
      sums.Add(work);
    }
    for (int64_t at = 0; at < op_.terms; at += stretch_) {
      if (stretch_ < op_.terms) weigh(at);
      tier_ == Tier::kFast ? FastStretch(op_.log, max, sums, work) : ReproducibleRow(op_.log, max, sums, work);
      MeasureDeviations(op_.log, work.y.data(), work.distance.data(), sums.Variance(), work.size.data(),
                        work.sigma.data(), work.error.data(), std::ssize(work.y));
      Store(op_.Offset(row, at), work);
    }
  }

  // NaN where a NaN or +inf makes it undefined, -inf where all are.
  double Maximum(int64_t row, RowWork& work) const {
    double max = -kInfinity;
    for (int64_t at = 0; at < op_.terms; at += stretch_) {
      Read(row, at, work);
      const double largest = LargestTerm(work.x);
      if (std::isnan(largest)) return largest;
      max = std::max(max, largest);
    }
    return max;
  }

  void Read(int64_t row, int64_t at, RowWork& work) const {
    work.Resize(std::min(stretch_, op_.terms - at));
    ReadSoftmaxRow(op_, golden_.extra[0].second, op_.Offset(row, at), work.x);
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

  void Store(int64_t first, const RowWork& work) {
    const int64_t count = std::ssize(work.y);
    for (int64_t k = 0; k < count; ++k) {
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
    for (int64_t k = 0; k < count; ++k) {
      const int64_t i = first + k * op_.inner;
      golden_.magnitude.SetUp(i, work.size[k]);
      golden_.error.SetUp(i, work.error[k]);
      golden_.sigma.Set(i, work.sigma[k]);
    }
  }

  const SoftmaxArgs op_;
  const Tier tier_;
  const int64_t stretch_;  // terms
  Golden golden_;
  std::vector<char> masked_;  // by row: nothing but -inf
};

}  // namespace

void ReadSoftmaxRow(const SoftmaxArgs& op, const Plane& plane, int64_t first, std::span<double> row) {
  if (op.inner == 1) return plane.Read(first, row);
  for (size_t k = 0; k < row.size(); ++k) row[k] = plane[first + static_cast<int64_t>(k) * op.inner];
}

Golden SoftmaxGolden(const Problem& problem, const Tensor& x, Tier tier) {
  RequireFloatEnvironment("golden softmax");
  return Builder(problem, x, tier).Run();
}

}  // namespace assay
