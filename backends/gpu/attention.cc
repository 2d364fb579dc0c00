// SPDX-License-Identifier: Apache-2.0
// attention: `flash` by blocks of keys, `flash-matrix-unit` the same on matrix units, and `materialised`, with all
// scores in a workspace.
#include <fmt/format.h>

#include <algorithm>

#include "backends/common/attention_spec.h"
#include "backends/gpu/arithmetic.h"
#include "backends/gpu/kernel_plan.h"
#include "backends/gpu/kernels.h"

namespace gpu {
namespace {

using plugin::AttentionSpec;
using plugin::MaskKind;

constexpr int64_t kMostFlashColumns = 256;  // a thread's registers hold a sixteenth of them
constexpr int64_t kMostUnitDepth = 128;

AttentionParams AttentionParamsOf(const AttentionSpec& a) {
  AttentionParams p;
  p.batch = a.batch, p.heads = a.heads, p.group = a.heads / a.kv_heads, p.l = a.l, p.s = a.s, p.d = a.d, p.dv = a.dv;
  p.causal = a.causal, p.window = a.window, p.shift = a.top_left ? 0 : a.s - a.l, p.masked_nan = a.masked_nan;
  p.scale = a.scale, p.softcap = a.softcap, p.capped = a.softcap > 0;
  if (a.mask_kind != MaskKind::kNone) {
    p.mask_form = a.mask_kind == MaskKind::kBool ? MaskForm::kBool : MaskForm::kAdd;
    p.mask_type = TagOf(a.mask_dtype);
  }
  std::ranges::copy(a.q, p.q_at), std::ranges::copy(a.k, p.k_at), std::ranges::copy(a.v, p.v_at);
  std::ranges::copy(a.o, p.o_at), std::ranges::copy(a.mask, p.mask_at);
  return p;
}

void BindAttention(const Bound& at, AttentionParams& p) {
  p.q = at.Input(0), p.k = at.Input(1), p.v = at.Input(2), p.o = at.Output();
  if (p.mask_form != MaskForm::kNone) p.mask = at.Input(3);
}

std::unique_ptr<plugin::Plan> CreateFlash(Device& device, const plugin::OpDesc& op) {
  const AttentionSpec a = plugin::ParseAttention(op);
  auto plan = std::make_unique<KernelPlan>(device, op);
  plan->Add("FlashAttention", [type = TagOf(a.dtype), p = AttentionParamsOf(a)](const Bound& at) mutable {
    BindAttention(at, p);
    LaunchFlashAttention(type, p, at.stream());
  });
  return plan;
}

std::unique_ptr<plugin::Plan> CreateUnitFlash(Device& device, const plugin::OpDesc& op) {
  const AttentionSpec a = plugin::ParseAttention(op);
  auto plan = std::make_unique<KernelPlan>(device, op);
  plan->Add("UnitFlashAttention", [type = TagOf(a.dtype), threads = kFlashWaves * device.traits().lanes,
                                   p = AttentionParamsOf(a)](const Bound& at) mutable {
    BindAttention(at, p);
    LaunchUnitFlashAttention(type, threads, p, at.stream());
  });
  return plan;
}

std::unique_ptr<plugin::Plan> CreateMaterialised(Device& device, const plugin::OpDesc& op) {
  const AttentionSpec a = plugin::ParseAttention(op);
  const Tag type = TagOf(a.dtype);
  AttentionParams p = AttentionParamsOf(a);
  auto plan = std::make_unique<KernelPlan>(device, op);
  p.scores = plan->Workspace(static_cast<uint64_t>(a.batch * a.heads * a.l * a.s * AccumulatorBytes(type)));
  using Launch = void (*)(Tag, const AttentionParams&, void*);
  constexpr std::pair<std::string_view, Launch> kLaunches[] = {{"AttentionScores", LaunchAttentionScores},
                                                               {"AttentionWeights", LaunchAttentionWeights},
                                                               {"AttentionValues", LaunchAttentionValues}};
  for (const auto& [kernel, launch] : kLaunches) {
    plan->Add(kernel, [type, launch = launch, p](const Bound& at) mutable {
      BindAttention(at, p);
      launch(type, p, at.stream());
    });
  }
  return plan;
}

// Checks the conditions of every kernel except that its grid can be launched.
std::string AttentionWhyNot(const AttentionSpec& a, const plugin::OpDesc& op) {
  if (std::string reason = plugin::FloatAttentionWhyNot(a, op); !reason.empty()) return reason;
  if (a.mask_kind == MaskKind::kAdd &&
      (!plugin::IsFloat(a.mask_dtype) || (a.mask_dtype == plugin::kF64 && !a.IsF64()))) {
    return fmt::format("an added mask is a float no wider than the operands' sums, not {}", Name(a.mask_dtype));
  }
  if (a.mask_kind == MaskKind::kBool && plugin::Bytes(a.mask_dtype) != 1)
    return "a mask of truth values has a byte each";
  return "";
}

std::string FlashWhyNot(const Traits& traits, const plugin::OpDesc& op) {
  const AttentionSpec a = plugin::ParseAttention(op);
  if (a.dv > kMostFlashColumns) return fmt::format("dv={} is more than the {} of flash", a.dv, kMostFlashColumns);
  if (std::string reason = AttentionWhyNot(a, op); !reason.empty()) return reason;
  const int64_t blocks = QueryBlocks(AttentionParamsOf(a), kFlashQueries);
  return BlocksWhyNot(traits, static_cast<double>(blocks), kAttentionThreads);
}

std::string UnitFlashWhyNot(const Traits& traits, const plugin::OpDesc& op) {
  const AttentionSpec a = plugin::ParseAttention(op);
  if (std::string reason = UnitWhyNot(traits, a.dtype); !reason.empty()) return reason;
  if (std::max(a.d, a.dv) > kMostUnitDepth) {
    return fmt::format("d={} or dv={} is more than the {} of flash-matrix-unit", a.d, a.dv, kMostUnitDepth);
  }
  if (std::string reason = AttentionWhyNot(a, op); !reason.empty()) return reason;
  const int64_t blocks = QueryBlocks(AttentionParamsOf(a), kUnitQueries);
  return BlocksWhyNot(traits, static_cast<double>(blocks), kFlashWaves * traits.lanes);
}

std::string MaterialisedWhyNot(const Traits& traits, const plugin::OpDesc& op) {
  const AttentionSpec a = plugin::ParseAttention(op);
  if (std::string reason = AttentionWhyNot(a, op); !reason.empty()) return reason;
  const double rows = static_cast<double>(a.batch * a.heads) * static_cast<double>(a.l);
  const double bytes = rows * static_cast<double>(a.s * AccumulatorBytes(TagOf(a.dtype)));
  if (bytes > 0.25 * static_cast<double>(traits.memory_bytes)) {
    return fmt::format("its scores of {} bytes exceed a quarter of the memory of {}", bytes, traits.name);
  }
  const double outputs = rows * static_cast<double>(std::max(a.s, a.dv));  // a thread for each; then a block per row
  return BlocksWhyNot(traits, std::max(outputs / kAttentionThreads, rows), kAttentionThreads);
}

double AttentionMath(const Traits& traits, const AttentionSpec& a) {
  return a.softcap > 0 ? std::max(traits.exp_ulp, traits.tanh_ulp) : traits.exp_ulp;
}

// Rows that see no key follow the case's masked_rows.
std::string MaskedRowsText(const AttentionSpec& a) {
  return a.masked_nan ? ";masked=nan" : "";
}

std::string AttentionContract(const Traits& traits, const plugin::OpDesc& op) {
  const AttentionSpec a = plugin::ParseAttention(op);
  return ContractText(TagOf(a.dtype), AttentionMath(traits, a)) + MaskedRowsText(a);
}

std::string UnitFlashContract(const Traits& traits, const plugin::OpDesc& op) {
  const AttentionSpec a = plugin::ParseAttention(op);
  return fmt::format("{};mid={}{}", UnitContractText(traits, AttentionMath(traits, a)), Name(a.dtype),
                     MaskedRowsText(a));
}

constexpr Row kAttentionRows[] = {
    {{"attention", plugin::kRealTypes, "flash"}, AttentionContract, FlashWhyNot, CreateFlash},
    {{"attention", plugin::kHalfTypes, "flash-matrix-unit"}, UnitFlashContract, UnitFlashWhyNot, CreateUnitFlash},
    {{"attention", plugin::kRealTypes, "materialised"}, AttentionContract, MaterialisedWhyNot, CreateMaterialised},
};

}  // namespace

std::span<const Row> AttentionRows() {
  return kAttentionRows;
}

}  // namespace gpu
