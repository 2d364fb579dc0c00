// SPDX-License-Identifier: Apache-2.0
// Relatives of attention as servers and training have it: keys on pages (Kwon et al., arXiv:2309.06180), sequences one
// behind the other, sinks (Xiao et al., arXiv:2309.17453), slopes (Press et al., arXiv:2108.12409), log-sums, parts
// that are merged by these, and gradients. A key head serves h / hkv query heads. Keys that a query does not see are
// never read: NaN in them reaches nothing. A query that sees none has the result 0.
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ops/formula_operator/formula_operator.h"

namespace assay {
namespace {

using namespace formula;  // NOLINT: formulas read better without

// Lists of one type for all operands but integers at these places: "f32-f32-f32-i32-i32-f32".
std::vector<std::string> RealTypesWith(size_t operands, size_t first_integer, size_t integers) {
  std::vector<std::string> lists;
  for (const std::string type : {"f32", "bf16", "f16", "f64"}) {
    std::string& list = lists.emplace_back();
    for (size_t i = 0; i < operands; ++i) {
      const bool is_integer = i >= first_integer && i < first_integer + integers;
      list += (i == 0 ? "" : "-") + (is_integer ? "i32" : type);
    }
  }
  return lists;
}

// `scale`: 0 stands for 1 / sqrt(d).
double ReadScale(Definition& d, const Axis& size) {
  const double scale = d.Real("scale", "0", "factor of the products of q and k; 0: 1 / sqrt(d)");
  d.RefuseIf(!std::isfinite(scale), "scale must be finite");
  return scale == 0 ? 1 / std::sqrt(static_cast<double>(size.extent)) : scale;
}

bool RefuseHeads(Definition& d, const Axis& h, const Axis& hkv) {
  return d.RefuseIf(h.extent % hkv.extent != 0, "hkv must divide h: each key head serves as many query heads");
}

Expr OfQueryHeads(Expr x, const Axis& hkv, const Axis& h) {
  return At(x, hkv, h, [&](int64_t i) { return i * hkv.extent / h.extent; });
}

// exp(score - greatest) of the keys that are seen. `sink`: a score that counts and has no value.
struct SeenWeights {
  SeenWeights(Expr scores, std::optional<Expr> seen_keys, const Axis& all_keys, std::optional<Expr> sink = {})
      : keys(all_keys), seen(std::move(seen_keys)) {
    masked = seen ? Select(*seen, scores, Const(*scores.graph, -HUGE_VAL)) : scores;
    if (!sink) {
      weights = OfSeen(Exp(-BelowMax(masked, keys)));
      total = RescaledSum(weights, keys);
    } else {
      const Expr greatest = Maximum(Max(masked, keys), *sink);
      weights = OfSeen(Exp(-Strict(greatest - masked)));
      total = RescaledSum(weights, keys) + Exp(-Strict(greatest - *sink));
    }
  }
  Expr OfSeen(Expr x) const { return seen ? Select(*seen, x, Const(*x.graph, 0)) : x; }
  Expr Average(Expr values) const { return Sum(OfSeen(weights * values), keys) / total; }
  // 0 where a query sees no key. The count of keys tells so, since the error of a sum without terms is open.
  Expr AverageOrZero(Expr values) const {
    const Expr average = Average(values);
    if (!seen) return average;
    const Expr zero = Const(*average.graph, 0);
    return Select(Equal(Sum(*seen, keys), zero), zero, average);
  }
  Expr Greatest() const { return Max(masked, keys); }

