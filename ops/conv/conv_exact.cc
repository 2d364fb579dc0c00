// SPDX-License-Identifier: Apache-2.0
// Exact twins and omitted terms of conv. Twin: w[o,k] = f_o v_k over the reduction index k = (c, taps), x small random
// integers that differ from place to place, so that a shifted, flipped or regrouped kernel reads other numbers. Every
// sum of |x w| stays below 2^p. The expected value is an integer sum over the taps that are not padding; one group's
// outputs share it but for f_o. Two forms:
//   wide      all terms positive: nothing cancels, sums climb as high as exactness allows
//   climbing  variant 1 of it, where the output shows all bits of the accumulator: f_o is 1 or -1, x and w are large
//   narrow    for 16-bit outputs, whose rounding would hide small terms behind large ones: |x| and |w| within a factor
//             of about two. Where a long positive sum would hide terms too, the first half of the channels is
//             positive, the second negative; everything is odd or even so that no result is zero: x odd, w even but
//             for one tap that no output has in the padding
//   ties      variant 2, for outputs narrower than the accumulator: one tap carries an even output, another one half of
//             its last bit, and all others are zero, so that sums lie half way between two outputs
// F(2,3) is exact too when w is a multiple of 4 (G holds halves, twice) and W < 2^p. F(4,3) is not: one of its sets of
// points wants multiples of 24^2, another divides by 119 and has no room in 24 bits. It gets a third form:
//   signs     |x| = |w| = 1, with the tolerance that conv_winograd.cc derives, if that is below half a term. It grows
//             with the square of the channels, so each variant's weights are zero but for one part of the channels
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/core/base/parallel.h"
#include "harness/core/data/fill/rng.h"
#include "ops/binding.h"
#include "ops/conv/conv.h"
#include "ops/conv/conv_climb.h"
#include "ops/exact_code.h"
#include "ops/exact_ties.h"

