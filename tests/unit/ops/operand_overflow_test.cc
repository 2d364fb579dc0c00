// SPDX-License-Identifier: Apache-2.0
// Attention and softmax on operands that the contract's input class, or a scale, makes infinite. Correct kernels stay
// within what is promised, whatever their order; faults in what is not touched, and values out of reach, do not.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/core/data/fill/rng.h"
#include "ops/binding.h"
#include "ops/softmax/softmax.h"
#include "tests/support/operator_cases.h"
#include "tests/support/simulate/attention.h"
#include "tests/support/simulate/softmax.h"
#include "tests/unit/special_values.h"

namespace assay::test {
namespace {

constexpr double kLargest = 0x1.FFFFFEp127, kTiny = 0x1p-127;
constexpr const char* kNarrow[] = {"in=tf32rn;acc=f32;math=1", "in=bf16;acc=f32;math=1", "in=bf16x3;acc=f32;math=1",
                                   "in=tf32rn;acc=f32;mid=f16;math=2"};

// Puts +-x at element i of an operand.
void Plant(std::vector<Tensor>& inputs, int operand, int64_t i, double x) {
  std::vector<double> values = inputs[operand].ToDoubles();
  values[i] = x;
  inputs[operand].SetDoubles(values);
}

// Column 0 of an operand of `width` columns becomes tiny, so that scores stay moderate.
void Shrink(std::vector<Tensor>& inputs, int operand, int64_t width) {
  std::vector<double> values = inputs[operand].ToDoubles();
  for (size_t i = 0; i < values.size(); i += static_cast<size_t>(width)) values[i] *= kTiny;
  inputs[operand].SetDoubles(values);
}

struct Attended {
  Problem problem;
  std::vector<Tensor> inputs;
  Contract contract;
  Golden golden;
  DeclaredBound bound;

  // `where`: 0 q, 1 k, 2 v, 3 nowhere.
  Attended(const std::string& id, const char* declaration, int where, double x) : problem(Bind(id)) {
    contract = Declared(declaration);
    inputs = Op("attention").MakeInputs(problem);
    const int64_t d = problem.Int("d"), seed = static_cast<int64_t>(problem.spec.seed);
    if (where < 2) Shrink(inputs, 1 - where, d);
    if (where == 2) Plant(inputs, 2, (seed % problem.Int("s")) * problem.Int("dv"), x);
    if (where < 2) Plant(inputs, where, seed % problem.Int(where == 0 ? "l" : "s") * d, x);
    golden = Op("attention").ComputeGolden(problem, 0, inputs, Tier::kFast);
    bound = BoundOf(problem, golden, contract);
  }

