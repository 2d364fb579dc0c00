// SPDX-License-Identifier: Apache-2.0
#include "ops/empty_operands.h"

#include <algorithm>
#include <map>
#include <mutex>

namespace assay {
namespace {

bool IsEmpty(const Operand& operand) {
  return NumElements(operand.shape) == 0;
}

// Neither twins nor relations nor omitted terms are tried: there is no term to forget.
class OnEmptyOperands final : public Operator {
 public:
  explicit OnEmptyOperands(const Operator& op) : op_(op) {}

  const OpSchema& schema() const override { return op_.schema(); }
  Result<Problem> Bind(const CaseSpec& spec) const override { return op_.Bind(spec); }
  Result<AttrList> InferAttrs(const std::vector<Operand>& operands, AttrList given) const override {
    return op_.InferAttrs(operands, std::move(given));
  }
  std::vector<Tensor> MakeInputs(const Problem& problem) const override { return op_.MakeInputs(problem); }
  Status CheckInputs(const Problem& problem, std::span<const Tensor> inputs) const override {
    return op_.CheckInputs(problem, inputs);
  }
  OperatorTraits traits() const override { return op_.traits(); }
  ProblemTraits TraitsOf(const Problem& /*problem*/, size_t /*output*/) const override { return {.sums = false}; }
  std::string FormulaDigest(const Problem& problem, size_t output) const override {
    return op_.FormulaDigest(problem, output);
  }
  std::string WhyUnbounded(const Contract& contract) const override { return op_.WhyUnbounded(contract); }

  Golden ComputeGolden(const Problem& problem, size_t output, std::span<const Tensor> inputs,
                       Tier tier) const override {
    if (IsEmpty(problem.outputs[output])) {
      Golden golden;
      golden.shape = problem.outputs[output].shape, golden.tier = tier, golden.exact = true;
      return golden;
    }
    const auto neutral = op_.WithNeutralTerms(problem);
    if (!neutral) return op_.ComputeGolden(problem, output, inputs, tier);
    return op_.ComputeGolden(neutral->problem, output, InputsOf(*neutral, problem, inputs), tier);
  }

  BoundModel Bound(const Problem& problem, size_t output, const Golden& golden,
                   const Contract& contract) const override {
    if (IsEmpty(problem.outputs[output])) return {.exact = true};
    const auto neutral = op_.WithNeutralTerms(problem);
    return op_.Bound(neutral ? neutral->problem : problem, output, golden, contract);
  }

  std::optional<Twin> MakeTwin(const Problem&, size_t, const Contract&, int) const override { return std::nullopt; }
  int TwinVariants(const Problem&, size_t, const Contract&) const override { return 0; }
  std::vector<Mutant> OmittedTerms(const Problem&, size_t, std::span<const Tensor>, std::span<const double>,
                                   std::span<const int64_t>) const override {
    return {};
  }

 private:
  static std::vector<Tensor> InputsOf(const NeutralTerms& neutral, const Problem& problem,
                                      std::span<const Tensor> inputs) {
    std::vector<Tensor> tensors;
    for (const Operand& operand : neutral.problem.inputs) {
      const auto own = std::ranges::find(problem.inputs, operand.name, &Operand::name);
      if (own != problem.inputs.end() && own->shape == operand.shape) {
        tensors.push_back(inputs[static_cast<size_t>(own - problem.inputs.begin())].Clone());
        continue;
      }
      Tensor& tensor = tensors.emplace_back(operand.dtype, operand.shape);
      tensor.SetDoubles(std::vector<double>(static_cast<size_t>(tensor.size()), neutral.value));
    }
    return tensors;
  }

  const Operator& op_;
};

}  // namespace

bool HasEmptyOperand(const Problem& problem) {
  return std::ranges::any_of(problem.inputs, IsEmpty) || std::ranges::any_of(problem.outputs, IsEmpty);
}

const Operator& OperatorFor(const Operator& op, const Problem& problem) {
  if (!HasEmptyOperand(problem)) return op;
  static std::mutex mutex;
  static std::map<const Operator*, OnEmptyOperands> all;
  const std::lock_guard lock(mutex);
  return all.try_emplace(&op, op).first->second;
}

}  // namespace assay