namespace assay {
namespace {

enum ConvStream : uint64_t { kOutputs = 32, kImage, kConvBias, kTaps };
constexpr int64_t kLargest = 1 << 10;             // beyond that larger numbers would expose nothing more
constexpr int kMostConvParts = 16;                // each is one more execution
constexpr double kWinogradGrowth = 9 * 4 * 2.25;  // row sums of |A^T|, |B^T|, |G| of F(2,3), squared

struct Form {
  bool narrow = false;
  bool balanced = false;  // narrow: with both signs
  int64_t unit = 1;       // w is a multiple of it
  int64_t x = 1;          // x is 1 .. x; narrow: 3, 5, 7
  int64_t w = 1;          // |v| is unit * (1 .. w); narrow: unit * (4, 6, 8)
  int64_t factors = 1;    // f_o is 1 .. factors; narrow: 1, 3
  int parts = 0;          // signs: how many parts the channels fall into; 0: another form
  double error = 0;       // signs: of the sum, before it is rounded to the output
  int64_t anchor = -1;    // balanced: the tap of channel 0 that every output sees, if there is one; |v| = 5 unit
  std::optional<ConvClimb> climb = std::nullopt;
  int64_t carrier = 0;  // ties: of the anchor
};
constexpr int64_t kNarrowTerm = 7 * 8;

// A tap that is padding for no output, -1 when there is none.
int64_t AlwaysSeen(const ConvArgs& op) {
  int64_t tap = 0;
  for (int axis = 0; axis < ConvArgs::kAxes; ++axis) {
    int64_t found = -1;
    for (int64_t t = 0; t < op.kernel[axis] && found < 0; ++t) {
      const ConvArgs::Range seen = op.Seeing(axis, t);
      if (seen.begin == 0 && seen.end == op.out[axis]) found = t;
    }
    if (found < 0) return -1;
    tap = tap * op.kernel[axis] + found;
  }
  return tap;
}

// Tolerance of a result whose exact value is y, in the output's unit.
double SignsTolerance(const Form& form, const Contract& contract, DType out, double y) {
  const double u_out = (contract.RoundsToNearest() ? 1 : 2) * FormatOf(out).UnitRoundoff();
  return form.error + u_out * (std::abs(y) + form.error);
}

// A result without a term, or with one twice, is another integer; it is rounded too.
bool Separates(const Form& form, const Contract& contract, DType out, double y) {
  return SignsTolerance(form, contract, out, y) + SignsTolerance(form, contract, out, std::abs(y) + 1) < 1;
}

std::optional<Form> PlanSigns(const ConvArgs& op, const Problem& problem, const Contract& contract) {
  const DType out = problem.outputs[0].dtype;
  if (contract.winograd_m != 4 || contract.winograd_r != 3 || !op.IsWinograd() || !IsFloat(out) ||
      contract.mid != Intermediate::kNone || contract.acc == Accumulator::kTensorCore) {
    return std::nullopt;
  }
  for (int parts = 1; parts <= std::min<int64_t>(kMostConvParts, op.GroupInputs()); ++parts) {
    const int64_t channels = (op.GroupInputs() + parts - 1) / parts;
    Form form{.parts = parts, .error = WinogradUnitError(contract, channels)};
    const auto largest = static_cast<double>(channels * op.Taps() + kLargestAddend);
    if (op.bias) form.error += Gamma(3, 2 * contract.AccUnitRoundoff()) * (largest + form.error);
    if (Separates(form, contract, out, largest)) return form;
  }
  return std::nullopt;
}

// The carrier, 1.25 times 2^p for outputs of p bits, has so few bits that every operand holds it.
std::optional<Form> PlanTies(const ConvArgs& op, const Problem& problem, const Contract& contract) {
  const DType out = problem.outputs[0].dtype;
  const bool rounds = IsFloat(out) && contract.RoundsToNearest() && contract.alg == Algorithm::kDirect;
  if (!rounds || contract.in == InputRounding::kFP8 || !IsFloat(problem.inputs[1].dtype)) return std::nullopt;
  const int bits = FormatOf(out).precision;
  Form form{.anchor = AlwaysSeen(op), .carrier = int64_t{5} << (bits - 2)};
  const bool holds = FormatOf(problem.inputs[1].dtype).max_finite >= static_cast<double>(form.carrier);
  if (form.anchor < 0 || op.Terms() < 2 || !holds || TwinPartialBits(contract) < bits + 2) return std::nullopt;
  return form;
}

std::optional<Form> PlanForm(const ConvArgs& op, const Problem& problem, const Contract& contract, int variant) {
  if (variant == kTieVariant && contract.alg == Algorithm::kDirect) return PlanTies(op, problem, contract);
  const bool winograd = contract.alg == Algorithm::kWinograd;
  if (winograd && contract.winograd_m != 2) return PlanSigns(op, problem, contract);
  if (winograd && !(contract.winograd_m == 2 && contract.winograd_r == 3 && op.IsWinograd())) return std::nullopt;
  if (contract.alg != Algorithm::kDirect && !winograd) return std::nullopt;
  Form form{.unit = winograd ? 4 : 1};
  const auto terms = static_cast<double>(winograd ? op.GroupInputs() : op.Terms());
  const double growth = (winograd ? kWinogradGrowth : 1) * static_cast<double>(form.unit);
  const double room = (std::ldexp(1.0, TwinPartialBits(contract)) - kLargestAddend - 1) / (terms * growth);
  const int64_t limit = TwinInputLimit(problem.inputs[0].dtype, contract);
  const int shown = TwinOutputBits(problem.outputs[0].dtype);
  form.narrow = IsFloat(problem.outputs[0].dtype) && shown < 24;
  if (form.narrow) {
    if (limit < 24 * form.unit || room < kNarrowTerm) return std::nullopt;
    form.factors = room >= 3 * kNarrowTerm ? 3 : 1;
    const auto sum = static_cast<double>(op.Terms() * form.unit * form.factors * kNarrowTerm + kLargestAddend);
    // Without an anchor some balanced sum may be zero; a positive one shows at least gross faults.
    const bool hides = static_cast<double>(op.Terms()) > std::ldexp(1.0, shown - 3);
    form.anchor = AlwaysSeen(op);
    form.balanced = sum > FormatOf(problem.outputs[0].dtype).max_finite || (hides && form.anchor >= 0);
    if (!form.balanced) form.anchor = -1;
    return form;
  }
  if (variant == 1) form.climb = PlanConvClimb(op, problem, contract, kLargestAddend);
  if (form.climb) return form;
  form.factors = room >= 12 ? 3 : 1;
  const double each = std::floor(room / static_cast<double>(form.factors));
  form.w = std::min({static_cast<int64_t>(std::sqrt(each)), kLargest, limit / form.factors / form.unit});
  if (form.w < 1) return std::nullopt;
  form.x = std::min({static_cast<int64_t>(each) / form.w, kLargest, limit});
  if (form.x < 2) return std::nullopt;
  return form;
}

int64_t Sign(uint64_t stream, int64_t i) {
  return 2 * TwinFactor(stream, i, 2) - 3;
}

int64_t FactorOf(const Form& form, int64_t output) {
  const bool only_signs = form.parts > 0 || form.carrier > 0 || (form.climb && !form.climb->negative);
  if (only_signs) return Sign(kOutputs, output);
  if (form.narrow) return form.factors == 1 ? 1 : 2 * TwinFactor(kOutputs, output, 2) - 1;
  return TwinFactor(kOutputs, output, form.factors);
}

// v_k of a group's outputs: the digits of k in base w, the lower one in variant 0, the next one in variant 1.
int64_t TapValue(const ConvArgs& op, const Form& form, int64_t k, int variant) {
  if (form.parts > 0) {
    const bool used = form.parts == 1 || k / op.Taps() % form.parts == variant;
    return used ? Sign(kTaps + 64 * static_cast<uint64_t>(variant), k) : 0;
  }
  if (form.carrier > 0) {
    const int64_t other = form.anchor + 1 == op.Terms() ? 0 : op.Terms() - 1;
    return k == form.anchor ? form.carrier : k == other ? 1 : 0;
  }
  if (form.climb) return form.climb->Tap(k);
  if (!form.narrow) return form.unit * (1 + (variant == 0 ? k : k / form.w) % form.w);
  if (k == form.anchor) return form.unit * 5;
  const int64_t magnitude = form.unit * (4 + 2 * ((variant == 0 ? k : k / 3) % 3));
  if (!form.balanced) return magnitude;
  const int64_t channels = op.GroupInputs(), c = k / op.Taps();
  const bool middle = 2 * c + 1 == channels;
  const bool negative = middle ? 2 * (k % op.Taps()) >= op.Taps() : 2 * c >= channels;
  return negative ? -magnitude : magnitude;
}

Tensor TwinImage(const Form& form, const Operand& operand, int variant) {
  Tensor x(operand.dtype, operand.shape);
  std::vector<double> values(static_cast<size_t>(x.size()));
  const uint64_t stream = kImage + 64 * static_cast<uint64_t>(variant);
  ParallelFor(x.size(), 4096, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (form.parts > 0 || form.carrier > 0) {
        values[i] = static_cast<double>(Sign(stream, i));
        continue;
      }
      if (form.climb) {
        values[i] = static_cast<double>(form.climb->Pixel(stream, i));
        continue;
      }
      const int64_t drawn = TwinFactor(stream, i, form.narrow ? 3 : form.x);
      values[i] = static_cast<double>(form.narrow ? 1 + 2 * drawn : drawn);
    }
  });
  x.SetDoubles(values);
  return x;
}

