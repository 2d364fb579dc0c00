// SPDX-License-Identifier: Apache-2.0
// Sums of products of two factors, each of which lacks axes that the other one has: matrix products. Values and the
// sums of sizes that errors follow from are products of golden/gemm, whose terms no array holds. Sums are in another
// order than term by term, within the same certified error.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "golden/big_buffer.h"
#include "ops/formula/block_worker.h"

namespace assay::formula {

struct MatrixProduct {
  int sum = 0, product = 0;                            // nodes
  int left = 0, right = 0;                             // nodes: the factors
  std::vector<int> batch, rows, columns, terms;        // axes: of both factors, of one each, and those that are summed
  std::vector<int> LeftLayout() const;                 // [batch, rows, terms]
  std::vector<int> RightLayout() const;                // [batch, terms, columns]
  std::vector<int> SumLayout() const;                  // [batch, rows, columns]
  std::vector<ProductFactor> left_parts, right_parts;  // what the factors are products of; else themselves
};

// Contractions that lead to the output and have so many terms that matrix products pay, operands first.
std::vector<MatrixProduct> FindMatrixProducts(const Graph& graph, int output);

// Whether both factors fit memory beside what is held of an evaluation.
bool HoldsFactors(const Graph& graph, const MatrixProduct& product);

// Parts of an axis, so that no product has more sums than are held at once.
struct Slicing {
  int axis = 0;
  int64_t extent = 1;  // of a part; the last one may be shorter
};
// nullopt: none is needed, or none helps.
std::optional<Slicing> FindSlicing(const Graph& graph, const OutputInfo& output, int64_t most_held);

// A factor in its layout, for all lanes.
struct WholeFactor {
  BigBuffer<double> value;
  std::vector<NodeError> errors;              // by propagation; without `reach`
  std::vector<std::vector<SizeRange>> parts;  // by propagation, of left_parts or right_parts
  std::vector<int64_t> special;               // places at which some part is not finite
  std::vector<double> most;                   // by propagation: Arrangements::BoundSizes
};

struct Contracted {
  StoredNode sums;               // as terms of a sum that has one; in SumLayout
  std::vector<int64_t> special;  // elements that are to be evaluated term by term
};

// nullopt: all elements are to be evaluated term by term, as products leave the range or lose digits below it, or
// errors of both factors are the same ones.
std::optional<Contracted> ContractFactors(const Graph& graph, const MatrixProduct& contraction, WholeFactor left,
                                          WholeFactor right, std::span<const ErrorRules> rules, bool is_known_sum);

}  // namespace assay::formula
