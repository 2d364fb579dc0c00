// SPDX-License-Identifier: Apache-2.0
// A case of an operator that adds, filled with sums whose terms a probe states: where a term lies in its operands, and
// where the sum comes out.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "harness/core/base/result.h"
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
  // Takes matmul, conv, reduce, cumsum, associative_scan, attention, softmax, and the means of layer_norm,
  // instance_norm and batch_norm_training. Errors: attributes that change the sum; kUnsupported: another operator,
  // causal attention, an extreme, or a softmax whose results do not show its sum.
  static Result<SumProbe> Make(const Problem& problem);

  int terms() const { return terms_; }
  int sums() const { return sums_; }  // of one execution, apart from each other
  bool has_products() const { return places_b_ != nullptr; }
  // Whether the terms go into the sum as they are: attention's are weighted by its exponentials.
  bool is_plain() const { return output_factor_ == 1; }
  // Whether terms are the exponentials of operands, which are positive: magnitudes of a probe's terms are taken.
  bool are_exponentials() const { return are_exponentials_; }
  // Whether terms are a row of which a mean is subtracted: its elements show their sum only where they are this number,
  // its negative, and ones.
  bool is_mean() const { return large_ != 0; }
  double large() const { return large_; }
  bool takes_any_terms() const { return !are_exponentials_ && !is_mean(); }

  // At most sums() of them. Other elements are zero, but for factors that the terms share.
  std::vector<Tensor> MakeInputs(const Problem& problem, std::span<const ProbeSum> sums) const;
  // Fills all of the operands with one sum, and says whether it came out alike at each of its places.
  std::vector<Tensor> MakeAlike(const Problem& problem, const ProbeSum& sum) const;
  bool AreAlike(std::span<const double> output) const;
  double Read(std::span<const double> output, int sum) const;

 private:
  double OperandOf(double term) const;
  std::vector<std::vector<double>> Blank(const Problem& problem) const;
  using Place = std::function<int64_t(int sum, int term)>;

  int terms_ = 0, sums_ = 0;
  int all_a_ = 0, all_b_ = 0;      // sums that the operands have room for
  std::vector<int64_t> places_y_;  // of equal sums in the output; empty: all of it
  size_t operand_a_ = 0, operand_b_ = 1;
  Place places_a_, places_b_;
  std::function<int64_t(int sum)> place_y_;
  double output_factor_ = 1;
  bool are_exponentials_ = false;
  double large_ = 0;
  std::vector<size_t> ones_;  // operands that are 1 everywhere, as the weights of a norm
};

}  // namespace assay