  Axis keys;
  std::optional<Expr> seen;
  Expr masked, weights, total;
};

// Whether key j is at most where query i stands, if the last query stands at the last key.
Expr IsNotLater(Graph& graph, const Axis& queries, const Axis& keys) {
  return LessEqual(Index(graph, keys), Index(graph, queries) + static_cast<double>(keys.extent - queries.extent));
}

// Queries, keys and values of whole batches.
struct KeyBatches {
  explicit KeyBatches(Definition& d)
      : b(d.Axis("b", "batches")),
        h(d.Axis("h", "query heads")),
        hkv(d.Axis("hkv", "key and value heads; divides h", 1)),
        l(d.Axis("l", "queries")),
        s(d.Axis("s", "keys", 1)),
        size(d.Axis("d", "elements of q and k", 1)),
        dv(d.Axis("dv", "elements of v and o")),
        causal(d.Flag("causal", "1: a query sees no later key; the last one stands at the last key")) {}
  std::optional<Expr> SeenKeys(Graph& graph) const {
    if (!causal.on) return {};
    return IsNotLater(graph, l, s);
  }
  struct Operands {
    Expr q, k, v;
  };
  Operands ReadOperands(Definition& d) const {
    return {d.In("q", b + h + l + size), d.In("k", b + hkv + s + size), d.In("v", b + hkv + s + dv)};
  }

