// SPDX-License-Identifier: Apache-2.0
// The control of `assay conform`: the files of the corpus that have its kernels, compiled for f32 and c64 alone.
#include <algorithm>

#include "tests/faults/corpus/entry.h"

namespace corpus {

std::vector<Entry> EntriesOf(std::string_view op) {
  static const std::vector<Entry> all = Joined(
      {MatmulLegalEntries(), MatmulTermFaults(), MatmulPrecisionFaults(), MatmulMemoryFaults(), MatmulEpilogueFaults(),
       ReduceLegalEntries(), ReduceTermFaults(), ReduceOtherFaults(), AttentionLegalEntries(), AttentionMaskFaults(),
       AttentionNumericalFaults(), SoftmaxLegalEntries(), SoftmaxFaults(), ConvLegalEntries(), ConvTermFaults(),
       ConvOtherFaults(), FftLegalEntries(), FftFaults()});
  return Chosen(all, op);
}

bool TakesAliases(const plugin::OpDesc&) {
  return false;
}

std::string WhyNotAtAll(const plugin::OpDesc& op) {
  const auto is_f32 = [](const plugin::Tensor& t) { return t.dtype == plugin::kF32 || t.dtype == plugin::kC64; };
  if (std::ranges::all_of(op.inputs(), is_f32) && std::ranges::all_of(op.outputs(), is_f32)) return "";
  return "the control has f32 and c64 alone; the whole corpus (./scripts/build.sh release assay_backend_corpus) has "
         "more";
}

}  // namespace corpus
