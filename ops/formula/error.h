// SPDX-License-Identifier: Apache-2.0
// How far results of correct implementations may lie from a node's values, and how far these values themselves lie from
// the exact ones: the same propagation under different rules. A computed value is
//   v + sum_s g_s eta_s + rho,  |eta_s| <= 1, |rho| <= r,
// with one symbol s for each result of a reduction, shared by everything that uses that result (its error there is one
// number, so that it may cancel). Rests of second order are within r: no term is cut off. `reach` = sum |g_s| + r.
//
// Where something is uncertain beyond measure, reach is infinite: a divisor that may be zero, an intermediate that may
// overflow. Values that are not finite follow from the operands by IEEE rules and have reach zero where these leave no
// doubt.
//
// Deviations (rules.quadrature) are joined in quadrature instead: eta_s and rho are then independent, of variance 1 and
// r^2.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "harness/core/data/dtype.h"
#include "ops/formula/block.h"
#include "ops/formula/functions.h"
#include "ops/formula/integers.h"
#include "ops/formula/values.h"

namespace assay::formula {

// Coefficients of symbols may cancel; what is left of their own roundings is covered by this much of what was added.
inline constexpr double kResidue = 0x1p-48;

// Conversions of an input before it is used.
struct InputRule {
  double relative = 0;     // rounding
  double lost_below = 0;   // smaller magnitudes may become anything up to themselves: zero
  double overflow_at = 0;  // may become infinite from here on; 0: nowhere
  bool narrow = false;     // of so few bits that accumulators hold its squares with few to spare
};

// Squares are 0 or 1 modulo 4, so that those of numbers of 16 bits, whose last bits lie about where a sum's do, round
// to one side together: by a quarter of the spacing in the mean where random numbers of one binade are squared, less
// elsewhere. The spacings of a sum S of K of them that grows evenly are u S in the mean: this, times K u S, is lost.
inline constexpr double kNarrowSquareLoss = 0.25;

// Cost of z = 1 - f: a share of its own; or, as a difference, shares of f and of 1 + |f|.
struct TailTerms {
  double own = 0, of_f = 0, of_both = 0;
  double Of(double z) const {
    const double f = std::fabs(1 - z);
    return std::max(own * std::fabs(z), of_f * f + of_both * (1 + f));
  }
};

struct ErrorRules {
  bool quadrature = false;
  // Relative errors of single operations. `add` and `multiply` of what is used further, `sum` of an addition within a
  // sum, `rescale` of what comes on top where a sum is rescaled.
  double add = 0, multiply = 0, sum = 0, divide = 0, root = 0, function = 0, composition = 0, rescale = 0;
  double logarithm_absolute = 0;  // of logarithms
  // Errors of 1 - f (Rounding::kTail): relative to the result; and where a kernel takes f off 1, that of f relative to
  // f, and that of the subtraction relative to 1 + |f|.
  double tail = 0, complement = 0, from_one = 0;
  // Underflow error of an operation whose result may lie below `tiny`; additions have one only where results are
  // flushed.
  double lambda = 0, tiny = 0;
  bool as_written = false;      // the graph's own values: each sum is rounded once, functions of infinities are limits
  bool rearranges = false;      // kernels may take factors and terms in other orders (arrangements.h)
  bool by_reciprocals = false;  // divisions may be products with reciprocals, which overflow where divisors are small
  // Errors of stored partial results, where operations themselves cost nothing: relative, and absolute below `tiny`.
  double store = 0, store_lambda = 0;
  double function_lambda = 0;  // the same for divisions, roots and functions, whose errors are counted in spacings
  bool additions_underflow = false;
  double range = 0;  // largest finite intermediate
  // Range of the last node's values. If the output overflows no later, the output's rules judge their overflow.
  double last_range = std::numeric_limits<double>::infinity();
  const FloatFormat* constants = nullptr;  // constants are rounded to it; nullptr: they are as they are
  double constants_lack = 0;               // this share of constants' low parts
  std::vector<InputRule> inputs;           // by input; fewer: nothing happens to the others
  // Roundoff of an accumulator whose sums of terms of one sign lose small ones, always in one direction
  // (ops/lost_terms.h); 0: that is within what `sum` says.
  double lost_terms = 0;
  double sum_lean = 0;        // share of its magnitude that every sum may be off, always in one direction
  bool stores = false;        // kRound rounds; else results stay as they are
  double exact_integers = 0;  // integers up to this are exact wherever they are stored; of indices, up to kIndices
  // Divisions and reciprocals give results of up to this many bits as they are, so that a divisor that is a power of
  // two costs nothing; 0: they need not.
  int faithful_bits = 0;

