// SPDX-License-Identifier: Apache-2.0
// Relations of conv: images alone or elsewhere, output channels elsewhere, -x and 2^k x, and kernels of a single one,
// which copy elements of x.

#include "ops/conv/conv.h"
#include "ops/relations.h"

namespace assay {
namespace {

// The kernel of channel o is one at term o (mod K) and zero elsewhere.
std::optional<OtherExecution> SelectingTaps(const ExecutedSet& executed) {
  const ConvArgs op(executed.problem);
  if (!AllFinite(executed.inputs[0])) return std::nullopt;
  OtherExecution other{.inputs = Clones(executed.inputs)};
  for (size_t i = 1; i < other.inputs.size(); ++i) {
    std::vector<double> zeros(static_cast<size_t>(other.inputs[i].size()));
    for (int64_t o = 0; i == 1 && o < op.o; ++o) zeros[o * op.Terms() + o % op.Terms()] = 1;
    other.inputs[i].SetDoubles(zeros);
  }
  const std::vector<double> x = executed.inputs[0].ToDoubles();
  Tensor y(executed.problem.outputs[0].dtype, executed.problem.outputs[0].shape);
  std::vector<double> values(static_cast<size_t>(y.size()));
  for (int64_t i = 0; i < y.size(); ++i) {
    const int64_t o = op.ChannelOf(i), term = o % op.Terms(), image = i / (op.o * op.Positions());
    const ConvArgs::Extents p = op.PositionOf(i), t = ConvArgs::Split(term % op.Taps(), op.kernel);
    const int64_t channel = o / op.GroupOutputs() * op.GroupInputs() + term / op.Taps();
    int64_t at = image * op.c + channel;
    bool seen = true;
    for (int axis = 0; axis < ConvArgs::kAxes; ++axis) {
      seen = seen && op.Sees(axis, p[axis], t[axis]);
      at = at * op.in[axis] + op.Source(axis, p[axis], t[axis]);
    }
    values[i] = seen ? x[at] : 0;
  }
  y.SetDoubles(values);
  other.expected = y.ToDoubles();
  return other;
}

struct ConvAxes {
  SliceAxes images, channels;  // channels: with all that they read where they are grouped
};

ConvAxes ConvAxesOf(const ConvArgs& c) {
  ConvAxes all{.images = {.inputs = {0, -1}, .output = 0, .extent = c.n},
               .channels = {.inputs = {-1, 0}, .output = 1, .extent = c.o}};
  if (c.groups > 1) all.channels = {.inputs = {1, 0}, .output = 1, .extent = c.groups};
  if (c.bias) all.images.inputs.push_back(-1), all.channels.inputs.push_back(0);
  return all;
}

}  // namespace

std::vector<SliceAxes> ConvSlices(const Problem& problem) {
  const auto [images, channels] = ConvAxesOf(ConvArgs(problem));
  return Several({images, channels});
}

std::vector<int> ConvScaledInputs(const Problem& problem) {
  return ConvArgs(problem).bias ? std::vector{0, 2} : std::vector{0};
}

std::vector<Relation> ConvRelations(const Operator& op, const Problem& problem) {
  const ConvArgs c(problem);
  const auto [images, channels] = ConvAxesOf(c);
  const std::vector<int> scaled = op.ScaledInputs(problem);
  std::vector<Relation> all;
  if (c.n > 1) all.push_back(Reversed("position", Claim::kBatchInvariant, images));
  all.push_back(Negated(scaled));
  all.push_back({.name = "one_hot", .claim = Claim::kCopies, .make = SelectingTaps});
  // The transforms of Winograd's algorithms multiply by at least 1/24 and add up fewer than 2^8 terms each.
  all.push_back(Scaled(Claim::kScalable, {.scaled = scaled,
                                          .factors = {0, 1},
                                          .terms = static_cast<double>(c.Terms()) + 1,
                                          .gain_low = 0x1p-10,
                                          .gain_high = 0x1p16}));
  Append(all, Prefixes(op, problem, "batch", images, [](int64_t count) {
           return AttrList{{"n", std::to_string(count)}};
         }));
  if (c.o > 1 && c.groups == 1) all.push_back(Reversed("columns", Claim::kNone, channels));
  return all;
}

}  // namespace assay
