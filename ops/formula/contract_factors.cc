// SPDX-License-Identifier: Apache-2.0
// Errors of a sum of products by matrix products. With |e_a| <= a of a factor x and |e_b| <= b of y, a product errs by
//   y e_a + x e_b + e_a e_b + rounding,
// so that sums of sizes are |y| a + |x| b + a b, each a product of matrices; what one symbol is along all terms keeps
// its sign, and is one as well. Where a rounding is absolute, every term is granted it, if that is next to nothing.
#include <algorithm>
#include <atomic>
#include <cmath>

#include "golden/bound/bound.h"
#include "golden/gemm/gemm_engine.h"
#include "harness/core/base/parallel.h"
#include "harness/core/data/infinity.h"
#include "ops/formula/contractions.h"

namespace assay::formula {
namespace {

// Share of an element's error that absolute roundings may have which are granted to all terms.
constexpr double kMostGranted = 0x1p-10;
// More elements than this share are evaluated term by term together with all the others.
constexpr double kMostSpecial = 0.25;
// Sums of sizes below so many times their terms may have lost digits in float, of which the smallest number is 2^-126.
constexpr double kSmallestSize = 0x1p-100;

std::vector<double> ProductOf(const GemmOperand& a, const GemmOperand& b) {
  Golden sums;
  ResizeValues(a.batch * a.rows * b.cols, sums.value);
  FastGemm(a, b, false, sums);
  return std::move(sums.value);
}

template <class Of>
GemmOperand Mapped(const GemmOperand& operand, const Of& of) {
  GemmOperand mapped{.batch = operand.batch, .rows = operand.rows, .cols = operand.cols};
  mapped.values.resize(operand.values.size());
  ParallelFor(std::ssize(mapped.values), 1 << 14, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) mapped.values[i] = of(operand.values[i], i);
  });
  return mapped;
}

GemmOperand SizesOf(const GemmOperand& operand) {
  return Mapped(operand, [](double x, int64_t) { return std::fabs(x); });
}

GemmOperand SquaresOf(const GemmOperand& operand) {
  return Mapped(operand, [](double x, int64_t) { return x * x; });
}

// One factor with its errors under one propagation's rules.
struct FactorErrors {
  struct Signed {
    int id = 0;
    AxisSet axes = 0;
    GemmOperand g;
  };
  bool zero = true;
  std::vector<Signed> shared;       // symbols that are one number along the terms
  std::vector<GemmOperand> joined;  // in quadrature: symbols that are one number along some of the axes of the terms
  GemmOperand apart;                // all else; in quadrature its squares
  GemmOperand reach;                // everything
};

class Factor {
 public:
  // `is_left`: its rows are lines, which have results of their own; else its columns are.
  Factor(WholeFactor whole, int64_t batch, int64_t rows, int64_t cols, bool is_left)
      : whole_(std::move(whole)),
        is_left_(is_left),
        numbers_(LoadNumbers(std::move(whole_.value), batch, rows, cols)),
        is_special_(static_cast<size_t>(batch * (is_left ? rows : cols))) {
    for (const NonFiniteEntry& entry : numbers_.nonfinite) is_special_[LineOf(entry.index)] = true;
    for (const int64_t place : whole_.special) is_special_[LineOf(place)] = true;
  }

  const GemmOperand& numbers() const { return numbers_; }
  const GemmOperand& sizes() {
    if (sizes_.values.empty()) sizes_ = SizesOf(numbers_);
    return sizes_;
  }
  const GemmOperand& squares() {
    if (squares_.values.empty()) squares_ = SquaresOf(numbers_);
    return squares_;
  }
  const WholeFactor& whole() const { return whole_; }
  // All numbers of the line are. Few results ask for it.
  bool IsZero(int64_t line) {
    if (has_numbers_.empty()) {
      has_numbers_.resize(is_special_.size());
      for (size_t i = 0; i < numbers_.values.size(); ++i) {
        if (numbers_.values[i] != 0) has_numbers_[LineOf(static_cast<int64_t>(i))] = true;
      }
    }
    return !has_numbers_[static_cast<size_t>(line)];
  }
  bool IsSpecial(int64_t line) const { return is_special_[static_cast<size_t>(line)]; }

