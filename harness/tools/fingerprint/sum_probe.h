// SPDX-License-Identifier: Apache-2.0
// A case of an operator that adds, filled with sums whose terms a probe states: where a term lies in its operands, and
// where the sum comes out.
#pragma once

#include <span>
#include <vector>

#include "harness/core/base/result.h"
#include "harness/tools/fingerprint/sum_layout.h"
#include "ops/operator.h"

namespace assay {

// Factors of a term; operators without products take the first alone.
struct ProbeTerm {
  double a = 0, b = 1;
  double value() const { return a * b; }
};
using ProbeSum = std::vector<ProbeTerm>;

class SumProbe {
 public:
  // Takes matmul, conv, reduce, cumsum, associative_scan, attention, softmax, cross_entropy, rms_norm, and the means of
  // layer_norm, group_norm, instance_norm and batch_norm_training. Errors: attributes that change the sum;
  // kUnsupported: another operator, causal attention, an extreme, or results that do not show their sum.
  static Result<SumProbe> Make(const Problem& problem);
  // Takes the variances of the norms that subtract a mean. Errors: kUnsupported: another operator, or results that do
  // not show it.
  static Result<SumProbe> MakeOfVariance(const Problem& problem);

  int terms() const { return static_cast<int>(layout_.terms); }
  int sums() const { return static_cast<int>(layout_.sums); }  // of one execution, apart from each other
  bool has_products() const { return layout_.place_b != nullptr; }
  // Whether the terms go into the sum as they are: attention's are weighted by its exponentials.
  bool is_plain() const { return layout_.output_factor == 1; }
  // Magnitudes of a probe's terms are taken.
  bool are_exponentials() const { return layout_.kind == SumKind::kExponentials; }
  bool is_mean() const { return layout_.kind == SumKind::kMean; }
  double large() const { return layout_.large; }
  // Results are some function of a sum of squares, and tell whether two sums differ, not what they are.
  bool are_squares() const { return layout_.kind == SumKind::kSquares || layout_.kind == SumKind::kDeviations; }
  bool has_row() const { return layout_.is_row; }  // results are a row of as many elements as terms
  bool takes_any_terms() const { return layout_.kind == SumKind::kGiven; }

  // At most sums() of them. Other elements are zero, but for factors that the terms share.
  std::vector<Tensor> MakeInputs(const Problem& problem, std::span<const ProbeSum> sums) const;
  // All results that depend on this sum, of a norm its row.
  std::vector<double> ReadAll(std::span<const double> output, int sum) const;
  // Fills all of the operands with one sum, and says whether it came out alike at each of its places.
  std::vector<Tensor> MakeAlike(const Problem& problem, const ProbeSum& sum) const;
  bool AreAlike(std::span<const double> output) const;
  double Read(std::span<const double> output, int sum) const;

 private:
  static Result<SumProbe> MakeOf(const Problem& problem, SumLayout layout);
  double OperandOf(double term) const;
  std::vector<std::vector<double>> Blank(const Problem& problem) const;
  // Writes the terms into the place of one sum of each operand; -1: of none.
  void Fill(const ProbeSum& given, int in_a, int in_b, std::vector<std::vector<double>>& values) const;

  SumLayout layout_;
};

}  // namespace assay
