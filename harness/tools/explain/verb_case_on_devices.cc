// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/explain/verb_case_on_devices.h"

#include "harness/cli/process.h"
#include "harness/cli/run_flow.h"
#include "harness/cli/run_settings.h"
#include "harness/cli/terminal/output.h"
#include "harness/core/base/parallel.h"

namespace assay::cli {

tl::expected<std::unique_ptr<CaseOnDevices>, Refusal> OpenCase(const std::string& id, RunOptions options) {
  options.selection.cases = {id};
  options.perf = false;
  if (options.jobs > 0) SetThreadCount(options.jobs);
  for (const std::filesystem::path& file : ListHiddenFiles(options)) options.backend.sandbox.hidden.push_back(file);
  options.backend.interrupted = WatchAndAsk;
  std::vector<std::string> notes;
  auto prepared = PrepareRun(options, notes);
  for (const std::string& note : notes) Note(note);
  if (!prepared) return tl::unexpected(prepared.error());
  std::unique_ptr<CaseOnDevices> opened(new CaseOnDevices{*std::move(prepared), {}, {}});
  opened->policy = MakePolicy(options, opened->prepared);
  opened->policy.runner.explain = nullptr;
  auto data = PrepareCase(*opened->planned().Bound(), options.tier, opened->policy.store);
  if (!data) return tl::unexpected(Refusal{kExitUsage, data.error().message});
  opened->data = *std::move(data);
  return opened;
}

}  // namespace assay::cli
