// SPDX-License-Identifier: Apache-2.0
// The operator attention: scaled dot products of queries and keys, softmax, weighted sum of values. Rows in
// attention_row.cc, golden values in attention_golden.cc, bounds in attention_bound.cc, masks in attention_mask.cc,
// twins and omitted terms in attention_exact.cc.
#include "ops/attention/attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/core/data/fill/fill.h"
#include "ops/binding.h"
#include "ops/case_space.h"
#include "ops/relation.h"
#include "ops/relations.h"

namespace assay {

AttentionArgs::AttentionArgs(const Problem& problem)
    : batch(problem.Int("b")),
      heads(problem.Int("h")),
      hkv(problem.Int("hkv")),
      l(problem.Int("l")),
      s(problem.Int("s")),
      d(problem.Int("d")),
      dv(problem.Int("dv")),
      window(problem.Int("window")),
      causal(problem.Int("causal") != 0),
      top_left(problem.Text("align") == "tl"),
      mask_per_head(problem.Int("mask_per_head") != 0),
      masked_nan(problem.Text("masked_rows") == "nan"),
      scale(problem.Float("scale")),
      softcap(problem.Float("softcap")) {
  const std::string& kind = problem.Text("mask");
  mask = kind == "bool" ? MaskKind::kBool : kind == "add" ? MaskKind::kAdd : MaskKind::kNone;
}

// Query i stands at key position i (tl) or i + s - l (br). window=w: only keys less than w away.
AttentionArgs::Range AttentionArgs::KeysOf(int64_t row) const {
  const int64_t at = row % l + (top_left ? 0 : s - l);
  int64_t first = 0, last = s;
  if (causal) last = std::min(last, at + 1);
  const int64_t reach = std::min(window, l + s);  // beyond that every key is near enough; at + window could overflow
  if (window > 0) first = std::max(first, at - reach + 1);
  if (window > 0) last = std::min(last, at + reach);
  last = std::max<int64_t>(last, 0);
  return {std::min(first, last), last};
}

namespace {

OpSchema AttentionSchema() {
  return {.op = "attention",
          .doc = "o = softmax(scale q k^T + mask) v",
          .attrs = {{"b", AttrType::kInt, "", "batch"},
                    {"h", AttrType::kInt, "", "query heads"},
                    {"hkv", AttrType::kInt, "=h", "key/value heads; divides h"},
                    {"l", AttrType::kInt, "", "queries"},
                    {"s", AttrType::kInt, "=l", "keys"},
                    {"d", AttrType::kInt, "", "extent of q and k"},
                    {"dv", AttrType::kInt, "=d", "extent of v and o"},
                    {"causal", AttrType::kInt, "0", "1: a query sees no later key", {"0", "1"}},
                    {"align",
                     AttrType::kName,
                     "br",
                     "br: the last query sees the last key; tl: the first the first",
                     {"br", "tl"}},
                    {"window", AttrType::kInt, "0", "a query sees keys less than this far away; 0: all"},
                    {"scale", AttrType::kFloat, "auto", "factor of q k, not 0; auto: 1/sqrt(d)"},
                    {"softcap", AttrType::kFloat, "0", "scores pass through softcap tanh(x / softcap); 0: not"},
                    {"mask",
                     AttrType::kName,
                     "none",
                     "bool: i8, 1 = visible; add: in q's type, -inf = invisible",
                     {"none", "bool", "add"}},
                    {"masked_rows", AttrType::kName, "zero", "the result of a query that sees no key", {"zero", "nan"}},
                    {"mask_per_head", AttrType::kInt, "0", "1: the mask is [b,h,l,s] instead of [l,s]", {"0", "1"}}},
          .operands = {"q", "k", "v", "o"},
          .outputs = {"o"},
          .layouts = {{"q", "[b,h,l,d]"},
                      {"k", "[b,hkv,s,d]"},
                      {"v", "[b,hkv,s,dv]"},
                      {"mask", "[l,s]", "only with mask=bool or mask=add; [b,h,l,s] when mask_per_head=1", true},
                      {"o", "[b,h,l,dv]"}}};
}

std::string CheckAttention(const Problem& problem) {
  for (const char* key : {"b", "h", "hkv", "l", "s", "dv"}) {
    if (problem.Int(key) < 0) return fmt::format("{}={} must not be negative", key, problem.Int(key));
  }
  if (problem.Int("d") < 1)
    return fmt::format("d={} must be at least 1: scores of no terms say nothing", problem.Int("d"));
  if (problem.Int("hkv") == 0 && problem.Int("h") > 0) {
    return fmt::format("hkv=0 must be at least 1 for h={}: each query head has keys of its own, or shares some",
                       problem.Int("h"));
  }
  for (const char* key : {"causal", "mask_per_head"}) {
    if (problem.Int(key) != 0 && problem.Int(key) != 1)
      return fmt::format("{}={} must be 0 or 1", key, problem.Int(key));
  }
  if (problem.Int("h") > 0 && problem.Int("h") % problem.Int("hkv") != 0) {
    return fmt::format("hkv={} does not divide h={}: q is [b,h,l,d], k and v are [b,hkv,s,d], so transpose [b,l,h,d]",
                       problem.Int("hkv"), problem.Int("h"));
  }
  if (problem.Int("window") < 0) return fmt::format("window={} must not be negative", problem.Int("window"));
  const double scale = problem.Float("scale"), softcap = problem.Float("softcap");
  if (!std::isfinite(scale) || scale == 0) return fmt::format("scale={} must be finite and not 0", scale);
  if (!std::isfinite(softcap) || softcap < 0) return fmt::format("softcap={} must not be negative", softcap);
  if (problem.Int("mask_per_head") != 0 && problem.Text("mask") == "none") {
    return "mask_per_head=1 needs mask=bool or mask=add";
  }
  return {};
}

// sum over i in [0, l) of i + offset, kept within [0, s].
double SumWithin(int64_t l, int64_t s, int64_t offset) {
  const int64_t begin = std::clamp<int64_t>(-offset, 0, l), end = std::clamp(s - offset, begin, l);
  const auto rising = static_cast<double>(end - begin), first = static_cast<double>(begin + offset);
  return rising * first + rising * (rising - 1) / 2 + static_cast<double>(l - end) * static_cast<double>(s);
}

// Pairs of a query and a key that it sees by causality and window; the rest is skipped by any kernel worth its name.
// In closed form: l may be absurd.
double VisiblePairs(const AttentionArgs& op) {
  const int64_t at = op.top_left ? 0 : op.s - op.l, reach = std::min(op.window, op.l + op.s);
  double pairs = static_cast<double>(op.l) * static_cast<double>(op.s);
  if (op.causal || op.window > 0) pairs = SumWithin(op.l, op.s, at + (op.causal ? 1 : reach));
  if (op.window > 0) pairs -= SumWithin(op.l, op.s, at - reach + 1);
  return pairs * static_cast<double>(op.batch) * static_cast<double>(op.heads);
}

class Attention final : public Operator {
 public:
  const OpSchema& schema() const override {
    static const OpSchema schema = AttentionSchema();
    return schema;
  }

