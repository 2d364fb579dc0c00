// SPDX-License-Identifier: Apache-2.0
#include "harness/core/model/case_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <tuple>

namespace assay {
namespace {

using ::testing::HasSubstr;
using Attrs = std::vector<std::pair<std::string, std::string>>;

// One attribute of every type and every form of default.
OpSchema TestSchema() {
  return {.op = "thing",
          .doc = "for tests",
          .attrs = {{"m", AttrType::kInt, "", "rows"},
                    {"n", AttrType::kInt, "=m", "columns"},
                    {"kn", AttrType::kInt, "=n", "inner columns"},
                    {"scale", AttrType::kFloat, "auto", "factor"},
                    {"alpha", AttrType::kFloat, "1", "factor"},
                    {"mode", AttrType::kName, "fused", "how", {"fused", "rounded"}},
                    {"stride", AttrType::kDims, "1", "steps"},
                    {"axes", AttrType::kAxes, "-1", "reduced"}},
          .operands = {"a", "b", "y"}};
}

CaseSpec Spec(Attrs attrs) {
  return {.op = "thing", .dtypes = {DType::kF32}, .attrs = std::move(attrs)};
}

std::string CanonicalId(Attrs attrs) {
  const auto spec = Canonicalise(Spec(std::move(attrs)), TestSchema());
  return spec ? spec->Id() : "error: " + spec.error().message;
}

std::string Message(Attrs attrs) {
  const auto spec = Canonicalise(Spec(std::move(attrs)), TestSchema());
  return spec ? "no error" : spec.error().message;
}

TEST(CaseSpec, KeysStandInDeclaredOrderAndDefaultsAreLeftOut) {
  EXPECT_EQ(CanonicalId({{"axes", "0+2"}, {"alpha", "1.0"}, {"m", "07"}}), "thing/f32/m=7,axes=0+2/fill=normal/seed=0");
  EXPECT_EQ(CanonicalId({{"m", "7"}, {"mode", "fused"}, {"axes", "-1"}}), "thing/f32/m=7/fill=normal/seed=0");
  EXPECT_EQ(CanonicalId({{"m", "7"}, {"alpha", "1e-3"}}), "thing/f32/m=7,alpha=0.001/fill=normal/seed=0");
}

TEST(CaseSpec, DefaultThatIsAnotherKeyFollowsIt) {
  EXPECT_EQ(CanonicalId({{"m", "7"}, {"n", "7"}, {"kn", "7"}}), "thing/f32/m=7/fill=normal/seed=0");
  EXPECT_EQ(CanonicalId({{"m", "7"}, {"n", "8"}, {"kn", "8"}}), "thing/f32/m=7,n=8/fill=normal/seed=0");
  EXPECT_EQ(CanonicalId({{"m", "7"}, {"n", "8"}, {"kn", "7"}}), "thing/f32/m=7,n=8,kn=7/fill=normal/seed=0");
}

TEST(CaseSpec, WordDefaultMayBeWrittenAndOneNumberStandsForAList) {
  EXPECT_EQ(CanonicalId({{"m", "7"}, {"scale", "auto"}}), "thing/f32/m=7/fill=normal/seed=0");
  EXPECT_EQ(CanonicalId({{"m", "7"}, {"stride", "1x1"}}), "thing/f32/m=7/fill=normal/seed=0");
  EXPECT_EQ(CanonicalId({{"m", "7"}, {"stride", "1x2"}}), "thing/f32/m=7,stride=1x2/fill=normal/seed=0");
}

TEST(CaseSpec, OneNumberForAllAxesHasOneSpelling) {
  OpSchema schema{.op = "conv",
                  .doc = "",
                  .attrs = {{"i", AttrType::kDims, "", ""},
                            {"k", AttrType::kDims, "", "", {}, "i"},
                            {"stride", AttrType::kDims, "1", "", {}, "i"}},
                  .operands = {"x", "y"}};
  const std::pair<Attrs, const char*> table[] = {
      {{{"i", "9x9"}, {"k", "3"}, {"stride", "2x2"}}, "i=9x9,k=3x3,stride=2"},
      {{{"i", "9x9"}, {"k", "3x3"}, {"stride", "2"}}, "i=9x9,k=3x3,stride=2"},
      {{{"i", "9x9"}, {"k", "3x2"}, {"stride", "2x1"}}, "i=9x9,k=3x2,stride=2x1"},
      {{{"i", "9x9"}, {"k", "3"}, {"stride", "1x1"}}, "i=9x9,k=3x3"},
      {{{"i", "9"}, {"k", "3"}, {"stride", "02"}}, "i=9,k=3,stride=2"},
      {{{"i", "9x9"}, {"k", "3"}, {"stride", "2x2x2"}}, "i=9x9,k=3x3,stride=2x2x2"},  // for the operator to refuse
      {{{"i", "9x9"}, {"k", "3x3x3"}}, "i=9x9,k=3x3x3"},
  };
  for (const auto& [attrs, expected] : table) {
    const auto spec = Canonicalise({.op = "conv", .dtypes = {DType::kF32}, .attrs = attrs}, schema);
    ASSERT_TRUE(spec) << spec.error().message;
    EXPECT_EQ(spec->Id(), std::string("conv/f32/") + expected + "/fill=normal/seed=0");
  }
}

TEST(CaseSpec, ErrorsNameTheKeyAndWhatItAccepts) {
  EXPECT_THAT(Message({}), HasSubstr("thing needs m="));
  EXPECT_THAT(Message({{"m", "7"}, {"q", "1"}}), HasSubstr("no key 'q'; it takes m n kn scale"));
  EXPECT_THAT(Message({{"m", "7"}, {"m", "7"}}), HasSubstr("key 'm' twice"));
  EXPECT_THAT(Message({{"m", "7.5"}}), HasSubstr("m=7.5 is not an integer"));
  EXPECT_THAT(Message({{"m", "99999999999999999999"}}), HasSubstr("beyond the integers of 64 bits"));
  EXPECT_THAT(Message({{"m", "7"}, {"alpha", "inf"}}), HasSubstr("not a finite number"));
  EXPECT_THAT(Message({{"m", "7"}, {"alpha", "1e-400"}}),
              HasSubstr("alpha=1e-400 is nearer to 0 than any double but 0"));
  EXPECT_THAT(Message({{"m", "7"}, {"alpha", "-1e400"}}), HasSubstr("alpha=-1e400 is larger than any double"));
  EXPECT_THAT(Message({{"m", "7"}, {"alpha", "1e400x"}}), HasSubstr("not a finite number"));
  EXPECT_THAT(Message({{"m", "99999999999999999999"}}), HasSubstr("beyond the integers of 64 bits"));
  EXPECT_THAT(Message({{"m", "7"}, {"mode", "lazy"}}), HasSubstr("not one of fused, rounded"));
  EXPECT_THAT(Message({{"m", "7"}, {"stride", "1x"}}), HasSubstr("joined by 'x'"));
  EXPECT_THAT(Message({{"m", "7"}, {"stride", "-1"}}), HasSubstr("non-negative"));
  EXPECT_THAT(Message({{"m", "7"}, {"axes", "1x2"}}), HasSubstr("joined by '+': 1, -1 (the last one) or 0+2"));
}

TEST(CaseSpec, DTypesAreOneOrOnePerOperand) {
  CaseSpec spec = Spec({{"m", "7"}});
  spec.dtypes = {DType::kBF16, DType::kBF16, DType::kBF16};
  EXPECT_EQ(Canonicalise(spec, TestSchema())->Id(), "thing/bf16/m=7/fill=normal/seed=0");
  spec.dtypes[2] = DType::kF32;
  EXPECT_EQ(Canonicalise(spec, TestSchema())->Id(), "thing/bf16-bf16-f32/m=7/fill=normal/seed=0");
  spec.dtypes.resize(2);
  EXPECT_THAT(Canonicalise(spec, TestSchema()).error().message, HasSubstr("a-b-y"));
}

TEST(CaseSpec, AxesOfAShapeHaveOneSpelling) {
  const OpSchema schema = {
      .op = "thing",
      .doc = "for tests",
      .attrs = {{"shape", AttrType::kDims, "", "extents"},
                {.key = "axis", .default_value = "-1", .doc = "one", .axes_in = "shape"},
                {.key = "axes", .type = AttrType::kAxes, .default_value = "0", .doc = "several", .axes_in = "shape"}},
      .operands = {"a", "y"}};
  const std::tuple<const char*, const char*, const char*> table[] = {
      {"axis", "2", ""},
      {"axis", "-1", ""},
      {"axis", "-2", ",axis=1"},
      {"axis", "1", ",axis=1"},
      {"axis", "-3", ",axis=0"},
      {"axis", "3", ",axis=3"},
      {"axis", "-4", ",axis=-4"},  // the operator refuses
      {"axes", "-3", ""},
      {"axes", "0", ""},
      {"axes", "-1", ",axes=2"},
      {"axes", "-1+0", ",axes=0+2"},
      {"axes", "2+0", ",axes=0+2"},
      {"axes", "1+-2", ",axes=1+-2"},  // twice the same
  };
  for (const auto& [key, value, expected] : table) {
    const auto spec = Canonicalise(Spec({{"shape", "4x5x6"}, {key, value}}), schema);
    ASSERT_TRUE(spec) << spec.error().message;
    EXPECT_EQ(spec->Id(), std::string("thing/f32/shape=4x5x6") + expected + "/fill=normal/seed=0")
        << key << "=" << value;
    EXPECT_EQ(Canonicalise(ParseId(spec->Id()).value(), schema).value(), *spec);
  }
}

TEST(CaseSpec, UnknownFillIsAnError) {
  CaseSpec spec = Spec({{"m", "7"}});
  spec.fill = "gaussian";
  EXPECT_FALSE(Canonicalise(spec, TestSchema()));
}

TEST(CaseSpec, AFillHasOneSpelling) {
  for (const char* fill : {"cancel-1e6", "cancel-1000000", "cancel-1e06", "cancel-1000000.0"}) {
    CaseSpec spec = Spec({{"m", "7"}});
    spec.fill = fill;
    const std::string id = Canonicalise(spec, TestSchema())->Id();
    EXPECT_EQ(id, "thing/f32/m=7/fill=cancel-1e6/seed=0") << fill;
    EXPECT_EQ(Canonicalise(ParseId(id).value(), TestSchema())->Id(), id);
  }
}

TEST(CaseSpec, NoAttributeIsADash) {
  CaseSpec spec{.op = "thing", .dtypes = {DType::kF32}};
  EXPECT_EQ(spec.Id(), "thing/f32/-/fill=normal/seed=0");
  EXPECT_EQ(ParseId(spec.Id()).value(), spec);
}

TEST(CaseSpec, HashOfTheIdIsFixedForEver) {
  const CaseSpec spec{.op = "thing", .dtypes = {DType::kF32}};
  EXPECT_EQ(spec.IdHash().size(), 16u);
  EXPECT_EQ(spec.IdHash(), "e45704e1bd88a964");
}

TEST(CaseSpec, ParseErrorsNameThePart) {
  const std::pair<const char*, const char*> table[] = {
      {"", "has 1 part between"},
      {"thing/f32/m=1/fill=normal", "has 4 parts"},
      {"thing/f32/m=1/fill=normal/seed=0/", "has 6 parts"},
      {"th ing/f32/m=1/fill=normal/seed=0", "not an operator's name"},
      {"thing/f99/m=1/fill=normal/seed=0", "f99"},
      {"thing/f32-/m=1/fill=normal/seed=0", "dtype"},
      {"thing/f32/m/fill=normal/seed=0", "attribute 'm'"},
      {"thing/f32/m=/fill=normal/seed=0", "attribute 'm='"},
      {"thing/f32/m=1,/fill=normal/seed=0", "attribute ''"},
      {"thing/f32/m=1*/fill=normal/seed=0", "attribute 'm=1*'"},
      {"thing/f32//fill=normal/seed=0", "attribute ''"},
      {"thing/f32/m=1/normal/seed=0", "expected fill=NAME"},
      {"thing/f32/m=1/fill=/seed=0", "expected fill=NAME"},
      {"thing/f32/m=1/fill=a:b/seed=0", "expected fill=NAME"},
      {"thing/f32/m=1/fill=normal/seed=-1", "expected seed=N"},
      {"thing/f32/m=1/fill=normal/seed=18446744073709551616", "expected seed=N"},
  };
  for (const auto& [id, expected] : table) {
    const auto spec = ParseId(id);
    ASSERT_FALSE(spec) << id;
    EXPECT_THAT(spec.error().message, HasSubstr(expected));
    EXPECT_EQ(spec.error().code, ErrorCode::kUsage);
  }
}

CaseSpec RandomSpec(std::mt19937_64& random) {
  const auto pick = [&](auto... choices) {
    const std::string all[] = {choices...};
    return all[random() % sizeof...(choices)];
  };
  CaseSpec spec = Spec({{"m", std::to_string(1 + random() % 100)}});
  if (random() % 2) spec.attrs.emplace_back("n", std::to_string(1 + random() % 3));
  if (random() % 2) spec.attrs.emplace_back("kn", std::to_string(1 + random() % 3));
  if (random() % 2) spec.attrs.emplace_back("scale", pick("auto", "0.125", "1e-30", "-2.50"));
  if (random() % 2) spec.attrs.emplace_back("alpha", pick("1", "1.0", "0.1", "-0", "1e300"));
  if (random() % 2) spec.attrs.emplace_back("mode", pick("fused", "rounded"));
  if (random() % 2) spec.attrs.emplace_back("stride", pick("1", "1x1", "2x2", "3x1"));
  if (random() % 2) spec.attrs.emplace_back("axes", pick("-1", "0+2", "-1+-2"));
  std::shuffle(spec.attrs.begin(), spec.attrs.end(), random);
  const DType dtypes[] = {DType::kF64, DType::kBF16, DType::kE4M3, DType::kI8};
  spec.dtypes.assign(random() % 2 ? 1 : 3, dtypes[random() % 4]);
  if (random() % 2) spec.dtypes.back() = dtypes[random() % 4];
  spec.fill = pick("normal", "uniform", "cancel-1e6", "near_one");
  spec.seed = random() >> (random() % 64);
  return spec;
}

TEST(CaseSpecProperty, IdsRoundTripAndCanonicalFormIsAFixedPoint) {
  std::mt19937_64 random(7);
  std::set<std::string> ids;
  for (int i = 0; i < 5000; ++i) {
    const auto spec = Canonicalise(RandomSpec(random), TestSchema());
    ASSERT_TRUE(spec) << spec.error().message;
    const std::string id = spec->Id();
    EXPECT_EQ(id.find_first_of(" :*?[]"), std::string::npos) << id;
    const auto parsed = ParseId(id);
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_EQ(*parsed, *spec) << id;
    const auto again = Canonicalise(*parsed, TestSchema());
    ASSERT_TRUE(again);
    EXPECT_EQ(again->Id(), id);
    ids.insert(id);
  }
  EXPECT_GT(ids.size(), 4000u);  // the generator does vary
}

TEST(CaseSpecProperty, CanonicalFormKeepsEveryResolvedValue) {
  std::mt19937_64 random(11);
  const OpSchema schema = TestSchema();
  for (int i = 0; i < 2000; ++i) {
    const CaseSpec given = RandomSpec(random);
    const auto spec = Canonicalise(given, schema);
    ASSERT_TRUE(spec);
    for (const char* key : {"m", "n", "kn"}) {
      EXPECT_EQ(AttrReader(*spec, schema).Int(key), AttrReader(given, schema).Int(key)) << spec->Id();
    }
    EXPECT_EQ(AttrReader(*spec, schema).Float("alpha"), AttrReader(given, schema).Float("alpha"));
    EXPECT_EQ(AttrReader(*spec, schema).List("axes"), AttrReader(given, schema).List("axes"));
  }
}

TEST(AttrReader, ReadsTypedValuesAndDefaults) {
  const OpSchema schema = TestSchema();
  const auto spec = Canonicalise(Spec({{"m", "7"}, {"stride", "2x3"}, {"scale", "0.5"}}), schema);
  const AttrReader read(*spec, schema);
  EXPECT_EQ(read.Int("kn"), 7);
  EXPECT_EQ(read.Float("scale"), 0.5);
  EXPECT_EQ(read.Text("mode"), "fused");
  EXPECT_EQ(read.List("stride"), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(read.List("axes"), (std::vector<int64_t>{-1}));
}

TEST(AttrReaderDeathTest, WordWhereANumberIsAskedAborts) {
  const OpSchema schema = TestSchema();
  const auto spec = Canonicalise(Spec({{"m", "7"}}), schema);
  EXPECT_EQ(AttrReader(*spec, schema).Text("scale"), "auto");
  EXPECT_DEATH(AttrReader(*spec, schema).Float("scale"), "scale as a number");
}

}  // namespace
}  // namespace assay
