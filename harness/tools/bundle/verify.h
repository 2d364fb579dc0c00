// SPDX-License-Identifier: Apache-2.0
// Verifies a bundle without the hardware: inputs, golden values and judgement are computed again.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "harness/tools/bundle/container.h"

namespace assay {

struct Verification {
  std::vector<std::string> confirmed;     // what was computed again and holds
  std::vector<std::string> open;          // what could not be confirmed, and why
  std::vector<std::string> claimed;       // "file: fields" that nothing but the bundle says
  std::vector<std::string> contradicted;  // what does not hold, with the file or the case

  template <class... T>
  void Confirm(fmt::format_string<T...> text, T&&... values) {
    confirmed.push_back(fmt::format(text, std::forward<T>(values)...));
  }
  template <class... T>
  void Open(fmt::format_string<T...> text, T&&... values) {
    open.push_back(fmt::format(text, std::forward<T>(values)...));
  }
  template <class... T>
  void Claim(fmt::format_string<T...> text, T&&... values) {
    claimed.push_back(fmt::format(text, std::forward<T>(values)...));
  }
  template <class... T>
  void Contradict(fmt::format_string<T...> text, T&&... values) {
    contradicted.push_back(fmt::format(text, std::forward<T>(values)...));
  }
};

struct VerifyOptions {
  std::string own_profile;   // path of a profile that is not shipped, for a statement of conformance; "": none
  double recompute_s = 300;  // for inputs and golden values of results that are not in the sample; 0: without a limit
};

// Finds what VerifyBundle() contradicts by reading alone: nothing is computed again. `scratch` is an empty folder.
std::vector<std::string> FindContradictions(const BundleFiles& files, const std::filesystem::path& scratch);

// Precondition: the container has no damage. `scratch` is an empty folder. `on_case` is called with each case before it
// is computed again.
Verification VerifyBundle(const BundleFiles& files, const std::filesystem::path& scratch, const VerifyOptions& options,
                          const std::function<void(const std::string& id, size_t done, size_t all)>& on_case);

}  // namespace assay
