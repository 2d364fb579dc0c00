// SPDX-License-Identifier: Apache-2.0
// The wire format of Protocol Buffers, read field by field: all that is needed of it is what ONNX's small files have.
// Whatever the bytes, it ends and stays within them.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace assay {

class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}

  // Reads the next field; false at the end, and where the bytes are damaged.
  bool Next() {
    if (rest_.empty() || damaged_) return false;
    const uint64_t key = Varint();
    field_ = key >> 3;
    type_ = static_cast<int>(key & 7);
    bytes_ = {};
    value_ = 0;
    switch (type_) {
      case kVarint:
        value_ = Varint();
        break;
      case kFixed64:
        bytes_ = Take(8);
        break;
      case kBytes:
        bytes_ = Take(Varint());
        break;
      case kFixed32:
        bytes_ = Take(4);
        break;
      default:
        damaged_ = true;
    }
    return !damaged_;
  }

  uint64_t field() const { return field_; }
  bool damaged() const { return damaged_; }
  std::string_view bytes() const { return bytes_; }  // of a text, a message, a packed list, a number of 4 or 8
  int64_t integer() const { return static_cast<int64_t>(value_); }
  float real() const {
    float value = 0;
    if (bytes_.size() == sizeof value) std::memcpy(&value, bytes_.data(), sizeof value);
    return value;
  }

  // The field's integers, packed or one: calls `each` with every one of them.
  template <class Each>
  void Integers(const Each& each) {
    if (type_ == kVarint) return each(integer());
    WireReader packed(bytes_);
    while (!packed.rest_.empty() && !packed.damaged_) {
      const uint64_t value = packed.Varint();
      if (!packed.damaged_) each(static_cast<int64_t>(value));
    }
    damaged_ = damaged_ || packed.damaged_ || type_ != kBytes;
  }

 private:
  static constexpr int kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5;

  uint64_t Varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) break;
      const auto byte = static_cast<uint8_t>(rest_.front());
      rest_.remove_prefix(1);
      value |= static_cast<uint64_t>(byte & 0x7F) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    damaged_ = true;
    return 0;
  }

  std::string_view Take(uint64_t size) {
    if (damaged_ || size > rest_.size()) {
      damaged_ = true;
      return {};
    }
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  std::string_view rest_, bytes_;
  uint64_t field_ = 0, value_ = 0;
  int type_ = 0;
  bool damaged_ = false;
};

}  // namespace assay
