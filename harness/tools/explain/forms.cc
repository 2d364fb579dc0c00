// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/explain/forms.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "harness/tools/explain/delta_forms.h"
#include "harness/tools/explain/label_forms.h"
#include "ops/attention/attention.h"
#include "ops/conv/conv.h"
#include "ops/matmul/matmul.h"
#include "ops/reduce/reduce.h"
#include "ops/softmax/softmax.h"

namespace assay {
namespace {
namespace written {

using namespace formula;  // NOLINT: formulas read better without; the engine has a Selection of its own

using Author = formula::Definition::Author;
struct Written {
  Author author;
  AttrList extents;
};

AttrList Extents(std::initializer_list<std::pair<const char*, int64_t>> extents) {
  AttrList list;
  for (const auto& [name, extent] : extents) list.emplace_back(name, std::to_string(extent));
  return list;
}

// The key head that a query head reads: of its block of heads, or always the first.
enum class KeyHead : uint8_t { kOfBlock, kFirst, kByCount };
// Where scores pass through the soft cap.
enum class Cap : uint8_t { kBeforeMask, kAfterMask };
// The exponentials by whose sum a query's are divided: of the keys that it sees, of all, or of all queries that see a
// key.
enum class Denominator : uint8_t { kSeenKeys, kAllKeys, kQueries };
// Keys that nobody sees: the last kBlock-th part of a block that is not whole, or below 0 the first ones.
template <int64_t kBlock>
int64_t CountLostKeys(int64_t keys) {
  if constexpr (kBlock < 0) return -kBlock;
  return kBlock == 0 ? 0 : keys - (keys - 1) / std::max<int64_t>(kBlock, 1) * std::max<int64_t>(kBlock, 1);
}

template <KeyHead kHead, int64_t kBlock = 0, Cap kCap = Cap::kBeforeMask, Denominator kOver = Denominator::kSeenKeys>
std::optional<Written> WriteAttention(const Problem& problem) {
  const AttentionArgs a(problem);
  if (a.heads % a.hkv != 0) return {};
  if (kHead == KeyHead::kFirst && a.hkv < 2) return {};
  const bool has_mask = a.causal || a.window > 0 || a.mask != MaskKind::kNone;
  if (kCap == Cap::kAfterMask && !(a.softcap > 0 && has_mask)) return {};
  if (kOver == Denominator::kAllKeys && !has_mask) return {};
  const int64_t lost = CountLostKeys<kBlock>(a.s);
  if (kBlock != 0 && lost >= a.s) return {};
  const auto author = [a, lost](Definition& d) {
    const Axis b = d.Axis("b", "batches"), h = d.Axis("h", "heads"), g = d.Axis("g", "key heads"),
               l = d.Axis("l", "queries"), s = d.Axis("s", "keys");
    const Axis c = d.Axis("c", "elements of a head"), dv = d.Axis("dv", "elements of a value");
    const Expr q = d.In("q", b + h + l + c), k = d.In("k", b + g + s + c), v = d.In("v", b + g + s + dv);
    const int64_t group = std::max<int64_t>(h.extent / g.extent, 1);
    const auto head = [&](int64_t i) {
      if (kHead == KeyHead::kFirst) return int64_t{0};
      return std::min(i / (kHead == KeyHead::kByCount ? g.extent : group), g.extent - 1);
    };
    Expr score = Contraction(q, At(k, g, h, head), c) * a.scale;
    const auto cap = [&](Expr x) { return a.softcap > 0 ? Tanh(x / a.softcap) * a.softcap : x; };
    if (kCap == Cap::kBeforeMask) score = cap(score);
    const Expr unmasked = score;
    const Expr query = Index(*q.graph, l) + static_cast<double>(a.top_left ? 0 : s.extent - l.extent);
    const Expr key = Index(*q.graph, s);
    const Expr lowest = Const(*q.graph, -0x1p100);
    if (a.causal) score = Select(LessEqual(key, query), score, lowest);
    if (a.window > 0) score = Select(Less(query - key, Const(*q.graph, static_cast<double>(a.window))), score, lowest);
    if (a.window > 0 && !a.causal) {
      score = Select(Less(key - query, Const(*q.graph, static_cast<double>(a.window))), score, lowest);
    }
    if (a.mask != MaskKind::kNone) {
      const Expr mask = d.In("mask", a.mask_per_head ? b + h + l + s : l + s);
      score = a.mask == MaskKind::kBool ? Select(mask, score, lowest) : score + mask;
    }
    const auto place = [&](int64_t i) { return Const(*q.graph, static_cast<double>(i)); };
    if (kBlock > 0) score = Select(Less(key, place(s.extent - lost)), score, lowest);
    if (kBlock < 0) score = Select(Less(key, place(lost)), lowest, score);
    if (kCap == Cap::kAfterMask) score = cap(score);
    const Expr value = At(v, g, h, head);
    if (kOver == Denominator::kQueries) {
      const Expr weight = Exp(score - Max(score, l));
      d.Out("o", Sum(weight / Sum(weight, l) * value, s), b + h + l + dv);
      return;
    }
    const Expr& divided_by = kOver == Denominator::kAllKeys ? unmasked : score;
    const Expr largest = Max(divided_by, s), weight = Exp(score - largest);
    const Expr sum = kOver == Denominator::kAllKeys ? Sum(Exp(unmasked - largest), s) : Sum(weight, s);
    d.Out("o", Sum(weight * value, s) / sum, b + h + l + dv);
  };
  return Written{
      author,
      Extents({{"b", a.batch}, {"h", a.heads}, {"g", a.hkv}, {"l", a.l}, {"s", a.s}, {"c", a.d}, {"dv", a.dv}})};
}

std::optional<Written> WriteMatmul(const Problem& problem) {
  const MatmulArgs a(problem);
  if (a.rounded || !IsFloat(problem.outputs[0].dtype)) return {};
  const auto author = [a](Definition& d) {
    const Axis batch = d.Axis("batch", "products"), m = d.Axis("m", "rows"), n = d.Axis("n", "columns"),
               k = d.Axis("k", "terms");
    const Expr left = d.In("a", a.gemm.transa ? batch + k + m : batch + m + k);
    const Expr right = d.In("b", a.gemm.transb ? batch + n + k : batch + k + n);
    Expr y = Contraction(left, right, k);
    if (a.alpha != 1) y = y * a.alpha;
    if (a.beta != 0) y = y + d.In("c", batch + m + n) * a.beta;
    if (a.bias) y = y + d.In("bias", n);
    d.Out("y", y, batch + m + n);
  };
  return Written{author, Extents({{"batch", a.gemm.batch}, {"m", a.gemm.m}, {"n", a.gemm.n}, {"k", a.gemm.k}})};
}

std::optional<Written> WriteSoftmax(const Problem& problem) {
  const SoftmaxArgs a(problem);
  const auto author = [log = a.log](Definition& d) {
    const Axis rows = d.Axis("rows", "rows"), n = d.Axis("n", "terms"), inner = d.Axis("inner", "what lies behind");
    const Expr x = d.In("x", rows + n + inner);
    const Expr shifted = x - Max(x, n), e = Exp(shifted);
    d.Out("y", log ? shifted - Log(Sum(e, n)) : e / Sum(e, n), rows + n + inner);
  };
  return Written{author, Extents({{"rows", a.rows / a.inner}, {"n", a.terms}, {"inner", a.inner}})};
}

Expr Reduced(ReduceKind kind, Expr x, Axis n) {
  switch (kind) {
    case ReduceKind::kMean:
      return Mean(x, n);
    case ReduceKind::kMax:
      return Max(x, n);
    case ReduceKind::kMin:
      return Min(x, n);
    case ReduceKind::kProd:
      return Prod(x, n);
    case ReduceKind::kL2:
      return Sqrt(Sum(x * x, n));
    case ReduceKind::kLogSumExp:
      return Max(x, n) + Log(Sum(Exp(x - Max(x, n)), n));
    default:
      return Sum(x, n);
  }
}

// Along axes that lie behind one another.
std::optional<Written> WriteReduce(const Problem& problem) {
  const ReduceArgs a(problem);
  const bool gapless = a.reduced.back() - a.reduced.front() + 1 == std::ssize(a.reduced);
  const bool selects = a.kind == ReduceKind::kMax || a.kind == ReduceKind::kMin;
  if (IsArg(a.kind) || a.ignore_nan || !gapless || !(selects || IsFloat(problem.outputs[0].dtype))) return {};
  const auto from = a.shape.begin() + a.reduced.back() + 1;
  const int64_t inner = std::accumulate(from, a.shape.end(), int64_t{1}, std::multiplies<>());
  const auto author = [kind = a.kind](Definition& d) {
    const Axis outer = d.Axis("outer", "what lies before"), n = d.Axis("n", "terms"),
               behind = d.Axis("inner", "what lies behind");
    d.Out("y", Reduced(kind, d.In("x", outer + n + behind), n), outer + behind);
  };
  return Written{author, Extents({{"outer", a.rows / inner}, {"n", a.terms}, {"inner", inner}})};
}

// A convolution is a product of matrices, with the taps that each position reads.
std::optional<Written> WriteConv(const Problem& problem) {
  constexpr int64_t kMostPlaces = int64_t{1} << 14;
  const ConvArgs a(problem);
  if (!IsFloat(problem.outputs[0].dtype) || a.Positions() * a.Taps() > kMostPlaces) return {};
  std::vector<int64_t> places;
  for (int64_t position = 0; position < a.Positions(); ++position) {
    for (int64_t tap = 0; tap < a.Taps(); ++tap) {
      const ConvArgs::Extents at = ConvArgs::Split(position, a.out), of_tap = ConvArgs::Split(tap, a.kernel);
      int64_t place = 0;
      for (int axis = 0; axis < ConvArgs::kAxes && place >= 0; ++axis) {
        const auto i = static_cast<size_t>(axis);
        place = a.Sees(axis, at[i], of_tap[i]) ? place * a.in[i] + a.Source(axis, at[i], of_tap[i]) : -1;
      }
      places.push_back(place);
    }
  }
  const auto author = [places, bias = a.bias](Definition& d) {
    const Axis n = d.Axis("n", "images"), g = d.Axis("g", "groups"), o = d.Axis("o", "channels of y in a group"),
               c = d.Axis("c", "channels of x in a group"), s = d.Axis("s", "pixels");
    const Axis p = d.Axis("p", "positions"), t = d.Axis("t", "taps");
    const Expr x = d.In("x", n + g + c + s), w = d.In("w", g + o + c + t);
    const auto count = static_cast<size_t>(p.extent * t.extent);  // which a schema's example has otherwise
    const Expr read = Take(x, s, p + t, count == places.size() ? places : std::vector<int64_t>(count, 0));
    const Expr y = Sum(read * w, c + t);
    d.Out("y", bias ? y + d.In("bias", g + o) : y, n + g + o + p);
  };
  return Written{author, Extents({{"n", a.n},
                                  {"g", a.groups},
                                  {"o", a.GroupOutputs()},
                                  {"c", a.GroupInputs()},
                                  {"s", a.Pixels()},
                                  {"p", a.Positions()},
                                  {"t", a.Taps()}})};
}

// Pairs of neighbours, as GPT-J turns them, where rope has those of halves.
std::optional<Written> WriteRopeOfNeighbours(const Problem& problem) {
  const auto author = [](Definition& d) {
    const Axis b = d.Axis("b", "batches"), l = d.Axis("l", "queries"), h = d.Axis("h", "heads"),
               size = d.Axis("d", "elements of a head");
    const Axis pairs = d.DerivedAxis("d/2", size, 1, 2);
    const Expr x = d.In("x", b + l + h + size);
    const Expr cos = d.In("cos", l + pairs, Role::kTable), sin = d.In("sin", l + pairs, Role::kTable);
    const auto pair = [](int64_t i) { return i / 2; };
    const Expr other = At(x, size, size, [](int64_t i) { return i ^ 1; });
    const Expr is_second = At(Index(*x.graph, size), size, size, [](int64_t i) { return i % 2; });
    const Expr turned = other * At(sin, pairs, size, pair);
    d.Out("y", x * At(cos, pairs, size, pair) + Select(is_second, turned, -turned), b + l + h + size);
  };
  return Written{
      author,
      Extents({{"b", problem.Int("b")}, {"l", problem.Int("l")}, {"h", problem.Int("h")}, {"d", problem.Int("d")}})};
}

// Each rank adds its own data `kTimes` times.
template <int kTimes>
std::optional<Written> WriteAllReduce(const Problem& problem) {
  const Shape& shape = problem.inputs[0].shape;
  const bool is_mean = problem.Text("reduction") == "mean";
  if (shape[0] < 2) return {};
  const auto author = [is_mean](Definition& d) {
    const Axis ranks = d.Axis("ranks", "how many there are"), n = d.Axis("n", "elements of each");
    const Axis from = d.FixedAxis("others", ranks.extent);
    const Expr x = d.In("x", ranks + n);
    const Expr sum = Sum(At(x, ranks, from, [](int64_t i) { return i; }), from) + x * (kTimes - 1.0);
    d.Out("y", is_mean ? sum / static_cast<double>(ranks.extent) : sum, ranks + n);
  };
  return Written{author, Extents({{"ranks", shape[0]}, {"n", shape[1]}})};
}

// A convolution that goes round the end, as by transforms of the signal's own length.
std::optional<Written> WriteCircularConv(const Problem& problem) {
  const Shape& shape = problem.inputs[0].shape;
  const auto author = [](Definition& d) {
    const Axis b = d.Axis("b", "batches"), c = d.Axis("c", "channels"), l = d.Axis("l", "positions");
    const Axis back = d.FixedAxis("l*1", l.extent), to = d.FixedAxis("1*l", l.extent);
    const Expr x = d.In("x", b + c + l), kernel = d.In("kernel", c + l);
    std::vector<int64_t> places;
    for (int64_t t = 0; t < l.extent; ++t) {
      for (int64_t j = 0; j < l.extent; ++j) places.push_back((t - j + l.extent) % l.extent);
    }
    const Expr of_kernel = At(kernel, l, back, [](int64_t j) { return j; });
    d.Out("y", Sum(Take(x, l, to + back, std::move(places)) * of_kernel, back), b + c + to);
  };
  return Written{author, Extents({{"b", shape[0]}, {"c", shape[1]}, {"l", shape[2]}})};
}

template <DeltaMistake kMistake>
std::optional<Written> WriteDelta(const Problem& problem) {
  const DeltaAttrs attrs{problem.Text("norm") == "l2", problem.Float("scale"), problem.Float("eps")};
  AttrList extents;
  for (const char* axis : {"b", "h", "l", "d", "dv"}) extents.emplace_back(axis, std::to_string(problem.Int(axis)));
  return Written{WriteDeltaRule(attrs, kMistake), std::move(extents)};
}

template <LabelMistake kMistake>
std::optional<Written> WriteLoss(const Problem& problem) {
  const LabelAttrs attrs{problem.Float("smoothing"), problem.Int("ignore"), problem.Text("reduction")};
  if (attrs.smoothing == 0 || (kMistake == LabelMistake::kIgnoredAreSpread && attrs.ignore < 0)) return {};
  const Shape& logits = problem.inputs[0].shape;
  return Written{WriteCrossEntropy(attrs, kMistake), Extents({{"rows", logits[0]}, {"n", logits[1]}})};
}

struct FormRow {
  const char* op;
  const char* text;
  std::optional<Written> (*write)(const Problem&);
};
constexpr FormRow kForms[] = {
    {"attention", "the soft cap behind the mask", WriteAttention<KeyHead::kOfBlock, 0, Cap::kAfterMask>},
    {"attention", "a softmax over queries, not keys",
     WriteAttention<KeyHead::kOfBlock, 0, Cap::kBeforeMask, Denominator::kQueries>},
    {"attention", "the keys that the mask hides in the sum of exponentials, too",
     WriteAttention<KeyHead::kOfBlock, 0, Cap::kBeforeMask, Denominator::kAllKeys>},
    {"attention", "query heads that all read key head 0", WriteAttention<KeyHead::kFirst>},
    {"attention", "query heads divided by the number of key heads, not of those that share one",
     WriteAttention<KeyHead::kByCount>},
    {"attention", "all keys but the last", WriteAttention<KeyHead::kOfBlock, 1>},
    {"attention", "all keys but the first", WriteAttention<KeyHead::kOfBlock, -1>},
    {"attention", "all keys but those of the last block of 8", WriteAttention<KeyHead::kOfBlock, 8>},
    {"attention", "all keys but those of the last block of 16", WriteAttention<KeyHead::kOfBlock, 16>},
    {"attention", "all keys but those of the last block of 32", WriteAttention<KeyHead::kOfBlock, 32>},
    {"rope", "pairs of neighbours, not of halves", WriteRopeOfNeighbours},
    {"cross_entropy", "ignored rows in the part that is spread over all classes, too",
     WriteLoss<LabelMistake::kIgnoredAreSpread>},
    {"cross_entropy", "smoothing spread over the other classes alone", WriteLoss<LabelMistake::kSpreadsOverOthers>},
    {"fft_conv", "a convolution that goes round the end", WriteCircularConv},
    {"all_reduce", "the own data of each rank left out", WriteAllReduce<0>},
    {"all_reduce", "the own data of each rank twice", WriteAllReduce<2>},
    {"gated_delta_rule", "the gate behind the update of the state", WriteDelta<DeltaMistake::kGateBehindUpdate>},
    {"gated_delta_rule", "v predicted from the state before its gate", WriteDelta<DeltaMistake::kPredictsBeforeGate>},
    {"gated_delta_rule", "the gate in the prediction of v alone", WriteDelta<DeltaMistake::kGateOfPredictionAlone>},
    {"gated_delta_rule", "the gate of each position twice", WriteDelta<DeltaMistake::kGateTwice>},
    {"gated_delta_rule", "v in place of v less its prediction", WriteDelta<DeltaMistake::kNoPrediction>},
    {"gated_delta_rule", "the prediction of v added, not subtracted", WriteDelta<DeltaMistake::kAddsPrediction>},
    {"gated_delta_rule", "beta as the factor of v alone, not of its prediction",
     WriteDelta<DeltaMistake::kBetaOfValueAlone>},
    {"gated_delta_rule", "beta as the factor of the prediction alone, not of v",
     WriteDelta<DeltaMistake::kBetaOfPredictionAlone>},
    {"gated_delta_rule", "beta of each position twice", WriteDelta<DeltaMistake::kBetaTwice>},
    {"gated_delta_rule", "v predicted by the key of the position before",
     WriteDelta<DeltaMistake::kPredictsByKeyBefore>},
    {"gated_delta_rule", "the key of the position before in the update of the state",
     WriteDelta<DeltaMistake::kWritesKeyBefore>},
    {"gated_delta_rule", "o read from the state before its update", WriteDelta<DeltaMistake::kReadsBeforeUpdate>},
    {"gated_delta_rule", "the given state at each position, not the one before it",
     WriteDelta<DeltaMistake::kStateOfEachIsGiven>},
    {"gated_delta_rule", "a new state that lacks the last position", WriteDelta<DeltaMistake::kStoresStateBefore>},
    {"attention", "", WriteAttention<KeyHead::kOfBlock>},
    {"matmul", "", WriteMatmul},
    {"conv", "", WriteConv},
    {"softmax", "", WriteSoftmax},
    {"reduce", "", WriteReduce},
};

}  // namespace written

std::vector<Tensor> InShapesOf(const std::vector<Operand>& operands, const std::vector<Tensor>& tensors) {
  std::vector<Tensor> shaped;
  for (size_t i = 0; i < tensors.size(); ++i) {
    shaped.push_back(tensors[i].Clone());
    shaped.back().Reshape(operands[i].shape);
  }
  return shaped;
}

std::optional<Form> MakeForm(const written::FormRow& row, const Problem& problem, const std::vector<Tensor>& inputs,
                             const std::vector<Tensor>& got) {
  if (problem.spec.op != row.op) return std::nullopt;
  const std::optional<written::Written> form = row.write(problem);
  if (!form) return std::nullopt;
  std::vector<DType> types = TypesOf(problem.inputs);
  types.push_back(problem.outputs[0].dtype);
  const std::string text = DTypeListText(types);
  auto op = std::make_shared<FormulaOperator>(problem.spec.op, [author = form->author, text](formula::Definition& d) {
    author(d);
    d.SetDoc("a formula of this operator");
    d.SetTypes({text});
  });
  CaseSpec spec = problem.spec;
  spec.dtypes = std::set(types.begin(), types.end()).size() == 1 ? std::vector{types[0]} : types;
  spec.attrs = form->extents;
  Result<Problem> bound = op->Bind(spec);
  if (!bound) return std::nullopt;
  std::vector<Tensor> shaped = InShapesOf(bound->inputs, inputs), results = InShapesOf(bound->outputs, got);
  return Form{row.text, std::move(op), *std::move(bound), std::move(shaped), std::move(results)};
}

}  // namespace

bool HasForm(std::string_view op) {
  return std::ranges::any_of(written::kForms, [&](const written::FormRow& row) { return row.op == op; });
}

std::vector<Form> FormsOf(const Problem& problem, const std::vector<Tensor>& inputs, const std::vector<Tensor>& got) {
  std::vector<Form> forms;
  for (const written::FormRow& row : written::kForms) {
    if (std::optional<Form> form = MakeForm(row, problem, inputs, got)) forms.push_back(*std::move(form));
  }
  return forms;
}

std::optional<Form> OwnFormOf(const Problem& problem, const std::vector<Tensor>& inputs,
                              const std::vector<Tensor>& got) {
  for (const written::FormRow& row : written::kForms) {
    if (*row.text != 0) continue;
    if (std::optional<Form> form = MakeForm(row, problem, inputs, got)) return form;
  }
  return std::nullopt;
}

}  // namespace assay
