// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/shrink.h"

#include <gtest/gtest.h>

#include "harness/plan/catalog.h"
#include "ops/operator.h"

namespace assay {
namespace {

const OpSchema& SchemaOf(const CaseSpec& spec) {
  return OperatorRegistry::Global().Find(spec.op)->schema();
}

CaseSpec Case(const std::string& id) {
  CaseSpec spec = ParseId(id).value();
  return Canonicalise(spec, SchemaOf(spec)).value();
}

bool IsCase(const CaseSpec& spec) {
  return BindCase(spec).has_value();
}

std::string Shrunk(const std::string& id, const std::function<bool(const CaseSpec&)>& fails, int most_tries = 1000) {
  const CaseSpec spec = Case(id);
  return ShrinkCase(spec, SchemaOf(spec), most_tries, IsCase, fails).Id();
}

int64_t Int(const CaseSpec& spec, const char* key) {
  return AttrReader(spec, SchemaOf(spec)).Int(key);
}

TEST(Shrink, FindsTheSmallestOddExtentAboveAThreshold) {
  const auto fails = [](const CaseSpec& spec) { return Int(spec, "n") % 2 == 1 && Int(spec, "n") > 40; };
  EXPECT_EQ(Shrunk("matmul/bf16/m=127,n=333,k=65,batch=3,transa=1,alpha=0.5,bias=1/fill=outlier/seed=7", fails),
            "matmul/bf16/m=1,n=41,k=1/fill=normal/seed=0");
}

TEST(Shrink, KeepsWhatTheFailureNeeds) {
  const auto fails = [](const CaseSpec& spec) {
    return Int(spec, "bias") == 1 && spec.fill == "special" && Int(spec, "k") >= 16;
  };
  EXPECT_EQ(Shrunk("matmul/f32/m=33,n=65,k=257,transb=1,bias=1/fill=special/seed=3", fails),
            "matmul/f32/m=1,n=1,k=16,bias=1/fill=special/seed=0");
}

TEST(Shrink, MakesEachAxisSmaller) {
  const auto fails = [](const CaseSpec& spec) { return AttrReader(spec, SchemaOf(spec)).List("shape")[1] >= 5; };
  EXPECT_EQ(Shrunk("reduce/f32/shape=7x50x9,axes=1,kind=max/fill=normal/seed=0", fails),
            "reduce/f32/shape=1x5x1,axes=1/fill=normal/seed=0");
}

TEST(Shrink, StopsAfterTheTries) {
  int asked = 0;
  const auto fails = [&](const CaseSpec&) { return ++asked > 0; };
  Shrunk("matmul/f32/m=333,n=333,k=333/fill=normal/seed=9", fails, 3);
  EXPECT_EQ(asked, 3);
}

TEST(Shrink, ACaseThatNothingSimplerFailsLikeStays) {
  const std::string id = "matmul/f32/m=33,n=65,k=257,bias=1/fill=special/seed=3";
  EXPECT_EQ(Shrunk(id, [](const CaseSpec&) { return false; }), id);
}

TEST(Shrink, TheLineOfASuiteIsTheCase) {
  for (const char* id : {"conv/bf16-bf16-f32/n=1,c=5,o=7,i=13x11,k=3x3,pad=1/fill=edges/seed=12",
                         "reduce/f32-i64/shape=7x50x9,axes=0+1,kind=argmax/fill=normal/seed=0",
                         "fft/c64/kind=c2c,n=101/fill=cancel-1e6/seed=4"}) {
    const auto cases = ParseSuite(SuiteLineOf(Case(id)), "s.suite", Catalog());
    ASSERT_TRUE(cases) << cases.error().message;
    ASSERT_EQ(cases->size(), 1u);
    EXPECT_EQ(cases->front().spec.Id(), id);
  }
}

}  // namespace
}  // namespace assay
