// SPDX-License-Identifier: Apache-2.0
// The two parts of the corpus: limits and statistics were chosen with one in view, and are measured with the other.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "harness/base/result.h"

namespace assay {

inline constexpr std::string_view kEffectSuffix = ".effect";  // of the exact form of a fault

enum class CorpusPart : uint8_t { kTuned, kHeld, kAll };
std::string_view Name(CorpusPart part);  // "tuned", "held", "all"

class CorpusParts {
 public:
  // The lines "OPERATOR IMPLEMENTATION" of held_back.txt beside the plugin; one without the file is tuned as a whole.
  static Result<CorpusParts> Read(const std::filesystem::path& plugin);

  // `implementation` may be the exact form of a fault.
  bool Has(CorpusPart part, const std::string& op, std::string_view implementation) const;

 private:
  std::set<std::pair<std::string, std::string>> held_;
};

}  // namespace assay
