// SPDX-License-Identifier: Apache-2.0
// The power of the verdict on one case: every legal schedule and every fault of the corpus plugin goes through the flow
// of `assay run` (case_runner.h), and what came out through the peers' rules as well.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "harness/engine/device/device.h"
#include "harness/plan/suite.h"
#include "harness/tools/power/corpus_part.h"
#include "harness/tools/power/power_tally.h"

namespace assay {

// Seeds from here on were never looked at while bounds, thresholds or schedules were chosen. Those that an alarm was
// mended on are used up: the next measurement takes others.
inline constexpr uint64_t kFirstHeldBackSeed = 1000;

struct PowerSettings {
  uint64_t seeds = 20;     // 0 .. seeds - 1 make the envelope; seed 0 in the whole flow, the others see power_seeds.h
  uint64_t held_back = 1;  // seeds from held_back_from on, legal schedules alone
  uint64_t held_back_from = kFirstHeldBackSeed;
  uint64_t fault_seeds = 1;  // 0 .. fault_seeds - 1: every fault
  CorpusPart part = CorpusPart::kTuned;
  CorpusParts parts;
  std::string faults = "*";  // globs on their names, see MatchesFilter()
  double explain_s = 0;      // seconds for the causes of a caught fault; 0: none are looked for
  std::function<bool()> interrupted = [] { return false; };
};

// held_back_from, held_back_from + 1, ...
std::vector<uint64_t> HeldBackSeeds(const PowerSettings& settings);

// Precondition: the device is usable. Each implementation is required what it declares, so that a verdict says
// something about the judge, not about the class of a schedule. An interrupted measurement is incomplete.
PowerTally MeasureCase(const PlannedCase& planned, const Device& device, const PowerSettings& settings);

}  // namespace assay
