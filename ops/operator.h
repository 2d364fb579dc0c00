// SPDX-License-Identifier: Apache-2.0
// Interface of an operator. The files ops/<op>*.cc of an operator implement this and register it; nothing else in the
// tree lists operators.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "golden/bound/bound.h"
#include "golden/golden.h"
#include "harness/core/base/result.h"
#include "harness/core/data/tensor.h"
#include "harness/core/model/case_spec.h"
#include "harness/core/model/contract.h"

namespace assay {

struct Operand {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
  uint32_t alias = 0;  // of an output: 0 has memory of its own; k > 0 is in place, in that of input k - 1
};

uint64_t BytesOf(const Operand& operand);  // of its elements, one after the other

// A typed attribute as it goes to a backend (assay_attr).
struct ResolvedAttr {
  std::string key;
  AttrType type = AttrType::kInt;
  int64_t i = 0;
  double f = 0;
  std::string s;
  std::vector<int64_t> list;
};

// A case bound to concrete operands: everything a backend may know, plus the work it stands for. It carries all
// outputs; functions that judge take the index of one.
struct Problem {
  CaseSpec spec;
  std::vector<Operand> inputs, outputs;
  std::vector<ResolvedAttr> attrs;  // all of the schema's, defaults resolved, declared order
  double flops = 0;                 // per execution
  double bytes = 0;                 // compulsory traffic: inputs read once, outputs written once

