// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/bundle/statement.h"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/engine/results/environment.h"
#include "harness/engine/results/exit_code.h"
#include "harness/tools/bundle/sha256.h"
#include "harness/tools/bundle/source_revision.h"

namespace assay {
namespace {

// Reads the linker's "GNU" build ID from the notes of the program's own segments.
std::string BuildIdIn(const char* notes, size_t size) {
  while (size >= sizeof(ElfW(Nhdr))) {
    const auto* note = reinterpret_cast<const ElfW(Nhdr)*>(notes);
    const size_t name = (note->n_namesz + 3) & ~3U, text = (note->n_descsz + 3) & ~3U;
    if (sizeof(*note) + name + text > size) return "";
    if (note->n_type == NT_GNU_BUILD_ID && std::string_view(notes + sizeof(*note), 3) == "GNU") {
      std::string id;
      for (size_t i = 0; i < note->n_descsz; ++i) {
        id += fmt::format("{:02x}", static_cast<unsigned char>(notes[sizeof(*note) + name + i]));
      }
      return id;
    }
    notes += sizeof(*note) + name + text, size -= sizeof(*note) + name + text;
  }
  return "";
}

int FindBuildId(dl_phdr_info* info, size_t /*size*/, void* found) {
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const std::string id = BuildIdIn(reinterpret_cast<const char*>(info->dlpi_addr + segment.p_vaddr), segment.p_memsz);
    if (!id.empty()) *static_cast<std::string*>(found) = id;
    if (!id.empty()) return 1;
  }
  return 1;  // the first object is the program
}

}  // namespace

Json DescribeFiles(const std::vector<std::string>& paths) {
  Json out = Json::object();
  std::string build_id;
  dl_iterate_phdr(FindBuildId, &build_id);
  out["program"] = {{"version", ToolVersion()},
                    {"sha256", Sha256OfFile("/proc/self/exe").value_or("unreadable")},
                    {"build_id", build_id},
                    {"source_revision", kSourceRevision}};
  Json files = Json::object();
  for (const std::string& path : std::set<std::string>(paths.begin(), paths.end())) {
    const auto hash = Sha256OfFile(path);
    files[path] = hash ? *hash : hash.error().message;
  }
  out["files"] = std::move(files);
  return out;
}

std::string HashOfGoldens(const RecordView& records) {
  std::map<std::string, std::string> hashes;
  for (const Record& r : records) {
    if (!r.golden_hash.empty()) hashes[r.case_id] = r.golden_hash;
  }
  std::string text;
  for (const auto& [id, hash] : hashes) text += id + "\t" + hash + "\n";
  return Sha256Hex(text);
}

Json Claims(const Plan& plan, const RecordView& records, bool strict, bool interrupted) {
  std::map<std::string, int64_t> outcomes;
  for (const Record& r : records) ++outcomes[r.outcome];
  ExitFlags flags;
  flags.strict = strict, flags.interrupted = interrupted;
  return {{"suite", plan.suite},
          {"plan_hash", plan.hash},
          {"suite_hash", SuiteHash(plan.entries)},
          {"golden_values", HashOfGoldens(records)},
          {"results", records.size()},
          {"outcomes", outcomes},
          {"strict", strict},
          {"interrupted", interrupted},
          {"exit_code", ExitCodeOfRecords(records, flags)}};
}

}  // namespace assay
