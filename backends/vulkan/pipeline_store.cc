// SPDX-License-Identifier: Apache-2.0
#include "backends/vulkan/pipeline_store.h"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>

namespace vulkan {
namespace {

namespace fs = std::filesystem;

struct Header {
  std::array<char, 8> magic{'a', 's', 's', 'a', 'y', 'v', 'k', '1'};
  uint64_t bytes = 0;
  uint64_t hash = 0;  // FNV-1a of what follows
};

uint64_t HashOf(std::span<const std::byte> bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (std::byte b : bytes) hash = (hash ^ static_cast<uint64_t>(b)) * 0x100000001b3;
  return hash;
}

std::string Hex(std::span<const uint8_t> bytes) {
  std::string text;
  for (uint8_t b : bytes) text += fmt::format("{:02x}", b);
  return text;
}

}  // namespace

std::string PipelineFile(const Facts& facts) {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  fs::path folder;
  if (cache != nullptr && fs::path(cache).is_absolute()) {
    folder = cache;
  } else if (home != nullptr && *home != '\0') {
    folder = fs::path(home) / ".cache";
  } else {
    return "";
  }
  const std::string name =
      fmt::format("{}-{}-{}.pipelines", Hex(facts.device_uuid), Hex(facts.driver_uuid), Hex(facts.cache_uuid));
  return folder / "assay" / "vulkan" / name;
}

std::vector<std::byte> LoadPipelineData(const Facts& facts) {
  const std::string path = PipelineFile(facts);
  std::ifstream file(path, std::ios::binary);
  Header header, expected;
  if (path.empty() || !file.read(reinterpret_cast<char*>(&header), sizeof header)) return {};
  std::vector<char> text((std::istreambuf_iterator<char>(file)), {});
  if (header.magic != expected.magic || header.bytes != text.size()) return {};
  std::vector<std::byte> data(text.size());
  std::memcpy(data.data(), text.data(), text.size());
  return HashOf(data) == header.hash ? data : std::vector<std::byte>();
}

void StorePipelineData(Context& context, VkPipelineCache cache) {
  const std::string path = PipelineFile(context.facts());
  size_t size = 0;
  if (path.empty() || context.vk().vkGetPipelineCacheData(context.device(), cache, &size, nullptr) != VK_SUCCESS)
    return;
  std::vector<std::byte> data(size);
  if (context.vk().vkGetPipelineCacheData(context.device(), cache, &size, data.data()) != VK_SUCCESS) return;
  data.resize(size);
  Header header;
  header.bytes = data.size(), header.hash = HashOf(data);
  std::error_code ignored;
  fs::create_directories(fs::path(path).parent_path(), ignored);
  const std::string temporary = fmt::format("{}.{}", path, ::getpid());
  std::ofstream file(temporary, std::ios::binary);
  file.write(reinterpret_cast<const char*>(&header), sizeof header);
  file.write(reinterpret_cast<const char*>(data.data()), static_cast<std::streamsize>(data.size()));
  file.close();
  if (file.good()) {
    fs::rename(temporary, path, ignored);
  } else {
    fs::remove(temporary, ignored);
  }
}

}  // namespace vulkan