  double Of(Rounding rounding) const;
  TailTerms TailOf(Function of) const;  // of Rounding::kTail
};

// Results that are right beside those within an element's reach, as bits to be joined. An infinity has the element's
// sign. Only the output has these bits; other nodes are open instead.
using Beside = uint8_t;
inline constexpr Beside kNothingBeside = 0, kBesideNan = 1, kBesideInfinity = 2, kBesideOne = 4;

// Errors of a node in a block; empty arrays are zeros.
struct NodeError {
  struct Symbol {
    int id = 0;
    AxisSet axes = 0;  // of the result that it belongs to
    std::vector<double> g;
  };
  std::vector<Symbol> symbols;
  std::vector<double> r, reach;
  bool zero = true;            // reach is
  std::vector<Beside> beside;  // see Beside

  double ReachAt(size_t i) const { return zero ? 0 : reach[i]; }
};

// A node of the block as it was just computed, operands expanded to its space.
struct MapStep {
  int node = 0;
  Operands x{};
  const double* z = nullptr;
  int64_t n = 0;
};

// The coarsest accumulator has deviations up to this many times those of kSigmaUnit (rules.h). Where it may decide a
// condition otherwise the deviation is not known.
inline constexpr double kCoarsestDeviations = 0x1p36;

// Whether the node squares a narrow input (InputRule::narrow).
bool IsNarrowSquare(const Graph& graph, const ErrorRules& rules, int node);

// Whether kernels may divide by its denominator where it is a factor.
bool IsReciprocal(const Node& node);

// One propagation through the nodes of a block. Nodes have to be told in order.
class Propagation {
 public:
  // `whole`: the formula that the plan's graph is a part of; its nodes have the same numbers. `stored_later`: a sum
  // that another part passes on, and stores then; -1: none.
  Propagation(const BlockPlan& plan, const ErrorRules& rules, const WholeFormula& whole, int stored_later);

  void Begin(int64_t lanes);  // of the next block
  void Input(int node, std::span<const double> values);
  void Constant(int node);
  // An input with errors that were found before, in its layout; `offsets`: each number's place there.
  void Restore(int node, const NodeError& found, const std::vector<int64_t>& offsets);
  void Map(const MapStep& step, const std::vector<Expansion>& expansions);
  // x: the operand's array, v: the result's; `to`: the result's place for each inner index of the operand.
  void Reduce(int node, std::span<const double> x, std::span<const double> v, const std::vector<int64_t>& to);
  void Recur(int node, const double* a, std::span<const double> b, std::span<const double> h,
             const std::vector<Expansion>& expansions);
  void Move(int node, std::span<const int64_t> source);
  // Move, where the index that holds the places may be off.
  struct Gathered {
    std::span<const double> table, index, v;
  };
  void Gather(int node, const Gathered& values, std::span<const int64_t> source);
  // `to`: the result's place for each inner index of the updates; -1: none.
  struct Scattered {
    std::span<const double> base, updates, index, v;
  };
  void Scatter(int node, const Scattered& values, std::span<const int64_t> to);
  void Round(int node, std::span<const double> v);
  // x: the operand's array, v: the result's.
  void Select(int node, std::span<const double> x, std::span<const double> v);

