// SPDX-License-Identifier: Apache-2.0
// An operator whose formula is all there is to it: schema, operands, inputs, golden value, certified error, bound,
// deviation, twins, faults and relations follow from the definition (ops/formula/definition.h). One file in ops/defs/
// has the definition and registers it:
//   ASSAY_OPERATOR(rms_norm, RmsNorm);
#pragma once

#include <string>

#include "harness/core/data/fill/fill.h"
#include "ops/formula/definition.h"
#include "ops/operator.h"

namespace assay {

inline constexpr int kFormulaTieVariant = 1;

class FormulaOperator final : public Operator {
 public:
  // Throws formula::FormulaError; so does whatever evaluates the definition for a case.
  FormulaOperator(std::string name, formula::Definition::Author author);

  const OpSchema& schema() const override { return schema_; }
  Result<Problem> Bind(const CaseSpec& spec) const override;
  Result<AttrList> InferAttrs(const std::vector<Operand>& operands, AttrList given) const override;
  std::vector<Tensor> MakeInputs(const Problem& problem) const override;
  Status CheckInputs(const Problem& problem, std::span<const Tensor> inputs) const override;
  Golden ComputeGolden(const Problem& problem, size_t output, std::span<const Tensor> inputs, Tier tier) const override;
  std::string FormulaDigest(const Problem& problem, size_t output) const override;
  BoundModel Bound(const Problem& problem, size_t output, const Golden& golden,
                   const Contract& contract) const override;
  std::optional<Twin> MakeTwin(const Problem& problem, size_t output, const Contract& contract,
                               int variant) const override;
  // Variant 1 shows how ties are broken (tie_twin.cc).
  int TwinVariants(const Problem& problem, size_t output, const Contract& contract) const override;
  std::vector<Mutant> OmittedTerms(const Problem& problem, size_t output, std::span<const Tensor> inputs,
                                   std::span<const double> values, std::span<const int64_t> elements) const override;
  std::vector<Relation> Relations(const Problem& problem, size_t output) const override;
  std::vector<SliceAxes> Slices(const Problem& problem, size_t output) const override;
  SharedSteps StepsOfSlices(const Problem& problem, size_t output, const Golden& golden,
                            const FloatFormat& format) const override;
  std::vector<double> LeanOfSlices(const Problem& problem, size_t output, const Golden& golden,
                                   const Contract& contract, double sum_lean) const override;
  // Accepts any order of equal numbers if the formula allows it, each number once.
  void Canonicalise(const Problem& problem, size_t output, std::span<const Tensor> inputs, Tensor& got) const override;
  std::vector<std::vector<double>> SummedTerms(const Problem& problem, size_t output, std::span<const Tensor> inputs,
                                               const Contract& contract, int64_t element) const override;
  CaseSpace Space() const override;
  std::vector<CaseSpec> FewCases() const override;
  // Contracts of another schedule have bounds and twins of their own. Formulas that quantise divide faithfully, as
  // every processor does by default.
  OperatorTraits traits() const override {
    return {.algorithms = schedules_,
            .memory = {schedules_.size() > 1 ? 208.0 : 172.0, 112},
            .default_fields = saturates_ ? "math=1" : ""};
  }
  // Not the fewest operations: compilers may leave out what the graph computes twice.
  ProblemTraits TraitsOf(const Problem& problem, size_t output) const override;

  // The operator whose formula differs in one place more. Only its direct schedule is there.
  std::unique_ptr<const FormulaOperator> WithChange(const formula::GraphChange& change) const;

  const std::vector<std::vector<DType>>& types() const { return types_; }  // allowed ones, one for each operand
  std::string TypesText() const;  // as case ids have them: "f32, bf16-bf16-f32"
  // Whether its output is one of Definition::OutSaturated.
  bool Saturates() const { return saturates_; }
  // The formula of one output of a case, as that schedule has it; kDirect where there is none of that name.
  formula::Definition DefinitionOf(const Problem& problem, size_t output,
                                   Algorithm schedule = Algorithm::kDirect) const;
  // DefinitionOf for all outputs.
  formula::Definition WholeDefinitionOf(const Problem& problem, Algorithm schedule = Algorithm::kDirect) const;

 private:
  // Whether results are those of registers of integers (formula::StaysInIntegers).
  bool ComputesIntegers(const Problem& problem, size_t output, const formula::Graph& graph) const;
  // Returns an output that is evaluated in doubles and reads this input of i64; none: every i64 is judged exactly.
  std::optional<size_t> OutputOfDoubles(const Problem& problem, size_t input) const;
  Status CheckIsHeld(const Problem& problem, size_t input, const Tensor& tensor) const;
  Problem OneLane(const Problem& problem, size_t output) const;
  std::vector<Tensor> DrawInputs(const Problem& problem, FillSpec fill) const;
  // Replaces the largest numbers of special values by ordinary ones in so many slices that nine of ten results have a
  // bound (special_inputs.cc).
  std::vector<Tensor> KeepMostJudged(const Problem& problem, std::vector<Tensor> inputs) const;
  std::optional<Twin> MakeTieTwin(const Problem& problem, size_t output, const Contract& contract) const;
  // For formulas that saturate.
  std::optional<Twin> MakeRoundingTwin(const Problem& problem, size_t output, const Contract& contract) const;

  std::string name_;
  formula::Definition::Author author_;
  std::vector<formula::GraphChange> changes_;  // one after the other
  OpSchema schema_;
  bool saturates_ = false;
  std::vector<Algorithm> schedules_;
  std::vector<std::vector<DType>> types_;
};

std::vector<DType> TypesOf(std::span<const Operand> operands);

// The elements of each operand, and behind all of them, where a double does not hold some i64, the low parts of each:
// inputs of an evaluation in double-double.
std::vector<std::vector<double>> ReadElements(std::span<const Tensor> inputs);

// Where a term may be missing in this graph, with these inputs.
std::vector<Mutant> FormulaMutants(const formula::Graph& graph, std::span<const Tensor> inputs,
                                   std::span<const double> values, std::span<const int64_t> elements, DType out);

// A definition that is wrong becomes one of OperatorRegistry::mistakes.
struct RegisterFormula {
  RegisterFormula(const char* name, formula::Definition::Author author);
};

}  // namespace assay

// In a file of ops/defs/, once.
#define ASSAY_OPERATOR(name, author)                        \
  static const ::assay::RegisterFormula registered_##name { \
#name, author                                           \
  }
