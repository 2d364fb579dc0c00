// SPDX-License-Identifier: Apache-2.0
#include "tests/support/formula/simulate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "harness/core/data/fill/rng.h"
#include "ops/formula/functions.h"
#include "ops/formula/library_functions.h"
#include "tests/support/formula/interpret.h"
#include "tests/support/simulate/functions.h"

namespace assay::test {
namespace {

using formula::Function;
using formula::Kind;
using formula::Node;
using formula::Steps;
using formula::Strictness;

// A value, and of what it was made: a compiler may see that.
struct Made {
  enum class From : uint8_t {
    kOther,
    kConstant,
    kProduct,
    kSum,
    kStrictSum,
    kExponential,
    kDistributed,
    kReciprocal,
  };
  double value = 0;
  From from = From::kOther;
  double a = 0, b = 0;           // a b, a + b, exp(a + b), 1 / a
  double scale = 1;              // kDistributed: a scale + b scale
  double first = 0, second = 0;  // of these
};

// NaN wins.
double Extreme(const std::vector<double>& values, bool largest) {
  double best = values[0];
  for (const double x : values) {
    if (std::isnan(best) || std::isnan(x)) return std::nan("");
    best = largest ? std::max(best, x) : std::min(best, x);
  }
  return best;
}

// Choices of one implementation, the same at every node.
struct Habits {
  explicit Habits(uint64_t seed) : random(seed, 3) {
    bias = kBiases[random.Below(0, 4)];
    order = kOrders[random.Below(1, 7)];
    fuses = random.Below(2, 2) == 0;
    distributes = random.Below(3, 3) == 0;
    reciprocals = random.Below(4, 2) == 0;
    block = random.Below(5, 2) == 0 ? 0 : 1 + static_cast<int64_t>(random.Below(6, 9));
    factors_first = random.Below(7, 2) == 0;
    joins = random.Below(8, 2) == 0;
    product_order = static_cast<int>(random.Below(9, 3));
    takes_off_one = random.Below(10, 2) == 0;
  }
  RandomStream random;
  Bias bias;
  Order order;
  bool fuses, distributes, reciprocals;
  bool factors_first;  // a product of factors is one, which then is distributed
  int product_order;   // of (a b) c: 0 as it stands, 1 a (b c), 2 (a c) b; what divides may do so first, too
  bool takes_off_one;  // 1 - tanh and 1 - erf as differences
  bool joins;          // what is distributed joins what is added: x s + (y s + z)
  int64_t block;       // of rescaled sums; 0: all at once
};

class Implementation {
 public:
  using Number = Made;
  Implementation(const Contract& contract, const std::vector<DType>& types, uint64_t seed)
      : contract_(contract),
        types_(types),
        habits_(seed),
        f_(contract, habits_.bias, seed),
        off_one_(AtMost16Ulp(contract), habits_.bias, seed),
        seed_(seed) {}

  Made Input(int input, double value) const {
    if (!IsFloat(types_[static_cast<size_t>(input)])) return {f_.unit.Round(value)};
    return {f_.unit.Operand(types_[static_cast<size_t>(input)], value)};
  }
  Made Constant(double value) const { return {f_.unit.Round(value), Made::From::kConstant}; }
  static bool IsLarger(const Node&, const Made& a, const Made& b) {
    return std::isnan(a.value) ? !std::isnan(b.value) : a.value > b.value;
  }
  static int64_t PlaceOf(const Made& x) { return static_cast<int64_t>(x.value); }
  Made Store(const Node& node, const Made& x) const { return {RoundTo(FormatOf(node.format), x.value)}; }

  Made Map(const Node& node, std::span<const Made* const> x) {
    Made made = Computed(node, x);
    const bool rounds = formula::Info(node.function).rounding != formula::Rounding::kNone;
    if (rounds) made.value = Stored(made.value);
    return made;
  }

