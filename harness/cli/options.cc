// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <limits>
#include <random>
#include <string>

#include "harness/cli/number_option.h"
#include "harness/core/base/amounts.h"
#include "harness/exec/sandbox/limits.h"
#include "harness/tools/bundle/draw.h"

namespace assay::cli {
namespace {

// A plugin cannot know the data of a seed drawn here, as it may know those of the suites.
std::string DrawSeed(std::string& text) {
  if (text == "random") text = std::to_string(std::random_device{}() % kDrawnSeeds);
  return "";
}

}  // namespace

void AddCaseChoice(CLI::App& app, PlanOptions& o, const std::string& usual) {
  app.add_option("--suite", o.suite,
                 "name of a suite (assay list suites) or path of a .suite file; default without --case: " + usual)
      ->type_name("NAME|PATH");
  app.add_option("--case", o.cases, "id of a case; added to those of --suite if that is given; may be repeated")
      ->type_name("ID");
  app.add_option("--contract", o.contract, "arithmetic that every case requires, e.g. f32acc");
  app.add_option("--filter", o.filter, "only cases whose id matches these globs, as in GoogleTest: 'a*:b*:-c*'")
      ->capture_default_str();
  app.add_option("--op", o.ops, "only these operators, comma separated")->delimiter(',');
  AddDTypes(app, o);
}

void AddDTypes(CLI::App& app, PlanOptions& o) {
  app.add_option("--dtype", o.dtypes, "only these types or lists of types (bf16-bf16-f32), comma separated")
      ->delimiter(',');
}

void AddCases(CLI::App& app, PlanOptions& o) {
  AddCaseChoice(app, o, "default");
  app.add_option("--shard", o.shard,
                 "I/N: only shard I of N, counted from 0; ASSAY_SHARD, GTEST_* and TEST_* do the same. An empty shard "
                 "exits with 0");
  app.add_option(
         "--balance", o.balance,
         "output folder of an earlier run, whose times make shards of about equal cost; all shards need the same")
      ->type_name("RUN");
  AddSeed(app, o.seed, "seed in place of that of every case; random: a new one, which case ids and reports name");
}

void AddSeed(CLI::App& app, std::optional<uint64_t>& seed, const std::string& help) {
  AddNumber<uint64_t>(app, "--seed", seed, {0, std::numeric_limits<uint64_t>::max()}, help)
      ->transform(CLI::Validator(DrawSeed, "", "random"))
      ->type_name("NUMBER|random");
}

void AddBackend(CLI::App& app, BackendOptions& o) {
  app.add_option("--plugin", o.plugins, "further plugin, [name=]PATH; may be repeated")->type_name("PATH");
  app.add_option("--kernels", o.kernels,
                 "Python file (.py) of kernels as a further backend, [name=]PATH; may be repeated")
      ->type_name("PATH");
  app.add_option("--framework", o.frameworks,
                 "torch, onnxruntime, jax, openvino or tinygrad, comma separated: that framework of the interpreter as "
                 "a backend")
      ->delimiter(',')
      ->type_name("NAME");
  AddPython(app, o);
  app.add_option("--backend", o.backends, "only these backends, comma separated; NAME:INDEX for one of its devices")
      ->delimiter(',')
      ->type_name("NAME[:INDEX]");
  app.add_option("--device", o.devices, "only devices whose name matches the glob, e.g. 'NVIDIA*'; may be repeated")
      ->type_name("GLOB");
  app.add_option("--require-backend", o.required_backends, "exit with 5 if one of these is absent or unusable")
      ->delimiter(',')
      ->type_name("NAME[:INDEX]");
  AddTimeout(app, o);
  AddSandbox(app, o.sandbox);
}

void AddPython(CLI::App& app, BackendOptions& o) {
  app.add_option("--python", o.python,
                 "interpreter for files of kernels; default: $ASSAY_PYTHON (set by an installed package), that of "
                 "$VIRTUAL_ENV, else python3")
      ->type_name("PATH");
  AddNumber<double>(
      app, "--import-timeout", o.import_timeout_s, kSecondsLimits,
      fmt::format(
          "seconds that importing a file of kernels, with its modules, may take. Default: {}, whatever --timeout says",
          o.import_timeout_s.value_or(kImportTimeoutS)));
}

void AddTimeout(CLI::App& app, BackendOptions& o) {
  AddNumber<double>(app, "--timeout", o.timeout_s, kSecondsLimits,
                    "seconds that a call of a backend may take; more on a busy host. Default: 60 and its work's time, "
                    "less once calls before it were fast");
}

void AddSharing(CLI::App& app, RunOptions& o) {
  app.add_option(
         "--devices", o.devices,
         "each: every device runs every case; pool: devices of one backend, which must be alike, share the cases")
      ->check(CLI::IsMember({kEach, kPool}))
      ->capture_default_str();
}

void AddSetAside(CLI::App& app, RunOptions& o) {
  AddNumber<int>(app, "--set-aside-after", o.set_aside_after, {0, 1'000'000},
                 "after so many crashes, timeouts or device losses in a row, an operator's further cases are "
                 "unavailable on that device; after twice as many of several operators, all cases; 0: never");
}

void AddPerBackend(CLI::App& verb, const PerBackendOption& option, std::vector<std::string>& texts,
                   const std::string& help) {
  verb.add_option(std::string(option.name), texts, help + ", NUMBER or BACKEND=NUMBER; may be repeated")
      ->check([option](const std::string& text) {
        const auto numbers = ParsePerBackend(option, {text});
        return numbers ? std::string() : numbers.error().message;
      })
      ->type_name("[BACKEND=]NUMBER");
}

void AddLaunches(CLI::App& app, RunOptions& o) {
  AddPerBackend(
      app, kLaunches, o.launches_us,
      "microseconds that launching an execution may take beside its duration, if the device's driver is slow");
}

void AddTime(CLI::App& app, std::optional<std::string>& text, const std::string& doc) {
  app.add_option("--for", text, doc)
      ->check([](const std::string& given) {
        const auto seconds = ParseAge(given);
        return seconds && *seconds > 0 ? std::string()
                                       : fmt::format("'{}' is not a time; give one such as 90s, 10m or 8h", given);
      })
      ->type_name("TIME");
}

void AddSandbox(CLI::App& app, SandboxOptions& o) {
  app.add_flag("--sandbox,!--no-sandbox", o.on,
               "run workers in a sandbox, without golden values, output, other processes and network (the default), or "
               "not, for drivers that need more");
  app.add_option("--pass-env", o.passed, "further environment variable for workers; may be repeated")
      ->type_name("NAME");
  app.add_option("--grant", o.granted,
                 "further files or folders for workers to read and write, separated by ':'; ASSAY_GRANT does the same")
      ->delimiter(':')
      ->envname("ASSAY_GRANT")
      ->type_name("PATH");
  app.add_option(
         "--worker-limit", o.limits,
         "limit of each worker: memory=8G, file=500M, processes=100 or descriptors=1024, or none; may be repeated")
      ->check([](const std::string& text) {
        WorkerLimits limits;
        const Status set = SetLimit(text, limits);
        return set ? std::string() : set.error().message;
      })
      ->type_name("KIND=AMOUNT");
}

void AddImplementations(CLI::App& app, BackendOptions& o) {
  app.add_option("--impl", o.implementations, "only these implementations, comma separated")->delimiter(',');
}

void AddOut(CLI::App& app, RunOptions& o) {
  app.add_option("--out", o.out, "folder for the output, new or empty; default: out/<time>")
      ->check([](const std::string& text) {
        return text.empty() ? std::string("the name is empty; name a folder, or leave the option out for out/<time>")
                            : std::string();
      });
  AddNumber<int>(app, "--jobs", o.jobs, kThreadLimits,
                 "threads of the host, and workers that judge at a time; default: all cores, and one worker more")
      ->default_str("");
}

void AddStrictness(CLI::App& app, RunOptions& o) {
  app.add_flag(
      "--strict", o.strict,
      "also fail on inconclusive and suspect results and on times that cannot be true; implied by --suite conformance");
  app.add_option("--expectations", o.expectations,
                 "files of known failures, or none; default: those shipped with the backends")
      ->type_name("FILE");
}

void AddTier(CLI::App& app, RunOptions& o) {
  app.add_option("--tier", o.tier,
                 "how golden values are computed; auto: reproducible for f64 and --suite conformance, else fast")
      ->check(CLI::IsMember({"auto", "fast", "reproducible"}))
      ->capture_default_str();
}

void AddColor(CLI::App& app, std::string& color) {
  app.add_option("--color", color, "colours; auto: on a terminal, unless NO_COLOR is set")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->capture_default_str();
}

void AddProgress(CLI::App& app, std::string& progress) {
  app.add_option("--progress", progress,
                 "progress on standard error; auto: a bar on a terminal, else a line now and then")
      ->check(CLI::IsMember({"auto", "bar", "lines", "none"}))
      ->capture_default_str();
}

}  // namespace assay::cli