Tensor TwinWeights(const ConvArgs& op, const Form& form, const Operand& operand, int variant) {
  Tensor w(operand.dtype, operand.shape);
  std::vector<double> values(static_cast<size_t>(w.size()));
  for (int64_t i = 0; i < w.size(); ++i) {
    values[i] = static_cast<double>(FactorOf(form, i / op.Terms()) * TapValue(op, form, i % op.Terms(), variant));
  }
  w.SetDoubles(values);
  return w;
}

// sum over k of x v_k for one image and group: [positions]. Integers below 2^53, so doubles hold them.
std::vector<double> GroupSum(const ConvArgs& op, const Form& form, std::span<const double> x, int64_t image,
                             int64_t group, int variant) {
  std::vector<double> sums(static_cast<size_t>(op.Positions()));
  for (int64_t k = 0; k < op.Terms(); ++k) {
    const auto v = static_cast<double>(TapValue(op, form, k, variant));
    if (v == 0) continue;
    const ConvArgs::Extents t = ConvArgs::Split(k % op.Taps(), op.kernel);
    const double* channel = &x[(image * op.c + group * op.GroupInputs() + k / op.Taps()) * op.Pixels()];
    const ConvArgs::Range seen = op.Seeing(2, t[2]);
    for (int64_t row = 0; row < op.out[0] * op.out[1]; ++row) {
      const int64_t p0 = row / op.out[1], p1 = row % op.out[1];
      if (!op.Sees(0, p0, t[0]) || !op.Sees(1, p1, t[1])) continue;
      const double* line = channel + (op.Source(0, p0, t[0]) * op.in[1] + op.Source(1, p1, t[1])) * op.in[2];
      for (int64_t p2 = seen.begin; p2 < seen.end; ++p2) sums[row * op.out[2] + p2] += v * line[op.Source(2, p2, t[2])];
    }
  }
  return sums;
}

