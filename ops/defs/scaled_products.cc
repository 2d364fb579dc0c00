// SPDX-License-Identifier: Apache-2.0
// Products of quantised and of sparse matrices, and sums of such products as codes of 8 bits again.
#include <string>

#include "ops/formula_operator/formula_operator.h"

namespace assay {
namespace {

using namespace formula;  // NOLINT: formulas read better without

void Requantize(Definition& d) {
  d.SetDoc("y = q scale + zero, rounded to nearest and saturated: sums of products as codes of 8 bits");
  const Axis rows = d.Axis("rows", "rows of q"), n = d.Axis("n", "elements of a row");
  const std::string per = d.Choice("per", {"tensor", "column"}, "what has a scale of its own: scale is [n] per column");
  const int64_t zero = d.Integer("zero", "0", "the code of zero of y");
  const bool is_u8 = d.TypeOfResult() == DType::kU8;
  d.RefuseIf(zero < (is_u8 ? 0 : -128) || zero > (is_u8 ? 255 : 127), "zero must be a code of the type of y");
  const Expr q = d.In("q", rows + n);
  const Expr scale = d.In("scale", per == "column" ? Axes(n) : Axes(), Role::kWeight);
  const Expr code = q * scale;
  d.OutSaturated("y", zero == 0 ? code : code + static_cast<double>(zero), rows + n);
  d.SetTypes(
      {"i32-f32-i8", "i32-f32-u8", "f32-f32-i8", "f32-f32-u8", "i8-f32-i8", "u8-f32-u8", "i8-f32-u8", "u8-f32-i8"});
}

void W4a16Mm(Definition& d) {
  d.SetDoc(
      "y = x w, w = (code - zero) scale of codes of 4 bits: a byte has those of rows 2 i, in its lower half, and 2 i + "
      "1; "
      "scale and zero are of k / groups rows of w");
  const Axis rows = d.Axis("rows", "rows of x"), k = d.Axis("k", "elements of a row; even", 1);
  const Axis groups = d.Axis("groups", "rows of scale and zero; divides k", 1),
             n = d.Axis("n", "elements of a row of y");
  const Axis bytes = d.DerivedAxis("k/2", k, 1, 2);
  const Axis codes_of_zero = d.FixedAxis("16", 16);
  if (d.RefuseIf(k.extent % 2 != 0, "k must be even: a byte has two codes")) return;
  if (d.RefuseIf(k.extent % groups.extent != 0, "groups must divide k: groups have as many rows of w")) return;
  const Expr x = d.In("x", rows + k);
  const Expr packed = d.In("packed", bytes + n);
  const Expr scale = d.In("scale", groups + n, Role::kWeight);
  const Expr zero = d.InPlaces("zero", groups + n, codes_of_zero);
  const Expr upper = FloorDivide(packed, Const(*x.graph, 16)), lower = packed - 16 * upper;
  const auto at = [&](Expr of, int64_t odd) {
    return At(of, bytes, k, [odd](int64_t i) { return i % 2 == odd ? i / 2 : -1; });
  };
  const auto of_group = [&](Expr of) {
    return At(of, groups, k, [&](int64_t i) { return i * groups.extent / k.extent; });
  };
  const Expr code = at(lower, 0) + at(upper, 1);
  d.Out("y", Contraction(x, Strict(code - of_group(zero)) * of_group(scale), k), rows + n);
  d.SetTypes({"f32-u8-f32-u8-f32", "bf16-u8-bf16-u8-bf16", "f16-u8-f16-u8-f16", "bf16-u8-f32-u8-bf16",
              "f16-u8-f32-u8-f16", "f32-u8-f32-i32-f32"});
}

void ScaledMm(Definition& d) {
  d.SetDoc("y = (a scale_a) (b scale_b), of i8 (a - zero_a) for a where there is a zero");
  const Axis m = d.Axis("m", "rows of a"), k = d.Axis("k", "elements of a row", 1);
  const Axis n = d.Axis("n", "elements of a row of y");
  const std::string per = d.Choice(
      "per", {"tensor", "row", "block"},
      "what has a scale: all of a and of b; a row of a and a column of b; blocks of a row of a and squares of b");
  const int64_t block = d.Integer("block", "128", "elements along a side of a block", {"128", "3"});
  if (d.RefuseIf(block < 1, "block must be at least 1")) return;
  const auto blocks = [&](const char* text, const Axis& along) {
    return d.FixedAxis(text, (along.extent + block - 1) / block);
  };
  const Axis k_blocks = blocks("k/block", k), n_blocks = blocks("n/block", n);
  const bool by_block = per == "block", by_row = per == "row";
  const Expr a = d.In("a", m + k), b = d.In("b", k + n);
  const Expr scale_a = d.In("scale_a", by_block ? m + k_blocks : by_row ? Axes(m) : Axes(), Role::kWeight);
  const Expr scale_b = d.In("scale_b", by_block ? k_blocks + n_blocks : by_row ? Axes(n) : Axes(), Role::kWeight);
  const std::optional<Expr> zero = d.InIfListed("zero_a", by_block || by_row ? Axes(m) : Axes(), Role::kZero);
  const auto spread = [&](Expr scale, const Axis& from, const Axis& to) {
    return At(scale, from, to, [&](int64_t i) { return i / block; });
  };
  const Expr codes = zero ? Strict(a - *zero) : a;
  if (by_block) {
    const Axis columns = d.FixedAxis("n*1", n.extent);  // a part of n alone would have other blocks
    const Expr of_b = spread(spread(scale_b, k_blocks, k), n_blocks, columns);
    const Expr of_a = codes * spread(scale_a, k_blocks, k);
    const Expr moved = At(b, n, columns, [](int64_t i) { return i; });
    d.Out("y", Sum(of_a * (moved * of_b), k), m + columns);
  } else {
    d.Out("y", Contraction(codes, b, k) * (scale_a * scale_b), m + n);
  }
  d.SetTypes({"i8-i8-f32-f32-f32", "i8-i8-f32-f32-bf16", "e4m3-e4m3-f32-f32-f32", "e4m3-e4m3-f32-f32-bf16",
              "e4m3-e4m3-f32-f32-f16", "e5m2-e4m3-f32-f32-bf16", "u8-i8-f32-f32-u8-f32", "i8-i8-f32-f32-i8-f32",
              "u8-i8-f32-f32-u8-bf16", "u8-i8-f32-f32-i32-f32"});
}

void LlmInt8Mm(Definition& d) {
  d.SetDoc(
      "y = scale_b (z b), z the codes a scale_a where a column is no outlier, x itself where it is (Dettmers et al., "
      "arXiv:2208.07339)");
  const Axis m = d.Axis("m", "rows of x"), k = d.Axis("k", "elements of a row", 1);
  const Axis n = d.Axis("n", "elements of a row of y");
  const Expr x = d.In("x", m + k), a = d.In("a", m + k), b = d.In("b", k + n);
  const Expr scale_a = d.In("scale_a", m, Role::kWeight), scale_b = d.In("scale_b", n, Role::kWeight);
  const Expr is_outlier = d.In("is_outlier", k, Role::kCondition);
  const Expr factor = Select(is_outlier, x, a * scale_a);
  d.Out("y", Sum(factor * b, k) * scale_b, m + n);
  d.SetTypes({"f16-i8-i8-f32-f32-bool-f16", "bf16-i8-i8-f32-f32-bool-bf16", "f32-i8-i8-f32-f32-bool-f32"});
}

// Places of a group may be equal: their values are added then.
void SparseMm(Definition& d) {
  d.SetDoc("y = a b, of each four elements of a row of a two: values, and their places 0 to 3");
  const Axis m = d.Axis("m", "rows of a"), k = d.Axis("k", "rows of b; a multiple of 4", 4);
  const Axis n = d.Axis("n", "elements of a row of y");
  const Axis half = d.DerivedAxis("k/2", k, 1, 2);
  const Axis two = d.FixedAxis("2", 2), four = d.FixedAxis("4", 4), groups = d.FixedAxis("k/4", k.extent / 4);
  if (d.RefuseIf(k.extent % 4 != 0, "k must be a multiple of 4: two of each four elements are stored")) return;
  const Expr values = d.In("values", m + half), places = d.InPlaces("places", m + half, four), b = d.In("b", k + n);
  const Expr chosen = Gather(Reshape(b, k, groups + four), four, Reshape(places, half, groups + two));
  d.Out("y", Sum(Reshape(values, half, groups + two) * chosen, groups + two), m + n);
  d.SetTypes({"f32-u8-f32-f32", "bf16-u8-bf16-bf16", "f16-u8-f16-f16", "e4m3-u8-e4m3-f32"});
}

ASSAY_OPERATOR(llm_int8_mm, LlmInt8Mm);
ASSAY_OPERATOR(requantize, Requantize);
ASSAY_OPERATOR(scaled_mm, ScaledMm);
ASSAY_OPERATOR(sparse_mm, SparseMm);
ASSAY_OPERATOR(w4a16_mm, W4a16Mm);

}  // namespace
}  // namespace assay
