// SPDX-License-Identifier: Apache-2.0
// Correct schedules pass in the class that they declare; each bug changes the exact result.
#include <gtest/gtest.h>

#include "tests/faults/corpus_fixture.h"

namespace assay {
namespace {

TEST(Corpus, SequentialMatmulPasses) {
  Corpus corpus;
  const auto judged = corpus.Judge("matmul/f16-f16-f32/m=17,n=33,k=65/fill=normal/seed=0", "legal.sequential");
  ASSERT_EQ(judged.size(), 1u);
  EXPECT_EQ(judged[0].verdict, Verdict::kPass) << judged[0].reason;
}

TEST(Corpus, DroppedTermHasAnEffect) {
  Corpus corpus;
  cli::CaseData data = Corpus::Prepare("matmul/f16-f16-f32/m=17,n=33,k=65/fill=normal/seed=0");
  data.problem.output.dtype = DType::kF64;
  const Tensor y = corpus.Run(data.problem, data.inputs, "fault.last-k-dropped-everywhere.effect");
  const std::vector<double> a = data.inputs[0].ToDoubles(), b = data.inputs[1].ToDoubles();
  EXPECT_NEAR(data.golden.value[0] - y.As<double>()[0], a[64] * b[64 * 33], 1e-13);
}

}  // namespace
}  // namespace assay
