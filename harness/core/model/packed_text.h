// SPDX-License-Identifier: Apache-2.0
// Texts of records in little room: what many of them have is kept once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace assay {

// Whole numbers in as few bytes as they need, seven bits in each.
void AppendNumber(uint64_t number, std::string& bytes);
// Moves `at` behind it.
uint64_t TakeNumber(const char*& at);

// The texts of one field.
class TextPacker {
 public:
  TextPacker() = default;
  TextPacker(TextPacker&&) = default;
  TextPacker& operator=(TextPacker&&) = default;

  // `id`: what this one may contain, as a command line does, and then does without; "": nothing.
  void Append(std::string_view text, std::string_view id, std::string& bytes);
  // Unpacks a text that this packer wrote with the same `id`. Moves `at` past it.
  void Take(const char*& at, std::string_view id, std::string& text) const;

 private:
  std::unordered_map<std::string, size_t> numbers_;  // of texts that are kept
  struct Kept {
    const std::string* form;
    size_t id_at;  // npos: the id is not in it
  };
  std::vector<Kept> kept_;  // by their numbers
  std::string form_;        // of the text that is being appended
};

}  // namespace assay