// False: no result has terms, some result is zero that has, or its rounding is not the one legal one.
bool Expect(const ConvArgs& op, const Problem& problem, const Contract& contract, std::span<double> values) {
  bool any_terms = false;
  for (size_t i = 0; i < values.size(); ++i) {
    const bool terms = !op.SeesPaddingAlone(static_cast<int64_t>(i) % op.Positions());
    if (terms && values[i] == 0) return false;
    any_terms = any_terms || terms;
  }
  if (!any_terms) return false;
  if (IsInt(problem.outputs[0].dtype)) return true;
  for (double& y : values) {
    const double rounded = RoundToNearest(problem.outputs[0].dtype, contract, y);
    if (!std::isfinite(rounded)) return false;
    if (rounded != y && !contract.RoundsToNearest()) return false;
    y = rounded;
  }
  return true;
}

void Tolerate(const Form& form, const Problem& problem, const Contract& contract, Twin& twin) {
  const DType out = problem.outputs[0].dtype;
  twin.tolerances.reserve(twin.expected.size());
  for (const double y : twin.expected) {
    twin.tolerances.push_back(SignsTolerance(form, contract, out, y) / UlpAt(FormatOf(out), y));
    if (y != 0) twin.tolerance_ulp = std::max(twin.tolerance_ulp, twin.tolerances.back());
  }
}

std::string Describe(const Form& form, const Contract& contract, int variant) {
  if (form.parts > 0) {
    const std::string text = fmt::format("one missing term = expected - got = +-1 to within {:.2g}", form.error);
    return form.parts == 1 ? text : text + fmt::format(", of channels with c mod {} = {}", form.parts, variant);
  }
  if (form.narrow) {
    return fmt::format("one missing term = expected - got up to the output's rounding = f x w, w in {}{{4,6,8}}",
                       form.unit > 1 ? "4 " : "");
  }
  if (form.carrier > 0) return DescribeTies("sums lie", contract);
  if (form.climb) return form.climb->Describe();
  return fmt::format("one missing term = expected - got = f_o x v_k, v_k = {} (1 + {} mod {}), k = c * taps + tap",
                     form.unit, variant == 0 ? "k" : fmt::format("k / {}", form.w), form.w);
}

}  // namespace

