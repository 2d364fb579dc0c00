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

void AddCaseChoice(CLI::App& app, CaseOptions& o, const std::string& usual) {
  app.add_option("--suite", o.suite,
                 "name of a suite (assay list suites) or path of a .suite file; without it and "
                 "without --case: " +
                     usual)
      ->type_name("NAME|PATH");
  app.add_option("--case", o.cases, "id of a case, which runs besides those of a given --suite; may be repeated")
      ->type_name("ID");
  app.add_option("--contract", o.contract, "contract that every case requires, e.g. f32acc");
  app.add_option("--filter", o.filter, "only cases whose id fits these globs, of GoogleTest's form: 'a*:b*:-c*'")
      ->capture_default_str();
  app.add_option("--op", o.ops, "only these operators, comma separated")->delimiter(',');
  AddDTypes(app, o);
}

void AddDTypes(CLI::App& app, CaseOptions& o) {
  app.add_option("--dtype", o.dtypes, "only these types or lists of types (bf16-bf16-f32), comma separated")
      ->delimiter(',');
}

void AddCases(CLI::App& app, CaseOptions& o) {
  AddCaseChoice(app, o, "default");
  app.add_option("--shard", o.shard,
                 "I/N: only the I-th of N shards, counted from 0; ASSAY_SHARD, GTEST_* and TEST_* do the same. A shard "
                 "without cases is no failure");
  app.add_option(
         "--balance", o.balance,
         "output folder of an earlier run: shards are of about equal cost by it, instead of by the hash of ids; "
         "all shards need the same")
      ->type_name("RUN");
  AddSeed(app, o.seed,
          "seed that replaces the one of every case; random: one that nobody knows before the run, which case ids and "
          "reports then name");
}

void AddSeed(CLI::App& app, std::optional<uint64_t>& seed, const std::string& help) {
  AddNumber<uint64_t>(app, "--seed", seed, {0, std::numeric_limits<uint64_t>::max()}, help)
      ->transform(CLI::Validator(DrawSeed, "", "random"))
      ->type_name("NUMBER|random");
}

void AddBackend(CLI::App& app, BackendOptions& o) {
  app.add_option("--plugin", o.plugins, "plugin to load beside the installed ones, [name=]PATH; may be repeated")
      ->type_name("PATH");
  app.add_option("--kernels", o.kernels,
                 "Python file (.py) of kernels, a backend beside the installed ones, [name=]PATH; may be repeated")
      ->type_name("PATH");
  app.add_option(
         "--framework", o.frameworks,
         "torch, onnxruntime, jax, openvino or tinygrad, comma separated: the functions of a framework that the "
         "interpreter has, as a backend of that name")
      ->delimiter(',')
      ->type_name("NAME");
  AddPython(app, o);
  app.add_option("--backend", o.backends, "only these backends, comma separated; NAME:INDEX for one of its devices")
      ->delimiter(',')
      ->type_name("NAME[:INDEX]");
  app.add_option("--device", o.devices, "only devices whose name fits the glob, e.g. 'NVIDIA*'; may be repeated")
      ->type_name("GLOB");
  app.add_option("--require-backend", o.required_backends, "exit with 5 when one of these is absent or unusable")
      ->delimiter(',')
      ->type_name("NAME[:INDEX]");
  AddTimeout(app, o);
  AddSandbox(app, o.sandbox);
}

void AddPython(CLI::App& app, BackendOptions& o) {
  app.add_option("--python", o.python,
                 "interpreter of files of kernels; default: $ASSAY_PYTHON, which is the one that an installed package "
                 "belongs to, that of $VIRTUAL_ENV, else python3 on the PATH")
      ->type_name("PATH");
  AddNumber<double>(app, "--import-timeout", o.import_timeout_s, kSecondsLimits,
                    fmt::format("seconds that a worker may take to import a file of kernels, with the modules that it "
                                "imports, before the file counts as one that hangs. Default: {}, whatever --timeout "
                                "says",
                                o.import_timeout_s.value_or(kImportTimeoutS)));
}

