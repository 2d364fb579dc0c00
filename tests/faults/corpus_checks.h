// SPDX-License-Identifier: Apache-2.0
// Checks that every operator's part of the corpus must pass.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "harness/tools/power/corpus_part.h"

namespace assay {

class Corpus;

// Every legal schedule passes in the class that it declares, for fills and seeds of `problem` (operator, dtypes and
// attributes of an id); a case that proves little is not the schedule's fault. At least `schedules` of them. The long
// tests take each fill and three seeds, the others the first fill and another one that the problem's text chooses.
void ExpectLegalSchedulesPass(const std::string& problem, const std::vector<const char*>& fills, size_t schedules);

// How an effect is told from rounding.
struct EffectLimits {
  // Smallest relative effect: relative to the value's magnitude, or if the operator has no such plane, to the largest
  // golden value (`of_largest`) or to the value itself.
  double noise = 1e-12;
  bool of_largest = true;
};

// Every bug that the corpus offers for the case changes its exact result, but those of `of_values`, which strike on
// other values; at least `faults` of them. Bugs of one element change one.
void ExpectBugsHaveEffects(const std::string& case_id, const std::vector<std::string>& of_values, size_t faults,
                           const EffectLimits& limits = {});

// Correct schedules in exact arithmetic, those whose class rounds on the way left out, change nothing; at least one of
// them is compared.
void ExpectLegalSchedulesHaveNone(const std::string& case_id, const EffectLimits& limits = {});

// The one bug changes the exact result of the case.
void ExpectEffect(const std::string& case_id, const std::string& fault, const EffectLimits& limits = {});

// The tuned faults that the corpus offers for the case, and those of them that change its exact result. Faults that are
// `known` to are not tried again.
struct CaseFaults {
  std::set<std::string> offered, effective;
};
CaseFaults FaultsOf(Corpus& corpus, const std::string& case_id, const std::set<std::string>& known = {});

// The faults among `names` in the part that change the exact result of the case.
std::set<std::string> FaultsWithEffect(const std::string& case_id, CorpusPart part, const std::set<std::string>& names);

}  // namespace assay
