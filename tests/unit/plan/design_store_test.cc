// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/design_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <utility>

#include "harness/core/base/whole_file.h"
#include "tests/unit/plan/sample_operator.h"
#include "tests/unit/plan/test_catalog.h"
#include "tests/unit/temporary_folder.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using ::testing::SizeIs;

// Counts how often somebody asks what its cases vary in, as each search for a design does.
class CountingSample : public SampleOperator {
 public:
  CaseSpace Space() const override {
    ++asked_;
    return SampleOperator::Space();
  }
  int TakeAsked() const { return std::exchange(asked_, 0); }

 private:
  mutable int asked_ = 0;
};

class DesignStoreTest : public testing::Test {
 protected:
  std::vector<CaseSpec> Computed() const { return MakeCover(op_, options_).cases; }
  // Whether CasesOf gives what a search gives; and whether it searched.
  bool Searches(const DesignStore& store) {
    const std::vector<CaseSpec> expected = Computed();
    op_.TakeAsked();
    EXPECT_EQ(store.CasesOf(op_, options_), expected);
    return op_.TakeAsked() > 0;
  }
  void Write(const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

  const TemporaryFolder folder_;
  const fs::path root_ = folder_.Path("designs");
  const DesignStore store_{root_, "one"};
  const CountingSample op_;
  CoverOptions options_;
};

TEST_F(DesignStoreTest, TheSecondTimeNothingIsSearched) {
  EXPECT_TRUE(Searches(store_));
  EXPECT_TRUE(fs::exists(store_.PathOf(op_, options_)));
  EXPECT_FALSE(Searches(store_));
  EXPECT_FALSE(Searches(DesignStore(root_, "one")));
}

TEST_F(DesignStoreTest, IsAnnouncedBeforeASearchAlone) {
  int announced = 0;
  DesignStore store(root_, "one");
  store.BeforeSearch([&] { ++announced; });
  EXPECT_TRUE(Searches(store));
  EXPECT_FALSE(Searches(store));
  EXPECT_EQ(announced, 1);
}

TEST_F(DesignStoreTest, WhatADesignDependsOnMakesAnotherFile) {
  EXPECT_TRUE(Searches(store_));
  EXPECT_TRUE(Searches(DesignStore(root_, "another build")));
  for (const CoverOptions& other : {CoverOptions{.strength = 3}, CoverOptions{.limits = {.elements = 40}},
                                    CoverOptions{.limits = {.flops = 40}}, CoverOptions{.seed = 5}}) {
    options_ = other;
    EXPECT_TRUE(Searches(store_));
    EXPECT_FALSE(Searches(store_));
  }
}

// Cut off, with another byte, with an id more, empty, and of another design under this one's name.
TEST_F(DesignStoreTest, DamagedAndForeignFilesAreReplaced) {
  EXPECT_TRUE(Searches(store_));
  const fs::path path = store_.PathOf(op_, options_);
  const std::string good = ReadWholeFile(path).value();
  std::string changed = good, longer = good;
  changed[good.find("m=") + 2] ^= 1;
  longer.insert(good.rfind('\n') + 1, "matmul/f32/m=3,n=1,k=1/fill=normal/seed=0\n");
  const CoverOptions triples{.strength = 3};
  store_.CasesOf(op_, triples);
  const std::string foreign = ReadWholeFile(store_.PathOf(op_, triples)).value();
  for (const std::string& bad : {good.substr(0, good.size() / 2), good.substr(0, good.rfind('\n')), changed, longer,
                                 std::string(), std::string("\n"), foreign}) {
    Write(path, bad);
    EXPECT_TRUE(Searches(store_)) << bad;
    EXPECT_EQ(ReadWholeFile(path).value(), good);
    EXPECT_FALSE(Searches(store_));
  }
}

TEST_F(DesignStoreTest, WithoutAFolderOrABuildIdNothingIsKept) {
  for (const DesignStore& store : {DesignStore("", "one"), DesignStore(root_, "")}) {
    EXPECT_TRUE(Searches(store));
    EXPECT_TRUE(Searches(store));
  }
  EXPECT_FALSE(fs::exists(root_));
}

TEST_F(DesignStoreTest, AFolderThatCannotBeWrittenToIsNoError) {
  folder_.Write("file", "in its place");
  const DesignStore store(folder_.Path("file/designs"), "one");
  EXPECT_TRUE(Searches(store));
  EXPECT_TRUE(Searches(store));
}

TEST_F(DesignStoreTest, AnEmptyFolderInTheFilesPlaceIsReplacedAndAFullOneStays) {
  const fs::path path = store_.PathOf(op_, options_);
  fs::create_directories(path);
  EXPECT_TRUE(Searches(store_));
  EXPECT_FALSE(Searches(store_));
  fs::remove(path);
  fs::create_directories(path);
  Write(path / "notes.txt", "of somebody");
  EXPECT_TRUE(Searches(store_));
  EXPECT_TRUE(fs::exists(path / "notes.txt"));
}

// Designs of builds that nobody runs any more are removed.
TEST_F(DesignStoreTest, FilesThatNobodyUsedForLongGo) {
  const DesignStore old(root_, "old"), recent(root_, "recent");
  EXPECT_TRUE(Searches(old));
  EXPECT_TRUE(Searches(recent));
  Write(root_ / "notes.txt", "of somebody else");
  const auto long_ago = fs::file_time_type::clock::now() - std::chrono::hours(24 * 60);
  for (const auto& path : {old.PathOf(op_, options_), recent.PathOf(op_, options_), root_ / "notes.txt"}) {
    fs::last_write_time(path, long_ago);
  }
  EXPECT_FALSE(Searches(recent));  // which makes it young
  EXPECT_TRUE(Searches(store_));
  EXPECT_FALSE(fs::exists(old.PathOf(op_, options_)));
  EXPECT_TRUE(fs::exists(recent.PathOf(op_, options_)));
  EXPECT_TRUE(fs::exists(root_ / "notes.txt"));
}

TEST_F(DesignStoreTest, CoverLinesUseIt) {
  OpCatalog ops = TestCatalog();
  ops.op = [this](std::string_view name) { return name == "matmul" ? &op_ : nullptr; };
  const std::string line = "cover pairs matmul\n";
  const auto ids = [&](const OpCatalog& catalog) {
    std::vector<std::string> all;
    const std::vector<PlannedCase> cases = ParseSuite(line, "s.suite", catalog).value();
    for (const PlannedCase& planned : cases) all.push_back(planned.spec.Id());
    return all;
  };
  const std::vector<std::string> computed = ids(ops);
  const int asked_by_search = op_.TakeAsked();
  EXPECT_THAT(computed, SizeIs(Computed().size()));
  EXPECT_FALSE(fs::exists(root_));
  ops.designs = root_;
  EXPECT_EQ(ids(ops), computed);
  EXPECT_TRUE(fs::exists(root_));
  op_.TakeAsked();
  EXPECT_EQ(ids(ops), computed);
  EXPECT_LT(op_.TakeAsked(), asked_by_search);  // the line itself asks, too
}

}  // namespace
}  // namespace assay
