// SPDX-License-Identifier: Apache-2.0
// Products of three factors and more. Kernels multiply them in any order, (g u) s for (g s) u, and divide by what
// divides them before or after. Roundings are as many in each order, but a product of some of the factors may overflow,
// or lose digits below the normal numbers, where those that the formula names do not.
#pragma once

#include <cstdint>
#include <vector>

#include "ops/formula/error.h"
#include "ops/formula/values.h"

namespace assay::formula {

// A number that a product multiplies or divides by.
struct ProductFactor {
  int node = 0;
  bool divides = false;
};
// Adds those of a node that is a factor itself.
void CollectFactors(const Graph& graph, int node, bool divides, std::vector<ProductFactor>& factors);

// The extremes of |x| + reach, and of |x| - reach, of what is finite and no exact zero.
struct SizeRange {
  double most = 0, least = std::numeric_limits<double>::infinity();
  bool all_finite = true, has_zero = false;
  void Add(std::span<const double> values, const NodeError& error);
  void Join(const SizeRange& other);
};

// The range of the products of some factors in any order, as far as these are finite.
struct OrderRange {
  double most = 1, least = 1;                  // of the sizes of all products of some factors
  double most_divisor = 1, least_divisor = 1;  // of those of divisors alone
  int divisors = 0;
  bool is_known = true;
  void Multiply(const SizeRange& factor, bool divides);
};

class Products {
 public:
  // `rules`: a contract's. `whole`: the formula that the plan's graph is a part of, where it is one.
  Products(const BlockPlan& plan, const ErrorRules& rules, const WholeFormula& whole);

  // Cost of other orders than the formula's for the elements of a node that was just computed, in the node's space.
  struct Costs {
    std::vector<double> further;  // absolute; infinite where nothing is promised
    std::vector<Beside> beside;   // see Beside
  };
  // Bound on the cost of each of these products; infinite where something is right beside, or nothing promised.
  static double MostCost(const OrderRange& range, const ErrorRules& rules, size_t factors);
  // Both empty: nothing.
  Costs CostsOf(int node, const BlockValues& values, const Propagation& errors, int64_t lanes) const;

 private:
  struct Factor : ProductFactor {
    Expansion expansion;  // to the product's space
  };
  // Range of the products of some factors, for one element or for all of them together.
  struct Partial {
    double most = 1, least = 1;                  // of the sizes of all products of some factors
    double most_divisor = 1, least_divisor = 1;  // of those of two divisors and more
    int divisors = 0;
    bool has_zero = false;      // which is exact
    bool has_infinity = false;  // which is none of the sizes
    bool has_nan = false;
    void Multiply(double value, double reach, bool divides);
  };

  bool StaysWithin(const std::vector<Factor>& factors, const BlockValues& values, const Propagation& errors) const;
  struct Cost {
    double further = 0;
    Beside beside = 0;
  };
  // `size`: of the product itself.
  Cost CostOf(const Partial& partial, size_t factors, double size) const;

  double range_, tiny_, lambda_;
  double slack_;                              // what products may be larger by, for their roundings
  std::vector<std::vector<Factor>> factors_;  // by node; of others than such products none
};

}  // namespace assay::formula
