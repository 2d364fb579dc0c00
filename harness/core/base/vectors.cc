// SPDX-License-Identifier: Apache-2.0
#include "harness/core/base/vectors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "hwy/highway.h"

// libhwy 1.0 measures this clock in each process that loads it, for a benchmark that nothing here calls, which takes
// nearly half of the program's start. Its own call finds this definition first. Weak: an archive of libhwy has another.
namespace hwy::platform {
__attribute__((visibility("default"), weak)) uint64_t TimerResolution();
uint64_t TimerResolution() {
  return 1;
}
}  // namespace hwy::platform

namespace assay {
namespace {

std::string NameOf(int64_t target) {
  std::string name = hwy::TargetName(target);
  for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return name;
}

// Highway numbers its targets from the best one on, a bit each.
std::vector<int64_t> TargetsOf(int64_t set) {
  std::vector<int64_t> targets;
  for (; set != 0; set &= set - 1) targets.push_back(set & -set);
  return targets;
}

}  // namespace

Status LimitVectors(std::string_view best) {
  std::vector<std::string> known;
  for (const int64_t target : TargetsOf(HWY_TARGETS)) {
    known.push_back(NameOf(target));
    if (known.back() != best) continue;
    hwy::DisableTargets(target - 1);
    return {};
  }
  return UsageError(fmt::format("there are no vectors '{}'; known here: {}", best, fmt::join(known, ", ")));
}

std::string VectorsInUse() {
  const std::vector<int64_t> usable = TargetsOf(hwy::SupportedTargets() & HWY_TARGETS);
  return NameOf(usable.empty() ? int64_t{HWY_STATIC_TARGET} : usable.front());
}

}  // namespace assay
