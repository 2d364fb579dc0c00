// SPDX-License-Identifier: Apache-2.0
#include "harness/core/model/packed_record.h"

#include <array>
#include <cstring>
#include <type_traits>

#include "harness/core/base/check.h"

namespace assay {
namespace {

// A bit for each field of a record, in the order of the file: whether it has something to say.
struct FieldBits {
  static constexpr size_t kMost = 256;
  std::array<uint8_t, kMost / 8> bytes{};
  size_t next = 0;

  void Put(bool bit) {
    bytes[next / 8] |= static_cast<uint8_t>(static_cast<int>(bit) << next % 8);
    ++next;
  }
  bool Take() {
    const bool bit = (bytes[next / 8] >> next % 8 & 1) != 0;
    ++next;
    return bit;
  }
};

template <class R, class F>
void Visit(R& record, F&& f) {
  if constexpr (std::is_same_v<std::remove_const_t<R>, OutputRecord>) {
    VisitOutputFields(record, f);
  } else {
    VisitFields(record, f);
  }
}

template <class R>
size_t CountFields() {
  size_t fields = 0;
  const R record;
  Visit(record, [&](const char*, const auto&) { ++fields; });
  return fields;
}

// How many bytes the bits of R take.
template <class R>
size_t BitBytes() {
  static const size_t bytes = [] {
    ASSAY_CHECK(CountFields<R>() <= FieldBits::kMost);
    return (CountFields<R>() + 7) / 8;
  }();
  return bytes;
}

bool IsDefault(const std::string& value) {
  return value.empty();
}
bool IsDefault(const std::vector<OutputRecord>& value) {
  return value.empty();
}
template <class T>
bool IsDefault(const std::optional<T>& value) {
  return !value;
}
template <class T>
bool IsDefault(const T& value) {
  return value == 0;
}

template <class T>
void AppendRaw(const T& value, std::string& bytes) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class T>
T TakeRaw(const char*& at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  at += sizeof value;
  return value;
}

// Numbers near zero on either side take few bytes.
uint64_t Folded(int64_t value) {
  return static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63);
}
int64_t Unfolded(uint64_t value) {
  return static_cast<int64_t>(value >> 1 ^ (~(value & 1) + 1));
}

// `texts`: one for each field of R.
struct Packing {
  const std::string& id;
  std::vector<TextPacker>& output_texts;
  std::string& bytes;

  template <class R>
  void PackAll(const R& record, std::vector<TextPacker>& texts) {
    FieldBits bits;
    Visit(record, [&](const char*, const auto& value) { bits.Put(!IsDefault(value)); });
    bytes.append(reinterpret_cast<const char*>(bits.bytes.data()), BitBytes<R>());
    auto text = texts.begin();
    Visit(record, [&](const char*, const auto& value) {
      if (!IsDefault(value)) Pack(value, *text);
      ++text;
    });
  }

 private:
  void Pack(const std::string& value, TextPacker& text) {
    text.Append(value, &value == &id ? std::string_view() : id, bytes);
  }
  void Pack(int64_t value, TextPacker&) { AppendNumber(Folded(value), bytes); }
  void Pack(uint64_t value, TextPacker&) { AppendNumber(value, bytes); }
  void Pack(bool value, TextPacker&) { bytes += static_cast<char>(value); }
  void Pack(double value, TextPacker&) { AppendRaw(value, bytes); }
  template <class T>
  void Pack(const std::optional<T>& value, TextPacker& text) {
    Pack(*value, text);
  }
  void Pack(const std::vector<OutputRecord>& outputs, TextPacker&) {
    AppendNumber(outputs.size(), bytes);
    for (const OutputRecord& output : outputs) PackAll(output, output_texts);
  }
};

struct Unpacking {
  const std::string& id;
  const std::vector<TextPacker>& output_texts;
  const char* at;

  template <class R>
  void UnpackAll(R& record, const std::vector<TextPacker>& texts) {
    FieldBits bits;
    std::memcpy(bits.bytes.data(), at, BitBytes<R>());
    at += BitBytes<R>();
    auto text = texts.begin();
    Visit(record, [&](const char*, auto& value) {
      bits.Take() ? Unpack(value, *text) : Clear(value);
      ++text;
    });
  }

 private:
  static void Clear(std::string& value) { value.clear(); }
  static void Clear(std::vector<OutputRecord>& value) { value.clear(); }
  template <class T>
  static void Clear(std::optional<T>& value) {
    value.reset();
  }
  template <class T>
  static void Clear(T& value) {
    value = 0;
  }

  void Unpack(std::string& value, const TextPacker& text) {
    text.Take(at, &value == &id ? std::string_view() : id, value);
  }
  void Unpack(int64_t& value, const TextPacker&) { value = Unfolded(TakeNumber(at)); }
  void Unpack(uint64_t& value, const TextPacker&) { value = TakeNumber(at); }
  void Unpack(bool& value, const TextPacker&) { value = *at++ != 0; }
  void Unpack(double& value, const TextPacker&) { value = TakeRaw<double>(at); }
  template <class T>
  void Unpack(std::optional<T>& value, const TextPacker& text) {
    Unpack(value.emplace(), text);
  }
  void Unpack(std::vector<OutputRecord>& outputs, const TextPacker&) {
    outputs.resize(TakeNumber(at));
    for (OutputRecord& output : outputs) UnpackAll(output, output_texts);
  }
};

}  // namespace

RecordPacker::RecordPacker() : texts_(CountFields<Record>()), output_texts_(CountFields<OutputRecord>()) {}

void RecordPacker::Append(const Record& record, std::string& bytes) {
  Packing{record.case_id, output_texts_, bytes}.PackAll(record, texts_);
}

void RecordPacker::Take(const char* at, Record& record) const {
  Unpacking{record.case_id, output_texts_, at}.UnpackAll(record, texts_);
}

}  // namespace assay