  // Declares these elements open: any result is accepted. v: the node's values.
  void Open(int node, std::span<const double> v, const std::vector<bool>& which);
  // Adds these errors. Empty: none.
  void Widen(int node, const std::vector<double>& costs);
  // Admits these results of each element as well. Empty: none.
  void Admit(int node, std::span<const double> v, const std::vector<Beside>& beside);

  // Whether, since the beginning, some NaN of which nothing is promised may be another number than zero: one that is
  // not the product of infinity and what may be zero.
  bool any_instead_of_nan() const { return any_instead_of_nan_; }

  const NodeError& At(int node) const { return errors_[static_cast<size_t>(node)]; }

 private:
  const Node& NodeAt(int node) const { return plan_->graph().At(node); }
  double LeastOf(const Node& node) const;
  double ExactIntegers(const Node& node) const;
  void FindSlopes(const MapStep& step, Operands reach, const Slopes& to);
  NodeError::Symbol& SymbolOf(NodeError& error, const NodeError::Symbol& like, int64_t n);  // zeros where it is new
  void ClearSymbols(NodeError& error);
  const double* Zeros(int64_t n);
  const double* Expanded(const std::vector<double>& array, const Expansion& expansion, int slot, int64_t n);
  double ErrorOfProducts(const Node& node) const;
  void AddRounding(const Node& node, const MapStep& step, const Operands& reach, NodeError& error);
  void Finish(int node, std::span<const double> v, NodeError& error);  // sums `reach` up
  void NoteOpen(int node, double value);                               // see any_instead_of_nan
  void MarkNonFinite(const MapStep& step, const Operands& reach, NodeError& error) const;
  void MarkBeside(int node, size_t i, Beside beside, NodeError& error) const;
  void ReduceSum(const Node& node, std::span<const double> x, std::span<const double> v, const std::vector<int64_t>& to,
                 NodeError& error);
  void AddSharedInPart(const NodeError::Symbol& symbol, const std::vector<int64_t>& to, NodeError& error);
  std::vector<double> Rescalings(const Node& node, std::span<const double> x, const std::vector<int64_t>& to,
                                 std::span<const double> magnitude) const;
  void AddLostTerms(const Node& node, std::span<const double> x, const std::vector<int64_t>& to,
                    std::span<const double> magnitude, NodeError& error) const;
  void ReduceProduct(const Node& node, std::span<const double> x, std::span<const double> v,
                     const std::vector<int64_t>& to, NodeError& error);
  void ReduceExtreme(const Node& node, std::span<const double> x, std::span<const double> v,
                     const std::vector<int64_t>& to, NodeError& error);
  // Sums and products of many terms leave the accumulator where a step reads them, which kernels may store before.
  void StoreWhereRead(int node, std::span<const double> v, NodeError& error) const;
  void MakeSymbol(int node, NodeError& error);  // all of r becomes one number for each element

  const BlockPlan* plan_;
  ErrorRules rules_;
  int result_, stored_later_;  // result_: of the whole formula, which no step of it reads
  std::vector<NodeError> errors_;
  std::vector<Held> integers_;  // by node
  std::vector<bool> shares_;    // in quadrature: whether operands share an error
  std::vector<bool> last_;      // nodes that nothing is computed from, or nothing but what their overflow leaves alone
  bool any_instead_of_nan_ = false;
  int64_t lanes_ = 1;
  std::vector<double> zeros_;
  std::vector<std::vector<double>> spare_;  // of symbols that are gone: memory that the kernel need not clear again
  std::vector<double> scratch_[13];
};

// |a| + |b|, or their square sum.
inline double Joined(bool quadrature, double a, double b) {
  return quadrature ? std::sqrt(a * a + b * b) : std::fabs(a) + std::fabs(b);
}

// Whether x is an integer of at most so many bits times a power of two.
inline bool HasBits(double x, int bits) {
  int exponent = 0;
  const double integer = std::ldexp(std::frexp(x, &exponent), bits);
  return integer == std::trunc(integer);
}

}  // namespace assay::formula
