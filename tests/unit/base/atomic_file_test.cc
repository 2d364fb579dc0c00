// SPDX-License-Identifier: Apache-2.0
#include "harness/core/base/atomic_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <new>
#include <string>

#include "harness/core/base/whole_file.h"
#include "tests/unit/temporary_folder.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

TEST(AtomicFile, AStreamedTextIsWholeWhateverItsParts) {
  const TemporaryFolder folder;
  const fs::path path = folder.Path("new/text");
  std::string whole;
  const auto write = [&whole](const TextSink& sink) {
    for (const size_t size : {1UL, 0UL, 3UL << 20, 7UL, 1UL << 20}) {
      const std::string part(size, static_cast<char>('a' + size % 26));
      whole += part;
      sink(part);
    }
  };
  ASSERT_TRUE(StreamFileAtomically(path, write));
  EXPECT_TRUE(ReadWholeFile(path) == whole);
  ASSERT_TRUE(StreamFileAtomically(path, [](const TextSink&) {}));
  EXPECT_EQ(ReadWholeFile(path).value(), "");
}

TEST(AtomicFile, AStreamThatDoesNotFitLeavesWhatWasThere) {
  const TemporaryFolder folder;
  const fs::path path = folder.Path("text");
  ASSERT_TRUE(StreamFileAtomically(path, [](const TextSink& sink) { sink("before"); }));
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{2 << 20, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  const Status written = StreamFileAtomically(path, [](const TextSink& sink) {
    for (int i = 0; i < 8; ++i) sink(std::string(1 << 20, 'x'));
  });
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(written);
  EXPECT_NE(written.error().message.find("File too large"), std::string::npos) << written.error().message;
  EXPECT_EQ(ReadWholeFile(path).value(), "before");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.Path("")), fs::directory_iterator()), 1);
}

size_t OpenDescriptors() {
  return static_cast<size_t>(std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator()));
}

TEST(AtomicFile, AWriterThatThrowsLeavesWhatWasThereAndNothingBesideIt) {
  const TemporaryFolder folder;
  const fs::path path = folder.Path("text");
  ASSERT_TRUE(StreamFileAtomically(path, [](const TextSink& sink) { sink("before"); }));
  const size_t descriptors = OpenDescriptors();
  const auto write = [](const TextSink& sink) {
    sink(std::string(2 << 20, 'x'));
    throw std::bad_alloc();
  };
  EXPECT_THROW((void)StreamFileAtomically(path, write), std::bad_alloc);
  EXPECT_EQ(OpenDescriptors(), descriptors);
  EXPECT_EQ(ReadWholeFile(path).value(), "before");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.Path("")), fs::directory_iterator()), 1);
}

}  // namespace
}  // namespace assay
