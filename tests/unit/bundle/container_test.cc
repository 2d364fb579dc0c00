// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/bundle/container.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "harness/core/base/whole_file.h"
#include "harness/tools/bundle/sha256.h"
#include "harness/tools/bundle/tar_member.h"
#include "tests/support/full.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

class BundleFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "assay-container-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    std::mt19937 random(1);
    std::string noise(5000, '\0');
    for (char& c : noise) c = static_cast<char>(random());
    files_ = {{"plan.json", "{}\n"},
              {"empty", ""},
              {"outputs/a.safetensors", noise},
              {"results.jsonl", std::string(3000, 'x')}};
    ASSERT_TRUE(WriteContainer(path(), files_));
    bytes_ = ReadWholeFile(path()).value();
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path path() const { return folder_ / "run.assay.tar.zst"; }
  Container Read(const std::string& bytes) const {
    std::ofstream(path(), std::ios::binary | std::ios::trunc) << bytes;
    return ReadContainer(path()).value();
  }

  fs::path folder_;
  BundleFiles files_;
  std::string bytes_;
};

TEST(Sha256, IsThatOfTheStandard) {
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST_F(BundleFile, HoldsWhatWasPutIntoIt) {
  const Container container = Read(bytes_);
  EXPECT_THAT(container.damage, SizeIs(0));
  EXPECT_EQ(container.files, files_);
}

TEST_F(BundleFile, IsOfTheSameBytesEachTime) {
  ASSERT_TRUE(WriteContainer(folder_ / "again", files_));
  EXPECT_EQ(ReadWholeFile(folder_ / "again").value(), bytes_);
}

TEST_F(BundleFile, EveryFlippedBitIsFoundInItsFile) {
  std::mt19937 random(2);
  size_t in_outputs = 0;
  for (int i = 0; i < 300; ++i) {
    std::string changed = bytes_;
    const size_t bit = random() % (8 * changed.size());
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    const Container container = Read(changed);
    ASSERT_THAT(container.damage, SizeIs(1)) << "bit " << bit;
    in_outputs += container.damage[0].starts_with("outputs/a.safetensors: ");
  }
  EXPECT_GT(in_outputs, 200U);  // most bytes are its own
}

TEST_F(BundleFile, EveryBitOfASmallOneIsFound) {
  ASSERT_TRUE(WriteContainer(path(), {{"a", "b"}}));
  const std::string small = ReadWholeFile(path()).value();
  for (size_t bit = 0; bit < 8 * small.size(); bit += test::kIsFull ? 1 : 3) {  // any bit of a byte, in turn
    std::string changed = small;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    ASSERT_THAT(Read(changed).damage, SizeIs(1)) << "bit " << bit;
  }
}

TEST_F(BundleFile, WhatIsCutOffAddedOrExchangedIsFound) {
  EXPECT_THAT(Read(bytes_.substr(0, bytes_.size() - 1)).damage, ElementsAre(StartsWith("the index at the file's end")));
  EXPECT_THAT(Read(bytes_ + "x").damage, SizeIs(1));
  EXPECT_THAT(Read("").damage, SizeIs(1));
  EXPECT_THAT(Read(std::string(1000, '\0')).damage, SizeIs(1));
  // Whole files of another bundle do not fit this one's manifest.
  BundleFiles other = files_;
  other["results.jsonl"][7] = 'y';
  ASSERT_TRUE(WriteContainer(path(), other));
  EXPECT_NE(ReadWholeFile(path()).value(), bytes_);
}

TEST_F(BundleFile, TarAndSha256sumReadIt) {
  Read(bytes_);
  const std::string command =
      fmt::format("cd '{}' && tar --zstd -xf {} && sha256sum --quiet -c MANIFEST", folder_.string(), path().string());
  EXPECT_EQ(std::system(command.c_str()), 0);
  EXPECT_EQ(ReadWholeFile(folder_ / "outputs/a.safetensors").value(), files_["outputs/a.safetensors"]);
}

TEST(TarMember, NamesThatLeadElsewhereAreRefused) {
  for (const std::string name : {"../a", "/a", "a/../b", "", "a//b", "a b", std::string(100, 'a').c_str()}) {
    EXPECT_FALSE(CheckMemberName(name)) << name;
  }
  const std::string member = TarMember("a/b", "text");
  EXPECT_EQ(ParseTarMember(member)->contents, "text");
  std::string longer = member + std::string(512, '\0');
  EXPECT_FALSE(ParseTarMember(longer));
}

}  // namespace
}  // namespace assay
