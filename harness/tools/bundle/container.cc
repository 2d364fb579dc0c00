// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/bundle/container.h"

#include <fmt/format.h>
#include <zstd.h>

#include <memory>

#include "harness/core/base/atomic_file.h"
#include "harness/core/base/text.h"
#include "harness/core/base/whole_file.h"
#include "harness/tools/bundle/sha256.h"
#include "harness/tools/bundle/tar_member.h"

namespace assay {
namespace {

constexpr int kLevel = 9;
constexpr uint32_t kSkippable = 0x184D2A50;
constexpr std::string_view kTag = "ASSAYIDX";
constexpr size_t kHashDigits = 64, kIndexEntry = sizeof(uint64_t) + kHashDigits, kTail = sizeof(uint32_t) + kTag.size();
constexpr uint64_t kMostMemberBytes = uint64_t{1} << 30;

template <class T>
void AppendNumber(std::string& out, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
}
template <class T>
T NumberAt(std::string_view bytes, size_t at) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) value |= static_cast<T>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  return value;
}

Result<std::string> Compress(const std::string& bytes) {
  const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(), ZSTD_freeCCtx);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, kLevel);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  const size_t size = ZSTD_compress2(context.get(), out.data(), out.size(), bytes.data(), bytes.size());
  if (ZSTD_isError(size) != 0) return Fail(ErrorCode::kInternal, fmt::format("zstd: {}", ZSTD_getErrorName(size)));
  out.resize(size);
  return out;
}

// The frame must state the size of its contents.
Result<std::string> Decompress(std::string_view frame) {
  const unsigned long long size = ZSTD_getFrameContentSize(frame.data(), frame.size());
  const bool known = size != ZSTD_CONTENTSIZE_ERROR && size != ZSTD_CONTENTSIZE_UNKNOWN;
  if (!known || size > kMostMemberBytes) return UsageError("it is not a frame of a bundle");
  std::string out(size, '\0');
  const size_t got = ZSTD_decompress(out.data(), out.size(), frame.data(), frame.size());
  if (ZSTD_isError(got) != 0 || got != size) return UsageError("it cannot be decompressed");
  return out;
}

struct IndexEntry {
  uint64_t size = 0;
  std::string hash;
};

std::string Index(const std::vector<std::string>& frames) {
  std::string body;
  for (const std::string& frame : frames) {
    AppendNumber<uint64_t>(body, frame.size());
    body += Sha256Hex(frame);
  }
  AppendNumber<uint32_t>(body, static_cast<uint32_t>(frames.size()));
  body += kTag;
  std::string out;
  AppendNumber<uint32_t>(out, kSkippable);
  AppendNumber<uint32_t>(out, static_cast<uint32_t>(body.size()));
  return out + body;
}

// From the file's end. Nothing where it is not exactly what Index() makes of frames of these sizes.
std::vector<IndexEntry> ParseIndex(std::string_view bytes) {
  if (bytes.size() < kTail || !bytes.ends_with(kTag)) return {};
  const size_t count = NumberAt<uint32_t>(bytes, bytes.size() - kTail);
  const size_t size = count * kIndexEntry + kTail;
  if (size + 8 > bytes.size()) return {};
  const size_t begin = bytes.size() - size;
  if (NumberAt<uint32_t>(bytes, begin - 8) != kSkippable || NumberAt<uint32_t>(bytes, begin - 4) != size) return {};
  std::vector<IndexEntry> entries;
  uint64_t left = begin - 8;
  for (size_t i = 0; i < count; ++i) {
    const size_t at = begin + i * kIndexEntry;
    entries.push_back({NumberAt<uint64_t>(bytes, at), std::string(bytes.substr(at + 8, kHashDigits))});
    if (entries.back().size > left) return {};
    left -= entries.back().size;
  }
  return left == 0 ? entries : std::vector<IndexEntry>();
}

using ManifestLines = std::vector<std::pair<std::string, std::string>>;  // name and hash, in the archive's order