  Made Reduce(const Node& node, const std::vector<const Made*>& terms) {
    std::vector<double> values, other;
    for (const Made* term : terms) values.push_back(term->value);
    const Schedule schedule{habits_.order, habits_.fuses, seed_ + count_++};
    if (node.kind == Kind::kMax || node.kind == Kind::kMin) return {Extreme(values, node.kind == Kind::kMax)};
    if (node.kind == Kind::kProd) return {Product(values, schedule, f_.unit)};
    if (node.steps == Steps::kRescaled && habits_.block > 0) {
      if (const std::optional<Exponents> exponents = ExponentsOf(terms)) return {Rescaled(*exponents)};
    }
    const bool products = std::ranges::all_of(terms, [](const Made* t) { return t->from == Made::From::kProduct; });
    if (!products || !habits_.fuses || stores()) return {Sum(values, {}, schedule, f_.unit)};
    values.clear();
    for (const Made* term : terms) values.push_back(term->a), other.push_back(term->b);
    return {Sum(values, other, schedule, f_.unit)};
  }

  Made Step(const Node&, const Made* a, const Made* h, const Made& b, int64_t) const {
    if (h == nullptr) return {b.value};
    if (a == nullptr) return {f_.unit.Add(h->value, b.value)};
    if (habits_.fuses) return {f_.unit.Fma(a->value, h->value, b.value)};
    return {f_.unit.Add(f_.unit.Mul(a->value, h->value), b.value)};
  }

 private:
  // No specification of tanh and erf is wider (ops/formula/rules.cc).
  static Contract AtMost16Ulp(Contract contract) {
    contract.math_ulp = std::min(contract.math_ulp, 16.0);
    return contract;
  }

  bool stores() const { return contract_.mid != Intermediate::kNone; }
  // A partial result, where these are stored.
  double Stored(double x) const { return stores() ? Narrowed(contract_, x) : x; }

  Made Computed(const Node& node, std::span<const Made* const> x) {
    const double a = x[0]->value, b = x.size() > 1 ? x[1]->value : 0;
    switch (node.function) {
      case Function::kAdd:
      case Function::kSub:
        return Added(node, *x[0], *x[1]);
      case Function::kMul:
        return Multiplied(*x[0], *x[1]);
      case Function::kDiv:
        if (IsScale(*x[1])) return {f_.unit.Mul(a, 1 / b)};
        if (x[0]->from == Made::From::kProduct && habits_.product_order > 0) {
          return habits_.product_order == 1 ? TimesKnown(x[0]->a, Stored(Quotient(x[0]->b, b)))
                                            : TimesKnown(Stored(Quotient(x[0]->a, b)), x[0]->b);
        }
        return {Quotient(a, b)};
      case Function::kNegate:
        if (x[0]->from != Made::From::kStrictSum) return {-a};
        return {-a, Made::From::kStrictSum, -x[0]->a, -x[0]->b};
      case Function::kAbs:
        return {std::fabs(a)};
      case Function::kMaximum:
        return {Extreme({a, b}, true)};
      case Function::kMinimum:
        return {Extreme({a, b}, false)};
      case Function::kLess:
        return {a < b ? 1.0 : 0.0};
      case Function::kLessEqual:
        return {a <= b ? 1.0 : 0.0};
      case Function::kEqual:
        return {a == b ? 1.0 : 0.0};
      case Function::kAnd:
        return {a != 0 && b != 0 ? 1.0 : 0.0};
      case Function::kOr:
        return {a != 0 || b != 0 ? 1.0 : 0.0};
      case Function::kFloorDivide:
        return {std::floor(a / b)};
      case Function::kNearest:
        return {std::nearbyint(a)};
      case Function::kSelect:
        return {a != 0 ? b : x[2]->value};
      case Function::kSqrt:
        return {f_.Of(std::sqrt(a))};
      case Function::kRsqrt:
        return {f_.Of(1 / std::sqrt(a))};
      case Function::kExp: {
        const bool known = x[0]->from == Made::From::kSum || x[0]->from == Made::From::kStrictSum;
        return {f_.Exp(a), known ? Made::From::kExponential : Made::From::kOther, x[0]->a, x[0]->b};
      }
      case Function::kLog:
        return {f_.Log(a)};
      case Function::kTanh:
        return {f_.Tanh(a)};
      case Function::kOneMinusTanh:
        if (habits_.takes_off_one) return OffOne(off_one_.Tanh(a));
        return {f_.Div(2, Stored(f_.unit.Add(1, Stored(f_.Exp(2 * a)))))};
      case Function::kOneMinusErf:
        return habits_.takes_off_one ? OffOne(off_one_.Of(std::erf(a))) : Made{f_.Of(std::erfc(a))};
      case Function::kPow:  // to the power of zero it is a case of its own, as logarithms give NaN
        return {b == 0 ? 1.0 : f_.Of(std::pow(a, b))};
      case Function::kSigmoid: {
        const double divisor = Stored(f_.unit.Add(1, Stored(f_.Exp(-a))));
        return {f_.Div(1, divisor), Made::From::kReciprocal, divisor};
      }
      default:
        return {f_.Of(static_cast<double>(formula::InQuad(node.function, a)))};
    }
  }

