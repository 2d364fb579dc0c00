// SPDX-License-Identifier: Apache-2.0
#include "golden/store/store.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <thread>

#include "golden/sums/sum.h"
#include "harness/core/data/safetensors.h"
#include "tests/unit/temporary_folder.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

class Store : public ::testing::Test {
 protected:
  static Golden Some(double offset) {
    const std::vector<double> x = {1 + offset, 0x1p-60, 3, 0x1p-130, 5, 6};
    Golden golden = GoldenRowSums(x, 2, 3, Tier::kReproducible, false, 0x1p-126, false);
    golden.value[1] = std::nan("");
    return golden;
  }
  std::string Bytes() const {
    std::ifstream in(GoldenStore(root_).PathOf(key_), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void Overwrite(const std::string& bytes) const {
    std::ofstream(GoldenStore(root_).PathOf(key_), std::ios::binary | std::ios::trunc) << bytes;
  }

  const TemporaryFolder folder_;
  const fs::path root_ = folder_.Path("store");
  GoldenKey key_{.case_id = "reduce/f32/shape=2x3/fill=normal/seed=0", .input_hash = "00ff", .tier = Tier::kFast};
};

TEST_F(Store, RoundTrip) {
  const GoldenStore store(root_);
  const auto absent = store.Load(key_);
  ASSERT_TRUE(absent.has_value());
  EXPECT_FALSE(absent->has_value());
  const Golden golden = Some(0);
  ASSERT_TRUE(store.Save(key_, golden).has_value());
  const auto loaded = store.Load(key_);
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
  ASSERT_TRUE(loaded->has_value());
  const Golden& got = **loaded;
  EXPECT_EQ(GoldenHash(got), GoldenHash(golden));
  EXPECT_EQ(got.shape, golden.shape);
  EXPECT_EQ(got.tier, golden.tier);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(got.magnitude[i], golden.magnitude[i]);
    EXPECT_EQ(got.sigma[i], golden.sigma[i]);
    EXPECT_EQ(got.error[i], golden.error[i]);
    EXPECT_EQ((*got.Extra("subnormal_mass"))[i], (*golden.Extra("subnormal_mass"))[i]);
  }
  EXPECT_EQ(std::distance(fs::recursive_directory_iterator(root_), {}), 2);  // one folder, one file, nothing temporary
}

TEST_F(Store, ComplexKeepsItsShape) {
  Golden golden{.shape = {3}};
  golden.value = {1, 2, 3, 4, 5, 6};
  golden.error = Plane(3, false);
  golden.sigma = Plane(6, true);
  ASSERT_TRUE(GoldenStore(root_).Save(key_, golden).has_value());
  const auto loaded = GoldenStore(root_).Load(key_);
  ASSERT_TRUE(loaded.has_value() && loaded->has_value());
  EXPECT_EQ((*loaded)->shape, Shape{3});
  EXPECT_EQ((*loaded)->size(), 6);
  EXPECT_EQ((*loaded)->error.size(), 3);
  EXPECT_TRUE((*loaded)->sigma.wide());
}

TEST_F(Store, EmptyPathStoresNothing) {
  const GoldenStore store{fs::path()};
  EXPECT_TRUE(store.Save(key_, Some(0)).has_value());
  EXPECT_FALSE(store.Load(key_).value().has_value());
}

TEST_F(Store, DamagedBytesAndLengthsAreDetected) {
  const GoldenStore store(root_);
  ASSERT_TRUE(store.Save(key_, Some(0)).has_value());
  const std::string good = Bytes();
  for (size_t i = 0; i < good.size(); i += 7) {  // files are slow
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x10);
    Overwrite(bad);
    const auto loaded = store.Load(key_);
    // Spaces at the end of the header carry nothing; all else does.
    EXPECT_TRUE(!loaded.has_value() || GoldenHash(**loaded) == GoldenHash(Some(0))) << i;
    Overwrite(good.substr(0, i));
    EXPECT_FALSE(store.Load(key_).has_value()) << i;
  }
  Overwrite(good + "x");
  EXPECT_FALSE(store.Load(key_).has_value());
  ASSERT_TRUE(store.Save(key_, Some(0)).has_value());  // recomputed and replaced
  EXPECT_TRUE(store.Load(key_).has_value());
}

