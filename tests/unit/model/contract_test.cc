// SPDX-License-Identifier: Apache-2.0
#include "harness/core/model/contract.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace assay {
namespace {

using ::testing::HasSubstr;

Contract Declared(std::string_view text) {
  const auto contract = ParseDeclaration(text);
  EXPECT_TRUE(contract) << contract.error().message;
  return contract.value_or(Contract{});
}

Contract Required(std::string_view text) {
  const auto contract = ParseRequirement(text);
  EXPECT_TRUE(contract) << contract.error().message;
  return contract.value_or(Contract{});
}

TEST(Contract, ParsesEveryFieldOfADeclaration) {
  const Contract c = Declared(
      "in=tf32rz; acc=tc<13,32>; mid=bf16; out=rz; ftz=in; alg=winograd<4,3>; math=2.5; nan=ignore; masked=nan; "
      "det=yes; batchinv=yes");
  const Contract expected{.in = InputRounding::kTF32RZ,
                          .acc = Accumulator::kTensorCore,
                          .tc_bits = 13,
                          .tc_block = 32,
                          .mid = Intermediate::kBF16,
                          .out = OutputRounding::kTowardZero,
                          .ftz = Flush::kIn,
                          .alg = Algorithm::kWinograd,
                          .winograd_m = 4,
                          .winograd_r = 3,
                          .math_ulp = 2.5,
                          .nan = NanPolicy::kIgnore,
                          .masked = MaskedRows::kNan,
                          .deterministic = true,
                          .batch_invariant = true};
  EXPECT_EQ(c, expected);
}

TEST(Contract, FieldLeftOutIsStrongestInADeclarationAndWeakestInARequirement) {
  EXPECT_EQ(Declared("acc=f32"), Contract{});
  const Contract weakest = Required("");
  EXPECT_EQ(weakest.in, InputRounding::kFP8);
  EXPECT_EQ(weakest.acc, Accumulator::kBF16);
  EXPECT_EQ(weakest.mid, Intermediate::kBF16);
  EXPECT_EQ(weakest.out, OutputRounding::kAny);
  EXPECT_EQ(weakest.ftz, Flush::kAll);
  EXPECT_EQ(weakest.alg, Algorithm::kAny);
  EXPECT_EQ(weakest.math_ulp, std::numeric_limits<double>::infinity());
  EXPECT_EQ(weakest.nan, NanPolicy::kAny);
  EXPECT_EQ(weakest.masked, MaskedRows::kAny);
  EXPECT_FALSE(weakest.deterministic);
  EXPECT_FALSE(weakest.batch_invariant);
}

TEST(Contract, ShortcutsSetSeveralFields) {
  EXPECT_EQ(Declared("tf32"), Declared("in=tf32rn;acc=f32"));
  EXPECT_EQ(Declared("f64; det=yes"), Declared("acc=f64;det=yes"));
  EXPECT_EQ(Required("bf16acc"), Required("in=exact;acc=bf16"));
  EXPECT_EQ(Required("f32"), Required("in=exact;acc=f32;mid=none"));
  EXPECT_TRUE(Meets(Declared("acc=f32;mid=bf16"), Required("f32acc")));
  EXPECT_FALSE(Meets(Declared("acc=f32;mid=bf16"), Required("f32")));
}

TEST(Contract, ErrorsNameTheFieldAndWhatIsKnown) {
  const std::pair<const char*, const char*> table[] = {
      {"", "does not say acc="},
      {"det=yes", "does not say acc="},
      {"acc=f31", "acc=f31: expected i32|f64|f32|tc<F,b> (of 8 to 30 and 1 to 65536)|f16|bf16"},
      {"acc=", "acc=: expected"},
      {"acc", "'acc' is not a field or shortcut"},
      {"acc=f32;slack=2", "'slack=2' is not a field or shortcut of a contract; known: in=, acc="},
      {"acc=f32;;slack", "'' is not a field"},
      {"f33", "f64 f32 tf32 f32acc f16acc bf16acc"},
      {"acc=f32;acc=f32", "acc is given twice"},
      {"f32;acc=f16", "acc is given twice"},
      {"acc=tc", "acc=tc: expected"},
      {"acc=tc<13>", "expected"},
      {"acc=tc<13,0>", "expected"},
      {"acc=tc<7,16>", "expected"},
      {"acc=tc<13,16>x", "expected"},
      {"acc=f32<1,2>", "expected"},
      {"acc=f32;math=-1", "a number of ulp"},
      {"acc=f32;math=inf", "a number of ulp"},
      {"acc=f32;math=nan", "a number of ulp"},
      {"acc=f32;math=1e9", "a number of ulp"},
      {"acc=f32;math=any", "bound nothing"},
      {"acc=f32;alg=any", "bound nothing"},
      {"acc=f32;det=maybe", "expected yes|no"},
  };
  for (const auto& [text, expected] : table) {
    const auto contract = ParseDeclaration(text);
    ASSERT_FALSE(contract) << text;
    EXPECT_THAT(contract.error().message, HasSubstr(expected)) << text;
  }
}

// Pairs that fix the direction of each field's order.
TEST(Contract, PartialOrder) {
  const struct {
    const char *declared, *required;
    bool meets;
  } table[] = {
      {"f64", "f32", true},
      {"f32", "f64", false},
      {"tf32", "f32acc", false},
      {"f32", "tf32", true},
      {"acc=f32;in=bf16x3", "tf32", true},
      {"acc=f32;in=bf16", "tf32", false},
      {"acc=i32", "acc=f64", true},
      {"acc=f64", "acc=i32", false},
      {"acc=f32", "acc=tc<24,16>", true},
      {"acc=tc<24,16>", "acc=f32", false},
      {"acc=tc<24,16>", "acc=tc<23,16>", true},
      {"acc=tc<23,16>", "acc=tc<24,16>", false},
      {"acc=tc<24,8>", "acc=tc<24,16>", false},
      {"acc=tc<24,32>", "acc=tc<24,16>", true},
      {"acc=tc<11,4>", "acc=f16", true},
      {"acc=tc<10,4>", "acc=f16", false},
      {"acc=tc<8,4>", "acc=bf16", true},
      {"acc=f16", "acc=tc<8,4>", false},
      {"acc=f16", "acc=bf16", true},
      {"f32;out=rn", "out=rz", true},
      {"f32;out=rz", "out=rn", false},
      {"f32;out=rna", "out=rn", false},
      {"f32;out=rn", "out=rna", false},
      {"f32;out=rna", "out=rz", true},
      {"f32;out=rz", "out=any", true},
      {"f32;ftz=in", "ftz=out", false},
      {"f32;ftz=out", "ftz=in", false},
      {"f32;ftz=in", "ftz=all", true},
      {"f32;ftz=all", "ftz=in", false},
      {"f32", "ftz=in", true},
      {"f32", "alg=winograd<4,3>", true},
      {"f32;alg=winograd<4,3>", "alg=direct", false},
      {"f32;alg=winograd<2,3>", "alg=winograd<4,3>", true},
      {"f32;alg=winograd<4,3>", "alg=winograd<2,3>", false},
      {"f32;alg=winograd<2,5>", "alg=winograd<4,3>", false},
      {"f32;alg=fft", "alg=bluestein", false},
      {"f32;alg=fft", "alg=winograd<4,3>", false},
      {"f32", "alg=onepass", true},
      {"f32;alg=onepass", "alg=onepass", true},
      {"f32;alg=onepass", "alg=direct", false},
      {"f32;alg=onepass", "", true},
      {"f32;alg=fft", "alg=onepass", false},
      {"f32;alg=fft", "det=no", true},
      {"f32;math=2", "math=4", true},
      {"f32;math=4", "math=2", false},
      {"f32;math=4", "", true},
      {"f32;nan=propagate", "nan=ignore", false},
      {"f32;nan=ignore", "nan=propagate", false},
      {"f32;nan=ignore", "", true},
      {"f32;nan=any", "nan=propagate", false},
      {"f32;masked=nan", "masked=zero", false},
      {"f32;det=yes", "det=no", true},
      {"f32", "det=yes", false},
      {"f32", "batchinv=yes", false},
  };
  for (const auto& row : table) {
    EXPECT_EQ(Meets(Declared(row.declared), Required(row.required)), row.meets)
        << row.declared << " | " << row.required;
  }
}

TEST(Contract, ShortfallNamesTheFirstWeakerField) {
  EXPECT_EQ(Shortfall(Declared("f16acc;ftz=all"), Required("f32;ftz=none")),
            "declares acc=f16 and the case requires acc=f32");
  EXPECT_EQ(Shortfall(Declared("acc=tc<13,32>"), Required("acc=tc<23,16>")),
            "declares acc=tc<13,32> and the case requires acc=tc<23,16>");
  EXPECT_EQ(Shortfall(Declared("f32;math=4"), Required("math=0.5")), "declares math=4 and the case requires math=0.5");
  EXPECT_EQ(Shortfall(Declared("f32"), Required("f32acc")), "");
}

TEST(Contract, TextIsShort) {
  EXPECT_EQ(ToText(Declared("f32")), "acc=f32");
  EXPECT_EQ(ToText(Declared("tf32;math=2")), "in=tf32rn; acc=f32; math=2");
}

// Every value of the fields with a branching order, crossed; the chains with two values each.
std::vector<Contract> EnumeratedContracts(bool with_any) {
  std::vector<Contract> all;
  const Contract base;
  std::vector<Contract> accs;
  for (int i = 0; i <= static_cast<int>(Accumulator::kBF16); ++i) {
    Contract c = base;
    c.acc = static_cast<Accumulator>(i);
    if (c.acc != Accumulator::kTensorCore) accs.push_back(c);
  }
  for (auto [bits, block] : {std::pair{8, 4}, {10, 32}, {11, 4}, {13, 16}, {24, 16}, {24, 32}}) {
    Contract c = base;
    c.acc = Accumulator::kTensorCore;
    c.tc_bits = bits;
    c.tc_block = block;
    accs.push_back(c);
  }
  std::vector<Contract> algs;
  for (const Contract& acc : accs) {
    for (int alg = 0; alg <= static_cast<int>(with_any ? Algorithm::kAny : Algorithm::kOnePass); ++alg) {
      Contract c = acc;
      c.alg = static_cast<Algorithm>(alg);
      if (c.alg == Algorithm::kWinograd) c.winograd_m = 2, c.winograd_r = 3;
      algs.push_back(c);
      if (c.alg == Algorithm::kWinograd) c.winograd_m = 4, algs.push_back(c);
      if (c.alg == Algorithm::kWinograd) c.winograd_r = 5, algs.push_back(c);
    }
  }
  for (const Contract& alg : algs) {
    for (int bits = 0; bits < 64; ++bits) {
      Contract c = alg;
      c.ftz = static_cast<Flush>(bits & 3);
      c.nan = static_cast<NanPolicy>((bits >> 2) % 3);
      c.out = static_cast<OutputRounding>((bits >> 3) % 3);
      c.in = static_cast<InputRounding>((bits >> 2) % 6);
      c.mid = static_cast<Intermediate>((bits >> 4) % 3);
      c.masked = static_cast<MaskedRows>((bits >> 5) % 3);
      c.math_ulp = with_any && bits % 5 == 0 ? std::numeric_limits<double>::infinity() : bits % 3;
      c.deterministic = bits & 16;
      c.batch_invariant = bits & 32;
      all.push_back(c);
    }
  }
  return all;
}

TEST(ContractProperty, MeetsIsReflexiveAndAntisymmetric) {
  const auto all = EnumeratedContracts(true);
  ASSERT_GT(all.size(), 4000u);
  int64_t ordered = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_TRUE(Meets(all[i], all[i])) << ToText(all[i]);
    for (size_t j = i + 1; j < all.size(); j += 7) {
      const bool forth = Meets(all[i], all[j]), back = Meets(all[j], all[i]);
      ordered += forth + back;
      ASSERT_FALSE(forth && back && all[i] != all[j]) << ToText(all[i]) << " | " << ToText(all[j]);
      ASSERT_EQ(forth, Shortfall(all[i], all[j]).empty());
    }
  }
  EXPECT_GT(ordered, 1000);  // otherwise the test says nothing
}

