// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <tuple>
#include <type_traits>

#include "backends/cpu/activations.h"
#include "backends/cpu/fold.h"
#include "backends/cpu/formulas.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/rows.h"

namespace cpu {
namespace {

// The C library's functions, and the error that it claims for the worse of f32 and f64, in ulp.
struct OfLibrary {
  const char* op;
  float (*f32)(float);
  double (*f64)(double);
  long double (*wide)(long double);
  int ulp;
};

constexpr OfLibrary kLibrary[] = {
    {"acos", std::acos, std::acos, std::acos, 1},     {"acosh", std::acosh, std::acosh, std::acosh, 3},
    {"asin", std::asin, std::asin, std::asin, 1},     {"asinh", std::asinh, std::asinh, std::asinh, 3},
    {"atan", std::atan, std::atan, std::atan, 1},     {"atanh", std::atanh, std::atanh, std::atanh, 3},
    {"cbrt", std::cbrt, std::cbrt, std::cbrt, 4},     {"cosh", std::cosh, std::cosh, std::cosh, 3},
    {"erfc", std::erfc, std::erfc, std::erfc, 6},     {"exp2", std::exp2, std::exp2, std::exp2, 1},
    {"expm1", std::expm1, std::expm1, std::expm1, 2}, {"log10", std::log10, std::log10, std::log10, 2},
    {"log1p", std::log1p, std::log1p, std::log1p, 2}, {"log2", std::log2, std::log2, std::log2, 2},
    {"sinh", std::sinh, std::sinh, std::sinh, 3},     {"sqrt", std::sqrt, std::sqrt, std::sqrt, 1},
    {"tan", std::tan, std::tan, std::tan, 2},
};

template <class T>
T Sum(T x, T y) {
  return Add<T>{}(x, y);
}
template <class T>
T Difference(T x, T y) {
  return static_cast<T>(static_cast<Wrapping<T>>(x) - static_cast<Wrapping<T>>(y));
}
template <class T>
T Product(T x, T y) {
  return Multiply<T>{}(x, y);
}
template <class T>
T Negative(T x) {
  return Product(x, static_cast<T>(-1));
}
template <class T>
T Is(bool condition) {
  return condition ? T{1} : T{0};
}

// Zero for what has no quotient; the smallest number by -1 wraps around.
template <class T>
T FloorQuotient(T x, T y) {
  if constexpr (std::is_integral_v<T>) {
    if (y == 0 || y == -1) return Product(x, y);
    return x / y - Is<T>(x % y != 0 && (x < 0) != (y < 0));
  }
  return std::floor(x / y);
}
// Divides sizes without a sign: where signs differ the quotient is -1 - floor((|x| - 1) / |y|).
template <class T>
T FloorBySizes(T x, T y) {
  if constexpr (std::is_integral_v<T>) {
    using Size = Wrapping<T>;
    const Size above = x < 0 ? Size{0} - static_cast<Size>(x) : static_cast<Size>(x);
    const Size below = y < 0 ? Size{0} - static_cast<Size>(y) : static_cast<Size>(y);
    if (below == 0 || above == 0) return 0;
    return (x < 0) == (y < 0) ? static_cast<T>(above / below) : static_cast<T>(~((above - 1) / below));
  }
  return std::floor(x / y);
}

// These take floating-point numbers, and integers in i64.
template <class T>
const Formulas<T> kNumbers[] = {
    {"abs", [](T x, T, T) { return x < 0 ? Negative(x) : x; }, "larger-of-both",
     [](T x, T, T) { return std::max(x, Negative(x)); }},
    {"add", [](T x, T y, T) { return Sum(x, y); }, "subtract", [](T x, T y, T) { return Difference(x, Negative(y)); }},
    {"cast", [](T x, T, T) { return x; }, "by-sum", [](T x, T, T) { return Sum(x, -T{0}); }},
    {"equal", [](T x, T y, T) { return Is<T>(x == y); }, "two-sides",
     [](T x, T y, T) { return Is<T>(x <= y && x >= y); }},
    {"fma", [](T a, T x, T y) { return Sum(Product(a, x), y); }, "fused",
     [](T a, T x, T y) {
       if constexpr (std::is_floating_point_v<T>) return std::fma(a, x, y);
       return Difference(y, Product(Negative(a), x));
     }},
    {"floor_divide", [](T x, T y, T) { return FloorQuotient(x, y); }, "of-sizes",
     [](T x, T y, T) { return FloorBySizes(x, y); }},
    {"greater", [](T x, T y, T) { return Is<T>(x > y); }, "turned", [](T x, T y, T) { return Is<T>(y < x); }},
    {"greater_equal", [](T x, T y, T) { return Is<T>(x >= y); }, "either",
     [](T x, T y, T) { return Is<T>(x > y || x == y); }},
    {"less", [](T x, T y, T) { return Is<T>(x < y); }, "turned", [](T x, T y, T) { return Is<T>(y > x); }},
    {"less_equal", [](T x, T y, T) { return Is<T>(x <= y); }, "either",
     [](T x, T y, T) { return Is<T>(x < y || x == y); }},
    {"logical_and", [](T x, T y, T) { return Is<T>(x != 0 && y != 0); }, "product",
     [](T x, T y, T) { return Product(Is<T>(x != 0), Is<T>(y != 0)); }},
    {"logical_not", [](T x, T, T) { return Is<T>(x == 0); }, "difference", [](T x, T, T) { return 1 - Is<T>(x != 0); }},
    {"logical_or", [](T x, T y, T) { return Is<T>(x != 0 || y != 0); }, "complement",
     [](T x, T y, T) { return 1 - Product(Is<T>(x == 0), Is<T>(y == 0)); }},
    {"logical_xor", [](T x, T y, T) { return Is<T>((x != 0) != (y != 0)); }, "either",
     [](T x, T y, T) { return Product(Is<T>(x != 0), Is<T>(y == 0)) + Product(Is<T>(x == 0), Is<T>(y != 0)); }},
    {"masked_fill",
     [](T x, T mask, T value) { return mask != 0 ? value : x; },
     "table",
     [](T x, T mask, T value) {
       const T choices[] = {x, value};
       return choices[mask != 0 ? 1 : 0];
     },
     1,
     {nullptr, "value"}},
    {"maximum", [](T x, T y, T) { return x > y || x != x ? x : y; }, "fold",
     [](T x, T y, T) { return Extreme<T, 1>{}(x, y); }},
    {"minimum", [](T x, T y, T) { return x < y || x != x ? x : y; }, "fold",
     [](T x, T y, T) { return Extreme<T, -1>{}(x, y); }},
    {"mul", [](T x, T y, T) { return Product(x, y); }, "negative",
     [](T x, T y, T) { return Negative(Product(Negative(x), y)); }},
    {"neg", [](T x, T, T) { return Negative(x); }, "difference", [](T x, T, T) { return Difference(T{0}, x); }},
    {"not_equal", [](T x, T y, T) { return Is<T>(x != y); }, "two-sides",
     [](T x, T y, T) { return Is<T>(!(x <= y && x >= y)); }},
    {"relu", [](T x, T, T) { return x > 0 || x != x ? x : T{0}; }, "fold",
     [](T x, T, T) { return Extreme<T, 1>{}(x, T{0}); }},
    {"sign", [](T x, T, T) { return x != x ? x : Is<T>(x > 0) - Is<T>(x < 0); }, "branches",
     [](T x, T, T) { return x > 0   ? T{1}
                            : x < 0 ? T{-1}
                                    : x; }},
    {"square", [](T x, T, T) { return Product(x, x); }, "of-size",
     [](T x, T, T) { return Negative(Product(Negative(x), x)); }},
    {"sub", [](T x, T y, T) { return Difference(x, y); }, "turned",
     [](T x, T y, T) { return Negative(Difference(y, x)); }},
    {"where", [](T c, T x, T y) { return c != 0 ? x : y; }, "table",
     [](T c, T x, T y) {
       const T choices[] = {y, x};
       return choices[c != 0 ? 1 : 0];
     }},
};

constexpr double kNoFraction = 0x1p52;  // doubles of this size and above are integers
template <class T>
const Formulas<T> kReal[] = {
    {"ceil", [](T x, T, T) { return std::ceil(x); }, "floor", [](T x, T, T) { return -std::floor(-x); }},
    {"clip",
     [](T x, T low, T high) { return x < low    ? low
                                     : x > high ? high
                                                : x; },
     "fold",
     [](T x, T low, T high) { return Extreme<T, -1>{}(Extreme<T, 1>{}(x, low), high); },
     1,
     {"low", "high"}},
    {"div", [](T x, T y, T) { return x / y; }, "wide",
     [](T x, T y, T) { return static_cast<T>(static_cast<Wide<T>>(x) / static_cast<Wide<T>>(y)); }},
    {"floor", [](T x, T, T) { return std::floor(x); }, "ceil", [](T x, T, T) { return -std::ceil(-x); }},
    {"isfinite", [](T x, T, T) { return Is<T>(std::isfinite(x)); }, "difference",
     [](T x, T, T) { return Is<T>(x - x == 0); }},
    {"isinf", [](T x, T, T) { return Is<T>(std::isinf(x)); }, "compare",
     [](T x, T, T) { return Is<T>(std::abs(x) > std::numeric_limits<T>::max()); }},
    {"isnan", [](T x, T, T) { return Is<T>(std::isnan(x)); }, "compare", [](T x, T, T) { return Is<T>(x != x); }},
    {"prelu", [](T x, T slope, T) { return x < 0 ? slope * x : x; }, "factor",
     [](T x, T slope, T) { return x * (x < 0 ? slope : 1); }},
    {"reciprocal", [](T x, T, T) { return 1 / x; }, "power", [](T x, T, T) { return std::pow(x, T{-1}); }},
    {"round", [](T x, T, T) { return std::nearbyint(x); }, "shift",
     [](T x, T, T) {
       const double size = std::abs(static_cast<double>(x));
       return size < kNoFraction ? std::copysign(static_cast<T>(size + kNoFraction - kNoFraction), x) : x;
     }},
    {"sigmoid", [](T x, T, T) { return 1 / (1 + std::exp(-x)); }, "by-sign",
     [](T x, T, T) { return SigmoidBySign(x); }},
    {"trunc", [](T x, T, T) { return std::trunc(x); }, "of-size",
     [](T x, T, T) { return std::copysign(std::floor(std::abs(x)), x); }},
};

template <class T>
const Formulas<T>* FindFormulas(const std::string& op) {
  for (const Formulas<T>& row : kNumbers<T>) {
    if (op == row.op) return &row;
  }
  if constexpr (std::is_floating_point_v<T>) {
    for (const Formulas<T>& row : kReal<T>) {
      if (op == row.op) return &row;
    }
    for (const Formulas<T>& row : kActivations<T>) {
      if (op == row.op) return &row;
    }
  }
  return nullptr;
}

template <bool kWide>
class LibraryRows : public PointwiseShape {
 public:
  static int MathOf(const plugin::OpDesc& op) { return kWide ? 1 : Find(op).ulp; }
  explicit LibraryRows(const plugin::OpDesc& op) : function_(&Find(op)) {}
  template <class T>
  void Line(const Lines<T>& x, std::span<T> y) const {
    for (size_t i = 0; i < y.size(); ++i) y[i] = Of(x[0][i]);
  }

