// SPDX-License-Identifier: Apache-2.0
#include "harness/compare/partial_sums.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/compare/statistic.h"

namespace assay {
namespace {

constexpr int64_t kMostProducts = int64_t{1} << 24;
// Of the elements, how many have to be as predicted: f32 sums flip the rounding of about one partial sum in 2^12 to
// f16.
constexpr double kLeastMatched = 0.9;
// What may remain of the squared errors.
constexpr double kMostUnexplained = 0.1;

// Where k is cut into blocks, and whether each block's sum is stored or the running sum after each but the last.
struct Cut {
  std::string text;
  std::vector<int64_t> ends;  // ascending, k last
  bool running = false;
};

std::vector<Cut> CutsOf(int64_t k) {
  std::vector<Cut> cuts;
  for (bool running : {false, true}) {
    const auto add = [&](std::string sums, std::string run, std::vector<int64_t> ends) {
      cuts.push_back({running ? std::move(run) : std::move(sums), std::move(ends), running});
    };
    for (int64_t parts : {2, 3, 4, 6, 8, 16, 32}) {
      if (parts >= k) break;
      std::vector<int64_t> ends;
      for (int64_t part = 1; part <= parts; ++part) ends.push_back(k * part / parts);
      add(fmt::format("sums of {} equal parts", parts), fmt::format("a running sum of {} equal parts", parts),
          std::move(ends));
    }
    for (int64_t block = 8; block < k && block <= 4096; block *= 2) {
      std::vector<int64_t> ends;
      for (int64_t end = block; end < k; end += block) ends.push_back(end);
      ends.push_back(k);
      add(fmt::format("sums of {} terms", block), fmt::format("a running sum every {} terms", block), std::move(ends));
    }
  }
  return cuts;
}

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

  // sums[t]: of the first t terms of output element i.
  void PrefixSums(int64_t i, std::vector<double>& sums) const {
    const int64_t batch = i / (m_ * n_), row = i / n_ % m_, column = i % n_;
    const double* a = a_.data() + batch * m_ * k_ + (transa_ ? row : row * k_);
    const double* b = b_.data() + batch * k_ * n_ + (transb_ ? column * k_ : column);
    const int64_t step_a = transa_ ? m_ : 1, step_b = transb_ ? 1 : n_;
    double sum = 0;
    for (int64_t t = 0; t < k_; ++t) {
      sums[t] = sum;
      sum += a[t * step_a] * b[t * step_b];
    }
    sums[k_] = sum;
  }

 private:
  int64_t m_, n_, k_;
  bool transa_, transb_;
  std::vector<double> a_, b_;
};

struct Prediction {
  double value = 0;
  double largest = 0;  // stored partial sum
};

Prediction Predict(const Cut& cut, const std::vector<double>& sums, const FloatFormat& format) {
  Prediction p;
  int64_t begin = 0;
  const auto store = [&](double x) {
    p.largest = std::max(p.largest, std::fabs(x));
    return RoundTo(format, x);
  };
  for (const int64_t end : cut.ends) {
    const double block = sums[end] - sums[begin];
    if (!cut.running) {
      p.value += store(block);
    } else {
      p.value = end == cut.ends.back() ? p.value + block : store(p.value + block);
    }
    begin = end;
  }
  return p;
}

// How well one cut explains the elements so far.
struct Fit {
  int64_t matched = 0;
  double remaining = 0;  // sum of squares
  bool possible = true;
};

void Compare(const ElementJudge& judge, const FloatFormat& format, int64_t i, double got, const Prediction& p,
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

std::optional<std::string> FindRoundedPartials(const Problem& problem, std::span<const Tensor> inputs,
                                               const ElementJudge& judge, const Tensor& got,
                                               const FloatFormat& format) {
  if (!IsPlainMatmul(problem)) return std::nullopt;
  const MatmulTerms terms(problem, inputs);
  const std::vector<Cut> cuts = CutsOf(terms.k());
  std::vector<Fit> fits(cuts.size());
  const std::vector<double> values = got.ToDoubles();
  const int64_t size = std::ssize(values), most = std::max<int64_t>(256, kMostProducts / terms.k());
  const int64_t step = (size + most - 1) / most;
  std::vector<double> sums(static_cast<size_t>(terms.k()) + 1);
  int64_t formed = 0;
  double squares = 0;
  for (int64_t i = 0; i < size; i += step) {
    const double y = judge.golden().value[static_cast<size_t>(i)];
    if (!std::isfinite(values[i]) || !std::isfinite(y)) continue;
    ++formed;
    squares += std::pow(values[i] - judge.Rounded(i), 2);
    terms.PrefixSums(i, sums);
    for (size_t c = 0; c < cuts.size(); ++c) {
      if (fits[c].possible) Compare(judge, format, i, values[i], Predict(cuts[c], sums, format), fits[c]);
    }
  }
  for (size_t c = 0; c < cuts.size(); ++c) {
    const bool all = fits[c].possible && static_cast<double>(fits[c].matched) >= kLeastMatched * formed;
    if (formed > 0 && all && fits[c].remaining <= kMostUnexplained * squares) return cuts[c].text;
  }
  return std::nullopt;
}

std::optional<StatisticModel> StatisticOfOwnErrors(const Golden& golden, const Tensor& got, double u_acc) {
  // Errors follow the golden's deviation only roughly: where that is far below its usual share of S, the share counts.
  constexpr double kLeastShare = 0.25;
  const std::vector<double> values = got.ToDoubles();
  const int64_t size = golden.size();
  const auto reach = [&](int64_t i) { return golden.magnitude[i] + std::fabs(golden.value[static_cast<size_t>(i)]); };
  const auto is_finite = [&](int64_t i) {
    return std::isfinite(values[static_cast<size_t>(i)]) && std::isfinite(golden.value[static_cast<size_t>(i)]);
  };
  double deviations = 0, reaches = 0, squares = 0, finite = 0;
  for (int64_t i = 0; i < size; ++i) {
    if (!is_finite(i)) continue;
    deviations += PlaneAt(golden.sigma, i, size);
    reaches += reach(i);
  }
  if (!(deviations > 0) || !(reaches > 0)) return std::nullopt;
  const double share = kLeastShare * deviations / reaches;
  for (int64_t i = 0; i < size; ++i) {
    const double model = std::max(PlaneAt(golden.sigma, i, size), share * reach(i));
    if (!is_finite(i) || !(model > 0)) continue;
    squares += std::pow((values[static_cast<size_t>(i)] - golden.value[static_cast<size_t>(i)]) / model, 2);
    ++finite;
  }
  if (!(squares > 0)) return std::nullopt;
  const double scale = std::sqrt(squares / finite);  // of the errors over the model
  StatisticModel statistic;
  statistic.sigma_scale = scale / u_acc;
  statistic.floor = scale * share;
  return statistic;
}

}  // namespace assay