  std::vector<double> Run(int64_t row, const AttentionForm& form, const AttentionFault& fault = {}) const {
    return RunAttentionRow(problem, inputs, row, contract, form, fault);
  }
};

constexpr const char* kMasks[] = {"", ",causal=1", ",mask=bool", ",mask=add", ",softcap=5", ",scale=2"};

TEST(OperandOverflow, CorrectAttentionStaysWithinWhatIsPromised) {
  int checked = 0, infinite = 0, bounded = 0;
  for (const char* declaration : kNarrow) {
    for (const char* mask : kMasks) {
      for (int seed = 0; seed < 12; ++seed) {
        const std::string id = fmt::format("attention/f32/b=1,h=1,l=4,s=24,d=4,dv=3{}/fill=normal/seed={}", mask, seed);
        const double x = seed % 2 == 0 ? kLargest : -0x1.FFFp127;
        const Attended a(id, declaration, seed / 4, x);
        SCOPED_TRACE(id + " " + declaration);
        const auto forms = AllAttentionForms(static_cast<uint64_t>(seed));
        for (int64_t row = 0; row < 4; ++row) {
          for (size_t at = static_cast<size_t>(row) % 2; at < forms.size(); at += 2) {
            const std::vector<double> got = a.Run(row, forms[at]);
            for (int64_t c = 0; c < 3; ++c) {
              const int64_t i = row * 3 + c;
              ASSERT_TRUE(Accepts(a.bound, a.golden, i, got[c]))
                  << "form " << at << " element " << i << ": " << got[c] << " for " << a.golden.value[i];
              ++checked;
              infinite += std::isfinite(got[c]) ? 0 : 1;
              bounded += a.bound.At(a.golden, i) < 100 ? 1 : 0;
            }
          }
        }
      }
    }
  }
  EXPECT_GT(infinite, 1000) << "of " << checked;
  EXPECT_GT(bounded, checked / 2);
}

TEST(OperandOverflow, OnlyWhatReadsTheOperandIsExcused) {
  const std::string id = "attention/f32/b=1,h=2,l=4,s=24,d=4,dv=3/fill=normal/seed=1";
  for (const char* declaration : {kNarrow[0], kNarrow[1], kNarrow[2]}) {
    SCOPED_TRACE(declaration);
    // q of row 1: the weights of that row are anyone's, its results still averages of v.
    const Attended q(id, declaration, 0, kLargest);
    EXPECT_TRUE(Accepts(q.bound, q.golden, 3, NAN) && Accepts(q.bound, q.golden, 3, 0));
    EXPECT_FALSE(Accepts(q.bound, q.golden, 3, kInf)) << "finite values have no infinite average";
    EXPECT_FALSE(Accepts(q.bound, q.golden, 3, 100));
    EXPECT_FALSE(Accepts(q.bound, q.golden, 0, NAN) || Accepts(q.bound, q.golden, 6, NAN)) << "other rows";
    // v of key 1, column 0 of head 0.
    const Attended v(id, declaration, 2, kLargest);
    EXPECT_TRUE(Accepts(v.bound, v.golden, 0, kInf) && Accepts(v.bound, v.golden, 3, NAN));
    EXPECT_FALSE(Accepts(v.bound, v.golden, 1, kInf) || Accepts(v.bound, v.golden, 1, NAN)) << "other columns";
    EXPECT_FALSE(Accepts(v.bound, v.golden, 12, NAN)) << "the other head";
    EXPECT_FALSE(Accepts(v.bound, v.golden, 0, v.golden.value[0] / 4)) << "finite results stay bounded";
    // k of key 1, head 0: no other head.
    const Attended k(id, declaration, 1, kLargest);
    EXPECT_TRUE(Accepts(k.bound, k.golden, 0, NAN));
    EXPECT_FALSE(Accepts(k.bound, k.golden, 12, NAN));
  }
  for (const char* declaration : {"acc=f32;math=1", "in=tf32rz;acc=f32;math=1"}) {
    for (int where : {0, 1}) {
      const Attended a(id, declaration, where, kLargest);
      EXPECT_FALSE(Accepts(a.bound, a.golden, 3, NAN)) << declaration << where;
    }
  }
  const Attended below(id, kNarrow[0], 0, 0x1.FFDFFEp127);
  EXPECT_FALSE(Accepts(below.bound, below.golden, 3, NAN)) << "rounds to the largest number of tf32";
}

TEST(OperandOverflow, FaultsOfUntouchedRowsFail) {
  int seen = 0;
  for (int seed = 0; seed < 12; ++seed) {
    const Attended a(fmt::format("attention/f32/b=1,h=2,l=4,s=24,d=4,dv=3/fill=normal/seed={}", seed),
                     "in=tf32rn;acc=f32;math=1", seed % 3, kLargest);
    bool caught = false;
    for (int64_t row = 4; row < 8; ++row) {  // the other head
      const std::vector<double> got = a.Run(row, {}, {.drop_first = true});
      for (int64_t c = 0; c < 3; ++c) caught = caught || !Accepts(a.bound, a.golden, row * 3 + c, got[c]);
    }
    seen += caught ? 1 : 0;
  }
  EXPECT_EQ(seen, 12);
}

// q times a scale above one, or times log2 e, before the product: infinite though the score is not.
TEST(OperandOverflow, ScaledQueriesMayOverflow) {
  int infinite = 0;
  for (int seed = 0; seed < 4; ++seed) {
    const Attended a(fmt::format("attention/f32/b=1,h=1,l=4,s=24,d=4,dv=3,scale=4/fill=normal/seed={}", seed),
                     "acc=f32;math=1", 0, 0x1p126);
    for (const AttentionForm& form : AllAttentionForms(static_cast<uint64_t>(seed))) {
      const std::vector<double> got = a.Run(seed % 4, form);
      for (int64_t c = 0; c < 3; ++c) {
        ASSERT_TRUE(Accepts(a.bound, a.golden, seed % 4 * 3 + c, got[c]));
        infinite += std::isfinite(got[c]) ? 0 : 1;
      }
    }
    const int64_t other = (seed + 1) % 4 * 3;
    EXPECT_FALSE(Accepts(a.bound, a.golden, other, NAN)) << "another row";
  }
  EXPECT_GT(infinite, 100);
}

TEST(OperandOverflow, CorrectSoftmaxStaysWithinWhatIsPromised) {
  const std::vector<std::vector<double>> rows = {{kLargest, 0, 3, -kInf, 1},
                                                 {-kLargest, -kLargest, -kLargest, -kLargest, -kInf},
                                                 {0x1p20, 0x1p20 - 1024, 0x1p20 - 4096, 0, -kInf},
                                                 {-kLargest, 1, 2, 3, -kInf},
                                                 {1, 0.5, 0.25, -2, -800},
                                                 {kLargest, 0x1.FFBp127, -kLargest, 0, 1}};
  int infinite = 0;
  for (const char* declaration : kNarrow) {
    const Contract contract = Declared(declaration);
    for (const char* log : {"", ",log=1"}) {
      const Problem problem = Bind(fmt::format("softmax/f32/shape=6x5{}/fill=normal/seed=0", log));
      std::vector<Tensor> inputs = Op("softmax").MakeInputs(problem);
      std::vector<double> values;
      for (const auto& row : rows) values.insert(values.end(), row.begin(), row.end());
      inputs[0].SetDoubles(values);
      const Golden golden = Op("softmax").ComputeGolden(problem, 0, inputs, Tier::kFast);
      const DeclaredBound bound = BoundOf(problem, golden, contract);
      for (size_t r = 0; r < rows.size(); ++r) {
        for (const SoftmaxForm& form : AllSoftmaxForms(1)) {
          const std::vector<double> got = RunSoftmaxRow(problem, rows[r], contract, form);
          for (size_t k = 0; k < got.size(); ++k) {
            const int64_t i = static_cast<int64_t>(5 * r + k);
            const double y = golden.value[i];
            ASSERT_TRUE(Accepts(bound, golden, i, got[k]))
                << declaration << log << " row " << r << " element " << k << ": " << got[k] << " for " << y;
            infinite += std::isnan(got[k]) ? 1 : 0;
          }
        }
      }
      // Rows that the class does not touch keep their bound, a vanished probability and -inf too.
      const double none = *log == 0 ? 0 : -kInf;
      EXPECT_FALSE(Accepts(bound, golden, 20, golden.value[20] * 1.5));
      EXPECT_FALSE(Accepts(bound, golden, 20, NAN) || Accepts(bound, golden, 24, NAN));
      EXPECT_TRUE(Accepts(bound, golden, 19, none));
      EXPECT_FALSE(Accepts(bound, golden, 24, 1e-6));
      if (*log == 0) {
        EXPECT_FALSE(Accepts(bound, golden, 19, 0.25));
      }
    }
  }
  EXPECT_GT(infinite, 100);
}

}  // namespace
}  // namespace assay::test
