// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/corpus/fresh/fresh.h"

namespace corpus {

std::vector<Entry> FreshEntries() {
  return Joined({MatmulFreshTerms(), MatmulFreshBits(), MatmulFreshPlaces(), ReduceFreshSums(), ReduceFreshKinds(),
                 SoftmaxFreshSums(), SoftmaxFreshFunctions(), AttentionFreshTiles(), AttentionFreshIndices(),
                 AttentionFreshScores(), ConvFreshReads(), ConvFreshSums(), FftFreshTwiddles(), FftFreshResults(),
                 FreshProducts(), FreshNetworks(), FreshTransforms()});
}

}  // namespace corpus
