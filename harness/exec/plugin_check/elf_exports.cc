// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/plugin_check/elf_exports.h"

#include <elf.h>
#include <fmt/format.h>

#include <cstring>
#include <fstream>
#include <iterator>

namespace assay {
namespace {

// n records of type T at `offset` of the file; empty when they do not lie within it.
template <class T>
std::vector<T> ReadRecords(const std::string& file, uint64_t offset, uint64_t n) {
  if (offset > file.size() || n > (file.size() - offset) / sizeof(T)) return {};
  std::vector<T> records(n);
  std::memcpy(records.data(), file.data() + offset, n * sizeof(T));
  return records;
}

bool IsExported(const Elf64_Sym& symbol) {
  const auto binding = ELF64_ST_BIND(symbol.st_info);
  const auto visibility = ELF64_ST_VISIBILITY(symbol.st_other);
  const bool visible = visibility == STV_DEFAULT || visibility == STV_PROTECTED;
  // Absolute symbols are names of versions and of the linker.
  return symbol.st_shndx != SHN_UNDEF && symbol.st_shndx != SHN_ABS && binding != STB_LOCAL && visible;
}

}  // namespace

Result<std::vector<std::string>> ReadExportedSymbols(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  const std::string file((std::istreambuf_iterator<char>(stream)), {});
  const auto header = ReadRecords<Elf64_Ehdr>(file, 0, 1);
  if (header.empty() || std::memcmp(header[0].e_ident, ELFMAG, SELFMAG) != 0 ||
      header[0].e_ident[EI_CLASS] != ELFCLASS64) {
    return Fail(ErrorCode::kIo, fmt::format("{} is not a 64-bit ELF file", path));
  }
  const auto sections = ReadRecords<Elf64_Shdr>(file, header[0].e_shoff, header[0].e_shnum);
  std::vector<std::string> names;
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_DYNSYM || section.sh_link >= sections.size()) continue;
    const uint64_t strings = sections[section.sh_link].sh_offset;
    for (const Elf64_Sym& symbol :
         ReadRecords<Elf64_Sym>(file, section.sh_offset, section.sh_size / sizeof(Elf64_Sym))) {
      if (IsExported(symbol) && strings + symbol.st_name < file.size()) {
        names.emplace_back(file.c_str() + strings + symbol.st_name);
      }
    }
    return names;
  }
  return Fail(ErrorCode::kIo, fmt::format("{} has no table of dynamic symbols", path));
}

}  // namespace assay