 private:
  static const OfLibrary& Find(const plugin::OpDesc& op) {
    const auto* found = std::ranges::find(kLibrary, op.name(), &OfLibrary::op);
    if (found == std::end(kLibrary)) throw plugin::Unsupported("the C library has no function '{}'", op.name());
    return *found;
  }
  float Of(float x) const { return kWide ? static_cast<float>(function_->f64(x)) : function_->f32(x); }
  double Of(double x) const { return kWide ? static_cast<double>(function_->wide(x)) : function_->f64(x); }

  const OfLibrary* function_;
};

template <bool kOther>
class FormulaRows : public PointwiseShape {
 public:
  static int MathOf(const plugin::OpDesc& op) { return FindFormulas<float>(op.name())->math; }
  static constexpr bool kIntegers = true;
  static bool Takes(const plugin::OpDesc& op) {
    const auto is_known = [](plugin::DType type) { return plugin::IsFloat(type) || type == plugin::kBool8; };
    return op.name() == "cast" || op.AllTypes(is_known);
  }
  explicit FormulaRows(const plugin::OpDesc& op)
      : functions_(FindFormulas<float>(op.name()), FindFormulas<double>(op.name()), FindFormulas<int64_t>(op.name())) {
    const auto [first, second] = FindFormulas<float>(op.name())->attributes;
    if (first != nullptr) numbers_[0] = op.AttrFloat(first);
    if (second != nullptr) numbers_[1] = op.AttrFloat(second);
    if (op.AllTypes(plugin::IsInteger) && std::get<2>(functions_) == nullptr) {
      throw plugin::Unsupported("{} does not compute {}", op.name(), op.DTypesText());
    }
  }
  template <class T>
  void Line(const Lines<T>& x, std::span<T> y) const {
    const Formulas<T>& row = *std::get<const Formulas<T>*>(functions_);
    const auto function = kOther ? row.other : row.direct;
    const T numbers[] = {static_cast<T>(numbers_[0]), static_cast<T>(numbers_[1])};
    const auto operand = [&](size_t k, size_t i) {
      return k >= x.size() ? numbers[k - 1] : x[k][x[k].size() == 1 ? 0 : i];
    };
    for (size_t i = 0; i < y.size(); ++i) y[i] = function(x[0][i], operand(1, i), operand(2, i));
  }

