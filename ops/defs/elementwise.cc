// SPDX-License-Identifier: Apache-2.0
// Operators that compute each element by itself, as rows of tables: functions of one number, and of two or three, of
// which the others may be one for a row, a column or the whole tensor.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "ops/formula_operator/formula_operator.h"

namespace assay {
namespace {

using namespace formula;  // NOLINT: formulas read better without

using TypeLists = std::vector<std::string>;

// Types of operands and results: a test has a result of bool.
enum class Types : uint8_t {
  kFloats,
  kSigned,
  kIntegers,
  kNumbers,
  kNumbersAndBool,
  kTests,
  kComparisons,
  kEqualities,
  kLogic
};

TypeLists Join(TypeLists lists, const TypeLists& more) {
  lists.insert(lists.end(), more.begin(), more.end());
  return lists;
}

// Lists of `inputs` operands of each of these types, with a result of bool.
TypeLists ToBool(const TypeLists& types, int inputs) {
  TypeLists lists;
  for (const std::string& type : types) {
    std::string& list = lists.emplace_back();
    for (int i = 0; i < inputs; ++i) list += type + "-";
    list += "bool";
  }
  return lists;
}

TypeLists ListsOf(Types types, int inputs) {
  const TypeLists floats = {"f32", "bf16", "f16", "f64"};
  switch (types) {
    case Types::kFloats:
      return floats;
    case Types::kSigned:
      return Join(floats, {"i8", "i16", "i32", "i64"});
    case Types::kIntegers:
      return {"i8", "u8", "i16", "i32", "i64"};
    case Types::kNumbers:
      return Join(floats, ListsOf(Types::kIntegers, inputs));
    case Types::kNumbersAndBool:
      return Join(ListsOf(Types::kNumbers, inputs), {"bool"});
    case Types::kTests:
      return ToBool(floats, inputs);
    case Types::kComparisons:
      return ToBool(ListsOf(Types::kNumbers, inputs), inputs);
    case Types::kEqualities:
      return Join(ListsOf(Types::kComparisons, inputs), {"bool"});
    case Types::kLogic:
      return Join({"bool"}, ToBool(floats, inputs));
  }
  return floats;
}

struct Unary {
  const char *name, *doc;
  Expr (*function)(Expr);
  Role role = Role::kData;
  Types types = Types::kFloats;
};

Expr Floor(Expr x) {
  return formula::FloorDivide(x, Const(*x.graph, 1));
}
Expr Ceil(Expr x) {
  return -Floor(-x);
}
Expr IsNegative(Expr x) {
  return Less(x, Const(*x.graph, 0));
}
Expr IsSame(Expr x) {
  return Equal(x, x);
}
Expr IsFinite(Expr x) {
  return Less(Abs(x), Const(*x.graph, HUGE_VAL));
}

// Integers are those of registers: what leaves them wraps around, as |-128| of i8, which is -128.
constexpr Unary kUnary[] = {
    {"abs", "y = |x|; integers wrap around", Abs, Role::kData, Types::kSigned},
    {"acos", "y = acos(x), in radians", Acos, Role::kUnit},
    {"acosh", "y = acosh(x)", Acosh, Role::kPositive},
    {"asin", "y = asin(x), in radians", Asin, Role::kUnit},
    {"asinh", "y = asinh(x)", Asinh},
    {"atan", "y = atan(x), in radians", Atan},
    {"atanh", "y = atanh(x)", Atanh, Role::kUnit},
    {"cbrt", "y = the cube root of x", Cbrt},
    {"ceil", "y = the least integer that is at least x", Ceil},
    {"cos", "y = cos(x), x in radians", Cos},
    {"cosh", "y = cosh(x)", Cosh},
    {"erf", "y = erf(x)", Erf},
    {"erfc", "y = 1 - erf(x)", Erfc},
    {"exp", "y = exp(x)", Exp},
    {"exp2", "y = 2 to the power of x", Exp2},
    {"expm1", "y = exp(x) - 1", Expm1},
    {"floor", "y = the largest integer that is at most x", Floor},
    {"isfinite", "y = 1 where x is a number and not infinite, else 0", IsFinite, Role::kNonFinite, Types::kTests},
    {"isinf", "y = 1 where x is infinite, else 0", [](Expr x) { return Equal(Abs(x), Const(*x.graph, HUGE_VAL)); },
     Role::kNonFinite, Types::kTests},
    {"isnan", "y = 1 where x is NaN, else 0", [](Expr x) { return Not(IsSame(x)); }, Role::kNonFinite, Types::kTests},
    {"log", "y = log(x)", Log, Role::kPositive},
    {"log10", "y = the logarithm of x to the base 10", Log10, Role::kPositive},
    {"log1p", "y = log(1 + x)", Log1p, Role::kPositive},
    {"log2", "y = the logarithm of x to the base 2", Log2, Role::kPositive},
    {"logical_not", "y = 1 where x is 0, else 0", Not, Role::kCondition, Types::kLogic},
    {"neg", "y = -x; integers wrap around", [](Expr x) { return -x; }, Role::kData, Types::kNumbers},
    {"reciprocal", "y = 1 / x", [](Expr x) { return 1.0 / x; }},
    {"relu", "y = max(x, 0)", Max0, Role::kData, Types::kSigned},
    {"round", "y = the integer closest to x, of two the even one", Nearest},
    {"rsqrt", "y = 1 / sqrt(x)", Rsqrt, Role::kPositive},
    {"sigmoid", "y = 1 / (1 + exp(-x))", Sigmoid},
    {"sign", "y = -1, 0 or 1, as x is below zero, zero or above; NaN of NaN",
     [](Expr x) { return Select(IsSame(x), Less(Const(*x.graph, 0), x) - IsNegative(x), x); }, Role::kData,
     Types::kSigned},
    {"sin", "y = sin(x), x in radians", Sin},
    {"sinh", "y = sinh(x)", Sinh},
    {"sqrt", "y = sqrt(x)", Sqrt, Role::kPositive},
    {"square", "y = x x; integers wrap around", [](Expr x) { return x * x; }, Role::kData, Types::kNumbers},
    {"tan", "y = tan(x), x in radians", Tan},
    {"tanh", "y = tanh(x)", Tanh},
    {"trunc", "y = x without its fraction", [](Expr x) { return Select(IsNegative(x), Ceil(x), Floor(x)); }},
};

struct Binary {
  const char *name, *doc;
  Expr (*function)(Expr, Expr);
  Types types = Types::kNumbers;
  Role role = Role::kData;  // of y
};

constexpr Binary kBinary[] = {
    {"add", "z = x + y; integers wrap around", [](Expr x, Expr y) { return Strict(x + y); }},
    {"div", "z = x / y", [](Expr x, Expr y) { return x / y; }, Types::kFloats},
    {"equal", "z = 1 where x = y, else 0; NaN equals nothing", Equal, Types::kEqualities, Role::kCompared},
    {"floor_divide",
     "z = the largest integer that is at most x / y, so that -7 by 2 is -4, and 7 by -2; any number where y is 0, and "
     "of "
     "the smallest x by -1",
     formula::FloorDivide, Types::kIntegers, Role::kDivisor},
    {"greater", "z = 1 where x > y, else 0", [](Expr x, Expr y) { return Less(y, x); }, Types::kComparisons,
     Role::kCompared},
    {"greater_equal", "z = 1 where x >= y, else 0", [](Expr x, Expr y) { return LessEqual(y, x); }, Types::kComparisons,
     Role::kCompared},
    {"less", "z = 1 where x < y, else 0", Less, Types::kComparisons, Role::kCompared},
    {"less_equal", "z = 1 where x <= y, else 0", LessEqual, Types::kComparisons, Role::kCompared},
    {"logical_and", "z = 1 where neither x nor y is 0, else 0", And, Types::kLogic, Role::kCondition},
    {"logical_or", "z = 1 where x or y is not 0, else 0", Or, Types::kLogic, Role::kCondition},
    {"logical_xor", "z = 1 where one of x and y is 0 and the other is not, else 0",
     [](Expr x, Expr y) { return NotEqual(Not(x), Not(y)); }, Types::kLogic, Role::kCondition},
    {"maximum", "z = the larger one of x and y; NaN if one is NaN", Maximum, Types::kNumbersAndBool},
    {"minimum", "z = the smaller one of x and y; NaN if one is NaN", Minimum, Types::kNumbersAndBool},
    {"mul", "z = x y; integers wrap around", [](Expr x, Expr y) { return x * y; }},
    {"not_equal", "z = 1 where x is not y, else 0; NaN differs from everything", NotEqual, Types::kEqualities,
     Role::kCompared},
    {"prelu", "z = x y below zero, else x; y is the slope",
     [](Expr x, Expr y) { return Select(Less(x, Const(*x.graph, 0)), x * y, x); }, Types::kFloats},
    {"sub", "z = x - y; integers wrap around", [](Expr x, Expr y) { return Strict(x - y); }},
};

// The operand x, along n or along rows and n, and how the others lie beside it.
struct Broadcast {
  Axes whole, others;
};

Broadcast OneShape(Definition& d) {
  const Axis n = d.Axis("n", "elements");
  return {n, n};
}

// The operands beside x are of its shape, or the same along its rows, along its columns, or everywhere.
Broadcast StateShape(Definition& d) {
  const Axis n = d.Axis("n", "elements, of x or of a row of it");
  const std::string per =
      d.Choice("per", {"element", "row", "column", "tensor"},
               "what has a number of the other operands of its own: element [n]; beside x [rows,n] row [rows], column "
               "[n], tensor []");
  const int64_t rows = d.Integer("rows", "1", "rows of x; with per=row, column and tensor only");
  d.RefuseIf(rows < 0, "rows must be at least 0");
  const bool is_flat = per == "element";
  d.RefuseIf(is_flat && rows != 1, "rows must be 1 with per=element, where elements of any shape lie along n");
  if (is_flat) return {n, n};
  const Axis row = d.FixedAxis("rows", std::max<int64_t>(rows, 0));
  return {row + n, per == "row" ? Axes(row) : per == "column" ? Axes(n) : Axes()};
}

void StateUnary(const Unary& row, Definition& d) {
  d.SetDoc(row.doc);
  const Axis n = d.Axis("n", "elements");
  d.Out("y", row.function(d.In("x", n, row.role)), n);
  d.SetTypes(ListsOf(row.types, 1));
}

void StateBinary(const Binary& row, Definition& d) {
  d.SetDoc(row.doc);
  const bool is_logic = row.types == Types::kLogic;  // a single condition would decide everything
  const Broadcast axes = is_logic ? OneShape(d) : StateShape(d);
  const Expr x = d.In("x", axes.whole, is_logic ? row.role : Role::kData), y = d.In("y", axes.others, row.role);
  d.Out("z", row.function(x, y), axes.whole);
  d.SetTypes(ListsOf(row.types, 2));
}

void Clip(Definition& d) {
  d.SetDoc("y = x, but at least low and at most high; NaN stays NaN");
  const Axis n = d.Axis("n", "elements");
  const double low = d.Real("low", "-1", "the least result"), high = d.Real("high", "1", "the largest result");
  d.RefuseIf(!(low < high), "low must be below high, as all results are one number elsewhere");
  const Expr x = d.In("x", n);
  d.Out("y", Minimum(Maximum(x, Const(*x.graph, low)), Const(*x.graph, high)), n);
}

void Cast(Definition& d) {
  d.SetDoc("y = x in another type; integers wrap around");
  const Axis n = d.Axis("n", "elements");
  d.Out("y", d.In("x", n), n);
  // Fractions have no one answer in a type of integers, nor have numbers beyond it.
  const TypeLists floats = ListsOf(Types::kFloats, 1), integers = {"i64", "i32", "i16", "i8", "u8"};
  TypeLists lists;
  for (const std::string& from : Join(Join(floats, integers), {"bool"})) {
    const bool is_float = std::ranges::find(floats, from) != floats.end();
    for (const std::string& to : is_float ? floats : Join(floats, integers)) {
      if (from != to) lists.push_back(from + "-" + to);
    }
  }
  d.SetTypes(lists);
}

void Where(Definition& d) {
  d.SetDoc("z = x where c is not 0, else y");
  const Axis n = d.Axis("n", "elements");
  const Expr c = d.In("c", n, Role::kCondition), x = d.In("x", n), y = d.In("y", n);
  d.Out("z", Select(c, x, y), n);
  d.SetTypes({"bool-f32-f32-f32", "bool-bf16-bf16-bf16", "bool-f16-f16-f16", "bool-f64-f64-f64", "bool-i8-i8-i8",
              "bool-i32-i32-i32", "bool-i64-i64-i64"});
}

// These are the powers of IEEE 754-2019 (9.2).
void PowOf(Definition& d) {
  d.SetDoc("y = x to the power of p");
  const Broadcast axes = StateShape(d);
  const Expr x = d.In("x", axes.whole, Role::kBase), p = d.In("p", axes.others, Role::kExponent);
  d.Out("y", Pow(x, p), axes.whole);
}

void MultiplyAdd(Definition& d) {
  d.SetDoc("z = a x + y, with one rounding or with two; integers wrap around");
  const Axis n = d.Axis("n", "elements");
  const Expr a = d.In("a", n), x = d.In("x", n), y = d.In("y", n);
  d.Out("z", a * x + y, n);
  d.SetTypes(ListsOf(Types::kNumbers, 3));
}

ASSAY_OPERATOR(cast, Cast);
ASSAY_OPERATOR(clip, Clip);
ASSAY_OPERATOR(fma, MultiplyAdd);
ASSAY_OPERATOR(pow, PowOf);
ASSAY_OPERATOR(where, Where);

struct RegisterTables {
  RegisterTables() {
    for (const Unary& row : kUnary) RegisterFormula(row.name, [&row](Definition& d) { StateUnary(row, d); });
    for (const Binary& row : kBinary) RegisterFormula(row.name, [&row](Definition& d) { StateBinary(row, d); });
  }
} const registered_tables;

}  // namespace
}  // namespace assay
