// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/session.h"

#include "backends/abi/assay_backend.h"

namespace assay {

bool DeviceDescription::IsHost() const {
  return type == ASSAY_DEVICE_CPU;
}

std::string_view Name(StopReason reason) {
  constexpr std::string_view kNames[] = {"settled", "time limit", "repetitions", "not flushed"};
  return kNames[static_cast<size_t>(reason)];
}

Call<std::vector<ImplementationInfo>> Session::Query(int64_t device, const Problem& problem) {
  return Query(device, problem, {});
}

Call<std::vector<CapabilityLine>> Session::Capabilities(int64_t) {
  return CallFailed(Outcome::kUnsupported, "there is no table of capabilities");
}

Call<Prepared> Session::Prepare(int64_t device, const Problem& problem, const std::string& implementation) {
  return Prepare(device, problem, implementation, {});
}

Call<Timing> Session::Time(uint64_t plan, std::span<const InputSet> sets, const TimingRequest& request) {
  const auto run = BeginTiming(plan, {sets.begin(), sets.end()}, request);
  if (!run) return tl::unexpected(run.error());
  for (;;) {
    int64_t processor = -1;
    const Call<bool> more = (*run)->Step(processor);
    if (!more) return tl::unexpected(more.error());
    if (!*more) return (*run)->End();
  }
}

}  // namespace assay
