// SPDX-License-Identifier: Apache-2.0
// Dimensions of attention cases.
#include <fmt/format.h>

#include <algorithm>

#include "ops/attention/attention.h"
#include "ops/case_space.h"

namespace assay {
namespace {

void AddHeads(CaseSpace& space) {
  space.Vary("b", {"1", "2", "3"}, kInTriples);
  const std::vector<std::vector<std::string>> heads = {{"1", "1"}, {"2", "2"}, {"2", "1"}, {"4", "2"},
                                                       {"3", "1"}, {"6", "3"}, {"5", "5"}};
  space.knobs.push_back({{"h", "hkv"}, heads});
  std::vector<std::string> levels;
  for (const auto& pair : heads) levels.push_back(fmt::format("{} on {}", pair[0], pair[1]));
  AddRelation(space, "heads", {"h"}, std::move(levels), [heads](const SpaceView& view) {
    const std::vector<std::string> own = {std::to_string(view.Int("h")), std::to_string(view.Int("hkv"))};
    const auto found = std::ranges::find(heads, own);
    return found == heads.end() ? -1 : static_cast<int>(found - heads.begin());
  });
  AddRelation(
      space, "grouping of heads", {"h"}, {"one", "several", "shared by groups", "shared by all"},
      [](const SpaceView& view) {
        const int64_t h = view.Int("h"), hkv = view.Int("hkv");
        return h == 1 ? 0 : h == hkv ? 1 : hkv > 1 ? 2 : 3;
      },
      kInTriples);
}

void AddSequences(CaseSpace& space) {
  for (const auto& [key, largest] : {std::pair{"l", 4097}, {"s", 4097}, {"d", 257}, {"dv", 257}}) {
    const Extent extent = [key = key](const SpaceView& view) { return view.Int(key); };
    space.AddKnob(key, ExtentValues(largest));
    AddResidues(space, key, {key}, extent);
    const bool keys = std::string_view(key) == "s", width = largest == 257;
    AddMagnitude(space, key, {key}, extent,
                 width  ? std::vector<int64_t>{1, 16, 128}
                 : keys ? std::vector<int64_t>{1, 16, 256, 4096}
                        : std::vector<int64_t>{1, 16, 256},
                 !width);
  }
  AddComparison(space, "l", "s", kInTriples);
  AddComparison(space, "d", "dv");
}

void AddMasks(CaseSpace& space) {
  space.Vary("causal", {"0", "1"}, kInTriples);
  space.Vary("align", {"br", "tl"}, kInTriples);
  space.Vary("window", {"0", "1", "2", "5", "64", "1000"});
  AddRelation(
      space, "reach of the window", {"window", "s"}, {"none", "some keys", "all keys"},
      [](const SpaceView& view) {
        const int64_t window = view.Int("window");
        return window == 0 ? 0 : window < view.Int("s") ? 1 : 2;
      },
      kInTriples);
  space.knobs.push_back(
      {{"mask", "mask_per_head"}, {{"none", "0"}, {"bool", "0"}, {"bool", "1"}, {"add", "0"}, {"add", "1"}}});
  AddRelation(
      space, "mask", {"mask"}, {"none", "bool", "bool per head", "add", "add per head"},
      [](const SpaceView& view) {
        const std::string mask = view.attrs.Text("mask");
        const int per_head = static_cast<int>(view.Int("mask_per_head"));
        return mask == "none" ? 0 : (mask == "bool" ? 1 : 3) + per_head;
      },
      kInTriples);
  space.Vary("masked_rows", {"zero", "nan"}, kInTriples);
}

void AddAttentionTensors(CaseSpace& space) {
  AddTensorSize(space, "q", {"b", "h", "l", "d"},
                [](const SpaceView& view) { return view.Int("b") * view.Int("h") * view.Int("l") * view.Int("d"); });
  AddTensorSize(space, "k", {"b", "h", "s", "d"},
                [](const SpaceView& view) { return view.Int("b") * view.Int("hkv") * view.Int("s") * view.Int("d"); });
  const Extent scores = [](const SpaceView& view) {
    return view.Int("b") * view.Int("h") * view.Int("l") * view.Int("s");
  };
  AddTensorSize(space, "the scores", {"b", "h", "l", "s"}, scores, /*is_operand=*/false);
}

// Queries of one head that see a key which no mask hides as padding, as far as four.
int64_t QueriesThatSee(const SpaceView& view) {
  const int64_t l = view.Int("l"), s = view.Int("s"), window = view.Int("window");
  const bool causal = view.Int("causal") != 0;
  const int64_t shown = view.attrs.Text("mask") == "none" ? s : s - s / 8;  // as attention_mask.cc does it
  const int64_t shift = view.attrs.Text("align") == "tl" ? 0 : s - l;
  int64_t seeing = 0;
  for (int64_t i = 0; i < l && seeing < 4; ++i) {
    const int64_t at = i + shift;
    const int64_t first = window > 0 ? std::max<int64_t>(0, at - window + 1) : 0;
    const int64_t last = std::min({shown, causal ? at + 1 : shown, window > 0 ? at + window : shown});
    seeing += first < last ? 1 : 0;
  }
  return seeing;
}

// Cases in which a constant, or zeros, would be right as well.
std::string WhyUselessAttention(const SpaceView& view) {
  const int64_t heads = view.Int("b") * view.Int("h"), dv = view.Int("dv"), s = view.Int("s");
  const std::string& fill = view.spec.fill;
  const int64_t d = view.Int("d"), window = view.Int("window"), results = heads * view.Int("l") * dv;
  if (results < 16) return "fewer than sixteen results may be equal";
  if (fill == "ties" && (d < 4 || dv < 4 || s < 4)) return "lines of so few values may be alike";
  if (fill == "large" && (s < 8 || dv < 4)) return "each query may see one key alone";
  if ((fill == "special" || fill == "edges") && d * dv < 16) return "special values hide what is left out";
  if ((s == 1 || view.Int("window") == 1) && view.Int("b") * view.Int("hkv") * dv < 4)
    return "all results may be equal";
  const bool apart = view.attrs.Text("mask") == "none" || view.Int("mask_per_head") != 0;
  if (QueriesThatSee(view) * (apart ? heads : 1) < 4) return "hardly a query sees a key";
  if (s >= 1000 && (d < 64 || results < 64) && (window == 0 || window >= 1000))
    return "one key of thousands with like weights is not seen";
  if (view.spec.fill == "subnormal" && view.Int("b") * view.Int("hkv") * dv < 4) return "all queries see keys alike";
  if (view.spec.fill == "subnormal" && s > 16) return "each term is below the smallest number";
  return "";
}

}  // namespace

CaseSpace AttentionSpace() {
  CaseSpace space;
  space.useless = WhyUselessAttention;
  space.Vary("dtypes", {"f32", "bf16", "f16", "f64"}, kInTriples);
  AddHeads(space);
  AddSequences(space);
  AddMasks(space);
  AddAttentionTensors(space);
  space.Vary("scale", {"auto", "0.0625", "1"}, kInTriples);
  space.Vary("softcap", {"0", "2", "50"}, kInTriples);
  space.Vary("fill", {"normal", "lognormal", "outlier", "subnormal", "special", "edges", "pow2", "ties", "large"});
  return space;
}

}  // namespace assay