  // Errors that are not finite are left out: their lines become special.
  FactorErrors ErrorsOf(size_t propagation, bool quadrature, AxisSet terms) {
    NodeError& error = whole_.errors[propagation];
    FactorErrors found{.zero = error.zero};
    if (error.zero) return found;
    TakeOut(error.r);
    const double of_sums = kResidue + Gamma(static_cast<double>(TermCount()) + 2, 0x1p-53);
    found.apart = Mapped(numbers_, [&](double, int64_t i) {
      const double r = error.r[static_cast<size_t>(i)];
      return quadrature ? r * r : r;
    });
    found.reach = Mapped(numbers_, [&](double, int64_t i) { return error.r[static_cast<size_t>(i)]; });
    for (NodeError::Symbol& symbol : error.symbols) {
      TakeOut(symbol.g);
      const bool is_shared = (symbol.axes & terms) == 0, is_joined = quadrature && !is_shared && (terms & ~symbol.axes);
      for (size_t i = 0; i < symbol.g.size(); ++i) {
        const double size = std::fabs(symbol.g[i]);
        found.reach.values[i] += size;
        if (!quadrature) found.apart.values[i] += is_shared ? of_sums * size : size;
        if (quadrature && !is_shared && !is_joined) found.apart.values[i] += size * size;
      }
      if (!is_shared && !is_joined) continue;
      GemmOperand g = Mapped(numbers_, [&](double, int64_t i) {
        return is_joined ? std::fabs(symbol.g[static_cast<size_t>(i)]) : symbol.g[static_cast<size_t>(i)];
      });
      if (is_joined) {
        found.joined.push_back(std::move(g));
      } else {
        found.shared.push_back({symbol.id, symbol.axes, std::move(g)});
      }
    }
    return found;
  }

 private:
  int64_t TermCount() const { return is_left_ ? numbers_.cols : numbers_.rows; }
  size_t LineOf(int64_t index) const {
    const int64_t row = index / numbers_.cols;
    return static_cast<size_t>(is_left_ ? row : row / numbers_.rows * numbers_.cols + index % numbers_.cols);
  }
  void TakeOut(std::vector<double>& errors) {
    for (size_t i = 0; i < errors.size(); ++i) {
      if (std::isfinite(errors[i])) continue;
      errors[i] = 0;
      is_special_[LineOf(static_cast<int64_t>(i))] = true;
    }
  }

  WholeFactor whole_;
  bool is_left_;
  GemmOperand numbers_, sizes_, squares_;
  std::vector<bool> is_special_;
  std::vector<bool> has_numbers_;  // by line, once IsZero was called: some number there is not zero
};

void AddTo(std::vector<double>& to, const std::vector<double>& x) {
  if (to.empty()) to.resize(x.size());
  for (size_t i = 0; i < x.size(); ++i) to[i] += x[i];
}

void AddSquaresTo(std::vector<double>& to, const std::vector<double>& x) {
  if (to.empty()) to.resize(x.size());
  for (size_t i = 0; i < x.size(); ++i) to[i] += x[i] * x[i];
}

// Extremes of a factor's finite numbers, and whether errors are so small beside each that no product of such numbers is
// less than half of what it is without them.
struct Extremes {
  double most = 0, least = kInfinity;
  bool keeps_sizes = true;
};

Extremes ExtremesOf(const GemmOperand& numbers, const FactorErrors& errors) {
  if (errors.zero) return {numbers.max_abs, numbers.max_abs == 0 ? kInfinity : numbers.min_abs, true};
  Extremes found;
  for (size_t i = 0; i < numbers.values.size(); ++i) {
    const double size = std::fabs(numbers.values[i]), reach = errors.reach.values[i];
    if (size + reach == 0) continue;
    found.most = std::max(found.most, size + reach), found.least = std::min(found.least, size);
    found.keeps_sizes = found.keeps_sizes && reach <= size / 8;
  }
  return found;
}

class Contractor {
 public:
  Contractor(const Graph& graph, const MatrixProduct& contraction, Factor& left, Factor& right)
      : graph_(graph),
        contraction_(contraction),
        left_(left),
        right_(right),
        terms_(static_cast<double>(left.numbers().cols)) {
    const int64_t size = left.numbers().batch * left.numbers().rows * right.numbers().cols;
    ResizeValues(size, golden_.value);
    golden_.magnitude = Plane::Unset(size, true), golden_.sigma = Plane::Unset(size, true);
    golden_.error = Plane::Unset(size, false);
    FastGemm(left.numbers(), right.numbers(), true, golden_);
    is_special_.resize(static_cast<size_t>(size));
  }

