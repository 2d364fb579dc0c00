// SPDX-License-Identifier: Apache-2.0
// A random part of a suite's cases, where all of them would take hours.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/plan/suite.h"

namespace assay {

// `size` of the cases, of each operator in proportion and at least one, so that shares of the sample estimate those of
// the whole. Which ones follows from their ids and `seed` alone: the same on every machine, and a smaller sample is
// part of a larger one. In the order of `cases`; all of them where there are no more.
std::vector<PlannedCase> SampleCases(std::vector<PlannedCase> cases, size_t size, uint64_t seed);

// Keeps cases of at most `most_flops` operations: the layers of public models among a suite's cases take as long as all
// others. Cases of a million operations take a second each, as every schedule is executed on every seed.
std::vector<PlannedCase> KeepCasesUpTo(std::vector<PlannedCase> cases, double most_flops);

}  // namespace assay