TEST_F(Store, ForeignFilesAreNamed) {
  const GoldenStore store(root_);
  GoldenKey other = key_;
  other.case_id = "reduce/f32/shape=2x3/fill=normal/seed=1";
  ASSERT_TRUE(store.Save(other, Some(1)).has_value());
  fs::create_directories(store.PathOf(key_).parent_path());
  fs::copy_file(store.PathOf(other), store.PathOf(key_));
  const auto loaded = store.Load(key_);
  ASSERT_FALSE(loaded.has_value());
  EXPECT_NE(loaded.error().message.find("seed=1"), std::string::npos) << loaded.error().message;

  GoldenKey inputs = other;
  inputs.input_hash = "1111";
  EXPECT_FALSE(store.Load(inputs).has_value());

  const float x = 1;
  ASSERT_TRUE(WriteSafetensors(store.PathOf(key_), {{"weights", DType::kF32, {1}, &x}}, {}).has_value());
  EXPECT_NE(store.Load(key_).error().message.find("not a golden file"), std::string::npos);
}

TEST_F(Store, TiersAndCasesHaveTheirOwnFiles) {
  GoldenKey tier = key_, id = key_;
  tier.tier = Tier::kReproducible;
  id.case_id += "0";
  const GoldenStore store(root_);
  EXPECT_NE(store.PathOf(tier), store.PathOf(key_));
  EXPECT_NE(store.PathOf(id), store.PathOf(key_));
}

// The first output has the file that the only one of an operator has.
TEST_F(Store, FurtherOutputsHaveTheirOwnFiles) {
  const GoldenStore store(root_);
  GoldenKey mean = key_, rstd = key_;
  mean.output = "mean", rstd.output = "rstd";
  EXPECT_NE(store.PathOf(mean), store.PathOf(key_));
  EXPECT_NE(store.PathOf(mean), store.PathOf(rstd));
  ASSERT_TRUE(store.Save(mean, Some(1)).has_value());
  EXPECT_TRUE(store.Load(mean)->has_value());
  EXPECT_FALSE(store.Load(key_)->has_value());
  fs::create_directories(store.PathOf(key_).parent_path());
  fs::copy_file(store.PathOf(mean), store.PathOf(key_));
  EXPECT_NE(store.Load(key_).error().message.find("output is 'mean', expected ''"), std::string::npos);
}

TEST_F(Store, FormulasHaveTheirOwnFiles) {
  const GoldenStore store(root_);
  GoldenKey former = key_, present = key_;
  former.formula = "0123456789abcdef", present.formula = "0123456789abcdee";
  ASSERT_TRUE(store.Save(former, Some(1)).has_value());
  EXPECT_TRUE(store.Load(former)->has_value());
  EXPECT_FALSE(store.Load(present)->has_value());
  EXPECT_FALSE(store.Load(key_)->has_value());
  fs::create_directories(store.PathOf(present).parent_path());
  fs::copy_file(store.PathOf(former), store.PathOf(present));
  EXPECT_NE(store.Load(present).error().message.find("formula is '0123456789abcdef'"), std::string::npos);
}

// Writers of different content under one key: every read sees one whole file.
TEST_F(Store, ConcurrentThreads) {
  const GoldenStore store(root_);
  ASSERT_TRUE(store.Save(key_, Some(0)).has_value());
  const auto write = [&](double offset) {
    for (int i = 0; i < 30; ++i) EXPECT_TRUE(store.Save(key_, Some(offset)).has_value());
  };
  std::thread one(write, 0.0), two(write, 1.0);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(store.Load(key_).has_value());
  one.join();
  two.join();
  EXPECT_TRUE(store.Load(key_).value().has_value());
}

TEST_F(Store, ConcurrentProcesses) {
  const GoldenStore store(root_);
  const Golden golden = Some(0);
  std::vector<pid_t> children;
  for (int p = 0; p < 2; ++p) {
    const pid_t child = ::fork();
    if (child == 0) {
      bool good = true;
      for (int i = 0; i < 30; ++i) good = store.Save(key_, golden).has_value() && good;
      ::_exit(good ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_TRUE(store.Load(key_).value().has_value());
}

TEST(StoreRoot, Environment) {
  ::setenv("ASSAY_GOLDEN_STORE", "/somewhere", 1);
  EXPECT_EQ(GoldenStore::DefaultRoot(), fs::path("/somewhere"));
  ::unsetenv("ASSAY_GOLDEN_STORE");
  ::setenv("XDG_CACHE_HOME", "/cache", 1);
  EXPECT_EQ(GoldenStore::DefaultRoot(), fs::path("/cache/assay/golden"));
  ::unsetenv("XDG_CACHE_HOME");
}

}  // namespace
}  // namespace assay
