// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/corpus/formula_plan.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "harness/core/model/contract.h"
#include "tests/faults/corpus/dense.h"
#include "tests/support/formula/simulate.h"

namespace corpus {
namespace {

using assay::formula::Graph;
using assay::formula::OutputInfo;

// Plugins name types of eight bits as DLPack does.
assay::DType TypeOf(plugin::DType type) {
  for (int i = 0; i < assay::kDTypeCount; ++i) {
    const auto candidate = static_cast<assay::DType>(i);
    const assay::DTypeInfo& info = assay::Info(candidate);
    if (info.dlpack_code == type.code && info.dlpack_bits == type.bits) return candidate;
  }
  throw plugin::Unsupported("there is no formula of {}", plugin::Name(type));
}

std::vector<assay::DType> InputTypes(Description description) {
  std::vector<assay::DType> types;
  for (const plugin::Tensor& input : description.inputs()) {
    types.push_back(TypeOf(input.dtype));
  }
  return types;
}

// Type at whose limits the formula saturates: that of the result. A saturating operator has double results only in an
// effect, where an attribute names the type.
assay::DType ResultType(const assay::FormulaOperator& op, Description description) {
  const assay::DType type = TypeOf(description.outputs()[0].dtype);
  const bool is_effect = op.Saturates() && type == assay::DType::kF64;
  return is_effect ? assay::ParseDType(description.AttrString("result_dtype")).value() : type;
}

assay::ResolvedAttr AttrOf(const assay::AttrDef& def, Description description) {
  assay::ResolvedAttr attr{.key = def.key, .type = def.type, .s = {}, .list = {}};
  if (def.type == assay::AttrType::kInt) attr.i = description.AttrInt(def.key);
  if (def.type == assay::AttrType::kFloat) attr.f = description.AttrFloat(def.key);
  if (def.type == assay::AttrType::kName) attr.s = description.AttrString(def.key);
  return attr;
}

// Each element is the one before it.
template <class T>
void Rotate(std::vector<T>& values) {
  if (!values.empty()) std::rotate(values.begin(), values.end() - 1, values.end());
}

Graph WithFault(Graph graph, const FormulaFault& fault) {
  if (fault.constant >= 0) graph.nodes[static_cast<size_t>(fault.constant)].constant *= fault.factor;
  if (fault.shifted_index >= 0) Rotate(graph.nodes[static_cast<size_t>(fault.shifted_index)].index);
  return graph;
}

// To integers of up to 32 bits, which wrap: nothing but what the formula says cuts them off.
void RoundToIntegers(plugin::DType type, std::vector<long double>& values) {
  const auto wrapped = [type](int64_t x) -> int64_t {
    if (type == plugin::kI8) return static_cast<int8_t>(x);
    if (type == plugin::kU8) return static_cast<uint8_t>(x);
    return type == plugin::kI16 ? static_cast<int16_t>(x) : static_cast<int32_t>(x);
  };
  for (long double& x : values) x = static_cast<long double>(wrapped(std::isfinite(x) ? std::llrint(x) : 0));
}

bool IsOfIntegers(Description description) {
  return plugin::IsInteger(description.inputs()[0].dtype) && plugin::IsInteger(description.outputs()[0].dtype);
}

// Decodes what a plan reads, and encodes what it computes: all operands are read before anything is written, so that an
// output may lie in an operand's place.
class FormulaPlan : public plugin::HostPlan {
 public:
  FormulaPlan(const assay::FormulaOperator& op, Description description, assay::Algorithm schedule)
      : definition_(DefinitionFor(op, description, schedule)), description_(description) {
    for (const plugin::Tensor& input : description_.inputs()) input_offsets_.push_back(ElementOffsets(input));
    for (const plugin::Tensor& output : description_.outputs()) output_offsets_.push_back(ElementOffsets(output));
  }

 protected:
  using Elements = std::vector<std::vector<double>>;
  // Computes one output without rounding it to its type.
  virtual std::vector<long double> Compute(size_t output, const Elements& inputs) = 0;
  virtual bool LeavesLast() const { return false; }

  const Graph& graph() const { return definition_.graph(); }
  Description description() const { return description_; }

 private:
  void Run(Pointers inputs, Pointers outputs) final {
    Elements elements;
    for (size_t i = 0; i < inputs.size(); ++i) {
      elements.push_back(Decode<double>(description_.inputs()[i], input_offsets_[i], inputs[i]));
    }
    std::vector<DenseOutput<long double>> results(outputs.size());
    for (size_t k = 0; k < outputs.size(); ++k) {
      results[k].values = Compute(k, elements);
      const plugin::DType type = description_.outputs()[k].dtype;
      const bool is_wide = type == plugin::kI16 || type == plugin::kI32;
      if (type == plugin::kI8 || type == plugin::kU8 || (is_wide && IsQuotientResult(graph()))) {
        RoundToIntegers(type, results[k].values);
      }
      if (LeavesLast()) results[k].LeaveUnwritten(std::ssize(results[k].values) - 1);
    }
    for (size_t k = 0; k < outputs.size(); ++k) {
      Encode(description_.outputs()[k], output_offsets_[k], results[k], outputs[k]);
    }
  }