  int64_t Int(std::string_view key) const;
  double Float(std::string_view key) const;
  const std::string& Text(std::string_view key) const;
  const std::vector<int64_t>& List(std::string_view key) const;
};

// Whether input `index` lies where an output is written.
bool IsOverwritten(const Problem& problem, size_t index);

// Integer data on which every legal order of the contract gives the same bits (harness/judge/README.md#exact-twin).
struct Twin {
  std::vector<Tensor> inputs;
  std::vector<double> expected;
  // Zero: bit for bit. Otherwise the result may be off by this many ulp of the output (a division or square root
  // at the end, of the contract's math accuracy).
  double tolerance_ulp = 0;
  std::vector<double> tolerances = {};  // the same per element; empty: tolerance_ulp for all of them
  // How large the root mean square of all errors may be, each over its own tolerance; 0: the tolerances are all.
  double rms = 0;
  bool sparse = false;  // most inputs are zero, so that it does not show whether all of them are read
  double ToleranceAt(int64_t i) const { return tolerances.empty() ? tolerance_ulp : tolerances[i]; }
  // Whether `expected` took about as much work as the case's own golden value: better kept than made again.
  bool costly = false;
  std::string code;  // how to read a wrong result; "" where terms_of does
  // The terms that add exactly `part` to an output. Empty function: the data do not tell terms apart.
  std::function<std::vector<int64_t>(int64_t output, double part)> terms_of = {};
  int64_t terms = 0;  // of one output: terms_of gives 0 .. terms - 1
};

// One faulty result: what element `index` of an output would be (harness/judge/README.md#inconclusive).
struct Mutant {
  int64_t index = 0;
  double value = 0;
  int64_t term = 0;  // which term is missing: pairs the mutants of a case with those of its twin
  // Names the fault, where case and twin may show it at different outputs or not at all; -1: `index` and `term` do.
  int64_t key = -1;
};

// Simulated outputs with intermediates kept in a narrower format, in the usual orders of work. They reveal how an
// implementation computes (harness/judge/hypotheses/weaker_arithmetic.h).
class NarrowedOrders {
 public:
  struct Outputs {
    std::vector<double> value;  // before the output's own rounding
    std::vector<double> step;   // the most that one intermediate changes which rounds to the other side
    int64_t roundings = 0;      // intermediates that are rounded
  };
  virtual ~NarrowedOrders() = default;
  virtual const std::vector<std::string>& texts() const = 0;  // "probabilities, 64 keys at a time"
  virtual int64_t rows() const = 0;                           // equal parts of the output, in its order
  // One row under each of these orders; empty where its intermediates are not finite.
  virtual std::vector<Outputs> Row(int64_t row, std::span<const size_t> orders) const = 0;
};

// Form of an operator that adds terms, each a product of elements of its first operands, and rounds only the output: y
// = alpha sum + beta c + bias. c is the operand behind the factors, bias the last one.
struct SumForm {
  size_t factors = 1;  // of a term; 1: the terms are the operand's elements
  double alpha = 1, beta = 0;
  bool bias = false;
};

// The products that a sum adds, for finding out in which order an implementation does.
class SumProducts {
 public:
  virtual ~SumProducts() = default;
  virtual int64_t terms() const = 0;                                        // of one output
  virtual void Read(int64_t output, std::span<double> products) const = 0;  // of terms() elements
};

// A problem as other test systems see it, whose rules differ by operator (harness/tools/power/peers.h).
struct PeerForm {
  enum class Kind : uint8_t { kNone, kProduct, kConvolution, kReduction, kSoftmax, kLogSoftmax, kAttention };
  Kind kind = Kind::kNone;
  std::string_view reduction = {};  // "sum"; "" of what is none
  int64_t terms = 0;                // of each sum, without a bias; the keys of an attention
  bool bias = false;
  bool plain = true;  // nothing that only some of them have: scaling and an addend; a soft cap and a window
};

// Bytes of the host's memory at the peak for each component of an output, whatever its size: of golden values, bounds,
// twins and what computes them. Measured.
struct OutputMemory {
  double run = 172;       // of results that are right
  double judgement = 46;  // alone, also of those that are not
};

struct Relation;   // ops/relation.h
struct CaseSpace;  // ops/case_space.h

// Slices along one axis of some inputs that become the same slices of the output, wherever they are: the data of a case
// in another order, and what its output then is.
struct SliceAxes {
  // Axis of each input, -1 where it has none. An axis may be a multiple of the extent: neighbours then go together, as
  // the query heads of one key head.
  std::vector<int64_t> inputs;
  int64_t output = 0;  // -1: of sums over all the slices, which stay within their bound
  int64_t extent = 1;
  bool alone = true;  // a slice of the output needs the same slices of the inputs alone, and not the whole axis
};

// Numbers on the way to an output that all elements of a slice use, such as the mean square of a row. What they lose
// where a kernel stores them in a narrower type is an error of the whole slice.
struct SharedSteps {
  std::vector<std::vector<double>> values;  // of each such number, one for each slice
  // Outputs of kernels that store more than that in this type: constants, weights, all steps. The first one stores no
  // number of a slice.
  std::vector<std::vector<double>> with_stored_steps;
};

// Facts of one output of a problem that the harness asks for, as plain data.
struct ProblemTraits {
  // How many of the counted operations a direct implementation does at least: those whose results nobody can do
  // without, not those on padding or behind masks. 0: not known, so that no compute ceiling shows a time to be false.
  double fewest_flops = 0;
  // The largest |sum| that the integer operands of this case can make, whatever its data; 0: it sums no integers.
  double largest_integer_sum = 0;
  // Fields of a contract that this case asks for beside what its suite requires, as "mid=none;nan=propagate"; "": none.
  // For slack that no correct implementation needs, and for policies that an attribute states and the case's data puts
  // to the test. `assay list cases --verbose` and plan.json print them.
  std::string required_fields = {};
  // Operands before this one are factors of the terms, whose roundings are those of the unit that multiplies; addends
  // and masks are none.
  size_t factors = std::numeric_limits<size_t>::max();
  // How many equal and contiguous slices of the output have numbers on the way that all elements of a slice use; 0:
  // none.
  int64_t sharing_slices = 0;
  bool sums = true;                           // results have terms that are added, for what is advised
  bool selects = false;                       // results are elements of the input, or their places: nothing is rounded
  std::optional<SumForm> sum = std::nullopt;  // nullopt: results are other than SumForm says
  PeerForm peer = {};                         // by default, other test systems have no such operator
};

// Facts that hold for all cases of an operator.
struct OperatorTraits {
  std::vector<Algorithm> algorithms = {Algorithm::kDirect};  // that a contract may name: those that it has a bound for
  OutputMemory memory = {};                                  // for harness/engine/cases/memory_need.h
  // Fields of the contract by which results are judged when their owner states none, beside those of usual
  // implementations, as "masked=nan".
  std::string default_fields = {};
};

// From a case's text to its operands.
class OperatorBinding {
 public:
  virtual ~OperatorBinding() = default;
  virtual const OpSchema& schema() const = 0;

