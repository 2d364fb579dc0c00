// SPDX-License-Identifier: Apache-2.0
// attention: scores, weights and values one after the other through a workspace ("materialised"), or in one pass over
// blocks of keys ("flash").
#include <algorithm>

#include "backends/common/attention_spec.h"
#include "backends/vulkan/operators.h"

namespace vulkan {
namespace {

using plugin::AttentionSpec;

constexpr uint32_t kWorkgroupSubgroups = 4;
constexpr uint32_t kBlockTiles = 4;  // of a subgroup's width, in a block of keys
constexpr int64_t kLongRow = 1024;
constexpr uint32_t kScoreKeys = 4;  // that a lane scores at once

// Must match the layout in shaders/attention.glsl.
template <class Real>
struct AttentionParams {
  uint32_t heads, group, l, s;
  uint32_t d, dv, kv_heads, first_head;
  uint32_t causal, top_left, window, mask_kind;
  uint32_t masked_nan, row_tiles, capped, unused;
  uint32_t q[4], k[4], v[4], o[4], mask[4];
  Real scale, softcap;
};

int64_t RowsOf(const AttentionSpec& s) {
  return s.heads / s.kv_heads * s.l;
}

uint32_t TileRowsOf(const AttentionSpec& s) {
  if (IsSmall(s.Work())) return kSmallRows;
  return RowsOf(s) >= 8 ? 8 : RowsOf(s) > 1 ? 4 : 1;
}

template <class Real>
std::vector<std::byte> ParamsFor(const AttentionSpec& s, int64_t first_head, int64_t heads) {
  AttentionParams<Real> p{};
  const auto u = [](int64_t x) { return static_cast<uint32_t>(x); };
  p.heads = u(heads), p.group = u(s.heads / s.kv_heads), p.l = u(s.l), p.s = u(s.s);
  p.d = u(s.d), p.dv = u(s.dv), p.kv_heads = u(s.kv_heads), p.first_head = u(first_head);
  p.causal = s.causal ? 1 : 0, p.top_left = s.top_left ? 1 : 0, p.window = u(std::min(s.window, s.l + s.s));
  p.mask_kind = static_cast<uint32_t>(s.mask_kind), p.masked_nan = s.masked_nan ? 1 : 0,
  p.capped = s.softcap > 0 ? 1 : 0;
  p.row_tiles = u(static_cast<int64_t>(CeilDiv(RowsOf(s), TileRowsOf(s))));
  const auto set = [&](const AttentionSpec::Strides& from, uint32_t* to) { std::ranges::transform(from, to, u); };
  set(s.q, p.q), set(s.k, p.k), set(s.v, p.v), set(s.o, p.o), set(s.mask, p.mask);
  p.scale = static_cast<Real>(s.scale), p.softcap = static_cast<Real>(s.softcap);
  return BytesOf(p);
}

// How a kernel is laid out, and the key heads that it takes. What a kernel does not use stays at its default, so that
// fewer of them are compiled.
struct Layout {
  uint32_t rows = 1;
  uint32_t subgroups = kWorkgroupSubgroups;
  uint32_t columns = 1;
  uint32_t keys = 1;
  bool builtin = false;
  int64_t first_head = 0, heads = 1;
};

Step StepFor(const Facts& facts, const plugin::OpDesc& op, const AttentionSpec& s, const char* shader,
             const Layout& layout) {
  const bool masked = s.mask_kind != plugin::MaskKind::kNone;
  const bool added = s.mask_kind == plugin::MaskKind::kAdd;  // else it has no type that matters
  const uint32_t lanes = facts.subgroup_size;
  Step step;
  step.kernel = {
      shader, VariantFor(op),
      Constants(lanes * layout.subgroups, {s.dtype, s.dtype, s.dtype, added ? s.mask_dtype : s.dtype, s.dtype},
                {lanes, layout.rows, layout.columns, layout.subgroups, layout.builtin ? 1u : 0u, layout.keys,
                 facts.UnrolledSteps()})};
  step.kernel.full_subgroups = true;
  step.params = s.IsF64() ? ParamsFor<double>(s, layout.first_head, layout.heads)
                          : ParamsFor<float>(s, layout.first_head, layout.heads);
  step.slots = {In(0), In(1), In(2), In(masked ? 3 : 0), Out()};
  return step;
}

// Loop turns of a product with `count` elements, where each lane takes one element at a time.
uint64_t TurnsOfProduct(const Facts& facts, int64_t count) {
  return Turns(CeilDiv(count, facts.subgroup_size), Turns(facts.subgroup_size / facts.UnrolledSteps()));
}

uint64_t TurnsOfFlash(const Facts& facts, const AttentionSpec& s, uint32_t subgroups, uint32_t columns) {
  const uint64_t rows = TileRowsOf(s), keys = kBlockTiles / subgroups;
  const uint64_t scores = TurnsOfProduct(facts, s.d) + Turns(rows, Turns(keys)) + Turns(rows);
  const uint64_t values = TurnsOfProduct(facts, kBlockTiles * facts.subgroup_size);
  return Turns(CeilDiv(s.s, kBlockTiles * facts.subgroup_size), scores + values) + Turns(rows, Turns(columns)) +
         Turns(rows);
}

template <bool kBuiltin>
Recipe FlashRecipe(const Facts& facts, const plugin::OpDesc& op) {
  const AttentionSpec s = plugin::ParseAttention(op);
  const int64_t heads = s.batch * s.kv_heads;
  // Long rows: one subgroup, which needs no barriers, with up to eight columns of results per lane. Short ones: the
  // smaller kernel, which compiles several times sooner.
  const bool alone = s.s >= kLongRow && s.dv <= 8 * facts.subgroup_size;
  const uint32_t subgroups = alone ? 1 : kWorkgroupSubgroups;
  const auto columns = static_cast<uint32_t>(CeilDiv(s.dv, facts.subgroup_size * subgroups));
  Step step = StepFor(facts, op, s, "attention_flash",
                      {TileRowsOf(s), subgroups, columns, kBlockTiles / subgroups, kBuiltin, 0, heads});
  step.groups = static_cast<uint64_t>(heads) * CeilDiv(RowsOf(s), TileRowsOf(s));
  step.turns = TurnsOfFlash(facts, s, subgroups, columns);
  return {{step}, {}};
}

uint64_t ScoreBytesPerHead(const AttentionSpec& s) {
  return static_cast<uint64_t>(RowsOf(s)) * static_cast<uint64_t>(s.s) * (s.IsF64() ? 8 : 4);
}

// Handles as many heads at a time as have scores that fit into one storage binding.
Recipe MaterialisedRecipe(const Facts& facts, const plugin::OpDesc& op) {
  const AttentionSpec s = plugin::ParseAttention(op);
  const uint32_t lanes = facts.subgroup_size, columns = s.dv > lanes && !IsSmall(s.Work()) ? 4 : 1;
  const int64_t all = s.batch * s.kv_heads;
  const auto at_once = std::min(all, static_cast<int64_t>(facts.MaxBinding() / ScoreBytesPerHead(s)));
  Recipe recipe{{}, {{static_cast<uint64_t>(at_once) * ScoreBytesPerHead(s), {}}}};
  for (int64_t first = 0; first < all; first += at_once) {
    const int64_t heads = std::min(at_once, all - first);
    const auto add = [&](const char* shader, uint64_t subgroups, uint64_t turns, Layout layout) {
      layout.first_head = first, layout.heads = heads;
      Step step = StepFor(facts, op, s, shader, layout);
      step.slots.push_back(Work(0));
      step.groups = CeilDiv(static_cast<int64_t>(subgroups), kWorkgroupSubgroups);
      step.turns = turns;
      recipe.steps.push_back(std::move(step));
    };
    const uint64_t tiles = static_cast<uint64_t>(heads) * CeilDiv(RowsOf(s), TileRowsOf(s));
    const uint64_t rows = TileRowsOf(s);
    add("attention_scores", tiles * CeilDiv(s.s, kScoreKeys * lanes),
        TurnsOfProduct(facts, s.d) + Turns(rows, Turns(kScoreKeys)), {.rows = TileRowsOf(s), .keys = kScoreKeys});
    add("attention_weights", static_cast<uint64_t>(heads * RowsOf(s)), 3 * Turns(CeilDiv(s.s, lanes)), {});
    add("attention_values", tiles * CeilDiv(s.dv, columns * lanes), TurnsOfProduct(facts, s.s) + Turns(rows),
        {.rows = TileRowsOf(s), .columns = columns});
  }
  return recipe;
}

std::string AttentionWhyNot(const Facts& facts, const plugin::OpDesc& op) {
  std::string reason = plugin::FloatAttentionWhyNot(plugin::ParseAttention(op), op);
  return reason.empty() ? facts.SubgroupsWhyNot() : reason;
}

std::string FlashWhyNot(const Facts& facts, const plugin::OpDesc& op) {
  constexpr int64_t kMostColumns = 16;  // sums that a lane keeps per row
  const AttentionSpec s = plugin::ParseAttention(op);
  const int64_t most = kMostColumns * facts.subgroup_size * kWorkgroupSubgroups;
  if (s.dv > most) return fmt::format("dv={} is wider than a workgroup's {} columns", s.dv, most);
  return AttentionWhyNot(facts, op);
}

std::string FlashBuiltinWhyNot(const Facts& facts, const plugin::OpDesc& op) {
  if (plugin::ParseAttention(op).IsF64()) return "Vulkan has no exp in f64: use flash or materialised";
  if (std::string reason = FlashWhyNot(facts, op); !reason.empty()) return reason;
  // Another exp needs another module, whose compilation is slow.
  return SlowWhyNot(facts, plugin::ParseAttention(op).Work(), 1 << 19);
}

std::string MaterialisedWhyNot(const Facts& facts, const plugin::OpDesc& op) {
  if (std::string reason = AttentionWhyNot(facts, op); !reason.empty()) return reason;
  const uint64_t bytes = ScoreBytesPerHead(plugin::ParseAttention(op));
  if (bytes <= facts.MaxBinding()) return "";
  return fmt::format("the scores of one key head take {} bytes, {} binds at most {}", bytes, facts.name,
                     facts.MaxBinding());
}

std::string ContractWith(const Facts& facts, const plugin::OpDesc& op, double exp_ulp) {
  const AttentionSpec s = plugin::ParseAttention(op);
  const double tanh_ulp = s.softcap > 0 ? kOwnTanhUlp : 0;
  return Declare(facts, op, {std::max({exp_ulp, tanh_ulp, kDivisionUlp}), s.masked_nan ? "masked=nan;" : ""});
}

std::string AttentionContract(const Facts& facts, const plugin::OpDesc& op) {
  return ContractWith(facts, op, kOwnFunctionUlp);
}

std::string FlashBuiltinContract(const Facts& facts, const plugin::OpDesc& op) {
  return ContractWith(facts, op, kDeviceExpUlp);
}

constexpr Row kAttentionRows[] = {
    {{"attention", plugin::kRealTypes, "materialised"}, AttentionContract, MaterialisedWhyNot, MaterialisedRecipe},
    {{"attention", plugin::kRealTypes, "flash"}, AttentionContract, FlashWhyNot, FlashRecipe<false>},
    {{"attention", plugin::kNarrowTypes, "flash-builtin"}, FlashBuiltinContract, FlashBuiltinWhyNot, FlashRecipe<true>},
};

}  // namespace

std::span<const Row> AttentionRows() {
  return kAttentionRows;
}

}  // namespace vulkan
