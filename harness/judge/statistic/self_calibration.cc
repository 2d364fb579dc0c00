// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "harness/core/base/parallel.h"
#include "harness/judge/localise.h"
#include "harness/judge/statistic/statistic.h"

namespace assay {
namespace {

constexpr int kStrata = 4;
constexpr int64_t kSamples = 8192;
constexpr int64_t kFewestSamples = 64;  // less gives no scale; a stratum without one takes the interior's
constexpr int64_t kSampleGrain = 512;   // samples, each a few cache misses
constexpr int64_t kSamplesAhead = 8;    // those are asked for
constexpr size_t kSearchedChunks = 4;
constexpr double kNoSample = -1;
constexpr double kSmallestVariance = std::numeric_limits<double>::min() / std::numeric_limits<double>::epsilon();
constexpr double kNormalMedian = 0.6745;  // of |x| for standard normal x
constexpr double kNormalTail = 2.576;     // its 99 % quantile
// Against that scale. The slack is the one that groups have for the model of sigma.
constexpr double kSelfThreshold = kModelSlack * kElementThreshold;

// Parts of the last two axes beyond the last whole tile: 0 interior, 1 last rows, 2 last columns, 3 both.
class Strata {
 public:
  explicit Strata(const GroupLayout& layout)
      : layout_(layout),
        whole_rows_(layout.slab_rows / kGroupTile * kGroupTile),
        whole_columns_(layout.columns / kGroupTile * kGroupTile) {
    // An output smaller than a tile has no interior and no edge.
    if (whole_rows_ == 0) whole_rows_ = layout.slab_rows;
    if (whole_columns_ == 0) whole_columns_ = layout.columns;
  }
  size_t Of(int64_t value) const {
    if (whole_rows_ == layout_.slab_rows && whole_columns_ == layout_.columns) return 0;
    const int64_t row = value / layout_.columns % layout_.slab_rows, column = value % layout_.columns;
    return (row >= whole_rows_ ? 1U : 0U) + (column >= whole_columns_ ? 2U : 0U);
  }

 private:
  const GroupLayout& layout_;
  int64_t whole_rows_, whole_columns_;
};

class Calibration {
 public:
  Calibration(const ElementJudge& judge, const Tensor& got, const std::vector<ChunkTotals>& chunks)
      : judge_(judge),
        got_(got),
        chunks_(chunks),
        parts_(IsComplex(got.dtype()) ? 2 : 1),
        format_(FormatOf(judge.dtype())),
        layout_(got.shape(), parts_),
        strata_(layout_) {}

  void Run(StatisticFinding& finding) {
    MeasureScales();
    if (scales_[0] == 0) return;
    SearchLargest();
    finding.self_margin = largest_.value / kSelfThreshold;
    if (largest_.value <= kSelfThreshold) return;
    finding.self_reason = fmt::format(
        "element {} is {:.3g} times as far off as the implementation's other results there usually are (above {:g})",
        IndexText(got_.shape(), largest_.where / parts_), largest_.value, kSelfThreshold);
  }

 private:
  // |e| of value i, which the reader has at `k`, in standard deviations, the output's own rounding included; never less
  // than E_gold explains. Nothing is rounded in a zero of no terms, such as an output of a convolution that sees
  // nothing but padding: it says nothing of how large errors are.
  double Scaled(int64_t i, const TileReader& reader, int64_t k = 0) const {
    const double x = reader.Got(k), y = judge_.golden().value[static_cast<size_t>(i)];
    const Judgement judged = judge_.Compare(i, x, reader.GotLow(k));
    if (!judged.finite) return kNoSample;
    if (judge_.Open(i)) return 0;
    const double sigma = judge_.Sigma(i);
    if (sigma == 0 && y == 0) return kNoSample;
    const double ulp = UlpAt(format_, std::max(std::fabs(x), std::fabs(y)));
    const double own = std::max(judge_.params().own_rounding_ulps * ulp, judge_.params().lambda_out);
    const double beyond = std::max(0.0, std::fabs(judged.error) - judge_.Systematic(i) - GoldenError(i));
    if (beyond == 0) return 0;
    const double variance = sigma * sigma + own * own / 3;
    // Squares of the smallest numbers are 0.
    return beyond / (variance >= kSmallestVariance ? std::sqrt(variance) : std::hypot(sigma, own / std::sqrt(3.0)));
  }
  double GoldenError(int64_t i) const { return PlaneAt(judge_.golden().error, i, judge_.golden().size()); }

  // f(value index, its Scaled).
  template <class F>
  void ForEachScaled(int64_t begin, int64_t end, TileReader& reader, const F& f) const {
    for (int64_t at = begin; at < end; at += kJudgeTile) {
      const int64_t count = std::min(kJudgeTile, end - at);
      reader.Read(at, count);
      for (int64_t k = 0; k < count; ++k) f(at + k, Scaled(at + k, reader, k));
    }
  }