  // Checks shapes and dtypes against each other. Errors name the attribute and what would be possible.
  virtual Result<Problem> Bind(const CaseSpec& spec) const = 0;

  // The attributes of a problem with tensors of these shapes: `given`, and what follows from the shapes of the inputs
  // (for tensors that a user brings). Leaves contradictions to Bind. The output may be among the operands: it decides
  // nothing, but shows where the inputs are ambiguous. Preconditions: the inputs named in OpSchema::operands are there.
  // Errors name what does not follow from the shapes; by default every required attribute.
  virtual Result<AttrList> InferAttrs(const std::vector<Operand>& operands, AttrList given) const;

  // Inputs for the case's fill and seed, rounded to the storage types.
  virtual std::vector<Tensor> MakeInputs(const Problem& problem) const = 0;
  // Rejects invalid inputs of a user, such as a place beyond its axis. Inputs of MakeInputs never fail.
  virtual Status CheckInputs(const Problem&, std::span<const Tensor> /*inputs*/) const { return {}; }

  // How cases of this operator differ from each other, for suites that combine these ways (`cover` lines). Default:
  // nothing is declared.
  virtual CaseSpace Space() const;
  // Few small cases with every list of types and every choice, for suites that have a line for operators that they do
  // not name (`others`). Default: none.
  virtual std::vector<CaseSpec> FewCases() const { return {}; }
};

// Right results, how far off they may be, and the data and faults that show it: of one output, whose index in
// Problem::outputs is the argument behind the problem.
class OperatorNumerics {
 public:
  virtual ~OperatorNumerics() = default;
  virtual Golden ComputeGolden(const Problem& problem, size_t output, std::span<const Tensor> inputs,
                               Tier tier) const = 0;

  // Digest of a formula that its author changes without a version. Stored golden values of another digest are not used.
  // Default: "", for code whose version is kGoldenVersion.
  virtual std::string FormulaDigest(const Problem&, size_t /*output*/) const { return {}; }

  // A problem with terms whose result is that of one without any, where all elements of the operands that differ are
  // `value`: a sum of nothing is one of zeros.
  struct NeutralTerms {
    Problem problem;
    double value = 0;
  };
  // Precondition: an operand has no elements, but some output has. nullopt: the operator computes without terms itself.
  virtual std::optional<NeutralTerms> WithNeutralTerms(const Problem&) const { return std::nullopt; }

  // The contract's hard bound for this golden; refers to its planes, which must outlive the result.
  virtual BoundModel Bound(const Problem& problem, size_t output, const Golden& golden,
                           const Contract& contract) const = 0;
  // Explains why parameters of an allowed algorithm have no bound ("tiles of 6x6; there are ..."); "" if they have one.
  // Default: "".
  virtual std::string WhyUnbounded(const Contract&) const { return ""; }

  // Twins for a contract: variants 0 .. TwinVariants - 1 carry different digits of the code, or test different terms.
  // nullopt: none exists for it.
  virtual std::optional<Twin> MakeTwin(const Problem& problem, size_t output, const Contract& contract,
                                       int variant) const = 0;
  virtual int TwinVariants(const Problem&, size_t /*output*/, const Contract&) const { return 2; }

  // The results of omitting one term (first, last, 14 random ones) at each of the given elements; operators that
  // select instead of sum give their own mutants. Works on case inputs and on twin inputs alike; `values` are the
  // fault-free results for those inputs.
  virtual std::vector<Mutant> OmittedTerms(const Problem& problem, size_t output, std::span<const Tensor> inputs,
                                           std::span<const double> values, std::span<const int64_t> elements) const = 0;