  Made OffOne(double f) const { return {f_.unit.Add(1, -Stored(f)), Made::From::kSum, 1, -Stored(f)}; }
  double Quotient(double x, double y) const {
    return habits_.reciprocals ? f_.unit.Mul(x, Stored(f_.Div(1, y))) : f_.Div(x, y);
  }
  Made TimesKnown(double x, double y) const { return {f_.unit.Mul(x, y), Made::From::kProduct, x, y}; }

  // x y with the factors of either in another order.
  Made Ordered(const Made& x, const Made& y) const {
    if (habits_.product_order > 0 && y.from == Made::From::kReciprocal) return {f_.Div(x.value, y.a)};
    if (habits_.product_order == 0) return TimesKnown(x.value, y.value);
    const bool is_first = x.from == Made::From::kProduct;
    if (!is_first && y.from != Made::From::kProduct) return TimesKnown(x.value, y.value);
    const Made& made = is_first ? x : y;
    const double other = is_first ? y.value : x.value;
    return habits_.product_order == 1 ? TimesKnown(made.a, Stored(f_.unit.Mul(made.b, other)))
                                      : TimesKnown(Stored(f_.unit.Mul(made.a, other)), made.b);
  }

  // A constant power of two: dividing by it is exact, however bad divisions are.
  static bool IsScale(const Made& x) {
    int exponent = 0;
    return x.from == Made::From::kConstant && std::fabs(std::frexp(x.value, &exponent)) == 0.5;
  }

  // A product may go in without being rounded first.
  Made Added(const Node& node, const Made& x, const Made& y) const {
    const double sign = node.function == Function::kAdd ? 1 : -1;
    const bool loose = node.strictness == Strictness::kLoose;
    if (loose && habits_.joins && x.from == Made::From::kDistributed && y.from != Made::From::kDistributed) {
      return {f_.unit.Add(x.first, f_.unit.Add(x.second, sign * y.value))};
    }
    const double plain = f_.unit.Add(x.value, sign * y.value);
    const Made made{plain, loose ? Made::From::kSum : Made::From::kStrictSum, x.value, sign * y.value};
    if (!loose || !habits_.fuses || stores()) return made;
    if (x.from == Made::From::kProduct) return {f_.unit.Fma(x.a, x.b, sign * y.value)};
    if (y.from == Made::From::kProduct) return {f_.unit.Fma(sign * y.a, y.b, x.value)};
    return made;
  }