  void MeasureScales() {
    const int64_t values = judge_.golden().size(), count = std::min(values, kSamples), stretch = values / count;
    // One at a pseudo-random place of each stretch, so that no period of the shape is followed.
    const auto place = [stretch](int64_t k) {
      return stretch * k + static_cast<int64_t>(static_cast<uint64_t>(k) * 0x9e3779b97f4a7c15U >> 32) % stretch;
    };
    scaled_.assign(static_cast<size_t>(count), kNoSample);
    ParallelFor(count, kSampleGrain, [&](int64_t begin, int64_t end) {
      TileReader reader(judge_, got_);
      if (stretch == 1) {
        ForEachScaled(begin, end, reader, [&](int64_t i, double scaled) { scaled_[static_cast<size_t>(i)] = scaled; });
        return;
      }
      for (int64_t k = begin; k < end; ++k) {
        if (k + kSamplesAhead < end) reader.Prefetch(place(k + kSamplesAhead));
        reader.Read(place(k), 1);
        scaled_[static_cast<size_t>(k)] = Scaled(place(k), reader);
      }
    });
    std::array<std::vector<double>, kStrata> samples;
    for (int64_t k = 0; k < count; ++k) {
      const double sample = scaled_[static_cast<size_t>(k)];
      if (sample != kNoSample) samples[strata_.Of(place(k))].push_back(sample);
    }
    for (size_t s = 0; s < kStrata; ++s) scales_[s] = ScaleOf(samples[s]);
    for (size_t s = 1; s < kStrata; ++s) scales_[s] = std::max(scales_[s], scales_[0]);
  }

  // Larger of two scale estimates, from the median and from the tail; both agree for normal errors. The tail is longer
  // than the median predicts if the model exceeds the errors of correct results by differing factors, as for short
  // sums.
  static double ScaleOf(std::vector<double>& sample) {
    if (static_cast<int64_t>(sample.size()) < kFewestSamples) return 0;
    const auto place = [&](double share) {
      return sample.begin() + static_cast<int64_t>(share * static_cast<double>(sample.size()));
    };
    const auto median = place(0.5), tail = place(0.99);
    std::nth_element(sample.begin(), median, sample.end());
    if (*median == 0) return 0;
    const double middle = *median / kNormalMedian;
    std::nth_element(median, tail, sample.end());  // below the median nothing is larger
    return std::max(middle, *tail / kNormalTail);
  }

  std::vector<int64_t> ListSearched() const {
    std::vector<int64_t> order(chunks_.size());
    std::iota(order.begin(), order.end(), 0);
    const auto end = order.begin() + static_cast<int64_t>(std::min(kSearchedChunks, order.size()));
    std::partial_sort(order.begin(), end, order.end(), [&](int64_t a, int64_t b) {
      const double x = chunks_[static_cast<size_t>(a)].max[kMaxR2], y = chunks_[static_cast<size_t>(b)].max[kMaxR2];
      return x != y ? x > y : a < b;
    });
    order.erase(end, order.end());
    return order;
  }

  struct Largest {
    double value = 0;
    int64_t where = 0;
    void Consider(const Largest& next) {
      if (next.value > value) *this = next;
    }
  };

  void SearchLargest() {
    const std::vector<int64_t> searched = ListSearched();
    std::vector<Largest> found(searched.size());
    ParallelFor(static_cast<int64_t>(searched.size()), 1, [&](int64_t begin, int64_t end) {
      TileReader reader(judge_, got_);
      for (auto k = static_cast<size_t>(begin); k < static_cast<size_t>(end); ++k) {
        SearchChunk(searched[k], reader, found[k]);
      }
    });
    for (const Largest& next : found) largest_.Consider(next);
  }

  void SearchChunk(int64_t chunk, TileReader& reader, Largest& largest) const {
    const int64_t begin = chunk * kJudgeChunk, end = std::min(begin + kJudgeChunk, judge_.golden().size());
    const auto consider = [&](int64_t i, double scaled) { largest.Consider({scaled / scales_[strata_.Of(i)], i}); };
    if (std::ssize(scaled_) < judge_.golden().size()) {
      ForEachScaled(begin, end, reader, consider);
    } else {  // every value was a sample
      for (int64_t i = begin; i < end; ++i) consider(i, scaled_[static_cast<size_t>(i)]);
    }
  }

  const ElementJudge& judge_;
  const Tensor& got_;
  const std::vector<ChunkTotals>& chunks_;
  const int parts_;
  const FloatFormat& format_;
  const GroupLayout layout_;
  const Strata strata_;
  std::vector<double> scaled_;  // of each sample
  std::array<double, kStrata> scales_{};
  Largest largest_;
};

}  // namespace

void CalibrateOnItself(const ElementJudge& judge, const Tensor& got, const std::vector<ChunkTotals>& chunks,
                       StatisticFinding& finding) {
  // Errors that a row shares are large in whole rows of a correct implementation.
  if (judge.bound().statistic.shared) return;
  Calibration(judge, got, chunks).Run(finding);
}

}  // namespace assay
