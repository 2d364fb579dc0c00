// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/ladder/sum_order.h"

#include <algorithm>
#include <cmath>

#include "harness/judge/statistic/statistic.h"

namespace assay {
namespace {

constexpr int64_t kMostProducts = int64_t{1} << 24;
// What may remain of the squared errors.
constexpr double kMostUnexplained = 0.1;

// The products that a matmul adds.
class MatmulTerms {
 public:
  MatmulTerms(const Problem& problem, std::span<const Tensor> inputs)
      : m_(problem.Int("m")),
        n_(problem.Int("n")),
        k_(problem.Int("k")),
        transa_(problem.Int("transa") != 0),
        transb_(problem.Int("transb") != 0),
        a_(inputs[0].ToDoubles()),
        b_(inputs[1].ToDoubles()) {}

  int64_t k() const { return k_; }

  void Of(int64_t i, SumTerms& terms) const {
    terms.products.resize(static_cast<size_t>(k_));
    terms.sums.resize(static_cast<size_t>(k_) + 1);
    const int64_t batch = i / (m_ * n_), row = i / n_ % m_, column = i % n_;
    const double* a = a_.data() + batch * m_ * k_ + (transa_ ? row : row * k_);
    const double* b = b_.data() + batch * k_ * n_ + (transb_ ? column * k_ : column);
    const int64_t step_a = transa_ ? m_ : 1, step_b = transb_ ? 1 : n_;
    double sum = 0;
    for (int64_t t = 0; t < k_; ++t) {
      terms.sums[t] = sum;
      terms.products[t] = a[t * step_a] * b[t * step_b];
      sum += terms.products[t];
    }
    terms.sums[k_] = sum;
  }

 private:
  int64_t m_, n_, k_;
  bool transa_, transb_;
  std::vector<double> a_, b_;
};

// How well one order explains the elements so far.
struct Fit {
  int64_t matched = 0;
  double remaining = 0;  // sum of squares
  bool possible = true;
};

void Compare(const ElementJudge& judge, const FloatFormat& format, int64_t i, double got, const PredictedSum& p,
             Fit& fit) {
  const FloatFormat& out = FormatOf(judge.dtype());
  const double error = got - RoundTo(out, p.value), spacing = UlpAt(out, std::max(std::fabs(got), std::fabs(p.value)));
  fit.remaining += error * error;
  const double noise = kElementThreshold * judge.Sigma(i);
  // A wide output rounds within the noise; a narrow one hides it, or shows it as a whole spacing.
  if (std::fabs(error) <= noise + (out.precision > format.precision ? spacing : 0)) {
    ++fit.matched;
  } else if (!(std::fabs(error) <= noise + spacing + 2 * UlpAt(format, p.largest))) {
    fit.possible = false;
  }
}

bool IsPlainMatmul(const Problem& problem) {
  return problem.spec.op == "matmul" && problem.Float("alpha") == 1 && problem.inputs.size() == 2 &&
         IsFloat(problem.output.dtype);
}

}  // namespace

std::optional<RecognisedOrder> RecogniseOrder(const Problem& problem, std::span<const Tensor> inputs,
                                              const ElementJudge& judge, const Tensor& got, const FloatFormat& format,
                                              std::span<const SumOrder> orders, double least_matched) {
  if (!IsPlainMatmul(problem)) return std::nullopt;
  const MatmulTerms matmul(problem, inputs);
  std::vector<Fit> fits(orders.size());
  const std::vector<double> values = got.ToDoubles();
  const int64_t size = std::ssize(values), most = std::max<int64_t>(256, kMostProducts / matmul.k());
  const int64_t step = (size + most - 1) / most;
  SumTerms terms;
  int64_t formed = 0, off = 0;
  double squares = 0;
  for (int64_t i = 0; i < size; i += step) {
    const double y = judge.golden().value[static_cast<size_t>(i)];
    if (!std::isfinite(values[i]) || !std::isfinite(y)) continue;
    ++formed;
    const double error = values[i] - judge.Rounded(i);
    squares += error * error;
    off += error != 0 ? 1 : 0;
    matmul.Of(i, terms);
    for (size_t c = 0; c < orders.size(); ++c) {
      if (fits[c].possible) Compare(judge, format, i, values[i], orders[c].predict(terms), fits[c]);
    }
  }
  for (size_t c = 0; c < orders.size(); ++c) {
    const bool all = fits[c].possible && static_cast<double>(fits[c].matched) >= least_matched * formed;
    if (formed > 0 && all && fits[c].remaining <= kMostUnexplained * squares)
      return RecognisedOrder{orders[c].text, off};
  }
  return std::nullopt;
}

}  // namespace assay
