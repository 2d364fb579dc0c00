// SPDX-License-Identifier: Apache-2.0
// Elements that move and stay what they are, as rows of a table: results are elements of the input, or a number that a
// case states.
#include <algorithm>
#include <string>
#include <vector>

#include "ops/formula_operator/formula_operator.h"

namespace assay {
namespace {

using namespace formula;  // NOLINT: formulas read better without

using TypeNames = std::vector<std::string>;

struct Movement {
  const char* name;
  void (*state)(Definition& d);
};

const TypeNames kMovedTypes = {"f32", "bf16", "f16", "f64", "i8", "u8", "i16", "i32", "i64", "bool"};

// Lists of the types that can be moved, with one more behind the first `before` operands.
TypeNames MovedBeside(const std::string& other, size_t before, size_t operands) {
  TypeNames lists;
  for (const std::string& type : kMovedTypes) {
    std::string& list = lists.emplace_back();
    for (size_t i = 0; i < operands; ++i) list += (i == 0 ? "" : "-") + (i == before ? other : type);
  }
  return lists;
}

Expr Whole(Graph& graph, int64_t value) {
  return Const(graph, static_cast<double>(value));
}

// A case is of the rows or of the columns of x [rows,n].
struct Along {
  explicit Along(Definition& d, const char* doc)
      : rows(d.Axis("rows", "rows of x")), n(d.Axis("n", "elements of a row")) {
    of_rows = d.Choice("axis", {"1", "0"}, doc) == "0";
  }
  Axis axis() const { return of_rows ? rows : n; }
  Axes With(Axis along) const { return of_rows ? along + n : rows + along; }