  assay::formula::Definition definition_;
  const plugin::OpDesc description_;
  std::vector<std::vector<int64_t>> input_offsets_, output_offsets_;
};

template <class T>
class FaultyPlan final : public FormulaPlan {
 public:
  FaultyPlan(const assay::FormulaOperator& op, Description description, const FormulaFault& fault,
             assay::Algorithm schedule = assay::Algorithm::kDirect)
      : FormulaPlan(op, description, schedule), fault_(fault) {}

 private:
  bool LeavesLast() const override { return fault_.leaves_last; }

  std::vector<long double> Compute(size_t output, const Elements& inputs) override {
    Elements seen = inputs;
    if (fault_.shifted_input >= 0) Rotate(seen[static_cast<size_t>(fault_.shifted_input)]);
    std::vector<long double> faulty = Evaluate(output, seen, WithFault(graph(), fault_), fault_.bug);
    if (fault_.where == Where::kEverywhere) return faulty;
    const std::vector<long double> right = Evaluate(output, inputs, graph(), {});
    const std::vector<int64_t>& shape = description().outputs()[output].shape;
    const auto struck = static_cast<int64_t>(faulty.size()) / (shape.empty() ? 1 : shape[0]);
    std::copy(right.begin(), right.end() - struck, faulty.begin());
    return faulty;
  }

  static std::vector<long double> Evaluate(size_t output, const Elements& inputs, const Graph& graph, const Bug& bug) {
    FormulaKernel<T> kernel(graph, bug);
    std::vector<long double> values;
    for (const T value : assay::test::Interpret(graph, graph.outputs[output], inputs, kernel)) values.push_back(value);
    return values;
  }

  const FormulaFault fault_;
};

class LegalPlan final : public FormulaPlan {
 public:
  LegalPlan(const assay::FormulaOperator& op, Description description, assay::Algorithm schedule, uint64_t seed)
      : FormulaPlan(op, description, schedule),
        contract_(assay::ParseDeclaration(ScheduleContract(description)).value()),
        seed_(seed) {}

 private:
  std::vector<long double> Compute(size_t output, const Elements& inputs) override {
    const std::vector<double> values =
        assay::test::Simulate(graph(), graph().outputs[output], inputs, InputTypes(description()), contract_, seed_);
    return {values.begin(), values.end()};
  }

  const assay::Contract contract_;
  const uint64_t seed_;
};

}  // namespace

bool IsQuotientResult(const Graph& graph) {
  const assay::formula::Node& result = graph.nodes[static_cast<size_t>(graph.outputs[0].node)];
  return result.kind == assay::formula::Kind::kMap && result.function == assay::formula::Function::kFloorDivide;
}

assay::formula::Definition DefinitionFor(const assay::FormulaOperator& op, Description description,
                                         assay::Algorithm schedule) {
  assay::Problem problem;
  problem.spec.op = description.name();
  problem.spec.dtypes = InputTypes(description);
  problem.spec.dtypes.push_back(ResultType(op, description));
  for (const assay::AttrDef& def : op.schema().attrs) problem.attrs.push_back(AttrOf(def, description));
  return op.WholeDefinitionOf(problem, schedule);
}

std::string FormulaContract(Description description) {
  return ScheduleContract(description) + ";batchinv=yes";
}

std::string ScheduleContract(Description description) {
  const auto* op =
      dynamic_cast<const assay::FormulaOperator*>(assay::OperatorRegistry::Global().Find(description.name()));
  const bool divides_faithfully = op != nullptr && op->Saturates();
  if (divides_faithfully) return "f32acc;math=1;det=yes";
  if (description.name() == "floor_divide") return "acc=i32;det=yes";
  return HasDoubleInputs(description) ? "f64;math=2;det=yes" : "f32acc;math=2;det=yes";
}

std::unique_ptr<plugin::Plan> MakeFaultyFormula(const assay::FormulaOperator& op, Description description,
                                                const FormulaFault& fault, bool exact) {
  const bool wide = HasDoubleInputs(description) || (IsOfIntegers(description) && op.schema().op == "floor_divide");
  const auto make = [&]<class T>(std::type_identity<T>) -> std::unique_ptr<plugin::Plan> {
    return std::make_unique<FaultyPlan<T>>(op, description, fault);
  };
  if (exact) return wide ? make(std::type_identity<long double>{}) : make(std::type_identity<double>{});
  return wide ? make(std::type_identity<double>{}) : make(std::type_identity<float>{});
}

std::unique_ptr<plugin::Plan> MakeLegalFormula(const assay::FormulaOperator& op, Description description,
                                               assay::Algorithm schedule, uint64_t seed) {
  return std::make_unique<LegalPlan>(op, description, schedule, seed);
}

std::unique_ptr<plugin::Plan> MakePlainFormula(const assay::FormulaOperator& op, Description description,
                                               assay::Algorithm schedule) {
  const FormulaFault none;
  if (HasDoubleInputs(description)) return std::make_unique<FaultyPlan<double>>(op, description, none, schedule);
  return std::make_unique<FaultyPlan<float>>(op, description, none, schedule);
}

}  // namespace corpus
