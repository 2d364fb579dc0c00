// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/bundle/tar_member.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "harness/core/base/text.h"

namespace assay {
namespace {

constexpr size_t kBlock = 512, kNameSize = 100, kSizeAt = 124, kSizeDigits = 11, kChecksumAt = 148;

void Put(std::string& header, size_t at, std::string_view text) {
  std::ranges::copy(text, header.begin() + static_cast<std::ptrdiff_t>(at));
}

std::string Header(std::string_view name, size_t size) {
  std::string header(kBlock, '\0');
  Put(header, 0, name);
  Put(header, 100, "0000644");                               // mode
  Put(header, 108, "0000000"), Put(header, 116, "0000000");  // owner and group
  Put(header, kSizeAt, fmt::format("{:0{}o}", size, kSizeDigits));
  Put(header, 136, "00000000000");  // time: a bundle of the same files is the same
  Put(header, kChecksumAt, "        ");
  Put(header, 156, "0");  // a regular file
  Put(header, 257, std::string_view("ustar\00000", 8));
  const auto add = [](unsigned sum, char c) { return sum + static_cast<unsigned char>(c); };
  const unsigned sum = std::accumulate(header.begin(), header.end(), 0U, add);
  Put(header, kChecksumAt, fmt::format("{:06o}", sum));
  header[kChecksumAt + 6] = '\0';
  return header;
}

}  // namespace

Status CheckMemberName(std::string_view name) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-' || c == '/';
  };
  const bool good = !name.empty() && name.size() < kNameSize && std::ranges::all_of(name, plain);
  for (const std::string_view part : Split(name, '/')) {
    if (!good || part.empty() || part == "." || part == "..") {
      return UsageError(fmt::format("'{}' is not a valid file name of a bundle", name));
    }
  }
  return {};
}

std::string TarMember(std::string_view name, std::string_view contents) {
  std::string out = Header(name, contents.size());
  out += contents;
  out.resize((out.size() + kBlock - 1) / kBlock * kBlock, '\0');
  return out;
}

std::string TarEnd() {
  return std::string(2 * kBlock, '\0');
}

Result<TarFile> ParseTarMember(std::string_view bytes) {
  const auto bad = [] { return UsageError("it is not a file of a bundle"); };
  if (bytes.size() < kBlock) return bad();
  const std::string_view field = bytes.substr(0, kNameSize);
  TarFile file{std::string(field.substr(0, field.find('\0'))), ""};
  size_t size = 0;
  for (const char c : bytes.substr(kSizeAt, kSizeDigits)) {
    if (c < '0' || c > '7') return bad();
    size = size * 8 + static_cast<size_t>(c - '0');
  }
  if (!CheckMemberName(file.name) || size > bytes.size() - kBlock) return bad();
  file.contents = bytes.substr(kBlock, size);
  if (TarMember(file.name, file.contents) != bytes) return bad();
  return file;
}

}  // namespace assay
