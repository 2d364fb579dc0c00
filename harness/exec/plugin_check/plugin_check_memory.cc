// SPDX-License-Identifier: Apache-2.0
// Allocations on the device.
#include <algorithm>
#include <limits>

#include "harness/exec/plugin_check/plugin_check_rules.h"

namespace assay::plugin_check {
namespace {

constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();

// One allocation, freed once.
class Allocation {
 public:
  Allocation(const PluginUnderTest& plugin, uint64_t bytes) : plugin_(&plugin) {
    status = plugin.api->buffer_alloc(plugin.device, bytes, &buffer, error.out());
    if (status != ASSAY_OK) buffer = nullptr;
  }
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;
  ~Allocation() {
    if (buffer != nullptr) plugin_->api->buffer_free(plugin_->device, buffer);
  }
  assay_status Upload(uint64_t offset, const void* bytes, uint64_t size) {
    return plugin_->api->buffer_upload(plugin_->device, buffer, offset, bytes, size, error.out());
  }
  assay_status Download(uint64_t offset, void* bytes, uint64_t size) {
    return plugin_->api->buffer_download(plugin_->device, buffer, offset, bytes, size, error.out());
  }
  Finding CheckAllocated(uint64_t bytes) const {
    if (status != ASSAY_OK) return Bad("{} bytes: {}", bytes, DescribeStatus("buffer_alloc", status, error));
    return buffer == nullptr ? Bad("buffer_alloc({}) returned ASSAY_OK and a NULL buffer", bytes) : Good("");
  }

  ErrorText error;
  assay_buffer* buffer = nullptr;
  assay_status status = ASSAY_OK;

 private:
  const PluginUnderTest* plugin_;
};

}  // namespace

Finding BufferRoundTrip(PluginUnderTest& plugin) {
  constexpr uint64_t kBytes = 4099;  // odd: no multiple of an element, a line or a page
  constexpr uint64_t kPartAt = 1021, kPart = 77;
  Allocation memory(plugin, kBytes);
  if (Finding made = memory.CheckAllocated(kBytes); made.kind != Finding::Kind::kOk) return made;
  std::vector<unsigned char> sent(kBytes), part(kPart, 0x3C);
  for (size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<unsigned char>(i * 131 + i / 256);
  if (memory.Upload(0, sent.data(), kBytes) != ASSAY_OK || memory.Upload(kPartAt, part.data(), kPart) != ASSAY_OK) {
    return Bad("buffer_upload failed: {}", memory.error.str());
  }
  std::copy(part.begin(), part.end(), sent.begin() + kPartAt);
  std::vector<unsigned char> got(kBytes + kTailBytes, kUntouched);
  if (memory.Download(0, got.data(), kBytes) != ASSAY_OK) return Bad("buffer_download failed: {}", memory.error.str());
  if (!IsUntouched(got.data() + kBytes, kTailBytes)) return Bad("buffer_download wrote more than the size asked for");
  const auto [want, have] = std::mismatch(sent.begin(), sent.end(), got.begin());
  if (want != sent.end()) {
    return Bad("byte {} of {} came back as {}, sent was {}", want - sent.begin(), kBytes, *have, *want);
  }
  got.assign(kPart + kTailBytes, kUntouched);
  if (memory.Download(kPartAt, got.data(), kPart) != ASSAY_OK) {
    return Bad("buffer_download of a part failed: {}", memory.error.str());
  }
  if (!std::equal(part.begin(), part.end(), got.begin()) || !IsUntouched(got.data() + kPart, kTailBytes)) {
    return Bad("a part of {} bytes from byte {} came back wrong; mind the offset", kPart, kPartAt);
  }
  return Good("{} bytes, and {} from byte {}", kBytes, kPart, kPartAt);
}

Finding BufferZero(PluginUnderTest& plugin) {
  Allocation memory(plugin, 0);
  if (memory.status == ASSAY_OK) {
    return memory.buffer == nullptr ? Bad("buffer_alloc(0) returned ASSAY_OK and a NULL buffer; return a handle that "
                                          "can be freed, or an error")
                                    : Good("a handle that can be freed");
  }
  if (memory.error.str().empty()) return Bad("buffer_alloc(0) failed without a text");
  return Good("refused: \"{}\"", memory.error.str());
}

Finding BufferHuge(PluginUnderTest& plugin) {
  std::string reason;
  for (const uint64_t bytes : {uint64_t{1} << 62, kMost}) {
    Allocation memory(plugin, bytes);
    if (memory.status == ASSAY_OK) return Bad("buffer_alloc({}) is ASSAY_OK; mind overflow when rounding up", bytes);
    if (memory.error.str().empty()) return Bad("buffer_alloc({}) failed without a text", bytes);
    reason = memory.error.str();
  }
  Allocation after(plugin, 64);
  if (after.status != ASSAY_OK) return Bad("64 bytes cannot be allocated afterwards: {}", after.error.str());
  return Good("\"{}\"", reason);
}

Finding BufferRange(PluginUnderTest& plugin) {
  constexpr uint64_t kBytes = 64;
  struct Range {
    uint64_t offset, size;
  };
  constexpr Range kOutside[] = {{kBytes - 4, 8}, {kBytes, 1}, {0, kBytes + 1}, {kMost, 2}};
  Allocation memory(plugin, kBytes);
  if (Finding made = memory.CheckAllocated(kBytes); made.kind != Finding::Kind::kOk) return made;
  for (const Range& range : kOutside) {
    unsigned char bytes[2 * kBytes] = {};
    if (memory.Upload(range.offset, bytes, range.size) == ASSAY_OK) {
      return Bad("buffer_upload of {} bytes to offset {} of {} is ASSAY_OK; refuse it", range.size, range.offset,
                 kBytes);
    }
    if (memory.Download(range.offset, bytes, range.size) == ASSAY_OK) {
      return Bad("buffer_download of {} bytes from offset {} of {} is ASSAY_OK; refuse it", range.size, range.offset,
                 kBytes);
    }
  }
  return Good("\"{}\"", memory.error.str());
}

}  // namespace assay::plugin_check
