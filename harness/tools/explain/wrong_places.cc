// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/explain/wrong_places.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "harness/tools/explain/shared_factor.h"

namespace assay {
namespace {

constexpr double kBitsOfExact = 2, kMostBits = 24;

// Zero and small whole numbers come out of many mistakes: a value says no more than the bits that it has itself.
double BitsOfValue(double x) {
  if (x == 0 || !std::isfinite(x)) return kBitsOfExact;
  int exponent = 0;
  const auto digits = static_cast<uint64_t>(std::ldexp(std::frexp(std::fabs(x), &exponent), 53));
  return kBitsOfExact + 53 - std::countr_zero(digits);
}

// How far off a value may be that hits another one: as right elements are, if it is no further off.
double MeasureHit(double share, const Judgement& hit) {
  const double near = share * hit.Tolerance();
  return std::fabs(hit.error) <= near ? near : hit.Tolerance();
}

// The bits that a value says which was that far off and hits another one: few where only few values are possible.
double BitsOf(double share, const Judgement& meant, const Judgement& hit, double got) {
  if (!meant.finite) return 0;
  if (meant.allowed == 0 || hit.Tolerance() == 0) return kBitsOfExact;
  const double reach = MeasureHit(share, hit);
  return std::clamp(std::log2(std::fabs(meant.error) / reach), 0.0, std::min(kMostBits, BitsOfValue(got)));
}

// Sums the bits of wrong elements of an output.
class BitsOfPlaces {
 public:
  explicit BitsOfPlaces(const Tensor& got) : shape_(got.shape()) {
    if (IsComplex(got.dtype())) shape_.push_back(2);
  }
  void Add(int64_t place, double value, double share, const Judgement& meant, const Judgement& hit) {
    bits_ += BitsOf(share, meant, hit, value);
    if (meant.finite && hit.allowed > 0)
      elements_.push_back({place, value - meant.error, meant.error, MeasureHit(share, hit)});
  }
  // A factor of a row is hit by chance as easily as one number. Enough bits of such numbers say nothing against more.
  double Count() const {
    const double of_factors = CountBitsOfFactors(shape_, elements_);
    return of_factors < kLeastBits ? std::min(bits_, of_factors) : bits_;
  }