  // nullptr: the operator does not show them, or more than their sum goes into an output. `inputs` outlive it.
  virtual std::unique_ptr<SumProducts> Products(const Problem& problem, size_t output,
                                                std::span<const Tensor> inputs) const;
  // The terms of each plain sum that kernels of this contract form on the way to an output element, which show whether
  // data steer its roundings; no terms: the sum is too large to list. Default: the products above, or none.
  virtual std::vector<std::vector<double>> SummedTerms(const Problem& problem, size_t output,
                                                       std::span<const Tensor> inputs, const Contract& contract,
                                                       int64_t element) const;
  // Precondition: ProblemTraits::sharing_slices. `format`: of what is stored.
  virtual SharedSteps StepsOfSlices(const Problem&, size_t /*output*/, const Golden&,
                                    const FloatFormat& /*format*/) const {
    return {};
  }
  // How far each result may be off to the same side in all slices: what operations, constants and weights cost,
  // and sums that lose a share `sum_lean` of their terms. Empty: unknown. Precondition: ProblemTraits::sharing_slices.
  virtual std::vector<double> LeanOfSlices(const Problem&, size_t /*output*/, const Golden&, const Contract&,
                                           double /*sum_lean*/) const {
    return {};
  }
  // The orders in which this operator is computed with intermediates in `format`. `inputs` outlive it. Default: none.
  virtual std::unique_ptr<NarrowedOrders> Narrowed(const Problem& problem, size_t output,
                                                   std::span<const Tensor> inputs, const FloatFormat& format) const;
  // Maps equally correct outputs to the golden one (argmax with tie=any). Default: nothing.
  virtual void Canonicalise(const Problem&, size_t /*output*/, std::span<const Tensor> /*inputs*/,
                            Tensor& /*got*/) const {}
};

class Operator : public OperatorBinding, public OperatorNumerics {
 public:
  virtual OperatorTraits traits() const { return {}; }
  // Refers to the problem.
  virtual ProblemTraits TraitsOf(const Problem& problem, size_t /*output*/) const {
    return {.fewest_flops = problem.flops};
  }

  // Relations between an execution of this problem and another one that must or may hold
  // (harness/judge/README.md#metamorphic-relations), the most useful for their time first. Default: none.
  virtual std::vector<Relation> Relations(const Problem& problem, size_t output) const;
  // The axes along which slices may change places. Only the bits of elements whose slices moved may differ then, and
  // these within the bound; along axes of the output first. Default: none.
  virtual std::vector<SliceAxes> Slices(const Problem& problem, size_t output) const;
  // The inputs whose common factor, a power of two, is one of every output. Default: none.
  virtual std::vector<int> ScaledInputs(const Problem& problem) const;
};

// An error where nothing bounds results of this contract: an algorithm that the operator has not, or has in other
// sizes, or sums in integers of operands that are floats.
Status CheckDeclared(const Operator& op, const std::vector<DType>& dtypes, const Contract& contract);

class OperatorRegistry {
 public:
  static OperatorRegistry& Global();
  void Add(std::unique_ptr<Operator> op);
  // An operator that could not be registered because its definition is wrong; the text names it.
  struct Mistake {
    std::string op, text;
  };
  void AddMistake(Mistake mistake) { mistakes_.push_back(std::move(mistake)); }
  const std::vector<Mistake>& mistakes() const { return mistakes_; }
  const Operator* Find(std::string_view name) const;  // nullptr when unknown
  std::vector<const Operator*> All() const;           // by name

 private:
  std::vector<std::unique_ptr<Operator>> ops_;
  std::vector<Mistake> mistakes_;
};

template <class Op>
struct RegisterOperator {
  RegisterOperator() { OperatorRegistry::Global().Add(std::make_unique<Op>()); }
};

}  // namespace assay