// Transitivity field by field is transitivity of the whole, because Meets is their conjunction; so contracts that
// differ from the strongest in two fields at most cover every triple of values.
TEST(ContractProperty, MeetsIsTransitive) {
  auto all = EnumeratedContracts(true);
  std::mt19937_64 random(3);
  int64_t chains = 0;
  for (int round = 0; round < 400000; ++round) {
    Contract a = all[random() % all.size()], b = all[random() % all.size()], c = all[random() % all.size()];
    if (round % 2) {  // equal but for one branching field, or chains would be rare
      const bool acc = random() % 2;
      const auto copy = [&](const Contract& from) {
        Contract to;
        if (acc) to.acc = from.acc, to.tc_bits = from.tc_bits, to.tc_block = from.tc_block;
        if (!acc)
          to.alg = from.alg, to.winograd_m = from.winograd_m, to.winograd_r = from.winograd_r, to.ftz = from.ftz;
        return to;
      };
      a = copy(a), b = copy(b), c = copy(c);
    }
    if (!Meets(a, b) || !Meets(b, c)) continue;
    ++chains;
    ASSERT_TRUE(Meets(a, c)) << ToText(a) << " | " << ToText(b) << " | " << ToText(c);
  }
  EXPECT_GT(chains, 10000);
}

TEST(ContractProperty, EveryContractMeetsTheEmptyRequirement) {
  for (const Contract& c : EnumeratedContracts(true)) ASSERT_TRUE(Meets(c, Required(""))) << ToText(c);
}