 private:
  Shape shape_;
  std::vector<ExplainedElement> elements_;
  double bits_ = 0;
};

// Right elements are about as near to one value as to another: none is further off than twice the worst of many.
double ShareOf(int64_t right, double worst) {
  constexpr int64_t kMany = 32;
  return right < kMany ? 1 : std::clamp(2 * worst, 0x1p-12, 1.0);
}

}  // namespace

WrongPlaces::WrongPlaces(const WrongResult& result) : result_(result) {
  for (size_t k = 0; k < result.got.size(); ++k) outputs_.push_back(LookAt(k));
  for (const auto& output : outputs_) AddBits(*output);
}

// Stops where they are enough: most wrong results have thousands of wrong elements.
void WrongPlaces::AddBits(const MeantOutput& output) {
  constexpr double kBitsOfSpecial = 4, kMostOfSpecial = 8;
  double of_special = 0;
  for (const int64_t i : output.places) {
    if (bits_ >= kLeastBits) break;
    const double value = output.values[static_cast<size_t>(i)];
    const Judgement meant = output.judge->Judge(i, value);
    Judgement hit = meant;
    hit.error = 0;
    bits_ += BitsOf(output.share, meant, hit, value);
    if (!meant.finite) of_special = std::min(of_special + kBitsOfSpecial, kMostOfSpecial);
  }
  bits_ += of_special;
}

std::unique_ptr<WrongPlaces::MeantOutput> WrongPlaces::LookAt(size_t k) const {
  auto output = std::make_unique<MeantOutput>();
  const bool is_known = k == result_.output;
  if (!is_known) output->golden = result_.op.ComputeGolden(result_.problem, k, result_.inputs, result_.tier);
  const Golden& golden = is_known ? result_.golden : output->golden;
  output->bound = result_.op.Bound(result_.problem, k, golden, result_.contract);
  output->judge.emplace(golden, output->bound, result_.contract, result_.got[k].dtype());
  output->values = result_.got[k].ToDoubles();
  output->wrong.resize(output->values.size());
  int64_t right = 0;
  double worst = 0;
  for (size_t i = 0; i < output->values.size(); ++i) {
    const Judgement judged = output->judge->Judge(static_cast<int64_t>(i), output->values[i]);
    output->wrong[i] = !judged.accepted;
    if (!judged.accepted) output->places.push_back(static_cast<int64_t>(i));
    if (!judged.accepted || !judged.finite || judged.allowed == 0) continue;
    worst = std::max(worst, std::fabs(judged.error) / judged.Tolerance());
    ++right;
  }
  output->share = ShareOf(right, worst);
  return output;
}

bool WrongPlaces::IsWrongElement(int64_t element) const {
  if (!IsComplex(judge().dtype())) return IsWrong(element);
  return IsWrong(2 * element) || IsWrong(2 * element + 1);
}

std::vector<int64_t> WrongPlaces::TakeWrongElements(size_t most) const {
  const std::vector<int64_t>& places = wrong_output().places;
  const int64_t parts = IsComplex(judge().dtype()) ? 2 : 1;
  std::vector<int64_t> taken;
  const size_t count = std::min(most, places.size());
  for (size_t i = 0; i < count; ++i) taken.push_back(places[i * places.size() / count] / parts);
  return taken;
}

std::optional<double> WrongPlaces::CountBits(size_t k, const ElementJudge& changed, const Tensor& got) const {
  const MeantOutput& output = *outputs_[k];
  if (output.places.empty()) return k == result_.output ? std::nullopt : std::optional(0.0);
  if (output.places.size() == output.wrong.size()) return std::nullopt;
  const std::vector<double> values = got.ToDoubles();
  BitsOfPlaces bits(got);
  for (const int64_t i : output.places) {
    const double value = values[static_cast<size_t>(i)];
    const Judgement judged = changed.Judge(i, value);
    if (!judged.accepted || changed.IsOpen(i)) return std::nullopt;
    bits.Add(i, value, output.share, output.judge->Judge(i, value), judged);
  }
  return bits.Count();
}

std::optional<double> WrongPlaces::CountBitsOfSlices(const ElementJudge& changed, const std::vector<int64_t>& of_slices,
                                                     ResultFit& fit) const {
  const MeantOutput& output = wrong_output();
  size_t found = 0;
  BitsOfPlaces bits(result_.got[result_.output]);
  fit = Fit(judge(), result_.got[result_.output]);
  double squares = fit.rms * fit.rms * static_cast<double>(fit.values);
  for (size_t k = 0; k < of_slices.size(); ++k) {
    const int64_t i = of_slices[k];
    if (!output.wrong[static_cast<size_t>(i)]) continue;
    const double value = output.values[static_cast<size_t>(i)];
    const auto at = static_cast<int64_t>(k);
    const Judgement judged = changed.Judge(at, value), meant = output.judge->Judge(i, value);
    if (!judged.accepted || changed.IsOpen(at)) return std::nullopt;
    ++found;
    bits.Add(i, value, output.share, meant, judged);
    if (meant.finite && judged.finite) squares += judged.error * judged.error - meant.error * meant.error;
    fit.equal += (value == changed.Rounded(at) ? 1 : 0) - (value == output.judge->Rounded(i) ? 1 : 0);
  }
  fit.rms = std::sqrt(std::max(0.0, squares) / static_cast<double>(std::max<int64_t>(1, fit.values)));
  return found == output.places.size() ? std::optional(bits.Count()) : std::nullopt;
}

std::vector<int64_t> WrongPlaces::TakeAllWrong(size_t most) const {
  const MeantOutput& output = wrong_output();
  if (outputs_.size() > 1 || output.places.size() > most || IsComplex(judge().dtype())) return {};
  return output.places;
}

ResultFit WrongPlaces::Fit(const ElementJudge& changed, const Tensor& got) const {
  const std::vector<double> values = got.ToDoubles();
  ResultFit fit{.values = std::ssize(values)};
  double squares = 0;
  for (int64_t i = 0; i < fit.values; ++i) {
    const double value = values[static_cast<size_t>(i)];
    const ElementJudge& by = IsWrong(i) ? changed : judge();
    const Judgement judged = by.Judge(i, value);
    if (judged.finite) squares += judged.error * judged.error;
    const double rounded = by.Rounded(i);
    fit.equal += value == rounded || (std::isnan(value) && std::isnan(rounded)) ? 1 : 0;
  }
  fit.rms = std::sqrt(squares / static_cast<double>(std::max<int64_t>(1, fit.values)));
  return fit;
}

Reach WrongPlaces::Explain(const OutputChange& change, ResultFit& fit) const {
  const MeantOutput& output = wrong_output();
  const auto is_right = [&](const auto& other) { return other.get() == &output || other->places.empty(); };
  if (!std::ranges::all_of(outputs_, is_right)) return Reach::kNothing;
  fit = {.values = std::ssize(output.values)};
  using enum OutputChange::Kind;
  const bool is_operand = change.kind == kOperand || change.kind == kOperandForNan;
  const std::vector<double> operand = is_operand ? result_.inputs[change.input].ToDoubles() : std::vector<double>();
  double bits = 0;
  const auto add = [&](int64_t i, const Judgement& hit) {
    // Where 0 is right as well, as among data that cancel, any small number is hit.
    if (!MovesValues(change) && std::fabs(judge().Rounded(i)) <= hit.Tolerance() && hit.allowed > 0) return;
    const double value = output.values[static_cast<size_t>(i)];
    const bool is_zero = value == 0 && change.kind != OutputChange::Kind::kOperand;  // which says all that it has to
    bits += BitsOf(output.share, output.judge->Judge(i, value), hit, is_zero ? 0.1 : value);
  };
  const bool counts = !IsSeenInAll(change);
  const auto explains = [&](const std::vector<int64_t>* places) {
    bits = 0;
    return IsChanged(change, judge(), result_.got[result_.output], output.values, operand, places, add);
  };
  const bool has_wrong = !output.places.empty();
  if (!has_wrong && counts && result_.least_bits > 0) return Reach::kNothing;    // what moves shows beyond bounds
  if (has_wrong && counts && !explains(&output.places)) return Reach::kNothing;  // they are among all, and fewer
  const double of_wrong = bits;
  if (explains(nullptr) && (!counts || bits >= result_.least_bits)) return Reach::kAll;
  if (!counts) return has_wrong && explains(&output.places) ? Reach::kWrongPlaces : Reach::kNothing;
  const bool is_far = change.kind == kShifted || change.kind == kInTurn || change.kind == kBehind;
  const bool is_moved = is_far && result_.least_bits > 0;
  const double least_bits = is_moved ? kLeastBitsOfMoved : result_.least_bits;
  return has_wrong && of_wrong >= least_bits ? Reach::kWrongPlaces : Reach::kNothing;
}

}  // namespace assay
