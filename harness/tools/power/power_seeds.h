// SPDX-License-Identifier: Apache-2.0
// Correct schedules on many seeds of one case, for the envelope. Each is executed once a seed, all on one plan, and
// judged by what depends on the data: bound, statistic, exceptional values, memory. What the implementation and the
// shape decide (twins, relations, other layouts, many executions) is seen where one seed goes through the flow of
// `assay run`.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "harness/core/model/contract.h"
#include "harness/engine/cases/prepared_case.h"
#include "harness/engine/device/device.h"
#include "harness/tools/power/peers.h"

namespace assay {

using OutputValues = std::vector<std::vector<double>>;  // of each output, as its type holds them

struct SeedResult {
  const PreparedCase& data;
  const std::vector<PeerRules>& peers;  // of each output
  const Contract& contract;
  OutputValues values;
  std::string problem;  // what is wrong with it; "" where it is right
};

class ManySeeds {
 public:
  explicit ManySeeds(std::vector<PreparedCase> seeds);

  bool empty() const { return seeds_.empty(); }
  const Problem& problem() const { return seeds_[0].data.problem; }

  // Calls `done` once a seed. Errors: the worker did not survive or refused.
  Call<void> Execute(const Device& device, const ImplementationInfo& schedule,
                     const std::function<void(const SeedResult&)>& done);

 private:
  struct Seed {
    PreparedCase data;
    std::vector<PeerRules> peers;
    std::map<std::string, std::vector<BoundModel>> bounds;  // by contract, of each output
  };

  static const std::vector<BoundModel>& BoundsOf(Seed& seed, const Contract& contract);
  static SeedResult Judge(Seed& seed, const Contract& contract, Execution execution);

  std::vector<Seed> seeds_;
};

}  // namespace assay
