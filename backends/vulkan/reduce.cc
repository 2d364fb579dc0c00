// SPDX-License-Identifier: Apache-2.0
// reduce: a balanced tree per output ("tree"), or trees over chunks and a tree over their results ("split").
#include <algorithm>

#include "backends/common/reduce_spec.h"
#include "backends/vulkan/operators.h"

namespace vulkan {
namespace {

using plugin::ReduceKind;
using plugin::ReduceSpec;

constexpr int64_t kChunk = 1024;
enum class Stage { kWhole, kFirst, kSecond };  // elements to results, to partials; partials to results

struct ReduceParams {
  uint32_t outputs, count, chunk, chunks;
  uint32_t kept_count, reduced_count, to_partials, mean;
  uint32_t ignore_nan, flip, positions, unused;
  ShaderAxis kept[kMaxAxes], reduced[kMaxAxes];
};

// Must match the kinds of the kernel `reduce` (shaders/reduce.glsl). A mean is a sum that a parameter divides.
uint32_t KindCode(ReduceKind kind) {
  if (kind == ReduceKind::kProd) return 1;
  if (kind == ReduceKind::kL2) return 2;
  return kind == ReduceKind::kLogSumExp ? 3 : 0;
}

ReduceParams ParamsFor(const ReduceSpec& s, int64_t chunk, Stage stage) {
  ReduceParams p{};
  p.outputs = static_cast<uint32_t>(s.outputs), p.count = static_cast<uint32_t>(s.count);
  p.chunk = static_cast<uint32_t>(chunk), p.chunks = static_cast<uint32_t>(CeilDiv(s.count, chunk));
  p.kept_count = static_cast<uint32_t>(s.kept.size()), p.reduced_count = static_cast<uint32_t>(s.reduced.size());
  p.to_partials = stage == Stage::kFirst ? 1 : 0, p.mean = s.kind == ReduceKind::kMean ? 1 : 0;
  p.ignore_nan = s.ignore_nan ? 1 : 0, p.positions = s.IsArg() ? 1 : 0;
  p.flip = s.kind == ReduceKind::kMin || s.kind == ReduceKind::kArgMin ? UINT32_MAX : 0;
  const auto convert = [](const plugin::Axis& axis) {
    return ShaderAxis{static_cast<uint32_t>(axis.size), static_cast<uint32_t>(axis.in_stride),
                      static_cast<uint32_t>(axis.out_stride), 0};
  };
  std::ranges::transform(s.kept, p.kept, convert);
  std::ranges::transform(s.reduced, p.reduced, convert);
  return p;
}

Step StepFor(const Facts& facts, const plugin::OpDesc& op, const ReduceSpec& s, int64_t chunk, Stage stage) {
  const ReduceParams params = ParamsFor(s, chunk, stage);
  const int64_t folded = stage == Stage::kSecond ? params.chunks : chunk;
  const uint32_t lanes = LanesFor(facts, folded);
  KernelSpec kernel{s.SelectsElement() ? "select" : "reduce", VariantFor(op),
                    Constants(lanes, {s.in, s.out}, {KindCode(s.kind), stage == Stage::kSecond ? 1u : 0u})};
  const uint64_t groups = static_cast<uint64_t>(s.outputs) * (stage == Stage::kSecond ? 1 : params.chunks);
  const uint64_t turns =
      Turns(CeilDiv(folded, lanes), Turns(s.reduced.size())) + Turns(kMostHalvings) + Turns(s.kept.size());
  return {std::move(kernel), BytesOf(params), {In(0), Out(), Work(0)}, groups, turns};
}

Recipe TreeRecipe(const Facts& facts, const plugin::OpDesc& op) {
  const ReduceSpec s = plugin::ParseReduce(op);
  return {{StepFor(facts, op, s, s.count, Stage::kWhole)}, {{16, {}}}};
}

Recipe SplitRecipe(const Facts& facts, const plugin::OpDesc& op) {
  const ReduceSpec s = plugin::ParseReduce(op);
  const uint64_t partials = static_cast<uint64_t>(s.outputs) * CeilDiv(s.count, kChunk);
  return {{StepFor(facts, op, s, kChunk, Stage::kFirst), StepFor(facts, op, s, kChunk, Stage::kSecond)},
          {{16 * partials, {}}}};
}

std::string TypesWhyNot(const plugin::OpDesc& op, const ReduceSpec& s) {
  if (s.IsIntegerSum()) return "";
  if (s.in == plugin::kI8) return "the only integer reduce is the sum of i8 in i32";
  if (s.IsArg()) {
    return plugin::IsFloat(s.in) && s.out == plugin::kI64
               ? ""
               : fmt::format("argmax and argmin take f64, f32, f16 and bf16 to i64, not {}", op.DTypesText());
  }
  if (s.SelectsElement() && s.in != s.out) return "max and min keep the type";
  return FloatTypesWhyNot(op);
}

std::string TreeWhyNot(const Facts&, const plugin::OpDesc& op) {
  const ReduceSpec s = plugin::ParseReduce(op);
  if (std::string reason = plugin::ReduceShapeWhyNot(s); !reason.empty()) return reason;
  if (s.kept.size() > kMaxAxes || s.reduced.size() > kMaxAxes) {
    return fmt::format("reduce over {} and {} axes that do not merge; at most {}", s.kept.size(), s.reduced.size(),
                       kMaxAxes);
  }
  if (std::string reason = plugin::NanPolicyWhyNot(s); !reason.empty()) return reason;
  if (s.in == plugin::kI8 && s.count > plugin::kMostI8Terms) return "a longer sum of i8 can overflow int32";
  return TypesWhyNot(op, s);
}

std::string SplitWhyNot(const Facts& facts, const plugin::OpDesc& op) {
  if (std::string reason = TreeWhyNot(facts, op); !reason.empty()) return reason;
  const ReduceSpec s = plugin::ParseReduce(op);
  if (s.count <= 2 * kChunk) return fmt::format("{} elements are not worth splitting", s.count);
  const uint64_t bytes = 16 * static_cast<uint64_t>(s.outputs) * CeilDiv(s.count, kChunk);
  if (bytes <= facts.MaxBinding()) return "";
  return fmt::format("{} bytes of partial results, {} binds at most {}", bytes, facts.name, facts.MaxBinding());
}

double UlpOf(ReduceKind kind) {
  if (kind == ReduceKind::kL2) return kSquareRootUlp;
  if (kind == ReduceKind::kMean) return kDivisionUlp;
  return kind == ReduceKind::kLogSumExp ? kOwnFunctionUlp : 0;
}

std::string ReduceContract(const Facts& facts, const plugin::OpDesc& op) {
  const ReduceSpec s = plugin::ParseReduce(op);
  return Declare(facts, op, {UlpOf(s.kind), s.ignore_nan ? "nan=ignore;" : "", s.SelectsElement()});
}

constexpr Row kReduceRows[] = {
    {{"reduce", plugin::kRealTypesAndI8, "tree"}, ReduceContract, TreeWhyNot, TreeRecipe},
    {{"reduce", plugin::kRealTypesAndI8, "split"}, ReduceContract, SplitWhyNot, SplitRecipe},
};

}  // namespace

std::span<const Row> ReduceRows() {
  return kReduceRows;
}

}  // namespace vulkan