ManifestLines ParseManifest(std::string_view text) {
  ManifestLines lines;
  for (const std::string_view line : Split(text, '\n')) {
    if (line.size() > kHashDigits + 2) lines.emplace_back(line.substr(kHashDigits + 2), line.substr(0, kHashDigits));
  }
  return lines;
}

// Name of the n-th frame's content. Frames of files need an intact manifest; without it they are numbered.
std::string NameOfFrame(size_t n, size_t count, const ManifestLines& manifest) {
  if (n == 0) return kManifestName;
  if (n + 1 == count) return "the archive's end";
  return n - 1 < manifest.size() ? manifest[n - 1].first : fmt::format("file {} of {}", n, count - 2);
}

// "": it is what the manifest says.
std::string TakeFrame(std::string_view frame, const IndexEntry& entry, const std::string& name, bool is_end,
                      const ManifestLines& manifest, BundleFiles& files) {
  if (Sha256Hex(frame) != entry.hash) return "its bytes were changed: their SHA-256 is not that of the index";
  const auto bytes = Decompress(frame);
  if (!bytes) return bytes.error().message;
  if (is_end) return *bytes == TarEnd() ? "" : "it holds something else";
  auto file = ParseTarMember(*bytes);
  if (!file) return file.error().message;
  // Without a manifest, whose damage is said already, any name is as good.
  if (file->name != name && !manifest.empty()) return fmt::format("in its place is {}", file->name);
  for (const auto& [listed, hash] : manifest) {
    if (listed == name && hash != Sha256Hex(file->contents)) return "its SHA-256 is not that of the MANIFEST";
  }
  files[name] = std::move(file->contents);
  return "";
}

}  // namespace

std::string TextOfFile(const BundleFiles& files, const std::string& name) {
  const auto it = files.find(name);
  return it == files.end() ? "" : it->second;
}

Status WriteContainer(const std::filesystem::path& path, const BundleFiles& files, const std::filesystem::path& shown) {
  std::string manifest;
  for (const auto& [name, contents] : files) {
    if (auto good = CheckMemberName(name); !good) return good;
    manifest += fmt::format("{}  {}\n", Sha256Hex(contents), name);
  }
  std::vector<std::string> frames;
  const auto add = [&](const std::string& bytes) -> Status {
    auto frame = Compress(bytes);
    if (!frame) return tl::unexpected(frame.error());
    frames.push_back(*std::move(frame));
    return {};
  };
  Status added = add(TarMember(kManifestName, manifest));
  for (const auto& [name, contents] : files) {
    if (added) added = add(TarMember(name, contents));
  }
  if (added) added = add(TarEnd());
  if (!added) return added;
  const std::string index = Index(frames);
  std::vector<FilePart> parts;
  for (const std::string& frame : frames) parts.push_back({frame.data(), frame.size()});
  parts.push_back({index.data(), index.size()});
  return WriteFileAtomically(path, parts, Durability::kOnDisk, shown);
}

Result<Container> ReadContainer(const std::filesystem::path& path) {
  const auto read = ReadWholeFile(path);
  if (!read) return UsageError(read.error().message);
  const std::string_view bytes = *read;
  const std::vector<IndexEntry> index = ParseIndex(bytes);
  Container container;
  if (index.size() < 2) {
    container.damage.push_back(
        "the index at the file's end: it is damaged or cut off, or the file is not a bundle of assay");
    return container;
  }
  ManifestLines manifest;
  if (const auto first = Decompress(bytes.substr(0, index[0].size))) {
    if (const auto file = ParseTarMember(*first)) manifest = ParseManifest(file->contents);
  }
  size_t at = 0;
  for (size_t n = 0; n < index.size(); ++n) {
    const std::string name = NameOfFrame(n, index.size(), manifest);
    const std::string wrong =
        TakeFrame(bytes.substr(at, index[n].size), index[n], name, n + 1 == index.size(), manifest, container.files);
    if (!wrong.empty()) container.damage.push_back(fmt::format("{}: {}", name, wrong));
    at += index[n].size;
  }
  if (container.damage.empty() && manifest.size() + 2 != index.size()) {
    container.damage.push_back("MANIFEST: it lists another number of files");
  }
  container.files.erase(kManifestName);
  return container;
}

}  // namespace assay
