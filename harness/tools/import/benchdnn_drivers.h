// SPDX-License-Identifier: Apache-2.0
// Maps the problems of benchdnn's drivers to cases of assay. Private to the importer.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/tools/import/benchdnn_choice.h"

namespace assay {

struct BenchdnnDriver {
  std::string_view name;
  std::vector<std::pair<std::string_view, std::string_view>> options;               // that count, with their defaults
  Result<CaseSpec> (*map)(const BenchdnnChoice& choice, std::string_view problem);  // null: no counterpart here
};

// Null: benchdnn has no driver of this name.
const BenchdnnDriver* FindBenchdnnDriver(std::string_view name);

// Precondition: the driver has a counterpart. The reason why this case has none is the error's message.
Result<CaseSpec> MapBenchdnn(const BenchdnnDriver& driver, const BenchdnnChoice& choice, std::string_view problem);

// The value as far as it counts: values that are one to the driver's map give one text.
std::string BenchdnnMeaning(std::string_view option, std::string_view value);

// Whether an option that does not count changes nothing that is computed, as far as is known here.
bool BenchdnnLeavesResult(std::string_view option);

}  // namespace assay