  Result<AttrList> InferAttrs(const std::vector<Operand>& inputs, AttrList given) const override {
    const Operand &q = *FindOperand(inputs, "q"), &k = *FindOperand(inputs, "k"), &v = *FindOperand(inputs, "v");
    for (const Operand* operand : {&q, &k, &v}) {
      if (operand->shape.size() == 4) continue;
      return UsageError(fmt::format("attention: {} has shape {}, but it needs four axes: {}", operand->name,
                                    ShapeText(operand->shape),
                                    operand == &q   ? "[b,h,l,d]"
                                    : operand == &k ? "[b,hkv,s,d]"
                                                    : "[b,hkv,s,dv]"));
    }
    const auto set = [&](const char* key, int64_t value) { SetIfAbsent(given, key, std::to_string(value)); };
    set("b", q.shape[0]), set("h", q.shape[1]), set("hkv", k.shape[1]), set("l", q.shape[2]);
    set("s", k.shape[2]), set("d", q.shape[3]), set("dv", v.shape[3]);
    if (const Operand* mask = FindOperand(inputs, "mask")) {
      SetIfAbsent(given, "mask", IsInt(mask->dtype) ? "bool" : "add");
      const Shape& shape = mask->shape;  // leading axes of extent 1 are those of one mask for all
      const bool differs = std::ranges::any_of(shape.begin(), shape.end() - std::min<int64_t>(2, std::ssize(shape)),
                                               [](int64_t extent) { return extent != 1; });
      set("mask_per_head", differs ? 1 : 0);
    }
    return given;
  }

