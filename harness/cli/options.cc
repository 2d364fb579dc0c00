// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/options.h"

#include <CLI/CLI.hpp>
#include <limits>

#include "harness/cli/number_option.h"

namespace assay::cli {

void AddCases(CLI::App& app, CaseOptions& o) {
  app.add_option("--suite", o.suite,
                 "suite name (assay list suites) or path of a .suite file; default: default, unless "
                 "--case is given")
      ->type_name("NAME|PATH");
  app.add_option("--case", o.cases, "case id, besides the cases of --suite if that is given; may be repeated")
      ->type_name("ID");
  app.add_option("--contract", o.contract, "required contract for every case, e.g. f32acc");
  app.add_option("--filter", o.filter, "GoogleTest globs on case ids: 'a*:b*:-c*'")->capture_default_str();
  app.add_option("--op", o.ops, "operators, comma separated")->delimiter(',');
  app.add_option("--dtype", o.dtypes, "dtypes or dtype lists (bf16-bf16-f32), comma separated")->delimiter(',');
  app.add_option(
      "--shard", o.shard,
      "I/N: the I-th (from 0) of N shards; also ASSAY_SHARD, GTEST_*, TEST_*. A shard without cases is no failure");
  AddNumber<uint64_t>(app, "--seed", o.seed, {0, std::numeric_limits<uint64_t>::max()},
                      "replaces the seed of every case");
}

void AddBackend(CLI::App& app, BackendOptions& o) {
  app.add_option("--plugin", o.plugins, "backend plugin to load, [name=]PATH; may be repeated")->type_name("PATH");
  app.add_option("--backend", o.backends, "only these backends, comma separated; NAME:INDEX for one of its devices")
      ->delimiter(',')
      ->type_name("NAME[:INDEX]");
  app.add_option("--device", o.devices, "only devices whose name fits the glob, e.g. 'NVIDIA*'; may be repeated")
      ->type_name("GLOB");
  app.add_option("--require-backend", o.required_backends, "exit 5 when one of these is absent or unusable")
      ->delimiter(',')
      ->type_name("NAME[:INDEX]");
  AddNumber<double>(app, "--timeout", o.timeout_s, kSecondsLimits,
                    "seconds that a backend may take for one call; fewer count while others share the host");
}

void AddImplementations(CLI::App& app, BackendOptions& o) {
  app.add_option("--impl", o.implementations, "only these implementations, comma separated")->delimiter(',');
}

}  // namespace assay::cli