  // s (x + y) as s x + s y, and t s (x + y) as t (s x) + t (s y) or (t s) x + (t s) y.
  Made Multiplied(const Made& x, const Made& y) const {
    const auto is_sum = [](const Made& of) {
      return of.from == Made::From::kSum || of.from == Made::From::kDistributed;
    };
    if (!is_sum(x) || is_sum(y) || !habits_.distributes) {
      return Ordered(x, y);
    }
    Made made = x;
    made.from = Made::From::kDistributed;
    made.scale = f_.unit.Mul(x.scale, y.value);
    const bool again = x.from == Made::From::kDistributed && !habits_.factors_first;
    made.first = again ? f_.unit.Mul(x.first, y.value) : f_.unit.Mul(made.a, made.scale);
    made.second = again ? f_.unit.Mul(x.second, y.value) : f_.unit.Mul(made.b, made.scale);
    made.value =
        habits_.fuses && !again ? f_.unit.Fma(made.a, made.scale, made.second) : f_.unit.Add(made.first, made.second);
    return made;
  }

  // Sum of exp(x + shift): x of each term and the shared shift.
  struct Exponents {
    std::vector<double> x;
    double shift = 0;
  };
  // nullopt: the terms are no such exponentials, so that nothing is rescaled.
  static std::optional<Exponents> ExponentsOf(const std::vector<const Made*>& terms) {
    const auto is_exponential = [](const Made* term) { return term->from == Made::From::kExponential; };
    if (!std::ranges::all_of(terms, is_exponential)) return std::nullopt;
    const auto is_shared = [&](double Made::*part) {
      return std::ranges::all_of(terms, [&](const Made* term) {
        const double x = term->*part, first = terms[0]->*part;
        return x == first || (std::isnan(x) && std::isnan(first));
      });
    };
    double Made::*own = &Made::a, Made::*shared = &Made::b;
    if (!is_shared(shared)) std::swap(own, shared);
    if (!is_shared(shared)) return std::nullopt;
    Exponents exponents{.x = {}, .shift = terms[0]->*shared};
    for (const Made* term : terms) exponents.x.push_back(term->*own);
    return exponents;
  }

  // Blocks with a maximum of their own so far. Blocks of -infinity add nothing.
  double Rescaled(const Exponents& terms) const {
    const double none = -std::numeric_limits<double>::infinity();
    double running = none, total = 0;
    for (size_t begin = 0; begin < terms.x.size(); begin += static_cast<size_t>(habits_.block)) {
      const size_t end = std::min(terms.x.size(), begin + static_cast<size_t>(habits_.block));
      std::vector<double> candidates = {running};
      candidates.insert(candidates.end(), terms.x.begin() + static_cast<std::ptrdiff_t>(begin),
                        terms.x.begin() + static_cast<std::ptrdiff_t>(end));
      const double m = Extreme(candidates, true);
      if (m == none) continue;
      const auto exponential = [&](double x) {
        return Narrowed(contract_, f_.Exp(Narrowed(contract_, f_.unit.Add(x, -m))));
      };
      if (running != none) total = f_.unit.Mul(total, f_.Exp(f_.unit.Add(running, -m)));
      for (size_t k = begin; k < end; ++k) total = f_.unit.Add(total, exponential(terms.x[k]));
      running = m;
    }
    if (running == none) return std::nan("");
    const double rest = f_.unit.Add(running, terms.shift);  // of a shift that is not the maximum
    return rest == 0 ? total : f_.unit.Mul(total, f_.Exp(rest));
  }

  const Contract& contract_;
  const std::vector<DType>& types_;
  const Habits habits_;
  const FunctionUnit f_, off_one_;
  uint64_t seed_, count_ = 0;
};

}  // namespace

std::vector<double> Simulate(const formula::Graph& graph, const formula::OutputInfo& output,
                             std::span<const std::vector<double>> inputs, const std::vector<DType>& types,
                             const Contract& contract, uint64_t seed) {
  Implementation machine(contract, types, seed);
  std::vector<double> values;
  for (const Made& made : Interpret(graph, output, inputs, machine)) values.push_back(made.value);
  return values;
}

}  // namespace assay::test
