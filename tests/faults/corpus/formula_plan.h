// SPDX-License-Identifier: Apache-2.0
// Operators that are formulas, as the corpus runs them: the graph of a description, and plans that evaluate it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ops/formula_operator/formula_operator.h"
#include "tests/faults/corpus/entry.h"
#include "tests/faults/corpus/formula_kernel.h"

namespace corpus {

// The formula of a description in a schedule. All attributes are read, so that none counts as unknown.
assay::formula::Definition DefinitionFor(const assay::FormulaOperator& op, Description description,
                                         assay::Algorithm schedule = assay::Algorithm::kDirect);

// Whether the result is a quotient of integers, rounded down: the only formula of integers that never wraps around, but
// for the smallest of them by -1.
bool IsQuotientResult(const assay::formula::Graph& graph);

// Where a bug strikes.
enum class Where : uint8_t { kEverywhere, kLastSlice };  // the last index of the first axis of each output

// A fault at named places of a formula's graph. It strikes nothing if the graph has no such place.
struct FormulaFault {
  Bug bug;
  Where where = Where::kEverywhere;
  int constant = -1;         // node
  double factor = 1;         // of that constant
  int shifted_input = -1;    // each element is the one before it, cyclically
  int shifted_index = -1;    // a node whose index map is off by one
  bool leaves_last = false;  // the last element of each output is not written
};

// A plain kernel in f32 (f64 for f64 operands), or in exact arithmetic, with that fault.
std::unique_ptr<plugin::Plan> MakeFaultyFormula(const assay::FormulaOperator& op, Description description,
                                                const FormulaFault& fault, bool exact);
// A correct implementation of a schedule with habits that follow from the seed (tests/support/formula/simulate.h).
std::unique_ptr<plugin::Plan> MakeLegalFormula(const assay::FormulaOperator& op, Description description,
                                               assay::Algorithm schedule, uint64_t seed);
// A plain kernel in f32 (f64 for f64 operands) of a schedule.
std::unique_ptr<plugin::Plan> MakePlainFormula(const assay::FormulaOperator& op, Description description,
                                               assay::Algorithm schedule);

std::string FormulaContract(Description description);  // of plain kernels
// The errors of their functions and the orders of their sums differ from element to element.
std::string ScheduleContract(Description description);

}  // namespace corpus
