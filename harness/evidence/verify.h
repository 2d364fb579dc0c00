// SPDX-License-Identifier: Apache-2.0
// What of a bundle holds, found out without the hardware: inputs, golden values and judgement are computed again.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "harness/evidence/container.h"

namespace assay {

struct Verification {
  std::vector<std::string> confirmed;     // what was computed again and holds
  std::vector<std::string> open;          // what could not be confirmed, and why
  std::vector<std::string> contradicted;  // what does not hold, with the file or the case
};

// Precondition: the container has no damage. `scratch` is an empty folder. `told` is called with each case before it is
// computed again.
// `own_profile`: path of a profile that is not shipped, by which a statement of conformance is checked; "": none.
Verification VerifyBundle(const BundleFiles& files, const std::filesystem::path& scratch,
                          const std::string& own_profile,
                          const std::function<void(const std::string& id, size_t done, size_t all)>& told);

}  // namespace assay
