// SPDX-License-Identifier: Apache-2.0
// The corpus of operators that are formulas, whose faults follow from their graphs.
#include <gtest/gtest.h>

#include "tests/faults/corpus_checks.h"
#include "tests/faults/corpus_fixture.h"

namespace assay {
namespace {

// Of several outputs each has a last element. What one pass of a variance loses is a rounding on such data.
const std::vector<std::string> kOfElements = {"fault.last-element-unwritten"};
// A scale of the whole tensor has no other place.
const std::vector<std::string> kOfQuantize = {"fault.scale-shifted-by-one"};
// A NaN that stands last is where an ascending sort has it.
const std::vector<std::string> kOfSort = {"fault.last-element-unwritten", "fault.selection-1-blind-to-nan",
                                          "fault.selection-2-blind-to-nan"};

TEST(CorpusFormulas, LegalSchedulesPass) {
  ExpectLegalSchedulesPass("layer_norm/f32/rows=9,n=67,stats=1", {"normal", "outlier", "special"}, 9);
  ExpectLegalSchedulesPass("layer_norm_backward/bf16-bf16-f32-f32-f32-bf16/rows=9,n=33", {"normal", "uniform"}, 9);
  ExpectLegalSchedulesPass("fused_add_rms_norm/f16/rows=9,n=67", {"normal", "outlier"}, 9);
  ExpectLegalSchedulesPass("gelu/f32/n=301", {"normal", "special", "lognormal"}, 9);
  ExpectLegalSchedulesPass("selective_scan/f32/b=1,c=3,s=4,l=33", {"normal", "special"}, 9);
  ExpectLegalSchedulesPass("cumsum/bf16/rows=5,n=129", {"normal", "cancel-1e4"}, 9);
  ExpectLegalSchedulesPass("top_k/f32/rows=9,k=7,n=40", {"normal", "special", "ties"}, 9);
  ExpectLegalSchedulesPass("gather/bf16-i32-bf16/v=40,n=9,d=5", {"normal", "special"}, 9);
  ExpectLegalSchedulesPass("scatter_add/f32-i64-f32-f32/rows=5,n=40,d=6", {"normal", "special", "cancel-1e4"}, 9);
  ExpectLegalSchedulesPass("quantize/f32-f32-i8/rows=7,n=67,per=row,zero=5", {"normal", "outlier"}, 9);
  ExpectLegalSchedulesPass("quantize/bf16-f32-e4m3/rows=7,n=67,per=column", {"normal", "pow2"}, 9);
  ExpectLegalSchedulesPass("quantize/f16-f32-e5m2/rows=7,n=67", {"normal"}, 9);
  ExpectLegalSchedulesPass("quantize/bf16-f32-u8-u8/rows=7,n=67,per=column", {"normal", "extremes"}, 9);
  ExpectLegalSchedulesPass("dequantize/u8-f32-i32-f32/rows=7,n=67,per=row", {"normal"}, 9);
  ExpectLegalSchedulesPass("dequantize/e4m3-f32-bf16/rows=7,n=67,per=row", {"normal", "special"}, 9);
  ExpectLegalSchedulesPass("sort/f64/rows=9,n=40,descending=1", {"normal", "special"}, 9);
}

// On data whose mean is a hundred deviations a variance of one pass is out of what two passes may be off.
TEST(CorpusFormulas, OnePassVariancesPassAsWhatTheyAreAlone) {
  ExpectLegalSchedulesPass("layer_norm/f32/rows=9,n=67,stats=1", {"offset"}, 17);
  ExpectLegalSchedulesPass("layer_norm/bf16-f32-f32-bf16/rows=9,n=67", {"offset"}, 17);
  ExpectLegalSchedulesPass("group_norm/f32/b=2,g=3,c=5,n=33", {"offset"}, 17);
  Corpus corpus;
  for (const char* id :
       {"layer_norm/f32/rows=9,n=67/fill=offset/seed=0", "layer_norm/f32/rows=9,n=67,stats=1/fill=offset/seed=0",
        "group_norm/f32/b=2,g=3,c=5,n=7/fill=offset/seed=0"}) {
    const std::vector<Judged> judged = corpus.Judge(id, "fault.undeclared-onepass");
    ASSERT_EQ(judged.size(), 1U) << id;
    EXPECT_EQ(judged[0].verdict, Verdict::kMismatch) << id << ": " << judged[0].reason;
  }
}

TEST(CorpusFormulas, BugsChangeTheExactResult) {
  ExpectBugsHaveEffects("layer_norm/f32/rows=9,n=67/fill=normal/seed=0", {}, 20);
  ExpectBugsHaveEffects("rms_norm/f64/rows=9,n=67/fill=normal/seed=0", {}, 15);
  ExpectBugsHaveEffects("group_norm/bf16/b=2,g=3,c=5,n=33/fill=normal/seed=0", {}, 20);
  ExpectBugsHaveEffects("gelu/f32/n=301,approx=tanh/fill=normal/seed=0", {}, 8);
  ExpectBugsHaveEffects("selective_scan/f32/b=2,c=3,s=4,l=33/fill=normal/seed=0", {}, 15);
  ExpectBugsHaveEffects("layer_norm/bf16-f32-f32-bf16/rows=9,n=67,stats=1/fill=normal/seed=0", kOfElements, 20);
  ExpectBugsHaveEffects("top_k/f32/rows=9,k=7,n=40/fill=edges/seed=0", kOfElements, 4);
  ExpectBugsHaveEffects("sort/bf16/rows=9,n=40/fill=edges/seed=0", kOfSort, 4);
  ExpectBugsHaveEffects("quantize/f32-f32-i8/rows=9,n=67,zero=5/fill=normal/seed=0", kOfQuantize, 8);
  ExpectBugsHaveEffects("quantize/bf16-f32-e4m3/rows=9,n=67,per=row/fill=normal/seed=0", kOfQuantize, 8);
  ExpectBugsHaveEffects("quantize/f32-f32-u8-u8/rows=9,n=67,per=row/fill=normal/seed=0", kOfQuantize, 8);
  ExpectBugsHaveEffects("dequantize/e5m2-f32-f32/rows=9,n=67,per=row/fill=normal/seed=0", {}, 3);
  ExpectBugsHaveEffects("gather/f32-i64-f32/v=40,n=9,d=5/fill=normal/seed=0", {}, 5);
  ExpectBugsHaveEffects("scatter_add/f32-i64-f32-f32/rows=5,n=40,d=6/fill=normal/seed=0", {}, 8);
  ExpectBugsHaveEffects("rope/f32/b=1,l=5,h=3,d=18/fill=normal/seed=0", {}, 4);
}

}  // namespace
}  // namespace assay