  Axis b, h, hkv, l, s, size, dv;
  Flag causal;
};

void AttentionLse(Definition& d) {
  d.SetDoc("o = softmax(scale q k^T) v, and lse = the logarithm of the sum of exp(scale q k^T) over the keys");
  const KeyBatches of(d);
  const double scale = ReadScale(d, of.size);
  if (RefuseHeads(d, of.h, of.hkv)) return;
  if (d.RefuseIf(of.causal.on && of.l.extent > of.s.extent,
                 "l must not be more than s with causal=1: the first "
                 "queries would see no key, and have no logarithm"))
    return;
  const auto [q, k, v] = of.ReadOperands(d);
  const Expr scores = Contraction(scale * q, OfQueryHeads(k, of.hkv, of.h), of.size);
  const SeenWeights weights(scores, of.SeenKeys(*q.graph), of.s);
  d.Out("o", weights.Average(OfQueryHeads(v, of.hkv, of.h)), of.b + of.h + of.l + of.dv);
  d.OutOfType("lse", weights.Greatest() + Log(weights.total), of.b + of.h + of.l, DType::kF32);
  d.SetTypes({"f32", "bf16", "f16"});
}

void SinkAttention(Definition& d) {
  d.SetDoc(
      "o = softmax(scale q k^T) v, with one more score of each head in the sum, its sink, which has no value; window: "
      "keys less than that far before a query are seen");
  const KeyBatches of(d);
  const double scale = ReadScale(d, of.size);
  const int64_t window = d.Integer("window", "0", "0: all keys", {"0", "3"});
  d.RefuseIf(window < 0, "window must be at least 0");
  if (RefuseHeads(d, of.h, of.hkv)) return;
  const auto [q, k, v] = of.ReadOperands(d);
  const Expr sinks = d.In("sinks", of.h, Role::kOffset);
  std::optional<Expr> seen = of.SeenKeys(*q.graph);
  if (window > 0) {
    const auto behind = static_cast<double>(of.s.extent - of.l.extent - window);
    const Expr is_near = Less(Index(*q.graph, of.l) + behind, Index(*q.graph, of.s));
    seen = seen ? And(*seen, is_near) : is_near;
  }
  const Expr scores = Contraction(scale * q, OfQueryHeads(k, of.hkv, of.h), of.size);
  const SeenWeights weights(scores, seen, of.s, sinks);
  d.Out("o", weights.AverageOrZero(OfQueryHeads(v, of.hkv, of.h)), of.b + of.h + of.l + of.dv);
  d.SetTypes({"f32", "bf16", "f16", "f64", "bf16-bf16-bf16-f32-bf16", "f16-f16-f16-f32-f16"});
}

void AlibiAttention(Definition& d) {
  d.SetDoc(
      "o = softmax(scale q k^T - slope distance) v, the distance of a key from the query, and a slope of each head");
  const KeyBatches of(d);
  const double scale = ReadScale(d, of.size);
  if (RefuseHeads(d, of.h, of.hkv)) return;
  const auto [q, k, v] = of.ReadOperands(d);
  const Expr slopes = d.In("slopes", of.h, Role::kOffset);
  Graph& graph = *q.graph;
  const Expr stands = Index(graph, of.l) + static_cast<double>(of.s.extent - of.l.extent);
  const Expr scores = Contraction(scale * q, OfQueryHeads(k, of.hkv, of.h), of.size);
  const SeenWeights weights(scores - slopes * Abs(stands - Index(graph, of.s)), of.SeenKeys(graph), of.s);
  d.Out("o", weights.AverageOrZero(OfQueryHeads(v, of.hkv, of.h)), of.b + of.h + of.l + of.dv);
  d.SetTypes({"f32", "bf16", "f16", "f64", "bf16-bf16-bf16-f32-bf16", "f16-f16-f16-f32-f16"});
}

void AttentionBackward(Definition& d) {
  d.SetDoc(
      "with p = softmax(scale q k^T), e = dout v^T and g = p (e - sum of p e), sums over keys: dq = scale g k, "
      "dk = scale g^T q, dv = p^T dout, the last two summed over the query heads of a key head");
  const KeyBatches of(d);
  const double scale = ReadScale(d, of.size);
  if (RefuseHeads(d, of.h, of.hkv)) return;
  const Axis shared = d.FixedAxis("h/hkv", of.h.extent / of.hkv.extent);
  const auto [q, k, v] = of.ReadOperands(d);
  const Expr dout = d.In("dout", of.b + of.h + of.l + of.dv);
  const Expr keys = OfQueryHeads(k, of.hkv, of.h), values = OfQueryHeads(v, of.hkv, of.h);
  const SeenWeights weights(Contraction(scale * q, keys, of.size), of.SeenKeys(*q.graph), of.s);
  // Kernels divide by the total, or take exp(score - lse), whose error grows with that of lse: the bound has room for
  // both.
  const Expr greatest = weights.Greatest(), lse = greatest + Log(weights.total);
  const Expr p = weights.OfSeen(weights.weights / Exp(Strict(lse - greatest)));
  const Expr e = Contraction(dout, values, of.dv);
  const Expr g = weights.OfSeen(p * (e - Sum(weights.OfSeen(p * e), of.s)));
  const auto of_key_heads = [&](Expr x) { return Sum(Reshape(x, of.h, of.hkv + shared), shared); };
  d.Out("dq", scale * Sum(weights.OfSeen(g * keys), of.s), of.b + of.h + of.l + of.size);
  d.OutLike("dk", scale * of_key_heads(Sum(weights.OfSeen(g * q), of.l)), of.b + of.hkv + of.s + of.size, "k");
  d.OutLike("dv", of_key_heads(Sum(weights.OfSeen(p * dout), of.l)), of.b + of.hkv + of.s + of.dv, "v");
}

void PagedDecode(Definition& d) {
  d.SetDoc(
      "o = softmax(scale q k^T) v of one query of each sequence, whose keys and values lie on the pages that a table "
      "names, as many as its length says");
  const Axis b = d.Axis("b", "sequences"), h = d.Axis("h", "query heads");
  const Axis hkv = d.Axis("hkv", "key and value heads; divides h", 1), size = d.Axis("d", "elements of a head", 1);
  const Axis pages = d.Axis("pages", "pages there are", 1), page = d.Axis("page", "places of a page", 1);
  const Axis blocks = d.Axis("blocks", "pages of a sequence at most", 1);
  const double scale = ReadScale(d, size);
  const Axis s = d.FixedAxis("blocks*page", blocks.extent * page.extent);
  if (RefuseHeads(d, h, hkv)) return;
  const Expr q = d.In("q", b + h + size);
  const Expr keys = d.In("keys", pages + page + hkv + size), values = d.In("values", pages + page + hkv + size);
  const Expr table = d.InPlaces("table", b + blocks, pages);
  const Expr lengths = d.InPlaces("lengths", b, s, PlaceKind::kLengths);
  const auto of_sequence = [&](Expr x) {
    return OfQueryHeads(Reshape(Gather(x, pages, table), blocks + page, s), hkv, h);
  };
  const SeenWeights weights(Contraction(scale * q, of_sequence(keys), size), Less(Index(*q.graph, s), lengths), s);
  d.Out("o", weights.AverageOrZero(of_sequence(values)), b + h + size);
  d.SetTypes(RealTypesWith(6, 3, 2));
}

void RaggedAttention(Definition& d) {
  d.SetDoc(
      "o = softmax(scale q k^T) v of sequences one behind the other, each with the keys of its own; queries and keys "
      "of a "
      "sequence end at its ends");
  const Axis t = d.Axis("t", "queries of all sequences"), s = d.Axis("s", "keys of all sequences", 1);
  const Axis h = d.Axis("h", "query heads"), hkv = d.Axis("hkv", "key and value heads; divides h", 1);
  const Axis size = d.Axis("d", "elements of a head", 1), sequences = d.Axis("sequences", "how many there are", 1);
  const Flag causal =
      d.Flag("causal", "1: a query sees no later key; the last one of a sequence stands at its last key");
  const double scale = ReadScale(d, size);
  if (RefuseHeads(d, h, hkv)) return;
  const Expr q = d.In("q", t + h + size), k = d.In("k", s + hkv + size), v = d.In("v", s + hkv + size);
  const Expr q_ends = d.InPlaces("q_ends", sequences, t, PlaceKind::kEnds);
  const Expr k_ends = d.InPlaces("k_ends", sequences, s, PlaceKind::kEnds);
  Graph& graph = *q.graph;
  const Expr of_query = Sum(LessEqual(q_ends, Index(graph, t)), sequences);
  const Expr of_key = Sum(LessEqual(k_ends, Index(graph, s)), sequences);
  Expr seen = Equal(of_query, of_key);
  if (causal.on) {
    const Expr before_end = Gather(q_ends, sequences, of_query) - Index(graph, t);
    seen = And(seen, LessEqual(before_end, Gather(k_ends, sequences, of_query) - Index(graph, s)));
  }
  const SeenWeights weights(Contraction(scale * q, OfQueryHeads(k, hkv, h), size), seen, s);
  d.Out("o", weights.AverageOrZero(OfQueryHeads(v, hkv, h)), t + h + size);
  d.SetTypes(RealTypesWith(6, 3, 2));
}

void LseMerge(Definition& d) {
  d.SetDoc(
      "o = sum of exp(lse_parts - lse) o_parts over the parts of the keys, lse = log(sum of exp(lse_parts)); a part "
      "whose lse is -infinity has no key and adds nothing, whatever its o; 0 and -infinity where no part has a key");
  const Axis parts = d.Axis("parts", "parts of the keys", 1), rows = d.Axis("rows", "queries");
  const Axis n = d.Axis("n", "elements of a row");
  const Expr o_parts = d.In("o_parts", parts + rows + n);
  const Expr lse_parts = d.In("lse_parts", parts + rows);
  const Expr weights = Exp(-BelowMax(lse_parts, parts)), total = RescaledSum(weights, parts);
  const Expr greatest = Max(lse_parts, parts), lowest = Const(*greatest.graph, -HUGE_VAL);
  const auto state = [&](Expr merged, double of_none) {
    return Select(Equal(greatest, lowest), Const(*greatest.graph, of_none), merged);
  };
  const Expr zero = Const(*greatest.graph, 0);
  const Expr values = Select(Equal(lse_parts, lowest), zero, o_parts);
  d.Out("o", state(Sum(weights * values, parts) / total, 0), rows + n);
  d.OutLike("lse", state(greatest + Log(total), -HUGE_VAL), rows, "lse_parts");
  d.SetTypes({"f32", "f64", "bf16-f32-bf16", "f16-f32-f16", "f32-f32-bf16"});
}

ASSAY_OPERATOR(alibi_attention, AlibiAttention);
ASSAY_OPERATOR(attention_backward, AttentionBackward);
ASSAY_OPERATOR(attention_lse, AttentionLse);
ASSAY_OPERATOR(lse_merge, LseMerge);
ASSAY_OPERATOR(paged_decode, PagedDecode);
ASSAY_OPERATOR(ragged_attention, RaggedAttention);
ASSAY_OPERATOR(sink_attention, SinkAttention);

}  // namespace
}  // namespace assay
