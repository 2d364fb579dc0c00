// SPDX-License-Identifier: Apache-2.0
// The kernels of reduce, softmax and attention, run on the host: strides, tails of a block, NaN, masks, rows without
// keys.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "backends/gpu/device/attention.h"
#include "backends/gpu/device/attention_flash.h"
#include "backends/gpu/device/attention_unit.h"
#include "backends/gpu/device/reduce.h"
#include "backends/gpu/device/reduce_arg.h"
#include "backends/gpu/device/softmax.h"

namespace gpu {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// x[3, 300] by columns, reduced along its rows; y every second element.
ReduceParams Rows(Fold fold, const std::vector<float>& x, void* y, Tag y_type) {
  ReduceParams p;
  p.x = x.data(), p.y = y, p.y_type = y_type, p.fold = fold, p.outputs = 3, p.count = p.part = 300;
  p.kept_axes = p.reduced_axes = 1;
  p.kept_size[0] = 3, p.kept_in[0] = 1, p.kept_out[0] = 2, p.reduced_size[0] = 300, p.reduced_in[0] = 3;
  return p;
}

std::vector<float> Values() {
  std::vector<float> x;
  for (int i = 0; i < 900; ++i) x.push_back(static_cast<float>((i * 37) % 101 - 50));
  return x;
}

TEST(ReduceKernels, OneThreadABlockAndPartsGiveTheSameSums) {
  const std::vector<float> x = Values();
  for (const Fold fold : {Fold::kSum, Fold::kMean, Fold::kMax, Fold::kMin, Fold::kL2}) {
    std::vector<float> expected(5, -1), tree(5, -1), parts(5, -1), sums(3 * 4);
    RunKernel(SequentialReduce<float>, 1, kReduceThreads, Rows(fold, x, expected.data(), Tag::kF32));
    RunKernel(TreeReduce<float>, 3, kReduceThreads, Rows(fold, x, tree.data(), Tag::kF32));
    ReduceParams p = Rows(fold, x, parts.data(), Tag::kF32);
    p.parts = 4, p.part = 80, p.sums = sums.data();  // the last one has 60
    RunKernel(TreeReduce<float>, 3 * 4, kReduceThreads, p);
    RunKernel(FinishReduce<float>, 1, kReduceThreads, p);
    EXPECT_EQ(tree, expected) << static_cast<int>(fold);
    EXPECT_EQ(parts, expected) << static_cast<int>(fold);
    EXPECT_EQ(expected[1], -1) << "between two outputs";
  }
  double sum = 0;
  for (size_t i = 1; i < 900; i += 3) sum += x[i];
  std::vector<float> y(5);
  RunKernel(SequentialReduce<float>, 1, kReduceThreads, Rows(Fold::kSum, x, y.data(), Tag::kF32));
  EXPECT_EQ(y[2], static_cast<float>(sum));
}

TEST(ReduceKernels, AtomicsAddEveryPartOnce) {
  const std::vector<float> x = Values();
  std::vector<float> expected(5, -1), y(5, -1), sums(3, 0);
  RunKernel(SequentialReduce<float>, 1, kReduceThreads, Rows(Fold::kMean, x, expected.data(), Tag::kF32));
  ReduceParams p = Rows(Fold::kMean, x, y.data(), Tag::kF32);
  p.parts = 4, p.part = 80, p.sums = sums.data(), p.atomic = 1;
  RunKernel(TreeReduce<float>, 3 * 4, kReduceThreads, p);
  RunKernel(FinishReduce<float>, 1, kReduceThreads, p);
  EXPECT_EQ(y, expected);
}

TEST(ReduceKernels, ArgMaxIsTheFirstOfEqualsAndNanWinsUnlessSkipped) {
  std::vector<float> x(900, 0.0f);
  x[3 * 270] = x[3 * 290] = 5;                // row 0: a tie across threads
  x[1 + 3 * 299] = 7, x[1 + 3 * 288] = kNan;  // row 1
  for (size_t i = 0; i < 300; ++i) x[2 + 3 * i] = kNan;
  for (const bool skip : {false, true}) {
    std::vector<int64_t> one(5, -1), tree(5, -1);
    ReduceParams p = Rows(Fold::kArgMax, x, one.data(), Tag::kI64);
    p.skip_nan = skip;
    RunKernel(SequentialArg<float>, 1, kReduceThreads, p);
    p.y = tree.data();
    RunKernel(TreeArg<float>, 3, kReduceThreads, p);
    EXPECT_EQ(one, tree);
    EXPECT_EQ(one, (std::vector<int64_t>{270, -1, skip ? 299 : 288, -1, 0}));
  }
}

TEST(SoftmaxKernels, BothNormaliseEveryRowOfAnyStride) {
  std::vector<float> x = Values(), y(900, -1);
  for (float& value : x) value /= 16;
  SoftmaxParams p;
  p.x = x.data(), p.y = y.data(), p.rows = 3, p.size = 300, p.x_step = p.y_step = 3, p.axes = 1;
  p.axis_size[0] = 3, p.axis_x[0] = p.axis_y[0] = 1;
  for (const auto kernel : {ThreePassSoftmax<float>, OnlineSoftmax<float>}) {
    RunKernel(kernel, 3, kReduceThreads, p);
    for (size_t row = 0; row < 3; ++row) {
      double sum = 0;
      for (size_t i = row; i < 900; i += 3) sum += std::exp(double{x[i]});
      for (size_t i = row; i < 900; i += 3) EXPECT_NEAR(y[i], std::exp(double{x[i]}) / sum, 1e-7);
    }
  }
}

// Two query heads to a key head; extents that divide by nothing.
template <class T>
class AttentionArgs {
 public:
  AttentionArgs(int64_t batch, int64_t heads, int64_t queries) {
    p.batch = batch, p.heads = heads, p.group = 2, p.l = queries, p.s = 70, p.d = 24, p.dv = 20, p.scale = 0.25,
    p.shift = p.s - p.l;
    q = Fill(p.heads * p.l * p.d, 1), k = Fill(p.heads / 2 * p.s * p.d, 2), v = Fill(p.heads / 2 * p.s * p.dv, 3);
    SetStrides(p.q_at, p.heads, p.l, p.d), SetStrides(p.k_at, p.heads / 2, p.s, p.d);
    SetStrides(p.v_at, p.heads / 2, p.s, p.dv), SetStrides(p.o_at, p.heads, p.l, p.dv);
    o.resize(static_cast<size_t>(p.batch * p.heads * p.l * p.dv));
    mask.assign(static_cast<size_t>(p.l * p.s), 1);
    for (size_t i = 0; i < mask.size(); ++i)
      mask[i] = i % 5 != 0 && i / static_cast<size_t>(p.s) != 4;  // query 4: nothing
    p.mask_at[2] = p.s, p.mask_at[3] = 1, p.mask_type = Tag::kI8;
  }

