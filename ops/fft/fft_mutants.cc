// SPDX-License-Identifier: Apache-2.0
// Faulty results of fft: one input x_j lost. No fast algorithm can lose it for one output alone: x_j goes missing from
// all outputs of its transform, and |x_j| is what each of them is off by. So the mutant is judged at the most visible
// of four outputs, either part, the sampled output being the first of them.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "harness/core/data/fill/rng.h"
#include "ops/binding.h"
#include "ops/fft/fft.h"

namespace assay {
namespace {

constexpr int kPlaces = 4;
constexpr uint64_t kMutantSeed = 0x666674;  // any constant: mutants must not depend on the case's own seed

// Contribution of one input element to both parts of an output, up to double's rounding.
struct Contribution {
  double re = 0, im = 0;
};

class Contributions {
 public:
  Contributions(const FftArgs& fft, const Tensor& x) : fft_(fft), x_(&x), in_(fft.InputAxes()), out_(fft.OutputAxes()) {
    const auto points = static_cast<double>(fft.Points());
    if (fft.norm == FftNorm::kOrtho) scale_ = 1 / std::sqrt(points);
    if (fft.norm == FftNorm::kBackward && fft.inverse) scale_ = 1 / points;
  }

  double LargestInput(int64_t batch) const {
    const int64_t elements = NumElements(in_);
    std::vector<double> x(static_cast<size_t>(elements * fft_.InputParts()));
    ToF64(x_->dtype(), x_->data() + batch * elements * SizeOf(x_->dtype()), x);
    double largest = 0;
    for (const double value : x) largest = std::max(largest, std::isfinite(value) ? std::abs(value) : 0.0);
    return largest;
  }

  // |x_j|, of the element that was selected.
  double Size() const { return std::hypot(re_, im_) / scale_; }

  // Takes x_j of transform `batch`, with its mirror image where half a spectrum is given.
  void Select(int64_t batch, int64_t j) {
    double parts[2] = {0, 0};
    const int64_t at = batch * NumElements(in_) + j, last = j % in_.back();
    const std::byte* from = x_->data() + at * SizeOf(x_->dtype());
    ToF64(x_->dtype(), from, {parts, static_cast<size_t>(fft_.InputParts())});
    const bool twice = fft_.kind == FftKind::kC2R && last != 0 && 2 * last != fft_.n.back();
    const double weight = twice ? 2 * scale_ : scale_;
    j_ = j, re_ = weight * parts[0], im_ = weight * parts[1];
  }

  Contribution To(int64_t k) const {
    double turns = 0;
    int64_t j = j_;
    for (size_t axis = fft_.n.size(); axis-- > 0; j /= in_[axis], k /= out_[axis]) {
      const int64_t n = fft_.n[axis];
      turns += static_cast<double>(j % in_[axis] * (k % out_[axis]) % n) / static_cast<double>(n);
    }
    const double angle = 2 * std::numbers::pi * (fft_.inverse ? turns : -turns);
    const double c = std::cos(angle), s = std::sin(angle);
    return {re_ * c - im_ * s, re_ * s + im_ * c};
  }

 private:
  const FftArgs& fft_;
  const Tensor* x_;
  Shape in_, out_;
  double scale_ = 1;
  int64_t j_ = 0;
  double re_ = 0, im_ = 0;
};

}  // namespace

std::vector<Mutant> FftOmittedTerms(const Problem& problem, const Tensor& x, std::span<const double> values,
                                    std::span<const int64_t> outputs) {
  const FftArgs fft = FftArgsOf(problem);
  const int parts = fft.OutputParts();
  const int64_t inputs = NumElements(fft.InputAxes()), elements = NumElements(fft.OutputAxes());
  Contributions contributions(fft, x);
  const double u = FormatOf(problem.outputs[0].dtype).UnitRoundoff();
  std::vector<Mutant> mutants;
  int64_t measured = -1;
  double least = 0;
  for (const int64_t output : outputs) {
    const int64_t batch = output / parts / elements;
    if (batch != measured) least = u * contributions.LargestInput(batch), measured = batch;
    const RandomStream random(kMutantSeed, static_cast<uint64_t>(output));
    for (const int64_t j : SampledTerms(inputs, output)) {
      contributions.Select(batch, j);
      if (!(contributions.Size() > least)) continue;
      Mutant most;
      double effect = -1;
      for (int place = 0; place < kPlaces; ++place) {
        const int64_t k = place == 0 ? output / parts % elements
                                     : static_cast<int64_t>(random.Below(static_cast<uint64_t>(j * kPlaces + place),
                                                                         static_cast<uint64_t>(elements)));
        const Contribution lost = contributions.To(k);
        for (int part = 0; part < parts; ++part) {
          const double change = part == 0 ? lost.re : lost.im;
          const int64_t at = (batch * elements + k) * parts + part;
          if (!std::isfinite(values[at]) || !(std::abs(change) > effect)) continue;
          effect = std::abs(change);
          most = {.index = at, .value = values[at] - change, .key = batch * inputs + j};
        }
      }
      // An x_j of zero is not missed; one that is not finite makes the golden value so.
      if (effect > 0) mutants.push_back(most);
    }
  }
  return mutants;
}

}  // namespace assay
