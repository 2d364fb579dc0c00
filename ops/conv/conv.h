// SPDX-License-Identifier: Apache-2.0
// Parts of the operator conv (conv.cc): y[n,o,p] = bias[o] + sum over c, t of x[n, c, p stride + t dilation - pad]
// w[o,c,t], the cross-correlation of neural networks (the kernel is not flipped), in one to three dimensions.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ops/operator.h"

namespace assay {

// The attributes of a bound convolution. Always three spatial axes: leading ones of extent 1 stand in for absent ones.
struct ConvArgs {
  static constexpr int kAxes = 3;
  using Extents = std::array<int64_t, kAxes>;

  explicit ConvArgs(const Problem& problem);

  int64_t GroupInputs() const { return c / groups; }   // channels that one output sums over
  int64_t GroupOutputs() const { return o / groups; }  // outputs that share them
  int64_t Taps() const { return kernel[0] * kernel[1] * kernel[2]; }
  int64_t Terms() const { return GroupInputs() * Taps(); }                     // K, padded taps included
  int64_t Positions() const { return out[0] * out[1] * out[2]; }               // of one output channel
  int64_t Pixels() const { return in[0] * in[1] * in[2]; }                     // of one input channel
  int64_t ChannelOf(int64_t i) const { return i / Positions() % o; }           // of output element i
  Extents PositionOf(int64_t i) const { return Split(i % Positions(), out); }  // of output element i
  static Extents Split(int64_t index, const Extents& extents);

  // Where tap t reads for an output at p along one axis; outside [0, in) it is padding.
  int64_t Source(int axis, int64_t p, int64_t t) const { return p * stride[axis] + t * dilation[axis] - pad[axis]; }
  bool Sees(int axis, int64_t p, int64_t t) const {
    const int64_t source = Source(axis, p, t);
    return source >= 0 && source < in[axis];
  }
  // Whether no tap of an output's position (PositionOf, flat) reads an element of x: wide padding, or gaps of dilation.
  bool SeesPaddingAlone(int64_t position) const;
  // The outputs [begin, end) along one axis for which tap t is not padding.
  struct Range {
    int64_t begin = 0, end = 0;
  };
  Range Seeing(int axis, int64_t t) const;
  double ShareOfTapsSeen() const;  // of all outputs' taps; the others are padding

  // Winograd needs 3x3, stride and dilation 1, two dimensions.
  bool IsWinograd() const;

  int64_t n = 1, c = 1, o = 1, groups = 1;
  bool bias = false;
  int rank = 1;  // spatial axes of the operands
  Extents in, kernel, stride, pad, dilation, out;
};

// The terms of one output that are not padding: offsets into x and w, in the order of (c, taps).
struct ConvTerm {
  int64_t x = 0, w = 0;
};
std::vector<ConvTerm> VisibleTerms(const ConvArgs& op, int64_t output);
// nullptr: a bias is added to the sum.
std::unique_ptr<SumProducts> ConvProducts(const Problem& problem, std::span<const Tensor> inputs);

// x w + bias with all planes. A weight that is infinite or NaN makes 0 * w of a padded tap: NaN where padding is
// multiplied, nothing where it is skipped. Both are in use: the golden value skips, and the plane "padded_nonfinite" is
// 1 where NaN is as right.
Golden ConvGolden(const ConvArgs& op, const Problem& problem, std::span<const Tensor> inputs, Tier tier);

// Sums the elements with a padded tap whose weight is infinite or NaN over their other taps; 1 for each of them in the
// plane that is returned, which is empty when there is none. Before the bias.
Plane SkipPaddedNonFinite(const ConvArgs& op, const Tensor& x, const Tensor& w, Golden& golden);
// The plane "lost_infinity": 1 where the sum has an infinity times a subnormal, which is NaN for a unit that flushes
// the subnormal to zero first. Absent when there is no such element.
void AddLostInfinities(const ConvArgs& op, std::span<const Tensor> inputs, Golden& golden);

// The plane "largest_operand": the largest finite |x| and |w| among the factors of each element, padded taps included,
// whose zeros may be multiplied; only where some of them becomes infinite in a narrower class's rounding of operands.
void AddLargestOperands(const ConvArgs& op, std::span<const Tensor> inputs, Golden& golden);

BoundModel ConvBound(const ConvArgs& op, const Golden& golden, const Contract& contract, DType in, DType out);

// Planes of F(2,3) and F(4,3), where the shape permits them (conv_winograd.cc, conv_winograd_planes.cc).
void AddWinogradPlanes(const ConvArgs& op, std::span<const Tensor> inputs, Golden& golden);
// nullopt: no planes for the contract's tile.
std::optional<BoundModel> WinogradBound(const ConvArgs& op, const Golden& golden, const Contract& contract, DType in,
                                        DType out);

// Tables of what a transform of the image can be off by (conv_fft.cc), for a contract with alg=fft.
void AddFftPlanes(const ConvArgs& op, std::span<const Tensor> inputs, Golden& golden);
// nullopt: no tables, of integers.
std::optional<BoundModel> FftConvBound(const ConvArgs& op, const Golden& golden, const Contract& contract, DType out);

// The bound of F(4,3)'s error, before bias and output rounding, where |x| and |w| are 1 in `channels` channels that add
// up to one output, and 0 in the others.
double WinogradUnitError(const Contract& contract, int64_t channels);

std::optional<Twin> ConvTwin(const Problem& problem, const Contract& contract, int variant);
int ConvTwinVariants(const Problem& problem, const Contract& contract);

std::vector<Mutant> ConvOmittedTerms(const Problem& problem, std::span<const Tensor> inputs,
                                     std::span<const double> values, std::span<const int64_t> outputs);

std::vector<SliceAxes> ConvSlices(const Problem& problem);
std::vector<int> ConvScaledInputs(const Problem& problem);
std::vector<Relation> ConvRelations(const Operator& op, const Problem& problem);

CaseSpace ConvSpace();

}  // namespace assay