  Result<Problem> Bind(const CaseSpec& spec) const override {
    Result<Problem> problem = StartProblem(spec, schema());
    if (!problem) return problem;
    for (ResolvedAttr& attr : problem->attrs) {
      if (attr.key == "scale" && AttrReader(problem->spec, schema()).Text("scale") == "auto") {
        attr.f = 1 / std::sqrt(static_cast<double>(std::max<int64_t>(1, problem->Int("d"))));
      }
    }
    const DType type = problem->spec.dtypes.front();
    if (problem->spec.dtypes.size() > 1 || !IsFloat(type) || SizeOf(type) < 2) {
      return BindError(*problem, fmt::format("no attention in {}; possible are f64, f32, f16 and bf16, the same for q, "
                                             "k, v and o",
                                             DTypeListText(problem->spec.dtypes)));
    }
    if (const std::string text = CheckAttention(*problem); !text.empty()) return BindError(*problem, text);
    const AttentionArgs op(*problem);
    problem->inputs = {{"q", type, {op.batch, op.heads, op.l, op.d}},
                       {"k", type, {op.batch, op.hkv, op.s, op.d}},
                       {"v", type, {op.batch, op.hkv, op.s, op.dv}}};
    if (op.mask != MaskKind::kNone) {
      const Shape shape = op.mask_per_head ? Shape{op.batch, op.heads, op.l, op.s} : Shape{op.l, op.s};
      problem->inputs.push_back({"mask", op.mask == MaskKind::kBool ? DType::kI8 : type, shape});
    }
    problem->outputs = {{"o", type, {op.batch, op.heads, op.l, op.dv}}};
    if (const std::string text = SizeProblem(*problem); !text.empty()) return BindError(*problem, text);
    problem->flops = 2 * VisiblePairs(op) * static_cast<double>(op.d + op.dv);
    problem->bytes = CompulsoryBytes(*problem);
    return problem;
  }

  OperatorTraits traits() const override { return {.memory = {.judgement = 140}}; }

  // The count knows causal masks and windows, but not what an operand hides. Factors are q, k and v, before a mask.
  ProblemTraits TraitsOf(const Problem& problem, size_t /*output*/) const override {
    return {.fewest_flops = AttentionArgs(problem).mask == MaskKind::kNone ? problem.flops : 0,
            .factors = 3,
            .peer = {.kind = PeerForm::Kind::kAttention,
                     .terms = problem.Int("s"),
                     .plain = problem.Float("softcap") == 0 && problem.Int("window") == 0}};
  }

  std::vector<Tensor> MakeInputs(const Problem& problem) const override {
    const AttentionArgs op(problem);
    std::vector<Tensor> inputs;
    inputs.push_back(FillInput(problem, 0, 3, 0));
    inputs.push_back(FillInput(problem, 1, 3, 1));
    inputs.push_back(FillInput(problem, 2, 2, 0));
    if (op.mask != MaskKind::kNone) {
      inputs.push_back(MakeAttentionMask(op, problem.inputs[3], problem.spec.seed, false));
    }
    if (HasNaN(*ParseFill(problem.spec.fill))) PoisonUnseenKeys(op, inputs);
    return inputs;
  }

  // A query that sees no key is masked: it sees none of one.
  std::optional<NeutralTerms> WithNeutralTerms(const Problem& problem) const override {
    const AttrList changes = {{"s", "1"}, {"causal", "0"}, {"window", "0"}, {"mask", "bool"}, {"mask_per_head", "0"}};
    return NeutralTerms{Rebind(*this, problem, changes)};
  }

  Golden ComputeGolden(const Problem& problem, size_t /*output*/, std::span<const Tensor> inputs,
                       Tier tier) const override {
    return AttentionGolden(problem, inputs, tier);
  }

  BoundModel Bound(const Problem& problem, size_t /*output*/, const Golden& golden,
                   const Contract& contract) const override {
    return AttentionBound(problem, golden, contract);
  }

  std::optional<Twin> MakeTwin(const Problem& problem, size_t /*output*/, const Contract& contract,
                               int variant) const override {
    return AttentionTwin(problem, contract, variant);
  }

  std::vector<Mutant> OmittedTerms(const Problem& problem, size_t /*output*/, std::span<const Tensor> inputs,
                                   std::span<const double> values, std::span<const int64_t> elements) const override {
    return AttentionOmittedTerms(problem, inputs, values, elements);
  }

  std::vector<std::vector<double>> SummedTerms(const Problem& problem, size_t /*output*/,
                                               std::span<const Tensor> inputs, const Contract& /*contract*/,
                                               int64_t element) const override {
    return AttentionTerms(problem, inputs, element);
  }

  std::unique_ptr<NarrowedOrders> Narrowed(const Problem& problem, size_t /*output*/, std::span<const Tensor> inputs,
                                           const FloatFormat& format) const override {
    return AttentionOrders(problem, inputs, format);
  }

  std::vector<SliceAxes> Slices(const Problem& problem, size_t /*output*/) const override {
    return AttentionSlices(problem);
  }
  std::vector<Relation> Relations(const Problem& problem, size_t /*output*/) const override {
    return AttentionRelations(*this, problem);
  }

  CaseSpace Space() const override { return AttentionSpace(); }
};

const RegisterOperator<Attention> registered_attention;

}  // namespace
}  // namespace assay
