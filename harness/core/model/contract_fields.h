// SPDX-License-Identifier: Apache-2.0
// The fields of a contract and their values as one table, which parsing, printing and the partial order all read.
// Private to contract.cc.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/model/contract.h"

namespace assay {

// `beats`: the other values of the field that this one is at least as strong as, so that declaring it meets them.
struct ContractValue {
  std::string_view name;
  int code;
  std::string_view beats;
  std::string_view parameters = "";          // "<F,b>": two integers follow the name
  std::array<int, 4> limits = {0, 0, 0, 0};  // smallest and largest of each
};

// A field without values is a number: math.
struct ContractField {
  std::string_view name;
  std::vector<ContractValue> values;  // strongest first; the last is the weakest: every other one beats it
  int (*get)(const Contract&) = nullptr;
  void (*set)(Contract&, int) = nullptr;
  int Contract::*first = nullptr;  // the parameters of the one value that has some
  int Contract::*second = nullptr;
};

const std::vector<ContractField>& ContractFields();  // in the order in which a contract is written

std::string ValueText(const ContractField& field, const Contract& c);
std::string KnownValues(const ContractField& field);

// False when the text is not a value of the field; `c` is then unchanged.
bool ParseValue(const ContractField& field, std::string_view text, Contract& c);
void SetWeakest(const ContractField& field, Contract& c);
bool FieldMeets(const ContractField& field, const Contract& declared, const Contract& required);

}  // namespace assay
