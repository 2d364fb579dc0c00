// SPDX-License-Identifier: Apache-2.0
// The kernels of matmul and conv, run on the host: ragged tiles, any strides, tails of k, padding and groups. Small
// integers, so that every order of a sum gives the same number.
#include <gtest/gtest.h>

#include "backends/gpu/device/conv.h"
#include "backends/gpu/device/matmul.h"
#include "backends/gpu/device/matmul_unit.h"
#include "tests/unit/gpu/conv_geometry.h"

namespace gpu {
namespace {

constexpr float kUntouched = 12345;

template <class T>
T ElementOf(int value) {
  if constexpr (sizeof(T) == 2) {
    return Narrow<T>(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

template <class T>
std::vector<T> Numbers(size_t count, int seed) {
  std::vector<T> numbers;
  for (size_t i = 0; i < count; ++i) numbers.push_back(ElementOf<T>(static_cast<int>((i * 7 + i / 5 + seed) % 7) - 3));
  return numbers;
}

template <class T>
class MatmulKernels : public testing::Test {
 protected:
  // a by rows or by columns, b likewise, y with a gap behind every row.
  void Make(int64_t m, int64_t n, int64_t k, bool a_along_k, bool b_along_k) {
    p_.m = m, p_.n = n, p_.k = k, p_.batch = 2, p_.part = k, p_.a_along_k = a_along_k, p_.b_along_k = b_along_k;
    p_.a_batch = m * k, p_.a_row = a_along_k ? k : 1, p_.a_column = a_along_k ? 1 : m;
    p_.b_batch = k * n, p_.b_row = b_along_k ? 1 : n, p_.b_column = b_along_k ? k : 1;
    p_.c_batch = p_.y_batch = m * (n + 3), p_.c_row = p_.y_row = n + 3, p_.c_column = p_.y_column = 1;
    p_.has_c = p_.has_bias = 1, p_.bias_column = 1, p_.alpha = 2, p_.beta = 3;
    p_.c_type = p_.bias_type = p_.y_type = Tag::kF32;
    a_ = Numbers<T>(static_cast<size_t>(2 * m * k), 1), b_ = Numbers<T>(static_cast<size_t>(2 * n * k), 2);
    c_ = Numbers<float>(static_cast<size_t>(2 * m * (n + 3)), 3), bias_ = Numbers<float>(static_cast<size_t>(n), 4);
    y_.assign(c_.size(), kUntouched);
    p_.a = a_.data(), p_.b = b_.data(), p_.c = c_.data(), p_.bias = bias_.data(), p_.y = y_.data();
  }

  void Expect(const char* kernel) const {
    for (int64_t batch = 0; batch < 2; ++batch) {
      for (int64_t i = 0; i < p_.m; ++i) {
        for (int64_t j = 0; j < p_.n + 3; ++j) {
          const auto at = static_cast<size_t>(batch * p_.y_batch + i * p_.y_row + j);
          float sum = 0;
          for (int64_t k = 0; k < p_.k && j < p_.n; ++k) {
            sum +=
                static_cast<float>(
                    ToAcc(a_[static_cast<size_t>(batch * p_.a_batch + i * p_.a_row + k * p_.a_column)])) *
                static_cast<float>(ToAcc(b_[static_cast<size_t>(batch * p_.b_batch + k * p_.b_row + j * p_.b_column)]));
          }
          const float expected = j < p_.n ? 2 * sum + 3 * c_[at] + bias_[static_cast<size_t>(j)] : kUntouched;
          ASSERT_EQ(y_[at], expected) << kernel << " " << p_.m << "x" << p_.n << "x" << p_.k << " at " << batch << ","
                                      << i << "," << j;
        }
      }
    }
  }

  template <class Shape>
  void RunTiles() {
    RunKernel(TiledMatmul<T, Shape>, TileCount<Shape>(p_.m, p_.n, p_.batch * p_.parts), kTileThreads, p_);
  }

  MatmulParams p_;
  std::vector<T> a_, b_;
  std::vector<float> c_, bias_, y_;
};
using ElementTypes = testing::Types<float, Half, BFloat, int8_t>;
TYPED_TEST_SUITE(MatmulKernels, ElementTypes);

TYPED_TEST(MatmulKernels, TilesCoverRaggedProducts) {
  for (const bool along : {false, true}) {
    this->Make(17, 131, 19, along, !along);
    this->template RunTiles<SkinnyTile>();
    this->Expect("skinny");
  }
  this->Make(66, 65, 33, true, true);
  this->template RunTiles<MediumTile>();
  this->Expect("medium");
  this->Make(1, 1, 1, false, false);
  this->template RunTiles<MediumTile>();
  this->Expect("medium");
}

TYPED_TEST(MatmulKernels, PartsOfKAddUp) {
  this->Make(5, 7, 41, true, false);
  this->p_.parts = 3, this->p_.part = 14;
  std::vector<Acc<TypeParam>> sums(2 * 3 * 5 * 7);
  this->p_.sums = sums.data();
  this->template RunTiles<SkinnyTile>();
  RunKernel(CombineParts<Acc<TypeParam>>, 1, kTileThreads, this->p_);
  this->Expect("parts");
}

TEST(UnitMatmulKernel, CoversRaggedProducts) {
  struct Halves : MatmulKernels<Half> {
    void TestBody() override {
      Make(130, 35, 37, true, false);
      RunKernel(UnitMatmul<Half, false>, TileCount<UnitShape>(p_.m, p_.n, 2), PlainLayout::kWaves * PlainLayout::kLanes,
                p_);
      Expect("unit");
      Make(3, 5, 70, false, true);
      RunKernel(UnitMatmul<Half, true>, TileCount<UnitShape>(p_.m, p_.n, 2), PlainLayout::kWaves * PlainLayout::kLanes,
                p_);
      Expect("unit, b along k");
    }
  };
  Halves().TestBody();
}

// ConvGeometry, with weights that lie one after the other and those that are said not to.
class ConvKernels : public testing::Test {
 protected:
  template <class T>
  void Expect(const char* name, void (*kernel)(ConvParams), int threads, int64_t (*blocks)(const ConvParams&)) {
    ConvParams p = ConvGeometry();
    const std::vector<T> x = Numbers<T>(2 * 6 * 99, 1), w = Numbers<T>(4 * 18, 2);
    const std::vector<float> bias = Numbers<float>(4, 3);
    for (const int32_t dense : {1, 0}) {
      std::vector<float> y(2 * 120, kUntouched);
      p.dense = dense, p.x = x.data(), p.w = w.data(), p.bias = bias.data(), p.y = y.data();
      RunKernel(kernel, blocks(p), threads, p);
      for (int64_t index = 0; index < 2 * 4 * 6 * 5; ++index) {
        const int64_t column = index % 5, row = index / 5 % 6, o = index / 30 % 4, image = index / 120;
        float sum = bias[static_cast<size_t>(o)];
        for (int64_t term = 0; term < 18; ++term) {
          const int64_t c = term / 6, r = row * 2 + term % 6 / 2 * 2 - 2, s = column * 3 + term % 2 - 1;
          if (r < 0 || r >= 11 || s < 0 || s >= 9) continue;
          sum += static_cast<float>(ToAcc(w[static_cast<size_t>(o * 18 + term)])) *
                 static_cast<float>(ToAcc(x[static_cast<size_t>(image * 594 + (o / 2 * 3 + c) * 99 + r * 9 + s)]));
        }
        ASSERT_EQ(y[static_cast<size_t>(index)], column < 4 ? sum : kUntouched) << name << " at " << index;
      }
    }
  }
};

TEST_F(ConvKernels, EveryAlgorithmSeesTheSamePatches) {
  Expect<float>("direct", DirectConv<float>, kConvThreads, ConvBlocks);
  Expect<int8_t>("direct i8", DirectConv<int8_t>, kConvThreads, ConvBlocks);
  Expect<float>("skinny", GemmConv<float, SkinnyTile>, kTileThreads, ConvTiles<SkinnyTile>);
  Expect<BFloat>("medium", GemmConv<BFloat, MediumTile>, kTileThreads, ConvTiles<MediumTile>);
  Expect<Half>("unit", UnitConv<Half>, PlainLayout::kWaves * PlainLayout::kLanes, ConvTiles<UnitShape>);
}

}  // namespace
}  // namespace gpu
