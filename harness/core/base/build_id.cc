// SPDX-License-Identifier: Apache-2.0
#include "harness/core/base/build_id.h"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <cstring>
#include <string_view>

namespace assay {
namespace {

// Both of 4-byte words, each part filled up to the next one.
constexpr size_t Padded(size_t bytes) {
  return (bytes + 3) / 4 * 4;
}

std::string BuildIdIn(std::string_view notes) {
  ElfW(Nhdr) note;
  while (notes.size() >= sizeof note) {
    std::memcpy(&note, notes.data(), sizeof note);
    const size_t name_at = sizeof note, id_at = name_at + Padded(note.n_namesz), end = id_at + Padded(note.n_descsz);
    if (end > notes.size()) return "";
    if (note.n_type == NT_GNU_BUILD_ID && notes.substr(name_at, note.n_namesz) == std::string_view("GNU", 4)) {
      std::string text;
      for (const char byte : notes.substr(id_at, note.n_descsz)) {
        text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
      }
      return text;
    }
    notes.remove_prefix(end);
  }
  return "";
}

bool Holds(const dl_phdr_info& object, uintptr_t address) {
  for (size_t i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object.dlpi_phdr[i];
    const uintptr_t begin = object.dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD && address >= begin && address - begin < part.p_memsz) return true;
  }
  return false;
}

int ReadOwnNotes(dl_phdr_info* object, size_t, void* out) {
  if (!Holds(*object, reinterpret_cast<uintptr_t>(&OwnBuildId))) return 0;
  std::string& id = *static_cast<std::string*>(out);
  for (size_t i = 0; i < object->dlpi_phnum && id.empty(); ++i) {
    const ElfW(Phdr)& part = object->dlpi_phdr[i];
    if (part.p_type != PT_NOTE) continue;
    id = BuildIdIn({reinterpret_cast<const char*>(object->dlpi_addr + part.p_vaddr), part.p_memsz});
  }
  return 1;
}

}  // namespace

std::string OwnBuildId() {
  std::string id;
  dl_iterate_phdr(ReadOwnNotes, &id);
  return id;
}

}  // namespace assay
