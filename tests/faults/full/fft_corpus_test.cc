// SPDX-License-Identifier: Apache-2.0
// The longer form of CorpusFft.LegalSchedulesOfManyRowsPass: so many rows that each column's and each tile's share of
// the twiddles' common error would show.
#include <gtest/gtest.h>

#include "tests/faults/corpus_checks.h"

namespace assay {
namespace {

TEST(CorpusFftFull, LegalSchedulesOfThousandsOfRowsPass) {
  ExpectLegalSchedulesPass("fft/c64/kind=c2c,n=60,batch=4096", {"normal"}, 5);
  ExpectLegalSchedulesPass("fft/c64/kind=c2c,n=128,batch=4096", {"normal"}, 5);
}

}  // namespace
}  // namespace assay
