// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/corpus/fresh/fresh.h"

namespace corpus {

std::vector<Entry> FreshEntries() {
  std::vector<Entry> all;
  for (const auto& list :
       {MatmulFreshTerms(), MatmulFreshBits(), MatmulFreshPlaces(), ReduceFreshSums(), ReduceFreshKinds(),
        SoftmaxFreshSums(), SoftmaxFreshFunctions(), AttentionFreshTiles(), AttentionFreshIndices(),
        AttentionFreshScores(), ConvFreshReads(), ConvFreshSums(), FftFreshTwiddles(), FftFreshResults(),
        FreshProducts(), FreshNetworks(), FreshTransforms()}) {
    all.insert(all.end(), list.begin(), list.end());
  }
  return all;
}

}  // namespace corpus
