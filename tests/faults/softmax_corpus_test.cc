// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/faults/corpus_checks.h"

namespace assay {
namespace {

const std::vector<const char*> kSoftmaxFills = {"normal", "uniform", "outlier", "lognormal", "special", "subnormal"};
// Only values that overflow f32, or a maximum behind the first tile with a large lead, show these.
const std::vector<std::string> kSoftmaxOfValues = {"fault.no-maximum-subtracted", "fault.maximum-of-first-tile"};

TEST(CorpusSoftmax, LegalSchedulesPass) {
  ExpectLegalSchedulesPass("softmax/f32/shape=9x300", kSoftmaxFills, 8);
  ExpectLegalSchedulesPass("softmax/f16/shape=9x77", kSoftmaxFills, 9);
  ExpectLegalSchedulesPass("softmax/bf16/shape=5x129x3,axis=1", kSoftmaxFills, 8);
  ExpectLegalSchedulesPass("softmax/f64/shape=7x65", {"normal", "outlier"}, 8);
  ExpectLegalSchedulesPass("softmax/f32/shape=1x1", {"normal"}, 8);
}

TEST(CorpusSoftmax, LegalLogarithmsPass) {
  ExpectLegalSchedulesPass("softmax/f32/shape=9x300,log=1", kSoftmaxFills, 8);
  ExpectLegalSchedulesPass("softmax/f16/shape=129x5,axis=0,log=1", kSoftmaxFills, 9);
}

TEST(CorpusSoftmax, LegalSchedulesHaveNoEffect) {
  ExpectLegalSchedulesHaveNone("softmax/f32/shape=9x300/fill=normal/seed=0");
  ExpectLegalSchedulesHaveNone("softmax/f16/shape=9x77,log=1/fill=normal/seed=0");
  ExpectLegalSchedulesHaveNone("softmax/bf16/shape=5x129x3,axis=1/fill=normal/seed=0");
  ExpectLegalSchedulesHaveNone("softmax/f64/shape=7x65/fill=normal/seed=0");
}

TEST(CorpusSoftmax, BugsChangeTheExactResult) {
  ExpectBugsHaveEffects("softmax/f32/shape=9x300/fill=normal/seed=0", kSoftmaxOfValues, 18);
  ExpectBugsHaveEffects("softmax/f16/shape=9x77,log=1/fill=normal/seed=0", kSoftmaxOfValues, 17);
  ExpectBugsHaveEffects("softmax/bf16/shape=5x129x3,axis=1/fill=normal/seed=0", kSoftmaxOfValues, 17);
  ExpectBugsHaveEffects("softmax/f64/shape=7x65/fill=normal/seed=0", kSoftmaxOfValues, 18);
}

TEST(CorpusSoftmax, BugsOfValuesChangeTheExactResultWhereTheyAre) {
  for (const std::string& fault : kSoftmaxOfValues) ExpectEffect("softmax/f32/shape=9x300/fill=outlier/seed=0", fault);
}

}  // namespace
}  // namespace assay
