// SPDX-License-Identifier: Apache-2.0
// The parts of the corpus: limits and statistics were chosen with the tuned one in view, and are measured with the
// others.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "harness/core/base/result.h"

namespace assay {

inline constexpr std::string_view kEffectSuffix = ".effect";  // of the exact form of a fault

enum class CorpusPart : uint8_t { kHeld, kFresh, kStudied, kUnseen, kTuned, kAll };  // those that have a list first
inline constexpr size_t kListedParts = 4;
inline constexpr std::array<std::string_view, 6> kPartNames = {"held", "fresh", "studied", "unseen", "tuned", "all"};
constexpr std::string_view Name(CorpusPart part) {
  return kPartNames[static_cast<size_t>(part)];
}

// lib/assay/corpus/libassay_NAME.so beside the program, where that is installed or built.
std::filesystem::path ShippedCorpus(const std::string& name);

class CorpusParts {
 public:
  // The lines "OPERATOR IMPLEMENTATION" of held_back.txt, fresh.txt, studied.txt and unseen.txt beside the plugin: what
  // no file names is tuned. None is missed where `part` is all, or is tuned and the plugin has no other one (it is
  // not libassay_corpus_held).
  static Result<CorpusParts> Read(const std::filesystem::path& plugin, CorpusPart part);

  // `implementation` may be the exact form of a fault.
  bool Has(CorpusPart part, const std::string& op, std::string_view implementation) const;

 private:
  using Names = std::set<std::pair<std::string, std::string>>;
  static Result<Names> NamesIn(const std::filesystem::path& list);

  std::array<Names, kListedParts> listed_;
};

}  // namespace assay
