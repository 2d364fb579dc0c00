// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdlib>

#include "harness/tools/explain/case_change.h"
#include "harness/tools/explain/table_change.h"

namespace assay {
namespace {

bool HasSquareEnd(const Shape& shape) {
  return shape.size() >= 2 && shape.back() > 1 && shape.back() == shape[shape.size() - 2];
}

// "last 3 elements along axis 1", where a term stands.
std::string TermsText(const CaseChange& change) {
  return fmt::format("{} {}{} along {}", change.by > 0 ? "last" : "first", std::abs(change.by),
                     std::abs(change.by) == 1 ? " element" : " elements",
                     change.alone ? fmt::format("axis {}", change.axis) : fmt::format("axes {} and on", change.axis));
}

std::string AxisText(size_t axis) {
  return axis == kAllAxes ? "all elements" : fmt::format("axis {}", axis);
}

}  // namespace

std::string DescribeChange(const Problem& problem, const CaseChange& change) {
  if (change.formula) return "the formula with " + change.formula->text;
  if (change.stages) return DescribeStageMistake(*change.stages);
  using enum OutputChange::Kind;
  if (change.output && (change.output->kind == kOperand || change.output->kind == kOperandForNan)) {
    return fmt::format("the operand {} in place of {}the output {}", problem.inputs[change.output->input].name,
                       change.output->kind == kOperand ? "" : "NaN in ", problem.outputs[change.output->output].name);
  }
  if (change.output) return DescribeOutputChange(problem.outputs[change.output->output].name, *change.output);
  const std::string& name = problem.inputs[change.input].name;
  switch (change.kind) {
    case OperandChange::kZeros:
      return fmt::format("the operand {} all 0", name);
    case OperandChange::kOnes:
      return fmt::format("the operand {} all 1", name);
    case OperandChange::kNegated:
      return fmt::format("the operand {} negated", name);
    case OperandChange::kTurned:
      return fmt::format("the operand {} reversed along its last two axes", name);
    case OperandChange::kTransposed:
      if (change.axis + 2 < problem.inputs[change.input].shape.size())
        return fmt::format("the operand {} read as if {}", name, LayoutText(change.axis, change.by));
      return HasSquareEnd(problem.inputs[change.input].shape)
                 ? fmt::format("the last two axes of operand {} exchanged", name)
                 : fmt::format("the operand {} read as if its transpose lay there", name);
    case OperandChange::kHalved:
      return fmt::format("the operand {} halved", name);
    case OperandChange::kFirst:
      return fmt::format("the first slice along axis {} of operand {} in place of all", change.axis, name);
    case OperandChange::kBitReversed:
      return fmt::format("the operand {} in bit-reversed order along axis {}", name, change.axis);
    case OperandChange::kConjugated:
      return fmt::format("the operand {} conjugated", name);
    case OperandChange::kPartsExchanged:
      return fmt::format("the operand {} with real and imaginary parts exchanged", name);
    case OperandChange::kInt8:
      return fmt::format("the operand {} in int8 with one scale {}", name,
                         change.axis == kAllAxes ? "for all" : fmt::format("along axis {}", change.axis));
    case OperandChange::kE4M3:
      return fmt::format("the operand {} in e4m3", name);
    case OperandChange::kLow32:
      return fmt::format("the operand {} cut to 32 bits", name);
    case OperandChange::kE5M2:
      return fmt::format("the operand {} in e5m2", name);
    case OperandChange::kDoubled:
      return fmt::format("the operand {} doubled", name);
    case OperandChange::kNeighbours:
      return fmt::format("the operand {} with neighbours along axis {} exchanged", name, change.axis);
    case OperandChange::kInterleaved:
      return fmt::format("the operand {} with halves along axis {} that lie in turn", name, change.axis);
    case OperandChange::kSplit:
      return fmt::format("the operand {} with neighbours along axis {} that lie half of it apart", name, change.axis);
    case OperandChange::kExponential:
      return fmt::format("the exponential of operand {} in place of it", name);
    case OperandChange::kLogarithm:
      return fmt::format("the logarithm of operand {} in place of it", name);
    case OperandChange::kComplement:
      return fmt::format("1 - {} in place of the operand {}", name, name);
    case OperandChange::kLaterPositions:
      return fmt::format("the operands {} and {} of positions that begin at {} in place of 0", name,
                         problem.inputs[change.other].name, change.by);
    case OperandChange::kOtherBase:
      return fmt::format("the operands {} and {} of base {}", name, problem.inputs[change.other].name, change.by);
    case OperandChange::kNarrowPositions:
      return fmt::format("the operands {} and {} of positions in bf16", name, problem.inputs[change.other].name);
    case OperandChange::kOtherPairs:
      return fmt::format("the operands {} and {} with {} in place of pair i", name, problem.inputs[change.other].name,
                         DescribePairs(change.by));
    case OperandChange::kTablesShifted:
      return fmt::format("the operands {} and {} shifted by {} along axis {}, round the end", name,
                         problem.inputs[change.other].name, -change.by, change.axis);
    case OperandChange::kPaddedOneSide:
      return fmt::format("the operand {} with one zero more {} images along {}, and one less {} them", name,
                         change.by > 0 ? "before" : "behind",
                         change.axis == kAllAxes ? "all axes" : AxisText(change.axis),
                         change.by > 0 ? "behind" : "before");
    case OperandChange::kHann:
    case OperandChange::kHamming:
      return fmt::format("the operand {} as {} {} window", name, change.by == 0 ? "a periodic" : "a symmetric",
                         change.kind == OperandChange::kHann ? "Hann" : "Hamming");
    case OperandChange::kPaddedByEdge:
      return fmt::format("the operand {} padded by its edges", name);
    case OperandChange::kPaddedByMirror:
      return fmt::format("the operand {} padded by its mirror image", name);
    case OperandChange::kPaddedRound:
      return fmt::format("the operand {} padded by its other end", name);
    case OperandChange::kSeesOneMore:
      return "a causal mask that shows one key more";
    case OperandChange::kSeesOneLess:
      return "a causal mask that shows one key less";
    case OperandChange::kWithout:
      return fmt::format("the operand {} without its {}", name, TermsText(change));
    case OperandChange::kTwice:
      return fmt::format("the operand {} with its {} twice", name, TermsText(change));
    case OperandChange::kReversed:
      return fmt::format("the operand {} reversed along axis {}", name, change.axis);
    case OperandChange::kShifted:
      if (change.axis != kAllAxes && 2 * change.by == problem.inputs[change.input].shape[change.axis]) {
        return fmt::format("the operand {} with its halves along axis {} exchanged", name, change.axis);
      }
      return fmt::format("the operand {} shifted by {} along {}, round the end", name, -change.by,
                         AxisText(change.axis));
    case OperandChange::kExchanged:
      return fmt::format("the operands {} and {} exchanged", name, problem.inputs[change.other].name);
  }
  return "";
}

}  // namespace assay
