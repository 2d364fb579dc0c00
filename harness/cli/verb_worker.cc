// SPDX-License-Identifier: Apache-2.0
// assay worker --fd N: the process in which a plugin lives. Started by the host only.
#include <CLI/CLI.hpp>
#include <memory>

#include "harness/cli/verbs.h"
#include "harness/exec/worker/worker_main.h"

namespace assay::cli {

void AddWorkerVerb(CLI::App& app, Action& action) {
  auto fd = std::make_shared<int>(-1);
  CLI::App* verb = app.add_subcommand("worker", "")->group("");  // not listed in --help
  verb->add_option("--fd", *fd)->required();
  verb->callback([fd, &action] { action = [fd] { return WorkerMain(*fd); }; });
}

}  // namespace assay::cli
