// SPDX-License-Identifier: Apache-2.0
// Which part an implementation of the corpus is in follows from the lists beside the plugin.
#include "harness/tools/power/corpus_part.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace assay {
namespace {

constexpr const char* kWithOthers = "libassay_corpus_held.so";  // the plugin that has all parts

class PartLists : public testing::Test {
 protected:
  PartLists() : folder_(std::filesystem::path(testing::TempDir()) / ("assay-parts-" + std::to_string(getpid()))) {
    std::filesystem::create_directory(folder_);
  }
  ~PartLists() override { std::filesystem::remove_all(folder_); }

  void Write(const char* name, const char* text) const { std::ofstream(folder_ / name) << text; }
  Result<CorpusParts> Read(CorpusPart part = CorpusPart::kTuned, const char* plugin = "plugin.so") const {
    return CorpusParts::Read(folder_ / plugin, part);
  }

 private:
  const std::filesystem::path folder_;
};

TEST_F(PartLists, EveryNameIsInOnePartAndInAll) {
  Write("held_back.txt", "# a comment\nmatmul fault.a\n");
  Write("fresh.txt", "matmul fault.b\nreduce legal.c\n");
  Write("studied.txt", "matmul fault.c\n"), Write("unseen.txt", "matmul fault.d\n");
  const auto parts = Read();
  ASSERT_TRUE(parts) << parts.error().message;
  const auto part_of = [&](const std::string& op, const char* name) {
    std::string in;
    for (size_t part = 0; part <= kListedParts; ++part) {
      if (parts->Has(CorpusPart{static_cast<uint8_t>(part)}, op, name)) in += kPartNames[part];
    }
    EXPECT_TRUE(parts->Has(CorpusPart::kAll, op, name));
    return in;
  };
  EXPECT_EQ(part_of("matmul", "fault.a"), "held");
  EXPECT_EQ(part_of("matmul", "fault.a.effect"), "held");
  EXPECT_EQ(part_of("matmul", "fault.b"), "fresh");
  EXPECT_EQ(part_of("matmul", "fault.b.effect"), "fresh");
  EXPECT_EQ(part_of("reduce", "legal.c"), "fresh");
  EXPECT_EQ(part_of("matmul", "fault.c"), "studied");
  EXPECT_EQ(part_of("matmul", "fault.d"), "unseen");
  EXPECT_EQ(part_of("reduce", "fault.a"), "tuned");
}

TEST_F(PartLists, WithoutListsAllIsTuned) {
  const auto parts = Read();
  ASSERT_TRUE(parts) << parts.error().message;
  EXPECT_TRUE(parts->Has(CorpusPart::kTuned, "matmul", "fault.a"));
  EXPECT_FALSE(parts->Has(CorpusPart::kFresh, "matmul", "fault.a"));
  EXPECT_TRUE(Read(CorpusPart::kAll));
  EXPECT_TRUE(Read(CorpusPart::kAll, kWithOthers));
}

TEST_F(PartLists, AListThatIsMissedIsAnErrorThatNamesIt) {
  const auto complains_of = [](const Result<CorpusParts>& parts, const char* list) {
    ASSERT_FALSE(parts);
    EXPECT_NE(parts.error().message.find(list), std::string::npos) << parts.error().message;
    EXPECT_NE(parts.error().message.find("assay_backend_corpus_held"), std::string::npos) << parts.error().message;
  };
  complains_of(Read(CorpusPart::kHeld), "held_back.txt");
  complains_of(Read(CorpusPart::kFresh), "held_back.txt");
  complains_of(Read(CorpusPart::kTuned, kWithOthers), "held_back.txt");
  Write("held_back.txt", "matmul fault.a\n");
  complains_of(Read(CorpusPart::kFresh), "fresh.txt");
  complains_of(Read(), "fresh.txt");
  Write("fresh.txt", ""), Write("studied.txt", "");
  complains_of(Read(CorpusPart::kUnseen), "unseen.txt");
  Write("unseen.txt", "");
  EXPECT_TRUE(Read(CorpusPart::kFresh));
  EXPECT_TRUE(Read(CorpusPart::kTuned, kWithOthers));
}

TEST_F(PartLists, ALineOfOtherWordsIsAnErrorThatSaysWhere) {
  Write("held_back.txt", ""), Write("fresh.txt", "matmul fault.b\nmatmul\n");
  const auto parts = Read();
  ASSERT_FALSE(parts);
  EXPECT_NE(parts.error().message.find("fresh.txt:2: 'matmul'"), std::string::npos) << parts.error().message;
}

}  // namespace
}  // namespace assay
