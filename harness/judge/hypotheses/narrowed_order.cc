// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/judge/hypotheses/recognisers.h"
#include "harness/judge/statistic/statistic.h"

namespace assay {
namespace {

constexpr double kMostOperations = 0x1p26;  // of the rows that are computed, for each order
constexpr double kLeastRows = 8;
// Limits on the unexplained share of the squared errors. An order above kMuchLeft on the rows so far is dropped early.
constexpr double kMostLeft = 0.1, kMuchLeft = 0.5;
// Roundings that show: errors of one row have as many degrees of freedom. Fewer could agree by chance.
constexpr int64_t kLeastShown = 16;
// Errors of the declared arithmetic carry some intermediates over a tie. Some 26 of the 32,768 probabilities of a long
// row in f16 are, of random signs: five of the largest together.
constexpr double kMostFlips = 8;

struct OrderFit {
  double left = 0;  // squares
  bool possible = true;
};

// Adds one row to the fits of `orders`.
class RowFits {
 public:
  RowFits(const ElementJudge& declared, const ElementJudge& by_class, const std::vector<double>& got)
      : declared_(declared), by_class_(by_class), got_(got), out_(FormatOf(declared.dtype())) {}

  void Add(int64_t first, const NarrowedOrders::Outputs& outputs, OrderFit& fit) const {
    for (int64_t c = 0; c < std::ssize(outputs.value); ++c) {
      const int64_t i = first + c;
      if (!IsUsed(i)) continue;
      const double error = got_[i] - RoundTo(out_, outputs.value[c]);
      fit.left += Scaled(i, error);
      const double noise = kElementThreshold * declared_.Sigma(i) + declared_.Systematic(i);
      const double spacing = UlpAt(out_, std::max(std::fabs(got_[i]), std::fabs(outputs.value[c])));
      if (!(std::fabs(error) <= noise + spacing + kMostFlips * outputs.step[c])) fit.possible = false;
    }
  }

  // The squared errors of a row before anything explains them, and how many of its results are off.
  struct Errors {
    double squares = 0;
    int64_t off = 0;
  };
  Errors Of(int64_t first, int64_t width) const {
    Errors errors;
    for (int64_t i = first; i < first + width; ++i) {
      if (!IsUsed(i)) continue;
      const double error = got_[i] - declared_.Rounded(i);
      errors.squares += Scaled(i, error);
      errors.off += error != 0 ? 1 : 0;
    }
    return errors;
  }
  // Adds those of a row, of whose roundings no more than there are can show.
  void Count(const Errors& errors, int64_t roundings) {
    squares_ += errors.squares;
    shown_ += std::min(errors.off, roundings);
  }

  double squares() const { return squares_; }
  int64_t shown() const { return shown_; }

 private:
  bool IsUsed(int64_t i) const { return std::isfinite(got_[i]) && std::isfinite(declared_.golden().value[i]); }
  // Rows of large values do not decide alone.
  double Scaled(int64_t i, double error) const {
    const double ulp = UlpAt(out_, std::fabs(declared_.golden().value[i])), sigma = by_class_.Sigma(i);
    return error * error / (sigma * sigma + ulp * ulp / 12);
  }

  const ElementJudge &declared_, &by_class_;
  const std::vector<double>& got_;
  const FloatFormat& out_;
  double squares_ = 0;
  int64_t shown_ = 0;
};

}  // namespace

std::optional<std::string> FindNarrowedOrder(const Problem& problem, const NarrowedOrders& orders,
                                             const ElementJudge& declared, const ElementJudge& by_class,
                                             const Tensor& got) {
  const std::vector<double> values = got.ToDoubles();
  const auto rows = static_cast<double>(orders.rows());
  const double most = std::max(kLeastRows, kMostOperations * rows / std::max(1.0, problem.flops));
  const auto step = static_cast<int64_t>(std::max(1.0, std::ceil(rows / most)));
  const int64_t width = std::ssize(values) / std::max<int64_t>(1, orders.rows());
  std::vector<OrderFit> fits(orders.texts().size());
  std::vector<size_t> left(fits.size());
  for (size_t i = 0; i < left.size(); ++i) left[i] = i;
  RowFits row_fits(declared, by_class, values);
  std::vector<RowFits::Errors> errors;  // of the rows that are looked at
  RowFits::Errors all;                  // of them together: no order that leaves too much of these can be the one
  for (int64_t row = 0; row < orders.rows(); row += step) {
    errors.push_back(row_fits.Of(row * width, width));
    all.squares += errors.back().squares, all.off += errors.back().off;
  }
  if (all.off < kLeastShown) return std::nullopt;
  for (int64_t row = 0; row < orders.rows() && !left.empty(); row += step) {
    const auto outputs = orders.Row(row, left);
    if (outputs.empty()) continue;
    row_fits.Count(errors[static_cast<size_t>(row / step)], outputs[0].roundings);
    for (size_t i = 0; i < left.size(); ++i) row_fits.Add(row * width, outputs[i], fits[left[i]]);
    std::erase_if(left, [&](size_t i) {
      const bool fits_not = row_fits.shown() >= kLeastShown && fits[i].left > kMuchLeft * row_fits.squares();
      return fits_not || fits[i].left > kMostLeft * all.squares || !fits[i].possible;
    });
  }
  const auto best = std::ranges::min_element(left, {}, [&](size_t i) { return fits[i].left; });
  const bool tells = row_fits.shown() >= kLeastShown && row_fits.squares() > 0;
  if (!tells || best == left.end() || fits[*best].left > kMostLeft * row_fits.squares()) return std::nullopt;
  return orders.texts()[*best];
}

}  // namespace assay