 private:
  std::tuple<const Formulas<float>*, const Formulas<double>*, const Formulas<int64_t>*> functions_;
  std::array<double, 2> numbers_{};  // attributes, in the place of further operands
};

template <class Kernel>
plugin::Row<plugin::HostDevice> RowNamed(const char* op, const char* name, plugin::Types types) {
  return {{op, types, name}, Rows<Kernel>::Contract, Rows<Kernel>::WhyNot, Rows<Kernel>::Create};
}

}  // namespace

std::vector<plugin::Row<plugin::HostDevice>> PointwiseRows() {
  std::vector<plugin::Row<plugin::HostDevice>> rows;
  for (const OfLibrary& row : kLibrary) {
    rows.push_back(RowNamed<LibraryRows<false>>(row.op, "direct", plugin::kRealTypes));
    rows.push_back(RowNamed<LibraryRows<true>>(row.op, "wide", plugin::kRealTypes));
  }
  const auto add = [&](const auto& table, plugin::Types types) {
    for (const auto& row : table) {
      rows.push_back(RowNamed<FormulaRows<false>>(row.op, "direct", types));
      rows.push_back(RowNamed<FormulaRows<true>>(row.op, row.other_name, types));
    }
  };
  add(kNumbers<float>, plugin::kRealTypesAndIntegers);
  add(kReal<float>, plugin::kRealTypes);
  add(kActivations<float>, plugin::kRealTypes);
  return rows;
}

}  // namespace cpu