TEST(ContractProperty, TextRoundTrips) {
  for (const Contract& c : EnumeratedContracts(false)) {
    const auto parsed = ParseDeclaration(ToText(c));
    ASSERT_TRUE(parsed) << parsed.error().message;
    ASSERT_EQ(ToText(*parsed), ToText(c));
    ASSERT_TRUE(Meets(*parsed, c) && Meets(c, *parsed));
  }
}

TEST(Contract, NumbersOfTheAccumulator) {
  const Contract f32 = Declared("f32"), tc = Declared("acc=tc<13,32>"), i32 = Declared("acc=i32");
  EXPECT_EQ(f32.AccUnitRoundoff(), std::ldexp(1.0, -24));
  EXPECT_EQ(tc.AccUnitRoundoff(), std::ldexp(1.0, -13));
  EXPECT_EQ(Declared("acc=tc<25,16>").AccUnitRoundoff(), std::ldexp(1.0, -23));
  EXPECT_EQ(i32.AccUnitRoundoff(), 0);
  EXPECT_EQ(f32.AccExactBits(), 24);
  EXPECT_EQ(tc.AccExactBits(), 14);
  EXPECT_EQ(i32.AccExactBits(), 31);
  EXPECT_EQ(Declared("f16acc").AccExactBits(), 11);
  EXPECT_EQ(Declared("f16acc").AccMaxFinite(), 65504);
  EXPECT_EQ(i32.AccMaxFinite(), 2147483647);
  EXPECT_EQ(f32.AccMinSubnormal(), std::ldexp(1.0, -149));
  EXPECT_EQ(tc.AccMinNormal(), std::ldexp(1.0, -126));
  EXPECT_EQ(i32.AccMinSubnormal(), 0);
}

TEST(Contract, NumbersOfTheInputs) {
  EXPECT_EQ(Declared("f32").InputUnitRoundoff(), 0);
  EXPECT_EQ(Declared("tf32").InputUnitRoundoff(), std::ldexp(1.0, -11));
  EXPECT_EQ(Declared("acc=f32;in=tf32rz").InputUnitRoundoff(), std::ldexp(1.0, -10));
  EXPECT_EQ(Declared("acc=f32;in=bf16").InputUnitRoundoff(), std::ldexp(1.0, -8));
  EXPECT_EQ(Declared("acc=f32;in=bf16x3").InputUnitRoundoff(), std::ldexp(3.0, -17));
  EXPECT_EQ(Declared("acc=f32;in=fp8").InputUnitRoundoff(), std::ldexp(1.0, -4));
}

}  // namespace
}  // namespace assay
