// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/statistic/shared_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "harness/base/parallel.h"
#include "harness/judge/kernel/tile_reader.h"

namespace assay {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kMost = 0x1p40;  // of t: what lies above is not told apart
constexpr int kHalvings = 40;

// One element of a row, divided by what rho is multiplied with.
struct Share {
  double error, width, allowance;
};

bool HaveCommonPoint(const std::vector<Share>& row, double t) {
  double low = -kInfinite, high = kInfinite;
  for (const Share& x : row) {
    const double width = x.width + t * x.allowance;
    low = std::max(low, x.error - width);
    high = std::min(high, x.error + width);
  }
  return low <= high;
}

// The least t, unless it is no more than `least`: then that.
double LeastAllowance(const std::vector<Share>& row, double least) {
  if (HaveCommonPoint(row, least)) return least;
  double above = std::max(1.0, 2 * least);
  while (above < kMost && !HaveCommonPoint(row, above)) above *= 2;
  double below = least;
  for (int i = 0; i < kHalvings && above - below > 1e-3 * above; ++i) {
    const double middle = (below + above) / 2;
    (HaveCommonPoint(row, middle) ? above : below) = middle;
  }
  return above;
}

class RowReader {
 public:
  RowReader(const ElementJudge& judge, const Tensor& got)
      : judge_(judge), shared_(*judge.bound().statistic.shared_row), reader_(judge, got) {}

  const std::vector<Share>& Read(int64_t row) {
    shares_.clear();
    for (int64_t k = 0; k < shared_.terms; ++k) {
      Add((row / shared_.inner * shared_.terms + k) * shared_.inner + row % shared_.inner, k);
    }
    return shares_;
  }

 private:
  void Add(int64_t i, int64_t k) {
    if (shared_.inner > 1) {
      reader_.Read(i, 1), at_ = i;
    } else if (k % kJudgeTile == 0) {
      reader_.Read(i, std::min(kJudgeTile, shared_.terms - k)), at_ = i;
    }
    const double got = reader_.Got(i - at_), y = judge_.golden().value[static_cast<size_t>(i)];
    const Judgement judged = judge_.Judge(i, got);
    const double by = shared_.additive ? 1 : y;
    if (!judged.finite || judge_.Open(i) || by == 0) return;
    const double ulp = UlpAt(FormatOf(judge_.dtype()), std::max(std::fabs(got), std::fabs(y)));
    const double own = std::max(judge_.params().own_rounding * ulp, judge_.params().lambda_out);
    const double width = own + PlaneAt(judge_.golden().error, i, judge_.golden().size());
    shares_.push_back({judged.error / by, width / std::fabs(by), (*shared_.allowance)[i] / std::fabs(by)});
  }

  const ElementJudge& judge_;
  const SharedRow& shared_;
  TileReader reader_;
  std::vector<Share> shares_;
  int64_t at_ = 0;
};

}  // namespace

std::string SharedRowFinding::Text() const {
  return fmt::format(
      "row {} has no error in common that explains its elements: what is left of some is {:.3g} times what "
      "one exponential and its roundings may be off",
      row, margin);
}

SharedRowFinding JudgeSharedRows(const ElementJudge& judge, const Tensor& got) {
  const SharedRow& shared = *judge.bound().statistic.shared_row;
  const int64_t rows = judge.golden().size() / shared.terms;
  const int64_t judged = std::min(rows, std::max<int64_t>(1, kMostSharedElements / shared.terms));
  constexpr int64_t kStretches = 64;
  const int64_t stretches = std::min(judged, kStretches);
  std::vector<SharedRowFinding> found(static_cast<size_t>(stretches));
  ParallelFor(stretches, 1, [&](int64_t begin, int64_t end) {
    RowReader reader(judge, got);
    for (int64_t s = begin; s < end; ++s) {
      SharedRowFinding& finding = found[static_cast<size_t>(s)];
      for (int64_t n = s * judged / stretches; n < (s + 1) * judged / stretches; ++n) {
        const int64_t row = n * rows / judged;
        const double t = LeastAllowance(reader.Read(row), finding.margin);
        if (t > finding.margin || finding.row < 0) finding = {t, row};
      }
    }
  });
  return *std::ranges::max_element(found, {}, &SharedRowFinding::margin);
}

}  // namespace assay
