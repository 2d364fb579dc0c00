// SPDX-License-Identifier: Apache-2.0
#include "harness/plan/design_store.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>

#include "harness/core/base/atomic_file.h"
#include "harness/core/base/cache_folder.h"
#include "harness/core/base/text.h"
#include "harness/core/base/whole_file.h"
#include "harness/core/data/tensor.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kExtension = ".design";
constexpr auto kKeptUnused = std::chrono::hours(24 * 30);  // each new build of the program leaves those of the old one

std::string HashText(std::string_view text) {
  return HashHex(HashBytes(text.data(), text.size()));
}

// Returns the ids behind the key, one a line, of an undamaged file with this key. The last line is a checksum of all
// above.
std::optional<std::string_view> IdsIn(std::string_view text, std::string_view key) {
  const size_t checksum = text.rfind('\n');
  if (checksum == std::string_view::npos || !text.starts_with(key)) return std::nullopt;
  const std::string_view above = text.substr(0, checksum + 1);
  if (above.size() < key.size() || text.substr(checksum + 1) != HashText(above)) return std::nullopt;
  return above.substr(key.size());
}

void RemoveLongUnused(const fs::path& root) {
  std::error_code error;
  fs::directory_iterator file(root, error);
  const auto now = fs::file_time_type::clock::now();
  for (const fs::directory_iterator end; !error && file != end; file.increment(error)) {
    const fs::path& path = file->path();
    std::error_code ignored;
    if (IsTemporaryName(path)) {
      RemoveIfAbandoned(path);
    } else if (path.extension() == kExtension && now - fs::last_write_time(path, ignored) > kKeptUnused && !ignored) {
      fs::remove(path, ignored);
    }
  }
}

}  // namespace

fs::path DesignStore::DefaultRoot() {
  return CacheFolder("designs");
}

std::string DesignStore::KeyOf(const Operator& op, const CoverOptions& options) const {
  return fmt::format("assay-design-1 program={} op={} strength={} max_elements={} max_flops={} seed={} dtypes={}\n",
                     program_, op.schema().op, options.strength, options.limits.elements, options.limits.flops,
                     options.seed, fmt::join(options.dtypes, ","));
}

fs::path DesignStore::PathOf(const Operator& op, const CoverOptions& options) const {
  return root_ / (op.schema().op + "-" + HashText(KeyOf(op, options)) + std::string(kExtension));
}

std::vector<CaseSpec> DesignStore::CasesOf(const Operator& op, const CoverOptions& options) const {
  const bool is_kept = !root_.empty() && !program_.empty();
  if (is_kept) {
    if (auto known = Load(op, options)) return *std::move(known);
  }
  if (before_search_) before_search_();
  std::vector<CaseSpec> cases = MakeCover(op, options).cases;
  if (is_kept) Save(op, options, cases);
  return cases;
}

std::optional<std::vector<CaseSpec>> DesignStore::Load(const Operator& op, const CoverOptions& options) const {
  const fs::path path = PathOf(op, options);
  const Result<std::string> text = ReadWholeFile(path);
  const auto ids = text ? IdsIn(*text, KeyOf(op, options)) : std::nullopt;
  if (!ids) return std::nullopt;
  std::vector<CaseSpec> cases;
  for (const std::string_view id : Split(*ids, '\n')) {
    if (id.empty()) continue;
    Result<CaseSpec> spec = ParseId(id);
    if (spec) spec = Canonicalise(*std::move(spec), op.schema());
    if (!spec) return std::nullopt;
    cases.push_back(*std::move(spec));
  }
  std::error_code ignored;  // what is in use is young
  fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);
  return cases;
}

// A design that cannot be written is computed again the next time, which needs no message.
void DesignStore::Save(const Operator& op, const CoverOptions& options, const std::vector<CaseSpec>& cases) const {
  std::string text = KeyOf(op, options);
  for (const CaseSpec& spec : cases) text += spec.Id() + "\n";
  text += HashText(text);
  std::error_code ignored;
  if (fs::is_directory(fs::symlink_status(PathOf(op, options), ignored))) {
    fs::remove(PathOf(op, options), ignored);  // an empty one; nobody's files are removed
  }
  if (WriteFileAtomically(PathOf(op, options), {{text.data(), text.size()}}, Durability::kWhenever)) {
    RemoveLongUnused(root_);
  }
}

}  // namespace assay
