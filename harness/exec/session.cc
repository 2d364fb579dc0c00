// SPDX-License-Identifier: Apache-2.0
#include "harness/exec/session.h"

#include "backends/abi/assay_backend.h"

namespace assay {

bool DeviceDescription::IsHost() const {
  return type == ASSAY_DEVICE_CPU;
}

Call<std::vector<ImplementationInfo>> Session::Query(int64_t device, const Problem& problem) {
  return Query(device, problem, {});
}

Call<std::vector<CapabilityLine>> Session::Capabilities(int64_t) {
  return CallFailed(FailureKind::kUnsupported, "there is no table of capabilities");
}

Call<Prepared> Session::Prepare(int64_t device, const Problem& problem, const std::string& implementation) {
  return Prepare(device, problem, implementation, {});
}

Call<void> Session::DownloadAll(uint64_t plan, std::span<const size_t> sets, Part part,
                                std::span<Execution> executions) {
  for (size_t i = 0; i < sets.size(); ++i) {
    if (const Call<double> done = Download(plan, sets[i], part, executions[i]); !done) {
      return tl::unexpected(done.error());
    }
  }
  return {};
}

}  // namespace assay
