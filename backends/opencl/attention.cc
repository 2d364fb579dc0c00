// SPDX-License-Identifier: Apache-2.0
// attention: `flash` by blocks of keys in local memory, and `materialised`, with all scores in a workspace.
#include <fmt/format.h>

#include "backends/common/attention_spec.h"
#include "backends/opencl/arithmetic.h"
#include "backends/opencl/table.h"

namespace opencl {
namespace {

using plugin::AttentionSpec;
using plugin::MaskKind;

constexpr int64_t kKeyBlock = 64;

// Must match the layout in kernels/attention.cl.
struct AttentionParams {
  int64_t batch, heads, group, l, s, d, dv;
  int64_t causal, window, shift;
  int64_t masked_nan, scale, softcap, capped;
  int64_t mask_kind;
  AttentionSpec::Strides q, k, v, o, mask;
};

AttentionParams ParamsOf(const AttentionSpec& a, Accumulator acc) {
  return {a.batch,
          a.heads,
          a.heads / a.kv_heads,
          a.l,
          a.s,
          a.d,
          a.dv,
          a.causal,
          a.window,
          a.top_left ? 0 : a.s - a.l,
          a.masked_nan,
          ScalarBits(acc, a.scale),
          ScalarBits(acc, a.softcap),
          a.softcap > 0,
          static_cast<int64_t>(a.mask_kind),
          a.q,
          a.k,
          a.v,
          a.o,
          a.mask};
}

// Queries that share the keys of a block.
int64_t QueriesOf(const AttentionSpec& a) {
  constexpr double kWorthCompiling = 1e6;  // below it a case is done before a driver has compiled a kernel for its form
  constexpr int64_t kShallow = 256;        // of which eight fit into any local memory
  return a.l == 1 && (a.d > kShallow || a.Work() > kWorthCompiling) ? 1 : 8;
}

// Elements of d or dv that an item loads together.
int64_t WidthOf(const Traits& traits, Accumulator acc) {
  return !traits.is_cpu ? 4 : acc == Accumulator::kF64 ? 8 : 16;
}

size_t BlocksOf(int64_t n, int64_t unit) {
  return static_cast<size_t>((n + unit - 1) / unit);
}

// Local memory for the queries of one flash group: rows of q in whole vectors.
int64_t QueryBytes(const Traits& traits, const AttentionSpec& a, Accumulator acc) {
  const int64_t width = WidthOf(traits, acc), depth = static_cast<int64_t>(BlocksOf(a.d, width)) * width;
  return QueriesOf(a) * depth * Bytes(acc);
}

// Local memory of one flash group: in addition to the queries its weights, and four numbers per query.
int64_t FlashLocalBytes(const Traits& traits, const AttentionSpec& a, Accumulator acc) {
  return QueryBytes(traits, a, acc) + QueriesOf(a) * (kKeyBlock + 4) * Bytes(acc);
}

ProgramSpec AttentionProgram(const Traits& traits, const AttentionSpec& a, Accumulator acc, const char* kernels) {
  ProgramSpec program{{"vectors.cl", "group.cl", "attention.cl", kernels}, acc, {}};
  program.options.Type("T", a.dtype).Type("M", a.mask_kind == MaskKind::kAdd ? a.mask_dtype : a.dtype);
  program.options.Define("GROUP", kKeyBlock).Define("WIDTH", WidthOf(traits, acc));
  return program;
}

// Without a mask the kernels get q in its place, and do not read it.
Operand MaskOperand(const KernelPlan& plan, const AttentionSpec& a) {
  return plan.Input(a.mask_kind == MaskKind::kNone ? 0 : 3);
}

std::unique_ptr<plugin::Plan> CreateFlash(Device& device, const plugin::OpDesc& op) {
  const AttentionSpec a = plugin::ParseAttention(op);
  const Accumulator acc = AccumulatorOf(op);
  ProgramSpec program = AttentionProgram(device.traits(), a, acc, "attention_flash.cl");
  const int64_t width = WidthOf(device.traits(), acc);
  program.options.Define("QUERIES", QueriesOf(a));
  program.options.Define("COLUMNS", static_cast<int64_t>(BlocksOf(a.dv, kKeyBlock * width)));
  auto plan = std::make_unique<KernelPlan>(device, op);
  plan->Launch(program, "flash",
               {plan->Input(0), plan->Input(1), plan->Input(2), MaskOperand(*plan, a), plan->Output()},
               ParamsOf(a, acc),
               Grid{{BlocksOf(a.l, QueriesOf(a)), static_cast<size_t>(a.heads), static_cast<size_t>(a.batch)},
                    {kKeyBlock, 1, 1},
                    static_cast<size_t>(QueryBytes(device.traits(), a, acc))});
  return plan;
}

std::unique_ptr<plugin::Plan> CreateMaterialised(Device& device, const plugin::OpDesc& op) {
  const AttentionSpec a = plugin::ParseAttention(op);
  const Accumulator acc = AccumulatorOf(op);
  const ProgramSpec program = AttentionProgram(device.traits(), a, acc, "attention_materialised.cl");
  const AttentionParams params = ParamsOf(a, acc);
  const size_t rows = static_cast<size_t>(a.l), heads = static_cast<size_t>(a.batch * a.heads);
  auto plan = std::make_unique<KernelPlan>(device, op);
  const int64_t width = WidthOf(device.traits(), acc);
  constexpr int64_t kItems = 8;
  const Operand scores = plan->Workspace(a.batch * a.heads * a.l * a.s, Bytes(acc));
  plan->Launch(program, "scores", {plan->Input(0), plan->Input(1), scores}, params,
               Grid{{BlocksOf(a.s, kKeyBlock), rows, heads}, {kKeyBlock, 1, 1}});
  plan->Launch(program, "normalise", {MaskOperand(*plan, a), scores}, params,
               Grid{{1, rows, heads}, {kKeyBlock, 1, 1}});
  plan->Launch(program, "values", {scores, plan->Input(2), plan->Output()}, params,
               Grid{{BlocksOf(a.dv, kItems * width), rows, heads}, {kItems, 1, 1}});
  return plan;
}

std::string AttentionWhyNot(const Traits& traits, const plugin::OpDesc& op) {
  std::string reason = plugin::FloatAttentionWhyNot(plugin::ParseAttention(op), op);
  return reason.empty() ? OperandsWhyNot(traits, op) : reason;
}

std::string FlashWhyNot(const Traits& traits, const plugin::OpDesc& op) {
  const AttentionSpec a = plugin::ParseAttention(op);
  const int64_t bytes = FlashLocalBytes(traits, a, AccumulatorOf(op));
  if (static_cast<uint64_t>(bytes) > traits.local_bytes) {
    return fmt::format("d={} takes {} bytes of local memory; {} has {}", a.d, bytes, traits.name, traits.local_bytes);
  }
  return AttentionWhyNot(traits, op);
}

std::string MaterialisedWhyNot(const Traits& traits, const plugin::OpDesc& op) {
  const AttentionSpec a = plugin::ParseAttention(op);
  const double bytes = static_cast<double>(a.batch * a.heads) * static_cast<double>(a.l) * static_cast<double>(a.s) *
                       static_cast<double>(Bytes(AccumulatorOf(op)));
  if (bytes > static_cast<double>(traits.MostBytes())) {
    return fmt::format("its scores of {} bytes exceed CL_DEVICE_MAX_MEM_ALLOC_SIZE of {}, {} bytes", bytes, traits.name,
                       traits.max_alloc_bytes);
  }
  return AttentionWhyNot(traits, op);
}

// Rows that see no key follow the case's masked_rows.
std::string AttentionContract(const Traits& traits, const plugin::OpDesc& op) {
  const AttentionSpec a = plugin::ParseAttention(op);
  return ContractText(traits, AccumulatorOf(op), a.softcap > 0 ? Math::kExpTanh : Math::kExp) +
         (a.masked_nan ? ";masked=nan" : "");
}

constexpr Row kAttentionRows[] = {
    {{"attention", plugin::kRealTypes, "flash"}, AttentionContract, FlashWhyNot, CreateFlash, true},
    {{"attention", plugin::kRealTypes, "materialised"},
     AttentionContract,
     MaterialisedWhyNot,
     CreateMaterialised,
     true},
};

}  // namespace

std::span<const Row> AttentionRows() {
  return kAttentionRows;
}

}  // namespace opencl