void AddTimeout(CLI::App& app, BackendOptions& o) {
  AddNumber<double>(
      app, "--timeout", o.timeout_s, kSecondsLimits,
      "seconds after which a call of a backend is a timeout; they pass slower while others share the host. Default: 60 "
      "and what its work may take, or what calls before it show");
}

void AddSharing(CLI::App& app, RunOptions& o) {
  app.add_option("--devices", o.devices,
                 "each: every device runs every case; pool: those of one backend, which have to be alike, share the "
                 "cases, and when one is set aside the others take what it had left")
      ->check(CLI::IsMember({kEach, kPool}))
      ->capture_default_str();
}

void AddSetAside(CLI::App& app, RunOptions& o) {
  AddNumber<int>(app, "--set-aside-after", o.set_aside_after, {0, 1'000'000},
                 "how many results in a row may crash, time out or lose a device before its further cases are given up "
                 "as unavailable: of that operator, and after twice as many of several operators all; 0: never");
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
  AddPerBackend(app, kLaunches, o.launches_us,
                "microseconds that launching an execution may take beside its duration, for a device whose driver is "
                "slower than times are usually believed to allow for");
}

void AddTime(CLI::App& app, std::optional<std::string>& text, const std::string& doc) {
  app.add_option("--for", text, doc)
      ->check([](const std::string& given) {
        const auto seconds = ParseAge(given);
        return seconds && *seconds > 0 ? std::string() : fmt::format("'{}' is no time such as 90s, 10m or 8h", given);
      })
      ->type_name("TIME");
}

void AddSandbox(CLI::App& app, SandboxOptions& o) {
  app.add_flag("--sandbox,!--no-sandbox", o.on,
               "seal workers off from golden values, output, other processes and the network, which is the default; "
               "or do not, for drivers that need more");
  app.add_option("--pass-env", o.passed, "variable that workers see beside those that drivers need; may be repeated")
      ->type_name("NAME");
  app.add_option("--grant", o.granted,
                 "files or folders that workers may read and write, separated by ':'; ASSAY_GRANT does the same")
      ->delimiter(':')
      ->envname("ASSAY_GRANT")
      ->type_name("PATH");
  app.add_option(
         "--worker-limit", o.limits,
         "memory=8G, file=500M, processes=100 or descriptors=1024 for each worker, or none for any of them; may "
         "be repeated")
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
        return text.empty() ? std::string("the name is empty; leave the option out for out/<time>") : std::string();
      });
  AddNumber<int>(
      app, "--jobs", o.jobs, kThreadLimits,
      "threads of the host, and how many workers may judge at a time; default: all cores, and one worker more")
      ->default_str("");
}

void AddStrictness(CLI::App& app, RunOptions& o) {
  app.add_flag(
      "--strict", o.strict,
      "inconclusive and suspect results and times that cannot be true fail too; --suite conformance implies it");
  app.add_option("--expectations", o.expectations,
                 "files of known failures, or none; default: those that the backends ship")
      ->type_name("FILE");
}

void AddTier(CLI::App& app, RunOptions& o) {
  app.add_option("--tier", o.tier,
                 "how golden values are computed: auto is reproducible for f64 and --suite conformance, else fast")
      ->check(CLI::IsMember({"auto", "fast", "reproducible"}))
      ->capture_default_str();
}

void AddColor(CLI::App& app, std::string& color) {
  app.add_option("--color", color, "colours of the text; auto: on a terminal, unless NO_COLOR is set")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->capture_default_str();
}

void AddProgress(CLI::App& app, std::string& progress) {
  app.add_option("--progress", progress,
                 "how progress is shown on standard error; auto: a bar on a terminal, a line now and then elsewhere")
      ->check(CLI::IsMember({"auto", "bar", "lines", "none"}))
      ->capture_default_str();
}

}  // namespace assay::cli
