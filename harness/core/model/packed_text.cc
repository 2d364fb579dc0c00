// SPDX-License-Identifier: Apache-2.0
#include "harness/core/model/packed_text.h"

namespace assay {
namespace {

// In a text that is kept, where the id stands. One that has this byte itself is not kept.
constexpr char kIdHere = '\x01';

// Fields that say something else of each record, as its hashes do, are full at once. Long texts are reasons with
// numbers in them, none of which comes twice.
constexpr size_t kMostKept = 1000, kLongestKept = 1000;

// First number of a packed text: kVerbatim if the text itself follows, else kFirstKept plus the kept text's number.
enum Kind : uint64_t { kVerbatim, kFirstKept };

}  // namespace

void AppendNumber(uint64_t number, std::string& bytes) {
  for (; number >= 128; number >>= 7) bytes += static_cast<char>(number | 128);
  bytes += static_cast<char>(number);
}

uint64_t TakeNumber(const char*& at) {
  uint64_t number = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<uint8_t>(*at++);
    number |= uint64_t{byte & 127U} << shift;
    if (byte < 128) return number;
  }
}

void TextPacker::Append(std::string_view text, std::string_view id, std::string& bytes) {
  if (text.size() <= kLongestKept && text.find(kIdHere) == text.npos) {
    form_ = text;
    const size_t id_at = id.empty() ? text.npos : text.find(id);
    if (id_at != text.npos) form_.replace(id_at, id.size(), 1, kIdHere);
    auto known = numbers_.find(form_);
    if (known == numbers_.end() && kept_.size() < kMostKept) {
      known = numbers_.emplace(form_, kept_.size()).first;
      kept_.push_back({&known->first, id_at});
    }
    if (known != numbers_.end()) return AppendNumber(kFirstKept + known->second, bytes);
  }
  AppendNumber(kVerbatim, bytes);
  AppendNumber(text.size(), bytes);
  bytes += text;
}

void TextPacker::Take(const char*& at, std::string_view id, std::string& text) const {
  const uint64_t kind = TakeNumber(at);
  if (kind == kVerbatim) {
    const size_t size = TakeNumber(at);
    text.assign(at, size);
    at += size;
    return;
  }
  const Kept& kept = kept_[kind - kFirstKept];
  text = *kept.form;
  if (kept.id_at != text.npos) text.replace(kept.id_at, 1, id);
}

}  // namespace assay
