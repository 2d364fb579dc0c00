// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/corpus/held/attention_held.h"
#include "tests/faults/corpus/held/conv_held.h"
#include "tests/faults/corpus/held/fft_held.h"
#include "tests/faults/corpus/held/matmul_held.h"
#include "tests/faults/corpus/held/reduce_held.h"
#include "tests/faults/corpus/held/softmax_held.h"

namespace corpus {

std::vector<Entry> HeldEntries() {
  return Joined({MatmulHeldSums(), MatmulHeldPlaces(), MatmulHeldLegal(), ReduceHeldFaults(), ReduceHeldKinds(),
                 ReduceHeldSelections(), ReduceHeldLegal(), SoftmaxHeldFaults(), SoftmaxHeldLegal(),
                 AttentionHeldKeys(), AttentionHeldScores(), AttentionHeldLegal(), ConvHeldReads(), ConvHeldPlaces(),
                 ConvHeldSums(), ConvHeldLegal(), FftHeldTwiddles(), FftHeldPlaces(), FftHeldLegal()});
}

}  // namespace corpus
