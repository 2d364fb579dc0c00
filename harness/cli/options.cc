// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/options.h"

#include <CLI/CLI.hpp>

namespace assay::cli {

void AddCases(CLI::App& app, CaseOptions& o) {
  app.add_option("--suite", o.suite, "suite name (smoke, default, full) or path of a .suite file")
      ->capture_default_str();
  app.add_option("--case", o.cases, "case id instead of a suite; may be repeated")->type_name("ID");
  app.add_option("--contract", o.contract, "required contract for every case, e.g. f32acc");
  app.add_option("--filter", o.filter, "GoogleTest globs on case ids: 'a*:b*:-c*'")->capture_default_str();
  app.add_option("--op", o.ops, "operators, comma separated")->delimiter(',');
  app.add_option("--dtype", o.dtypes, "dtypes or dtype lists (bf16-bf16-f32), comma separated")->delimiter(',');
  app.add_option(
      "--shard", o.shard,
      "I/N: the I-th (from 0) of N shards; also ASSAY_SHARD, GTEST_*, TEST_*. A shard without cases is no failure");
  app.add_option("--seed", o.seed, "replaces the seed of every case");
}

void AddBackend(CLI::App& app, BackendOptions& o) {
  app.add_option("--plugin", o.plugins, "backend plugin to load, [name=]PATH; may be repeated")->type_name("PATH");
  app.add_option("--backend", o.backends, "only these backends, comma separated")->delimiter(',');
  app.add_option("--impl", o.implementations, "only these implementations, comma separated")->delimiter(',');
  app.add_option("--require-backend", o.required_backends, "exit 5 when one of these is absent")->delimiter(',');
  app.add_option("--timeout", o.timeout_s, "seconds that a backend may take for one call")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
}

}  // namespace assay::cli
