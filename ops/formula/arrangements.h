// SPDX-License-Identifier: Apache-2.0
// Where another arrangement of a formula leaves the range. Kernels may distribute a factor over a difference and join
// what comes out with other terms, x s + (beta - mean s) for (x - mean) s + beta, and take factors of sums in any
// order, those of all terms of a sum behind it. What that costs in errors is within the rules of propagation. But terms
// may overflow, or be infinity times zero, where the formula as it stands has a number: of such elements nothing is
// promised.
//
// A loose sum, and what products, quotients by other numbers and sums along axes make of it, is known as a sum of
// terms. Of these, for each element: the sums of the positive and of the negative ones, as no partial sum is larger;
// the largest product of some of a term's factors; and what sums along axes are without factors below 1, which may come
// after them.
#pragma once

#include <vector>

#include "ops/formula/error.h"
#include "ops/formula/values.h"

namespace assay::formula {

// Nodes that are known as sums of terms.
struct KnownSums {
  explicit KnownSums(const Graph& graph);
  std::vector<bool> is_sum;  // by node
  bool distributes = false;  // whether some factor may be distributed over one
};

class Arrangements {
 public:
  // All must outlive it. `rules`: a contract's. `stored_most`: by node, the MostOf of inputs that were computed before.
  Arrangements(const BlockPlan& plan, const NodeSpaces& spaces, const ErrorRules& rules, const WholeFormula& whole,
               std::vector<double> stored_most);

  // Elements of the output's node, in its space, that other arrangements leave open, beside those that `errors` leaves
  // open. Empty if there are none. Call after a block's values and errors.
  std::vector<bool> Open(const BlockValues& values, const Propagation& errors, int64_t lanes);
  // Bound on partial sums and on products of factors of each node's elements, at least 1.
  std::vector<double> BoundSizes(const BlockValues& values, const Propagation& errors) const;
  // Whether Open had to know terms of an input that was computed before.
  bool lacks_terms() const { return lacks_terms_; }

 private:
  const Node& NodeAt(int node) const { return plan_->graph().At(node); }
  // A node's at one index.
  struct Element {
    double value = 0, reach = 0;
    double positive = 0, negative = 0;  // sizes of the sums of the terms of either sign
    double factors = 1;                 // the largest product of factors, at least 1; infinite ones are none
    double unscaled = 0;                // the largest sum without factors below 1
    double least = 0;                   // the smallest size of a term; of sums along axes the largest of these
    bool is_open = false;
    bool is_nan = false;     // in every arrangement of what leads to this element
    bool by_factor = false;  // NaN or infinite for an infinite factor alone, which may come behind a sum of such ones
  };
  using Elements = std::vector<Element>;

  bool IsSum(int node) const { return sums_.is_sum[static_cast<size_t>(node)]; }
  bool StaysWithin(const std::vector<double>& most) const;
  double MostOf(int node, const BlockValues& values, const Propagation& errors, const std::vector<double>& most) const;
  static Element Number(double value, double reach);
  void FindMap(int node);
  void FindSum(int node);
  void FindOther(int node);
  void FindPlaced(int node);
  Element Mapped(int node, const Element& result, const Element* x) const;
  Element Joined(const Node& sum, const Element& result, const Element* x) const;
  Element ProductOfSums(const Element& result, const Element& x, const Element& y) const;
  Element Distributed(const Element& result, const Element& terms, const Element& factor) const;
  bool Leaves(const Element& element) const;
  bool MayVanish(const Element& element) const;
  double SumOf(double x, double y) const;

  const BlockPlan* plan_;
  const NodeSpaces* spaces_;
  double range_, slack_;  // what products may be larger by, for their roundings
  double overflows_at_;   // sums, rounded to nearest
  double lost_;           // products, to underflow
  KnownSums sums_;
  std::vector<double> stored_most_;
  bool lacks_terms_ = false;
  int64_t lanes_ = 1;
  std::vector<Elements> elements_;
};

}  // namespace assay::formula
