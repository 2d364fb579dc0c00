// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/bundle/sha256.h"

#include <fmt/format.h>
#include <nettle/sha2.h>

#include <array>
#include <fstream>
#include <vector>

namespace assay {
namespace {

class Digest {
 public:
  Digest() { sha256_init(&state_); }
  void Add(const char* bytes, size_t size) { sha256_update(&state_, size, reinterpret_cast<const uint8_t*>(bytes)); }
  std::string Hex() {
    std::array<uint8_t, SHA256_DIGEST_SIZE> digest{};
    sha256_digest(&state_, digest.size(), digest.data());
    std::string out;
    for (const uint8_t byte : digest) out += fmt::format("{:02x}", byte);
    return out;
  }

 private:
  sha256_ctx state_{};
};

}  // namespace

std::string Sha256Hex(std::string_view bytes) {
  Digest digest;
  digest.Add(bytes.data(), bytes.size());
  return digest.Hex();
}

Result<std::string> Sha256OfFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> block(size_t{1} << 20);
  Digest digest;
  while (file && !file.eof()) {
    file.read(block.data(), static_cast<std::streamsize>(block.size()));
    digest.Add(block.data(), static_cast<size_t>(file.gcount()));
  }
  if (!file.eof()) return Fail(ErrorCode::kIo, fmt::format("cannot read {}", path.string()));
  return digest.Hex();
}

}  // namespace assay