  // False: nothing is said of any element.
  bool Propagate(size_t propagation, const ErrorRules& rules, bool is_known_sum, StoredNode& to) {
    const AxisSet terms = SetOf(contraction_.terms);
    const FactorErrors a = left_.ErrorsOf(propagation, rules.quadrature, terms);
    const FactorErrors b = right_.ErrorsOf(propagation, rules.quadrature, terms);
    if (ShareSymbols(propagation)) return false;
    NodeError& error = to.errors.emplace_back();
    Pass(a, right_.numbers(), true, error);
    Pass(b, left_.numbers(), false, error);
    if (rules.quadrature) {
      JoinInQuadrature(a, b, rules, error);
      to.most.push_back(kInfinity);
    } else {
      const Extremes of_a = ExtremesOf(left_.numbers(), a), of_b = ExtremesOf(right_.numbers(), b);
      const double most = left_.whole().most[propagation] * right_.whole().most[propagation] * terms_;
      const double slack = 1 + 16 * rules.multiply;
      if (!(of_a.most * of_b.most * slack < rules.range)) return false;
      if (rules.rearranges && is_known_sum && !(most * slack < rules.range)) return false;
      const double granted = GrantedToEach(propagation, rules, of_a, of_b);
      if (!(granted < kInfinity)) return false;
      Join(a, b, rules, granted, error);
      to.most.push_back(most);
    }
    error.zero = error.symbols.empty() && std::ranges::all_of(error.r, [](double r) { return r == 0; });
    return true;
  }

  Contracted Finish(StoredNode sums) {
    sums.value = std::move(golden_.value);
    Contracted result{std::move(sums), {}};
    const int64_t rows = left_.numbers().rows, columns = right_.numbers().cols;
    for (int64_t row = 0, i = 0; i < std::ssize(result.sums.value); ++row) {
      const int64_t first = row / rows * columns;  // of the batch's columns
      for (int64_t column = first; column < first + columns; ++column, ++i) {
        const bool is_special = is_special_[static_cast<size_t>(i)] != 0 || left_.IsSpecial(row) ||
                                right_.IsSpecial(column) || IsBeyondFloats(i, row, column);
        if (is_special) result.special.push_back(i);
      }
    }
    return result;
  }

 private:
  // Sums of sizes are in float, which overflows, and loses what is small.
  bool IsBeyondFloats(int64_t i, int64_t row, int64_t column) {
    const double size = golden_.magnitude[i];
    if (size >= terms_ * kSmallestSize) return !(size < kInfinity);
    return !left_.IsZero(row) && !right_.IsZero(column);
  }
  bool ShareSymbols(size_t propagation) const {
    for (const NodeError::Symbol& x : left_.whole().errors[propagation].symbols) {
      for (const NodeError::Symbol& y : right_.whole().errors[propagation].symbols) {
        if (x.id == y.id) return true;
      }
    }
    return false;
  }

  // The symbols of one factor that are one number along the terms.
  static void Pass(const FactorErrors& errors, const GemmOperand& other, bool is_left, NodeError& to) {
    for (const FactorErrors::Signed& symbol : errors.shared) {
      to.symbols.push_back({symbol.id, symbol.axes, is_left ? ProductOf(symbol.g, other) : ProductOf(other, symbol.g)});
    }
  }

  // Returns the absolute error that each product is granted: the loss of a rounding below the normal numbers, and of
  // products of three factors and more in another order (products.h). Infinite: some order leaves the range.
  double GrantedToEach(size_t propagation, const ErrorRules& rules, const Extremes& a, const Extremes& b) const {
    const auto is_reciprocal = [&](int node) { return IsReciprocal(graph_.At(node)); };
    const bool by_function = is_reciprocal(contraction_.left) || is_reciprocal(contraction_.right);
    const bool stays_normal = a.keeps_sizes && b.keeps_sizes && a.least * b.least / 2 >= rules.tiny;
    double granted = stays_normal ? 0 : by_function ? rules.function_lambda : rules.lambda;
    const size_t factors = contraction_.left_parts.size() + contraction_.right_parts.size();
    if (!rules.rearranges || factors < 3) return granted;
    OrderRange range;
    for (size_t k = 0; k < contraction_.left_parts.size(); ++k) {
      range.Multiply(left_.whole().parts[propagation][k], contraction_.left_parts[k].divides);
    }
    for (size_t k = 0; k < contraction_.right_parts.size(); ++k) {
      range.Multiply(right_.whole().parts[propagation][k], contraction_.right_parts[k].divides);
    }
    return granted + Products::MostCost(range, rules, factors);
  }

