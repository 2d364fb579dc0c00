// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/faults/corpus_checks.h"

namespace assay {
namespace {

const std::vector<const char*> kAll = {"normal", "uniform", "outlier", "lognormal", "special", "subnormal"};
// Only values that overflow f32, or f16, show these.
const std::vector<std::string> kOfValues = {"fault.no-maximum-subtracted", "fault.maximum-misses-tail"};

TEST(CorpusAttention, LegalSchedulesPass) {
  ExpectLegalSchedulesPass("attention/f32/b=1,h=2,l=33,s=77,d=17,dv=9", kAll, 14);
  ExpectLegalSchedulesPass("attention/f16/b=1,h=4,hkv=2,l=40,d=32,causal=1", kAll, 14);
  ExpectLegalSchedulesPass("attention/bf16/b=2,h=3,l=20,s=50,d=16,mask=add", kAll, 14);
  ExpectLegalSchedulesPass("attention/f64/b=1,h=2,l=16,d=8,causal=1", {"normal", "outlier"}, 10);
}

TEST(CorpusAttention, LegalSchedulesPassWithMasksWindowsAndCaps) {
  ExpectLegalSchedulesPass("attention/f32/b=1,h=2,l=65,s=33,d=24,causal=1", kAll, 14);
  ExpectLegalSchedulesPass("attention/bf16/b=1,h=4,hkv=2,l=24,s=150,d=24,causal=1,window=48,softcap=50", {"normal"},
                           14);
  ExpectLegalSchedulesPass("attention/f16/b=1,h=2,l=33,s=65,d=17,causal=1,align=tl,mask=bool,mask_per_head=1",
                           {"normal"}, 14);
  ExpectLegalSchedulesPass("attention/f32/b=1,h=1,l=1,s=1,d=1", {"normal"}, 14);
  // Fewer keys than units: no more merges than the bound counts.
  ExpectLegalSchedulesPass("attention/f32/b=1,h=2,l=9,s=1,d=24", kAll, 14);
  ExpectLegalSchedulesPass("attention/f16/b=1,h=2,l=9,s=2,d=24", kAll, 14);
}

TEST(CorpusAttention, LegalSchedulesHaveNoEffect) {
  ExpectLegalSchedulesHaveNone("attention/f32/b=1,h=2,l=33,s=77,d=17,dv=9/fill=normal/seed=0");
  ExpectLegalSchedulesHaveNone("attention/f16/b=1,h=4,hkv=2,l=40,s=60,d=32,causal=1/fill=normal/seed=0");
  ExpectLegalSchedulesHaveNone(
      "attention/bf16/b=2,h=3,l=20,s=51,d=17,mask=add,softcap=3,mask_per_head=1/fill=normal/seed=0");
  ExpectLegalSchedulesHaveNone("attention/f32/b=1,h=2,l=65,s=33,d=24,causal=1/fill=normal/seed=0");
  ExpectLegalSchedulesHaveNone("attention/f32/b=1,h=2,l=64,s=64,d=24,causal=1,window=20/fill=normal/seed=0");
  ExpectLegalSchedulesHaveNone("attention/f64/b=1,h=2,l=16,d=8,causal=1/fill=normal/seed=0");
}

TEST(CorpusAttention, BugsChangeTheExactResult) {
  ExpectBugsHaveEffects("attention/f32/b=1,h=2,l=33,s=77,d=17,dv=9/fill=normal/seed=0", kOfValues, 30);
  ExpectBugsHaveEffects("attention/f16/b=1,h=4,hkv=2,l=40,s=60,d=32,causal=1/fill=normal/seed=0", kOfValues, 35);
  ExpectBugsHaveEffects("attention/bf16/b=2,h=3,l=20,s=51,d=17,mask=add,softcap=3,mask_per_head=1/fill=normal/seed=0",
                        kOfValues, 30);
  ExpectBugsHaveEffects("attention/f32/b=1,h=2,l=65,s=33,d=24,causal=1/fill=normal/seed=0", kOfValues, 35);
  ExpectBugsHaveEffects("attention/f32/b=1,h=2,l=64,s=64,d=24,causal=1,window=20/fill=normal/seed=0", kOfValues, 30);
  ExpectBugsHaveEffects("attention/f64/b=1,h=2,l=16,d=8,causal=1/fill=normal/seed=0", kOfValues, 25);
}

TEST(CorpusAttention, BugsOfValuesChangeTheExactResultWhereTheyAre) {
  for (const std::string& fault : kOfValues) {
    ExpectEffect("attention/f32/b=1,h=2,l=33,s=77,d=17,dv=9/fill=outlier/seed=0", fault);
  }
}

}  // namespace
}  // namespace assay