  Axis rows, n;
  bool of_rows;
};

void Concat(Definition& d) {
  d.SetDoc("z = x, and behind it y along the axis");
  const Along of(d, "along which y stands behind x");
  const Axis m = d.Axis("m", "extent of y along it");
  const Axis both = d.FixedAxis("n+m", of.axis().extent + m.extent);
  const Expr x = d.In("x", of.rows + of.n), y = d.In("y", of.With(m));
  const int64_t first = of.axis().extent;
  const Expr of_x = At(x, of.axis(), both, [&](int64_t i) { return i < first ? i : -1; });
  const Expr of_y = At(y, m, both, [&](int64_t i) { return i < first ? -1 : i - first; });
  d.Out("z", Select(Less(Index(*x.graph, both), Whole(*x.graph, first)), of_x, of_y), of.With(both));
  d.SetTypes(kMovedTypes);
}

void Flip(Definition& d) {
  d.SetDoc("y = the elements of x from the last one to the first along the axis");
  const Along of(d, "whose order turns around");
  const Expr x = d.In("x", of.rows + of.n);
  d.Out("y", At(x, of.axis(), of.axis(), [&](int64_t i) { return of.axis().extent - 1 - i; }), of.rows + of.n);
  d.SetTypes(kMovedTypes);
}

void Roll(Definition& d) {
  d.SetDoc("y[(i + shift) mod n] = x[i] along the axis");
  const Along of(d, "along which elements move");
  const int64_t shift = d.Integer("shift", "1", "how far; beyond the end they come in at the beginning");
  const Expr x = d.In("x", of.rows + of.n);
  const int64_t n = std::max<int64_t>(of.axis().extent, 1);
  const auto place = [&](int64_t i) { return ((i - shift) % n + n) % n; };
  d.Out("y", At(x, of.axis(), of.axis(), place), of.rows + of.n);
  d.SetTypes(kMovedTypes);
}

void MaskedFill(Definition& d) {
  d.SetDoc("y = value where mask is not 0, else x");
  const Axis n = d.Axis("n", "elements");
  const double value = d.Real("value", "0", "what stands where the mask is");
  const Expr x = d.In("x", n), mask = d.In("mask", n, Role::kCondition);
  d.Out("y", Select(mask, Const(*x.graph, value), x), n);
  d.SetTypes({"f32-bool-f32", "bf16-bool-bf16", "f16-bool-f16", "f64-bool-f64"});
}

void OneHot(Definition& d) {
  d.SetDoc("y[i,j] = 1 where j is indices[i], else 0");
  const Axis n = d.Axis("n", "indices"), classes = d.Axis("classes", "elements of a row of y");
  const Expr indices = d.InPlaces("indices", n, classes);
  d.Out("y", Equal(Index(*indices.graph, classes), indices), n + classes);
  d.SetTypes({"i64-f32", "i64-bf16", "i64-f16", "i64-f64", "i32-f32", "i64-i64", "i64-i8", "i64-bool"});
}

// The place along an axis of n that stands at i, which may lie before or behind it.
int64_t PlaceOutside(const std::string& mode, int64_t i, int64_t n) {
  if (mode == "reflect" && (i < 0 || i >= n)) return i < 0 ? -i : 2 * (n - 1) - i;
  return std::clamp<int64_t>(i, 0, std::max<int64_t>(n - 1, 0));
}

void Pad(Definition& d) {
  d.SetDoc(
      "y = x with elements around it: a number, the nearest element, or the elements mirrored at the first and last");
  const Axis rows = d.Axis("rows", "rows of x", 1), n = d.Axis("n", "elements of a row", 1);
  const std::string mode = d.Choice("mode", {"constant", "edge", "reflect"}, "what stands around x");
  const int64_t top = d.Integer("top", "0", "rows before x"), bottom = d.Integer("bottom", "1", "rows behind x");
  const int64_t left = d.Integer("left", "1", "elements before each row");
  const int64_t right = d.Integer("right", "1", "elements behind each row");
  const double value = d.Real("value", "0", "the number of mode=constant");
  const int64_t least = std::min({top, bottom, left, right});
  if (d.RefuseIf(least < 0, "top, bottom, left and right must be at least 0: nothing is cut off")) return;
  const bool is_short = rows.extent <= std::max(top, bottom) || n.extent <= std::max(left, right);
  if (d.RefuseIf(mode == "reflect" && is_short,
                 "mode=reflect has at most one element less around x than x has along that axis")) {
    return;
  }
  const Axis all_rows = d.FixedAxis("top+rows+bottom", top + rows.extent + bottom);
  const Axis all_n = d.FixedAxis("left+n+right", left + n.extent + right);
  const Expr x = d.In("x", rows + n);
  const auto moved = [&](Expr of, Axis from, Axis to, int64_t before) {
    return At(of, from, to, [&](int64_t i) { return PlaceOutside(mode, i - before, from.extent); });
  };
  const Expr y = moved(moved(x, rows, all_rows, top), n, all_n, left);
  const auto inside = [&](Axis along, int64_t before, int64_t count) {
    const Expr i = Index(*x.graph, along);
    return And(LessEqual(Whole(*x.graph, before), i), Less(i, Whole(*x.graph, before + count)));
  };
  const auto filled = [&] {
    return Select(And(inside(all_rows, top, rows.extent), inside(all_n, left, n.extent)), y, Const(*x.graph, value));
  };
  d.Out("y", mode == "constant" ? filled() : y, all_rows + all_n);
  d.SetTypes({"f32", "bf16", "f16", "f64", "i8", "u8", "i32", "i64"});
}

void TakeAlongAxis(Definition& d) {
  d.SetDoc("y[i,j] = x[i, indices[i,j]]");
  const Axis rows = d.Axis("rows", "rows of x"), n = d.Axis("n", "elements of a row"), k = d.Axis("k", "those of y");
  const Expr x = d.In("x", rows + n);
  const Expr indices = d.InPlaces("indices", rows + k, n);
  d.Out("y", Gather(x, n, indices), rows + k);
  TypeNames lists = MovedBeside("i64", 1, 3);
  lists.insert(lists.begin() + 4, "f32-i32-f32");
  d.SetTypes(lists);
}

void Transpose(Definition& d) {
  d.SetDoc("y = x with its axes a, b and c in another order");
  const Axis axes[] = {d.Axis("a", "extent of the first axis"), d.Axis("b", "of the second"),
                       d.Axis("c", "of the third")};
  const std::string perm = d.Choice("perm", {"021", "102", "120", "201", "210"}, "which axis of x each axis of y is");
  const Expr x = d.In("x", axes[0] + axes[1] + axes[2]);
  d.Out("y", x, axes[perm[0] - '0'] + axes[perm[1] - '0'] + axes[perm[2] - '0']);
  d.SetTypes(kMovedTypes);
}

void Trilu(Definition& d) {
  d.SetDoc("y = x at columns of at most row + k, or with upper=1 of at least that, else 0");
  const Axis b = d.Axis("b", "matrices"), rows = d.Axis("rows", "rows of each"), n = d.Axis("n", "elements of a row");
  const Flag upper = d.Flag("upper", "1: what lies above the diagonal stays, else what lies below");
  const int64_t k = d.Integer("k", "0", "the diagonal: 0 the main one, 1 that above it");
  const Expr x = d.In("x", b + rows + n);
  const Expr column = Index(*x.graph, n), diagonal = Index(*x.graph, rows) + Whole(*x.graph, k);
  const Expr stays = upper.on ? LessEqual(diagonal, column) : LessEqual(column, diagonal);
  d.Out("y", Select(stays, x, Whole(*x.graph, 0)), b + rows + n);
  d.SetTypes(kMovedTypes);
}

constexpr Movement kMovements[] = {
    {"concat", Concat}, {"flip", Flip}, {"masked_fill", MaskedFill},        {"one_hot", OneHot},
    {"pad", Pad},       {"roll", Roll}, {"take_along_axis", TakeAlongAxis}, {"transpose", Transpose},
    {"trilu", Trilu},
};

struct RegisterMovements {
  RegisterMovements() {
    for (const Movement& row : kMovements) RegisterFormula(row.name, row.state);
  }
} const registered_movements;

}  // namespace
}  // namespace assay
