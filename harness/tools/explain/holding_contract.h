// SPDX-License-Identifier: Apache-2.0
// By which weaker contract a wrong result that nothing explains would pass.
#pragma once

#include <optional>
#include <string>

#include "harness/tools/explain/cause.h"

namespace assay {

struct HoldingContract {
  Contract contract;
  double power = 0;  // the share of single faults that would be noticed by it
};

// A contract that would let most faults pass says nothing of a result that holds by it.
inline constexpr double kLeastPower = 0.5;

// The first of the usual weaker contracts by which all outputs hold and kLeastPower of single faults would be noticed.
std::optional<HoldingContract> FindHoldingContract(const WrongResult& result);

// "acc=f32, in=tf32rn, ...", what is tried.
std::string UsualContractsText();

}  // namespace assay