  void Expect(const char* kernel, double tolerance) const {
    for (int64_t row = 0; row < p.batch * p.heads * p.l; ++row) {
      const int64_t query = row % p.l, head = row / p.l % p.heads, batch = row / p.l / p.heads;
      const KeyRange keys = KeysOf(p, query);
      std::vector<double> weights;
      double sum = 0;
      for (int64_t j = 0; j < p.s; ++j) {
        double dot = 0;
        for (int64_t c = 0; c < p.d; ++c) {
          dot += At(q, RowOf(p.q_at, batch, head, query) + c) * At(k, RowOf(p.k_at, batch, head / 2, j) + c);
        }
        const bool hidden = p.mask_form == MaskForm::kBool && mask[static_cast<size_t>(query * p.s + j)] == 0;
        const bool seen = j >= keys.first && j < keys.last && !hidden;
        weights.push_back(seen ? std::exp(dot * p.scale) : 0);
        sum += weights.back();
      }
      for (int64_t c = 0; c < p.dv; ++c) {
        double expected = 0;
        for (int64_t j = 0; j < p.s && sum > 0; ++j) {
          expected += weights[static_cast<size_t>(j)] / sum * At(v, RowOf(p.v_at, batch, head / 2, j) + c);
        }
        ASSERT_NEAR(At(o, RowOf(p.o_at, batch, head, query) + c), expected, tolerance)
            << kernel << " batch " << batch << " head " << head << " query " << query << " column " << c;
      }
    }
  }

