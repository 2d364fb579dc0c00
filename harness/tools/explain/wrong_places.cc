// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/explain/wrong_places.h"

#include <algorithm>
#include <cmath>

namespace assay {
namespace {

constexpr double kLeastBits = 16;

// Bits that an element says which was that far off and hits a tolerance: few where only few values are possible.
double BitsOf(const Judgement& meant, double tolerance) {
  constexpr double kBitsOfExact = 2, kMostBits = 24;
  if (!meant.finite) return 0;
  if (meant.allowed == 0 || tolerance == 0) return kBitsOfExact;
  return std::clamp(std::log2(std::fabs(meant.error) / tolerance), 0.0, kMostBits);
}

}  // namespace

WrongPlaces::WrongPlaces(const WrongResult& result)
    : result_(result), bound_(result.op.Bound(result.problem, result.output, result.golden, result.contract)) {
  judge_.emplace(result.golden, bound_, result.contract, result.got[result.output].dtype());
  for (size_t k = 0; k < result.got.size(); ++k) {
    if (k == result.output) {
      LookAt(k, *judge_);
      continue;
    }
    const Golden golden = result.op.ComputeGolden(result.problem, k, result.inputs, result.tier);
    const BoundModel bound = result.op.Bound(result.problem, k, golden, result.contract);
    LookAt(k, ElementJudge(golden, bound, result.contract, result.got[k].dtype()));
  }
}

void WrongPlaces::LookAt(size_t output, const ElementJudge& judge) {
  constexpr double kBitsOfSpecial = 4, kMostOfSpecial = 8;
  const std::vector<double> values = result_.got[output].ToDoubles();
  std::vector<bool>& wrong = wrong_.emplace_back(values.size());
  double of_special = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const Judgement judged = judge.Judge(static_cast<int64_t>(i), values[i]);
    if (judged.accepted) continue;
    wrong[i] = true;
    if (output != result_.output) continue;
    if (!judged.finite) {
      of_special = std::min(of_special + kBitsOfSpecial, kMostOfSpecial);
    } else {
      bits_ += BitsOf(judged, judged.Tolerance());
    }
  }
  if (output == result_.output) values_ = values;
  bits_ += of_special;
  counts_.push_back(std::ranges::count(wrong, true));
}

bool WrongPlaces::IsWrongElement(int64_t element) const {
  if (!IsComplex(judge_->dtype())) return IsWrong(element);
  return IsWrong(2 * element) || IsWrong(2 * element + 1);
}

bool WrongPlaces::AreRight(size_t output, const ElementJudge& changed, const Tensor& got) const {
  const std::vector<bool>& wrong = wrong_[output];
  if (counts_[output] == 0) return output != result_.output;
  if (counts_[output] == std::ssize(wrong)) return false;
  const std::vector<double> values = got.ToDoubles();
  double bits = 0;
  for (size_t i = 0; i < wrong.size(); ++i) {
    if (!wrong[i]) continue;
    const auto at = static_cast<int64_t>(i);
    const Judgement judged = changed.Judge(at, values[i]);
    if (!judged.accepted || changed.IsOpen(at)) return false;
    if (output == result_.output) bits += BitsOf(judge_->Judge(at, values[i]), judged.Tolerance());
  }
  return output != result_.output || bits >= kLeastBits;
}

ResultFit WrongPlaces::Fit(const ElementJudge& changed, const Tensor& got) const {
  const std::vector<bool>& wrong = wrong_[result_.output];
  const std::vector<double> values = got.ToDoubles();
  ResultFit fit{.values = std::ssize(values)};
  double squares = 0;
  for (int64_t i = 0; i < fit.values; ++i) {
    const double value = values[static_cast<size_t>(i)];
    const ElementJudge& judge = wrong[static_cast<size_t>(i)] ? changed : *judge_;
    const Judgement judged = judge.Judge(i, value);
    if (judged.finite) squares += judged.error * judged.error;
    const double rounded = judge.Rounded(i);
    fit.equal += value == rounded || (std::isnan(value) && std::isnan(rounded)) ? 1 : 0;
  }
  fit.rms = std::sqrt(squares / static_cast<double>(std::max<int64_t>(1, fit.values)));
  return fit;
}

Reach WrongPlaces::Explain(const OutputChange& change, ResultFit& fit) const {
  for (size_t k = 0; k < counts_.size(); ++k) {
    if (k != result_.output && counts_[k] > 0) return Reach::kNothing;
  }
  const Tensor& got = result_.got[result_.output];
  const std::vector<bool>& wrong = wrong_[result_.output];
  fit = {.values = std::ssize(wrong)};
  double bits = 0;
  const std::vector<double>& values = values_;
  const auto add = [&](int64_t i, double tolerance) {
    bits += BitsOf(judge_->Judge(i, values[static_cast<size_t>(i)]), tolerance);
  };
  const auto is_any = [](int64_t) { return true; };
  const auto is_wrong = [&](int64_t i) { return IsWrong(i); };
  const bool counts = change.kind != OutputChange::Kind::kRounded;
  if (IsChanged(change, *judge_, got, values, is_any, add) && (!counts || bits >= kLeastBits)) return Reach::kAll;
  bits = 0;
  const bool explains = counts_[result_.output] > 0 && IsChanged(change, *judge_, got, values, is_wrong, add) &&
                        (!counts || bits >= kLeastBits);
  return explains ? Reach::kWrongPlaces : Reach::kNothing;
}

}  // namespace assay