std::optional<Twin> ConvTwin(const Problem& problem, const Contract& contract, int variant) {
  const ConvArgs op(problem);
  const std::optional<Form> form = PlanForm(op, problem, contract, variant);
  if (!form) return std::nullopt;
  Twin twin;
  twin.inputs.push_back(TwinImage(*form, problem.inputs[0], variant));
  twin.inputs.push_back(TwinWeights(op, *form, problem.inputs[1], variant));
  if (op.bias) {
    // Even in the balanced form, so that results stay odd; none beside ties.
    Tensor bias(problem.inputs[2].dtype, problem.inputs[2].shape);
    std::vector<double> values;
    for (int64_t o = 0; o < op.o; ++o) {
      values.push_back(form->carrier > 0 ? 0
                       : form->balanced  ? 2
                                         : static_cast<double>(TwinFactor(kConvBias, o, kLargestAddend)));
    }
    bias.SetDoubles(values);
    twin.inputs.push_back(std::move(bias));
  }
  const std::vector<double> x = twin.inputs[0].ToDoubles();
  twin.expected.resize(static_cast<size_t>(NumElements(problem.outputs[0].shape)));
  ParallelFor(op.n * op.groups, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t image = i / op.groups, group = i % op.groups;
      const std::vector<double> sums = GroupSum(op, *form, x, image, group, variant);
      for (int64_t o = group * op.GroupOutputs(); o < (group + 1) * op.GroupOutputs(); ++o) {
        const auto factor = static_cast<double>(FactorOf(*form, o));
        const double added = op.bias ? ValueAt(twin.inputs[2], o) : 0;
        double* to = &twin.expected[(image * op.o + o) * op.Positions()];
        for (int64_t p = 0; p < op.Positions(); ++p) to[p] = factor * sums[p] + added;
      }
    }
  });
  if (form->parts > 0) {
    Tolerate(*form, problem, contract, twin);
  } else if (!Expect(op, problem, contract, twin.expected)) {
    return std::nullopt;
  }
  twin.code = Describe(*form, contract, variant);
  return twin;
}

int ConvTwinVariants(const Problem& problem, const Contract& contract) {
  const std::optional<Form> form = PlanForm(ConvArgs(problem), problem, contract, 0);
  if (!form) return 0;
  const bool has_ties = form->parts == 0 && PlanForm(ConvArgs(problem), problem, contract, kTieVariant).has_value();
  return has_ties && contract.alg == Algorithm::kDirect ? kTieVariant + 1 : std::max(2, form->parts);
}

std::vector<Mutant> ConvOmittedTerms(const Problem& problem, std::span<const Tensor> inputs,
                                     std::span<const double> values, std::span<const int64_t> outputs) {
  const ConvArgs op(problem);
  std::vector<Mutant> mutants;
  for (int64_t output : outputs) {
    const std::vector<ConvTerm> terms = VisibleTerms(op, output);
    const auto product = [&](const ConvTerm& term) { return ValueAt(inputs[0], term.x) * ValueAt(inputs[1], term.w); };
    for (int64_t k : SampledTerms(std::ssize(terms), output)) {
      const double omitted = product(terms[k]);
      if (omitted == 0) continue;  // omitting nothing is no fault
      double value = values[output] - omitted;
      if (!std::isfinite(values[output]) || !std::isfinite(omitted)) {  // sum again without it
        value = op.bias ? ValueAt(inputs[2], op.ChannelOf(output)) : 0;
        for (int64_t j = 0; j < std::ssize(terms); ++j) value += j == k ? 0 : product(terms[j]);
        if (std::isnan(values[output]) && std::isnan(value)) continue;
      }
      mutants.push_back({output, value, k});
    }
  }
  return mutants;
}

}  // namespace assay
