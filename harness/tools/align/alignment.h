// SPDX-License-Identifier: Apache-2.0
// Whether two implementations, or one under several conditions, give the same bits, with what says that other bits
// would have been seen.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/core/base/json.h"
#include "harness/engine/cases/prepared_case.h"
#include "harness/engine/device/device.h"

namespace assay {

// An implementation on a device.
struct AlignedSide {
  const Device& device;
  std::string implementation;
  Contract contract;

  std::string Name() const { return device.selector + "/" + implementation; }
};

struct AlignedConfiguration {
  std::string name;
  std::string refused;  // why it could not be compared; "": it was
  int64_t elements = 0, differing = 0;
  bool shows = false;  // terms in another order have other bits in it
  // The first that differs: its place in the whole case's output, what is expected there and what came, and how many
  // tolerances they are apart.
  std::string place;
  double expected = 0, got = 0, tolerances = 0;
  double most_tolerances = 0;          // of all that differ
  std::optional<bool> is_within = {};  // whether results that parts were joined to are within the bound; none: no parts
};

struct Alignment {
  std::string case_id, input_hash;
  std::vector<std::string> sides;  // one: beside itself
  std::vector<AlignedConfiguration> configurations;
  std::string unshown;  // why no other order could be made; "": one was

  size_t CountCompared() const;
  size_t CountDiffering() const;
  size_t CountUnshown() const;  // of those that were compared, alike, and would have been alike in another order too
  // Equal bits everywhere, and each configuration would have shown another order.
  bool IsCertified() const;
  std::string Sentence() const;
};

// Numbers of ranks that share sums, and of slices of the keys or terms that one kernel computes apart.
struct SharedNumbers {
  std::vector<int64_t> ranks, splits;
};

// One side: each configuration beside the whole case. Two: beside each other in each configuration. Errors: a
// backend's.
Result<Alignment> Align(const PreparedCase& data, std::span<const AlignedSide> sides, const SharedNumbers& shared = {});

std::string TextOf(const Alignment& alignment);
Json ToJson(const Alignment& alignment);

}  // namespace assay
