// SPDX-License-Identifier: Apache-2.0
// The corpus: every entry.
#include "ops/formula_operator/formula_operator.h"
#include "tests/faults/corpus/entry.h"
#include "tests/faults/corpus/later/entries.h"

namespace corpus {

std::vector<Entry> EntriesOf(std::string_view op) {
  static const std::vector<Entry> others =
      Joined({MatmulLegalEntries(),  MatmulUnitEntries(),     MatmulTermFaults(),    MatmulPrecisionFaults(),
              MatmulMemoryFaults(),  MatmulEpilogueFaults(),  ReduceLegalEntries(),  ReduceTermFaults(),
              ReduceOtherFaults(),   AttentionLegalEntries(), AttentionMaskFaults(), AttentionNumericalFaults(),
              SoftmaxLegalEntries(), SoftmaxFaults(),         ConvLegalEntries(),    ConvWinogradEntries(),
              ConvTermFaults(),      ConvOtherFaults(),       FftLegalEntries(),     FftFaults(),
              HeldEntries(),         FreshEntries(),          LaterEntries()});
  return Joined({FormulaEntries(op), Chosen(others, op)});
}

// Formulas read all operands before they write; the other operators have no output in place that is asked for.
bool TakesAliases(const plugin::OpDesc& op) {
  const assay::Operator* known = assay::OperatorRegistry::Global().Find(op.name());
  return dynamic_cast<const assay::FormulaOperator*>(known) != nullptr;
}

std::string WhyNotAtAll(const plugin::OpDesc&) {
  return "";
}

}  // namespace corpus
