// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/sandbox/linked_libraries.h"

#include <elf.h>
#include <fcntl.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <string_view>

#include "harness/core/base/text.h"
#include "harness/exec/unique_fd.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMostRecords = 65536, kMostNameBytes = 4096;
constexpr size_t kMostLibraries = 1000;  // more are no honest plugin's

// The parts of a file that say what it links.
class ElfFile {
 public:
  explicit ElfFile(const fs::path& path) : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}

  // Empty where the file ends before.
  template <class T>
  std::vector<T> Read(uint64_t offset, uint64_t n) const {
    std::vector<T> records(std::min(n, kMostRecords));
    const size_t bytes = records.size() * sizeof(T);
    if (::pread(fd_.get(), records.data(), bytes, static_cast<off_t>(offset)) != static_cast<ssize_t>(bytes)) return {};
    return records;
  }

  std::string ReadName(uint64_t offset) const {
    std::string name(kMostNameBytes, '\0');
    const ssize_t got = ::pread(fd_.get(), name.data(), name.size(), static_cast<off_t>(offset));
    name.resize(got < 0 ? 0 : static_cast<size_t>(got));
    return name.substr(0, std::min(name.find('\0'), name.size()));
  }

 private:
  UniqueFd fd_;
};

struct Links {
  std::vector<std::string> needed;
  std::string rpath, runpath;  // folders, separated by ':'
};

// Where the byte at an address of the loaded library stands in its file.
uint64_t OffsetOf(uint64_t address, const std::vector<Elf64_Phdr>& segments) {
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type == PT_LOAD && address - segment.p_vaddr < segment.p_filesz) {
      return address - segment.p_vaddr + segment.p_offset;
    }
  }
  return 0;
}

// Nothing where it is no shared library of 64 bits.
std::optional<Links> ReadLinks(const fs::path& path) {
  const ElfFile file(path);
  const auto header = file.Read<Elf64_Ehdr>(0, 1);
  if (header.empty() || std::memcmp(header[0].e_ident, ELFMAG, SELFMAG) != 0) return std::nullopt;
  if (header[0].e_ident[EI_CLASS] != ELFCLASS64 || header[0].e_type != ET_DYN) return std::nullopt;
  const auto segments = file.Read<Elf64_Phdr>(header[0].e_phoff, header[0].e_phnum);
  const auto dynamic = std::ranges::find(segments, Elf64_Word{PT_DYNAMIC}, &Elf64_Phdr::p_type);
  Links links;
  if (dynamic == segments.end()) return links;
  const auto entries = file.Read<Elf64_Dyn>(dynamic->p_offset, dynamic->p_filesz / sizeof(Elf64_Dyn));
  const auto strings = std::ranges::find(entries, Elf64_Sxword{DT_STRTAB}, &Elf64_Dyn::d_tag);
  if (strings == entries.end()) return links;
  const uint64_t table = OffsetOf(strings->d_un.d_ptr, segments);
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag == DT_NEEDED) links.needed.push_back(file.ReadName(table + entry.d_un.d_val));
    if (entry.d_tag == DT_RPATH) links.rpath = file.ReadName(table + entry.d_un.d_val);
    if (entry.d_tag == DT_RUNPATH) links.runpath = file.ReadName(table + entry.d_un.d_val);
  }
  return links;
}

// Relative ones mean nothing to a worker, whose current folder is its own.
std::vector<fs::path> FoldersIn(const std::string& list, const fs::path& origin) {
  std::vector<fs::path> folders;
  for (const std::string_view item : Split(list, ':')) {
    std::string text(item);
    for (const std::string_view token : {"$ORIGIN", "${ORIGIN}"}) {
      if (const size_t at = text.find(token); at != text.npos) text.replace(at, token.size(), origin.string());
    }
    if (text.starts_with('/')) folders.push_back(fs::path(text).lexically_normal());
  }
  return folders;
}

class Closure {
 public:
  explicit Closure(const std::vector<fs::path>& searched) : searched_(searched) {}

  // `inherited`: what the DT_RPATH of those that need it says, which holds for all that they load.
  void Add(const fs::path& library, const std::vector<fs::path>& inherited) {
    const std::optional<Links> links = ReadLinks(library);
    if (!links || found_.size() == kMostLibraries || !seen_.insert(library).second) return;
    found_.push_back(library);
    const fs::path origin = library.parent_path();
    std::vector<fs::path> rpath = FoldersIn(links->rpath, origin);
    rpath.insert(rpath.end(), inherited.begin(), inherited.end());
    std::vector<fs::path> folders = links->runpath.empty() ? rpath : std::vector<fs::path>();
    folders.insert(folders.end(), searched_.begin(), searched_.end());
    for (const fs::path& folder : FoldersIn(links->runpath, origin)) folders.push_back(folder);
    for (const std::string& name : links->needed) AddNeeded(name, origin, folders, rpath);
  }
  const std::vector<fs::path>& found() const { return found_; }

 private:
  void AddNeeded(const std::string& name, const fs::path& origin, const std::vector<fs::path>& folders,
                 const std::vector<fs::path>& rpath) {
    if (name.find('/') != name.npos) {
      for (const fs::path& path : FoldersIn(name, origin)) Add(path, rpath);
      return;
    }
    std::error_code error;
    const auto has_it = [&](const fs::path& folder) { return fs::is_regular_file(folder / name, error); };
    if (const auto folder = std::ranges::find_if(folders, has_it); folder != folders.end()) Add(*folder / name, rpath);
  }

  const std::vector<fs::path>& searched_;
  std::set<fs::path> seen_;
  std::vector<fs::path> found_;
};

}  // namespace

std::vector<fs::path> LinkedLibraries(const fs::path& library, const std::vector<fs::path>& searched) {
  Closure closure(searched);
  closure.Add(library, {});
  std::vector<fs::path> linked = closure.found();
  std::erase(linked, library);
  return linked;
}

}  // namespace assay
