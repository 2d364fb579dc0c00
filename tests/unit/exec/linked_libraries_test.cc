// SPDX-License-Identifier: Apache-2.0
// Which files a plugin may read beside itself: the libraries that it links, and no file that only has such a name.
#include "harness/exec/sandbox/linked_libraries.h"

#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "harness/exec/sandbox/allow_list.h"
#include "harness/exec/sandbox/worker_folder.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

struct Links {
  std::vector<std::string> needed;
  std::string rpath = "", runpath = "";
};

template <class T>
void Append(const T& record, std::string& bytes) {
  bytes.append(reinterpret_cast<const char*>(&record), sizeof record);
}

// A shared library with nothing but its links. In memory its bytes lie at another address than in the file.
std::string LibraryBytes(const Links& links) {
  constexpr uint64_t kAddress = 0x1000, kDynamic = sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr);
  std::string strings(1, '\0');
  std::vector<Elf64_Dyn> entries;
  const auto add = [&](int64_t tag, const std::string& text) {
    entries.push_back({tag, {strings.size()}});
    strings += text + '\0';
  };
  for (const std::string& name : links.needed) add(DT_NEEDED, name);
  if (!links.rpath.empty()) add(DT_RPATH, links.rpath);
  if (!links.runpath.empty()) add(DT_RUNPATH, links.runpath);
  const uint64_t strings_at = kDynamic + (entries.size() + 2) * sizeof(Elf64_Dyn), bytes = strings_at + strings.size();
  entries.push_back({DT_STRTAB, {kAddress + strings_at}});
  entries.push_back({DT_NULL, {0}});
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64, header.e_type = ET_DYN;
  header.e_phoff = sizeof header, header.e_phnum = 2;
  std::string file;
  Append(header, file);
  Append(Elf64_Phdr{PT_LOAD, PF_R, 0, kAddress, kAddress, bytes, bytes, 1}, file);
  const uint64_t dynamic_bytes = entries.size() * sizeof(Elf64_Dyn);
  Append(Elf64_Phdr{PT_DYNAMIC, PF_R, kDynamic, kAddress, kAddress, dynamic_bytes, dynamic_bytes, 1}, file);
  for (const Elf64_Dyn& entry : entries) Append(entry, file);
  return file + strings;
}

class LinkedLibrariesTest : public testing::Test {
 protected:
  LinkedLibrariesTest() : folder_(*WorkerFolder::Create()), root_(fs::canonical(folder_.path())) {
    ::setenv("HOME", "/nowhere", 1);
  }
  void Write(const fs::path& name, const std::string& bytes) {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name, std::ios::binary) << bytes;
  }
  void Make(const fs::path& name, const Links& links = {}) { Write(name, LibraryBytes(links)); }
  // Below the folder, without its name.
  std::vector<std::string> Of(const fs::path& name, const std::vector<fs::path>& searched = {}) const {
    std::vector<std::string> found;
    for (const fs::path& path : LinkedLibraries(root_ / name, searched))
      found.push_back(path.lexically_relative(root_));
    return found;
  }

  WorkerFolder folder_;
  fs::path root_;
};

TEST_F(LinkedLibrariesTest, AreFoundWhereTheLibrarySays) {
  Make("v/p.so", {{"libone.so", "libnone.so"}, "$ORIGIN/deps:relative"});
  Make("v/deps/libone.so", {{"libtwo.so"}});  // by the DT_RPATH of what loads it
  Make("v/deps/libtwo.so");
  EXPECT_THAT(Of("v/p.so"), ElementsAre("v/deps/libone.so", "v/deps/libtwo.so"));
  Make("v/q.so", {{"libone.so"}, "", "${ORIGIN}/deps"});  // a DT_RUNPATH is the library's own
  EXPECT_THAT(Of("v/q.so"), ElementsAre("v/deps/libone.so"));
  Make("v/r.so", {{"libone.so"}, "$ORIGIN/deps", "/nowhere"});  // and takes the place of a DT_RPATH
  EXPECT_THAT(Of("v/r.so"), IsEmpty());
  EXPECT_THAT(Of("v/r.so", {root_ / "v/deps"}), ElementsAre("v/deps/libone.so", "v/deps/libtwo.so"));
  Make("v/s.so", {{(root_ / "v/deps/libtwo.so").string(), "relative/libone.so"}});
  EXPECT_THAT(Of("v/s.so"), ElementsAre("v/deps/libtwo.so"));
}

TEST_F(LinkedLibrariesTest, MayLinkEachOther) {
  Make("a.so", {{"b.so", "a.so"}, "$ORIGIN"});
  Make("b.so", {{"a.so"}, "$ORIGIN"});
  EXPECT_THAT(Of("a.so"), ElementsAre("b.so"));
}

TEST_F(LinkedLibrariesTest, AreNoOtherFiles) {
  Make("v/p.so", {{"seed", "libempty.so", "libcut.so", "folder", (root_ / "v/seed").string()}, "$ORIGIN"});
  Write("v/seed", "0123456789abcdef");
  Write("v/libempty.so", "");
  Write("v/libcut.so", LibraryBytes({{"seed"}, "$ORIGIN"}).substr(0, 50));
  fs::create_directories(root_ / "v/folder");
  EXPECT_THAT(Of("v/p.so"), IsEmpty());
  EXPECT_THAT(Of("v/seed"), IsEmpty());
  EXPECT_THAT(Of("v/absent"), IsEmpty());
}

TEST_F(LinkedLibrariesTest, OfDamagedFilesAreAtMostThoseThatAreThere) {
  Make("libone.so");
  const std::string whole = LibraryBytes({{"libone.so"}, "$ORIGIN"});
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const char value : {'\0', '\x7f', '\xff'}) {
      std::string damaged = whole;
      damaged[at] = value;
      Write("p.so", damaged);
      EXPECT_LE(Of("p.so").size(), 1u) << at;
    }
    Write("p.so", whole.substr(0, at));
    EXPECT_LE(Of("p.so").size(), 1u) << at;
  }
}

TEST_F(LinkedLibrariesTest, AreAllThatAPluginIsGrantedBesideItself) {
  Make("v/p.so", {{"libone.so"}, "$ORIGIN"});
  Make("v/libone.so"), Make("v/libopened.so");
  for (const char* name : {"v/seed", "v/night.assay.tar.zst", "v/out/results.jsonl"}) Write(name, "secret");
  const auto granted = [&](const std::vector<std::string>& hidden, const char* more) {
    AllowList grants(hidden);
    grants.GrantPlugin(root_ / "v/p.so");
    if (more != nullptr) grants.ReadAndWrite(root_ / more);
    EXPECT_EQ(grants.HiddenText(), "");
    std::vector<std::string> names;
    for (const FileGrant& grant : grants.all()) names.push_back(fs::path(grant.path).lexically_relative(root_));
    std::ranges::sort(names);
    return names;
  };
  EXPECT_THAT(granted({}, nullptr), ElementsAre("v/libone.so", "v/p.so"));
  EXPECT_THAT(granted({(root_ / "v/libone.so").string()}, nullptr), ElementsAre("v/p.so"));
  EXPECT_THAT(granted({(root_ / "v/seed").string()}, "v"),
              ElementsAre("v/libone.so", "v/libone.so", "v/libopened.so", "v/p.so", "v/p.so"));
}

}  // namespace
}  // namespace assay
