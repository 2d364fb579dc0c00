// SPDX-License-Identifier: Apache-2.0
#include "golden/store/store_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "harness/core/base/atomic_file.h"
#include "harness/core/base/text.h"
#include "harness/core/data/safetensors.h"

namespace assay {
namespace fs = std::filesystem;
namespace {

using Kind = StoreFile::Kind;
constexpr size_t kHashDigits = 16;

bool IsHex(std::string_view text, size_t digits) {
  return text.size() == digits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// <2 digits>/<16 digits>.safetensors, where the second begins with the first.
bool HasGoldenName(const fs::path& path) {
  const std::string hash = path.stem().string();
  return path.extension() == kStoreExtension && IsHex(hash, kHashDigits) &&
         path.parent_path().filename() == hash.substr(0, 2);
}

// Whether the name is a golden file's followed by the suffix that WriteFileAtomically adds.
bool HasTemporaryName(const fs::path& path) {
  const std::string name = path.filename().string();
  return IsTemporaryName(path) && IsHex(name.substr(0, kHashDigits), kHashDigits) &&
         name.substr(kHashDigits).starts_with(kStoreExtension);
}

void ReadIdentity(StoreFile& file) {
  file.kind = Kind::kDamaged;
  const auto metadata = ReadSafetensorsMetadata(file.path);
  if (!metadata) {
    file.problem = metadata.error().message;
    return;
  }
  const auto text = [&](const char* name) {
    const auto found = metadata->find(name);
    return found == metadata->end() ? std::string() : found->second;
  };
  const auto generator = ParseNumber<int>(text("generator_version")), golden = ParseNumber<int>(text("golden_version"));
  const std::string tier = text("tier");
  const bool known_tier = tier == Name(Tier::kFast) || tier == Name(Tier::kReproducible);
  if (text("format") != kStoreFormat || !generator || !golden || !known_tier) {
    file.problem = fmt::format("{}: not a golden file", file.path.string());
    return;
  }
  file.key = {text("case_id"), text("input_hash"), tier == Name(Tier::kFast) ? Tier::kFast : Tier::kReproducible,
              text("output"), text("formula")};
  file.generator_version = *generator, file.golden_version = *golden;
  if (StoreFileName(file.key, *generator, *golden) != file.path.parent_path().filename() / file.path.filename()) {
    file.problem = fmt::format("{}: belongs to something else: its content is that of {}, {} tier", file.path.string(),
                               file.key.case_id, tier);
    return;
  }
  file.kind = *generator == kGeneratorVersion && *golden == kGoldenVersion ? Kind::kGolden : Kind::kOtherVersion;
}

// nullopt: gone in the meantime, or no plain file.
std::optional<StoreFile> Describe(const fs::directory_entry& entry) {
  std::error_code error;
  StoreFile file;
  file.path = entry.path();
  if (!entry.is_regular_file(error) || entry.is_symlink(error)) return std::nullopt;
  file.bytes = static_cast<int64_t>(entry.file_size(error));
  if (error) return std::nullopt;
  const auto modified = entry.last_write_time(error);
  if (error) return std::nullopt;
  file.age_s = std::max(0.0, std::chrono::duration<double>(fs::file_time_type::clock::now() - modified).count());
  if (HasTemporaryName(file.path)) {
    file.kind = Kind::kTemporary;
  } else if (HasGoldenName(file.path)) {
    ReadIdentity(file);
    if (file.kind == Kind::kDamaged && !fs::exists(file.path, error)) return std::nullopt;
  }
  return file;
}

bool Remove(StoreFile& file, bool dry_run) {
  if (dry_run) return true;
  std::error_code error;
  fs::remove(file.path, error);  // what another process removed first is gone as well
  if (!error) return true;
  file.problem = fmt::format("{}: cannot be removed: {}", file.path.string(), error.message());
  return false;
}

class Collection {
 public:
  explicit Collection(const GcLimits& limits) : limits_(limits) {}

  void Take(StoreFile file) {
    switch (file.kind) {
      case Kind::kForeign:
        return;
      case Kind::kTemporary:
        if (RemoveIfAbandoned(file.path, limits_.dry_run)) result_.removed.push_back(std::move(file));
        return;
      case Kind::kGolden:
        if (!limits_.older_than_s || file.age_s <= *limits_.older_than_s) {
          kept_.push_back(std::move(file));
          return;
        }
        [[fallthrough]];
      default:
        Drop(std::move(file));
    }
  }

  GcResult Finish() {
    std::ranges::sort(kept_, {}, [](const StoreFile& f) { return std::pair(f.age_s, f.path); });  // youngest first
    for (StoreFile& file : kept_) {
      if (limits_.max_bytes && result_.kept_bytes + file.bytes > *limits_.max_bytes) {
        limits_.max_bytes = result_.kept_bytes;  // no older one in its place
        Drop(std::move(file));
        continue;
      }
      Keep(file);
    }
    return std::move(result_);
  }

 private:
  void Keep(const StoreFile& file) {
    ++result_.kept_files;
    result_.kept_bytes += file.bytes;
  }

  void Drop(StoreFile file) {
    const bool removed = Remove(file, limits_.dry_run);
    if (!removed && file.kind == StoreFile::Kind::kGolden) Keep(file);
    (removed ? result_.removed : result_.failed).push_back(std::move(file));
  }

  GcLimits limits_;
  std::vector<StoreFile> kept_;
  GcResult result_;
};

}  // namespace

Result<std::vector<StoreFile>> ListStore(const fs::path& root) {
  std::vector<StoreFile> files;
  std::error_code error;
  const auto fail = [&](const fs::path& path) {
    return Fail(ErrorCode::kIo, fmt::format("{}: cannot be listed: {}", path.string(), error.message()));
  };
  if (root.empty() || (!fs::exists(root, error) && !error)) return files;
  if (!error) fs::directory_iterator(root, error);  // the options below would take one without permission for empty
  if (error) return fail(root);
  const auto options = fs::directory_options::skip_permission_denied;
  fs::recursive_directory_iterator entry(root, options, error);
  if (error) return fail(root);
  for (const fs::recursive_directory_iterator end; entry != end; entry.increment(error)) {
    if (auto file = Describe(*entry)) files.push_back(std::move(*file));
  }
  if (error) return fail(root);  // an increment that fails makes the iterator the end
  std::ranges::sort(files, {}, [](const StoreFile& f) {
    return std::tuple(f.key.case_id.empty(), f.key.case_id, f.key.output, Name(f.key.tier), f.golden_version, f.path);
  });
  return files;
}

GcResult CollectGarbage(std::vector<StoreFile> files, const GcLimits& limits) {
  Collection collection(limits);
  for (StoreFile& file : files) collection.Take(std::move(file));
  return collection.Finish();
}

void RemoveAbandonedWrites(const fs::path& root) {
  std::error_code error;
  if (root.empty()) return;
  fs::directory_iterator folder(root, error);
  for (const fs::directory_iterator end; !error && folder != end; folder.increment(error)) {
    std::error_code ignored;
    fs::directory_iterator file(folder->path(), ignored);
    for (; !ignored && file != end; file.increment(ignored)) {
      if (HasTemporaryName(file->path())) RemoveIfAbandoned(file->path());
    }
  }
}

}  // namespace assay