  void Join(const FactorErrors& a, const FactorErrors& b, const ErrorRules& rules, double granted, NodeError& error) {
    std::vector<double> of_reach, apart, both;
    const auto add = [&](const FactorErrors& of, const auto& product) {
      if (of.zero) return;
      AddTo(of_reach, product(of.reach));
      AddTo(apart, product(of.apart));
    };
    add(a, [&](const GemmOperand& x) { return ProductOf(x, right_.sizes()); });
    add(b, [&](const GemmOperand& x) { return ProductOf(left_.sizes(), x); });
    if (!a.zero && !b.zero) both = ProductOf(a.reach, b.reach);
    const Node& sum = graph_.At(contraction_.sum);
    const double gamma = SumError(terms_ - 1, rules.sum);
    const bool rescales = sum.steps == Steps::kRescaled && rules.rescale > 0;
    const double rescaled = rescales ? std::expm1((terms_ - 1) * std::log1p(rules.rescale)) : 0;
    const double lost = terms_ * ((rules.additions_underflow ? rules.lambda : 0) +
                                  (sum.steps == Steps::kRescaled ? 2 * rules.lambda : 0));
    ResizeValues(std::ssize(golden_.value), error.r);
    ParallelFor(std::ssize(error.r), 4096, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const auto at = static_cast<size_t>(i);
        const double second = both.empty() ? 0 : both[at], size = golden_.magnitude[i];
        const double reach = (of_reach.empty() ? 0 : of_reach[at]) + second;
        const double under = size + reach == 0 ? 0 : terms_ * granted;
        const double rounding = rules.multiply * (size + reach) + under;
        const double magnitude = size + reach + rounding, more = rescaled * magnitude;
        double& r = error.r[at];
        r = (apart.empty() ? 0 : apart[at]) + second + rounding + (rules.sum_lean + gamma) * magnitude +
            (1 + gamma) * more + lost;
        if (under > kMostGranted * r) is_special_[at] = 1, any_special_ = true;
        if (!((1 + gamma) * (magnitude + more) < rules.range)) r = kInfinity;
      }
    });
  }

  // Squares of what products err by apart from each other, and of what the sum's own roundings make.
  void JoinInQuadrature(const FactorErrors& a, const FactorErrors& b, const ErrorRules& rules, NodeError& error) {
    std::vector<double> squares;
    if (!a.zero) AddTo(squares, ProductOf(a.apart, right_.squares()));
    if (!b.zero) AddTo(squares, ProductOf(left_.squares(), b.apart));
    for (const GemmOperand& joined : a.joined) AddSquaresTo(squares, ProductOf(joined, right_.sizes()));
    for (const GemmOperand& joined : b.joined) AddSquaresTo(squares, ProductOf(left_.sizes(), joined));
    // The sum of squared products is at most sigma^2 / (K - 1), in the same unit (golden/sums/panel_sums.h).
    const double of_product = rules.multiply / kRoundingDeviation;
    const double own = rules.sum * rules.sum + of_product * of_product / (terms_ - 1);
    ResizeValues(std::ssize(golden_.value), error.r);
    ParallelFor(std::ssize(error.r), 4096, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const auto at = static_cast<size_t>(i);
        error.r[at] = std::sqrt((squares.empty() ? 0 : squares[at]) + own * golden_.sigma[i] * golden_.sigma[i]);
      }
    });
  }

  const Graph& graph_;
  const MatrixProduct& contraction_;
  Factor &left_, &right_;
  double terms_;
  Golden golden_;
  std::vector<uint8_t> is_special_;  // by element
  std::atomic<bool> any_special_ = false;
};

}  // namespace

std::optional<Contracted> ContractFactors(const Graph& graph, const MatrixProduct& contraction, WholeFactor left,
                                          WholeFactor right, std::span<const ErrorRules> rules, bool is_known_sum) {
  const auto extent = [&](const std::vector<int>& axes) { return graph.ExtentOf(SetOf(axes)); };
  const int64_t batch = extent(contraction.batch), terms = extent(contraction.terms);
  Factor x(std::move(left), batch, extent(contraction.rows), terms, true);
  Factor y(std::move(right), batch, terms, extent(contraction.columns), false);
  Contractor contractor(graph, contraction, x, y);
  StoredNode sums;
  for (size_t i = 0; i < rules.size(); ++i) {
    if (!contractor.Propagate(i, rules[i], is_known_sum, sums)) return std::nullopt;
  }
  Contracted result = contractor.Finish(std::move(sums));
  const bool are_many = static_cast<double>(std::ssize(result.special)) >
                        kMostSpecial * static_cast<double>(std::ssize(result.sums.value));
  if (are_many) return std::nullopt;
  return result;
}

}  // namespace assay::formula