  void Begin() {
    p.q = q.data(), p.k = k.data(), p.v = v.data(), p.o = o.data(), p.mask = mask.data();
    std::fill(o.begin(), o.end(), Element(99));
  }

  AttentionParams p;
  std::vector<T> q, k, v, o;
  std::vector<int8_t> mask;

 private:
  static T Element(float x) {
    if constexpr (sizeof(T) == 2) {
      return Narrow<T>(x);
    } else {
      return x;
    }
  }
  std::vector<T> Fill(int64_t of_a_batch, int seed) const {
    std::vector<T> values;
    for (int64_t i = 0; i < p.batch * of_a_batch; ++i) {
      values.push_back(Element(static_cast<float>((i * 11 + i / 9 + seed) % 17 - 8) / 8));
    }
    return values;
  }
  static void SetStrides(int64_t* at, int64_t heads, int64_t rows, int64_t columns) {
    at[0] = heads * rows * columns, at[1] = rows * columns, at[2] = columns, at[3] = 1;
  }
  static double At(const std::vector<T>& x, int64_t index) { return double{ToAcc(x[static_cast<size_t>(index)])}; }
};

template <class T>
std::vector<AttentionArgs<T>> Masks(int64_t batch, int64_t heads, int64_t queries) {
  std::vector<AttentionArgs<T>> cases(5, AttentionArgs<T>(batch, heads, queries));
  cases[1].p.causal = 1;
  cases[2].p.causal = 1, cases[2].p.shift = -15;  // the first queries see no key
  cases[3].p.window = 7;
  cases[4].p.mask_form = MaskForm::kBool;
  return cases;
}

TEST(AttentionKernels, FlashAndMaterialisedSeeTheKeysThatTheMasksLeave) {
  for (AttentionArgs<float>& c : Masks<float>(1, 2, 17)) {
    c.Begin();
    RunKernel(FlashAttention<float>, QueryBlocks(c.p, kFlashQueries), kAttentionThreads, c.p);
    c.Expect("flash", 2e-6);
    if (c.p.shift >= 0 && c.p.mask_form == MaskForm::kNone) continue;  // a block for every row: these have it all
    std::vector<float> scores(static_cast<size_t>(c.p.batch * c.p.heads * c.p.l * c.p.s));
    c.p.scores = scores.data();
    c.Begin();
    const int64_t rows = QueryBlocks(c.p, 1);
    RunKernel(AttentionScores<float>, CeilDiv(rows * c.p.s, kAttentionThreads), kAttentionThreads, c.p);
    RunKernel(AttentionWeights<float>, rows, kAttentionThreads, c.p);
    RunKernel(AttentionValues<float>, CeilDiv(rows * c.p.dv, kAttentionThreads), kAttentionThreads, c.p);
    c.Expect("materialised", 2e-6);
  }
}

TEST(AttentionKernels, FlashOnMatrixUnitsSeesTheKeysThatTheMasksLeave) {
  for (AttentionArgs<Half>& c : Masks<Half>(2, 4, 70)) {
    c.Begin();
    RunKernel(UnitFlashAttention<Half, 64>, QueryBlocks(c.p, kUnitQueries), kFlashWaves * PlainLayout::kLanes, c.p);
    c.Expect("flash-matrix-unit", 2e-3);
  }
}

}  // namespace
}  // namespace gpu
