// SPDX-License-Identifier: Apache-2.0
// Dimensions of convolution cases. Channels are composed of groups and the inputs and outputs of each group, the image
// of its last axis and the axes before it.
#include <algorithm>
#include <numeric>

#include "ops/case_space.h"
#include "ops/conv/conv.h"

namespace assay {
namespace {

void ComposeConv(AttrList& attrs) {
  const int64_t groups = std::stoll(Take(attrs, "grouped"));
  const int64_t takes = std::stoll(Take(attrs, "takes")), gives = std::stoll(Take(attrs, "gives"));
  attrs.emplace_back("c", std::to_string(groups * takes));
  attrs.emplace_back("o", std::to_string(groups * gives));
  attrs.emplace_back("groups", std::to_string(groups));
  const std::string lead = Take(attrs, "lead"), width = Take(attrs, "width");
  attrs.emplace_back("i", lead.empty() ? width : lead + "x" + width);
}

int64_t Takes(const SpaceView& view) {
  return view.Int("c") / view.Int("groups");
}
int64_t Gives(const SpaceView& view) {
  return view.Int("o") / view.Int("groups");
}
int64_t Width(const SpaceView& view) {
  return view.attrs.List("i").back();
}

int64_t ProductOf(const std::vector<int64_t>& list) {
  return std::accumulate(list.begin(), list.end(), int64_t{1}, std::multiplies<>());
}

// One number stands for all axes of the image.
int64_t WindowTaps(const SpaceView& view) {
  std::vector<int64_t> k = view.attrs.List("k");
  k.resize(view.attrs.List("i").size(), k[0]);
  return ProductOf(k);
}

// A window of equal extents is written once for each axis.
void AddWindow(CaseSpace& space) {
  const std::vector<std::string> windows = {"1", "2", "3", "5", "1x3", "3x2", "7", "1x1x3", "3x2x1", "2x3x4"};
  space.AddKnob("k", windows);
  AddRelation(space, "k", {"k"}, windows, [windows](const SpaceView& view) {
    const std::vector<int64_t> k = view.attrs.List("k");
    const bool equal = std::ranges::all_of(k, [&](int64_t extent) { return extent == k[0]; });
    auto found = std::ranges::find(windows, ShapeText(k));
    if (found == windows.end() && equal) found = std::ranges::find(windows, std::to_string(k[0]));
    return found == windows.end() ? -1 : static_cast<int>(found - windows.begin());
  });
}

void AddChannels(CaseSpace& space) {
  space.AddKnob("takes", ExtentValues(1025));
  space.AddKnob("gives", ExtentValues(641));
  space.AddKnob("grouped", {"1", "2", "3", "4", "5", "8", "16", "33", "130"});
  AddResidues(space, "channels in of a group", {"takes"}, Takes);
  AddMagnitude(space, "channels in of a group", {"takes"}, Takes, {1, 16, 256, 1024}, kInTriples);
  AddResidues(space, "channels out of a group", {"gives"}, Gives, {2, 3, 8, 16, 64});
  AddMagnitude(space, "channels out of a group", {"gives"}, Gives, {1, 16, 256}, kInTriples);
  AddMagnitude(
      space, "groups", {"grouped"}, [](const SpaceView& view) { return view.Int("groups"); }, {1, 16, 128}, kInTriples);
  AddRelation(space, "grouping", {"grouped", "takes", "gives"},
              {"none", "grouped", "depthwise", "depthwise with multiplier"}, [](const SpaceView& view) {
                if (view.Int("groups") == 1) return 0;
                return Takes(view) > 1 ? 1 : Gives(view) == 1 ? 2 : 3;
              });
}

void AddImage(CaseSpace& space) {
  space.AddKnob("width", ExtentValues(641));
  space.AddKnob("lead", {"", "1", "5", "8", "13", "20", "3x4", "5x2", "6x6"});
  AddResidues(space, "width", {"width"}, Width);
  AddMagnitude(space, "width", {"width"}, Width, {1, 16, 256});
  AddRelation(
      space, "spatial axes", {"lead"}, {"1", "2", "3"},
      [](const SpaceView& view) { return static_cast<int>(view.attrs.List("i").size()) - 1; }, kInTriples);
  AddRelation(space, "extents of the image", {"lead", "width"}, {"one", "all equal", "some equal", "all different"},
              [](const SpaceView& view) {
                std::vector<int64_t> i = view.attrs.List("i");
                const size_t rank = i.size();
                std::ranges::sort(i);
                i.erase(std::unique(i.begin(), i.end()), i.end());
                return rank == 1 ? 0 : i.size() == 1 ? 1 : i.size() < rank ? 2 : 3;
              });
}

// Whether some output meets more than padding along this axis.
bool MeetsImage(int64_t in, int64_t k, int64_t stride, int64_t pad, int64_t dilation) {
  for (int64_t at = -pad; at + dilation * (k - 1) < in + pad; at += stride) {
    for (int64_t tap = 0; tap < k; ++tap) {
      if (at + tap * dilation >= 0 && at + tap * dilation < in) return true;
    }
  }
  return false;
}

std::string WhyUselessConvolution(const SpaceView& view) {
  const std::vector<int64_t> in = view.attrs.List("i");
  std::vector<std::vector<int64_t>> lists;
  for (const char* key : {"k", "stride", "pad", "dilation"}) {
    lists.push_back(view.attrs.List(key));
    lists.back().resize(in.size(), lists.back()[0]);
  }
  int64_t results = view.Int("n") * view.Int("o");
  for (size_t axis = 0; axis < in.size(); ++axis) {
    const int64_t span = lists[3][axis] * (lists[0][axis] - 1) + 1;
    results *= (in[axis] + 2 * lists[2][axis] - span) / lists[1][axis] + 1;
    if (!MeetsImage(in[axis], lists[0][axis], lists[1][axis], lists[2][axis], lists[3][axis])) {
      return "all outputs see padding alone";
    }
  }
  if (results < 16) return "fewer than sixteen results may be equal";
  const bool narrow = SizeOf(view.spec.dtypes.back()) < 4;
  const int64_t terms = Takes(view) * WindowTaps(view);
  if (narrow && terms > 128) return "padded and few places cannot show one of many terms below the rounding of 16 bits";
  const bool padded = std::ranges::any_of(lists[2], [](int64_t pad) { return pad > 0; });
  if (IsInt(view.spec.dtypes.front()) && terms > 1024 && (padded || results < 64)) {
    return "padding keeps sums of integers below what tells i32 from f32";
  }
  return "";
}

void AddConvTensors(CaseSpace& space) {
  AddTensorSize(space, "x", {"lead", "width", "takes", "grouped", "n"},
                [](const SpaceView& view) { return view.Int("n") * view.Int("c") * ProductOf(view.attrs.List("i")); });
  AddTensorSize(space, "w", {"lead", "k", "takes", "gives", "grouped"},
                [](const SpaceView& view) { return view.Int("o") * Takes(view) * WindowTaps(view); });
}

}  // namespace

CaseSpace ConvSpace() {
  CaseSpace space;
  space.compose = ComposeConv;
  space.useless = WhyUselessConvolution;
  space.Vary("dtypes", {"f32", "bf16", "f16", "f64", "bf16-bf16-f32", "f16-f16-f32", "i8-i8-i32"}, kInTriples);
  space.Vary("n", {"1", "2", "3"});
  AddChannels(space);
  AddImage(space);
  AddWindow(space);
  AddMagnitude(space, "taps", {"k", "lead"}, WindowTaps, {1, 6, 9, 36}, kInTriples);
  space.Vary("stride", {"1", "2", "3", "2x1", "1x2x3"}, kInTriples);
  space.Vary("pad", {"0", "1", "3", "2x1", "1x0x2"}, kInTriples);
  space.Vary("dilation", {"1", "2", "3", "1x2", "2x1x3"}, kInTriples);
  AddConvTensors(space);
  space.Vary("bias", {"0", "1"}, kInTriples);
  space.Vary("fill", {"normal", "outlier", "cancel-1e6", "ramp", "coded", "subnormal", "special", "edges", "pow2",
                      "large", "extremes"});
  return space;
}

}  // namespace assay
