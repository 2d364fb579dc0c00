// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/option_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "harness/core/base/amounts.h"
#include "harness/core/base/check.h"
#include "harness/engine/device/definitions.h"
#include "harness/exec/sandbox/limits.h"
#include "harness/plan/per_backend.h"
#include "harness/tools/bundle/draw.h"

namespace assay::cli {
namespace {

using Rows = std::vector<OptionRow>;

constexpr Limits<double> kCount{0, 1'000'000};

// A plugin cannot know the data of a seed drawn here, as it may know those of the suites.
std::string DrawSeed(std::string& text) {
  if (text == "random") text = std::to_string(std::random_device{}() % kDrawnSeeds);
  return "";
}

std::string CheckTime(std::string& text) {
  const auto seconds = ParseAge(text);
  if (seconds && *seconds > 0) return "";
  return fmt::format("'{}' is not a time; give one such as 90s, 10m or 8h", text);
}

std::string CheckSize(std::string& text) {
  const auto bytes = ParseBytes(text);
  return bytes && *bytes > 0 ? "" : fmt::format("'{}' is not a size; give one such as 500M or 10Gi", text);
}

std::string CheckLaunch(std::string& text) {
  const auto numbers = ParsePerBackend({text});
  return numbers ? "" : numbers.error().message;
}

std::string CheckLimit(std::string& text) {
  WorkerLimits limits;
  const Status set = SetLimit(text, limits);
  return set ? "" : set.error().message;
}

// The word for the shipped definitions becomes their folder.
std::string NameDefinitions(std::string& file) {
  file = FindDefinitions(file).string();
  return "";
}

std::string CheckOut(std::string& text) {
  return text.empty() ? "the name is empty; name a folder, or leave the option out for out/<time>" : "";
}

std::string FromRoot(const std::string& path) {
  return std::filesystem::absolute(path).string();
}
std::string FromRootUnlessNone(const std::string& path) {
  return path == "none" ? path : FromRoot(path);
}
bool IsTimed(const RunOptions& o) {
  return o.perf;
}
bool HasRounds(const RunOptions& o) {
  return o.perf && o.rounds != RunOptions().rounds;
}

Rows MakeCasesRows() {
  return {
      {"--suite",
       Field<&RunOptions::selection, &PlanOptions::suite>(),
       "name of a suite (assay list suites) or path of a .suite file; default without --case: default",
       {.value = "NAME|PATH", .everyday = true}},
      {"--case",
       Field<&RunOptions::selection, &PlanOptions::cases>(),
       "id of a case; added to those of --suite if that is given; may be repeated",
       {.value = "ID", .everyday = true}},
      {"--filter",
       Field<&RunOptions::selection, &PlanOptions::filter>(),
       "only cases whose id matches these globs, as in GoogleTest: 'a*:b*:-c*'",
       {.everyday = true}},
      {"--op",
       Field<&RunOptions::selection, &PlanOptions::ops>(),
       "only these operators, comma separated",
       {.separator = ',', .everyday = true}},
      {"--dtype",
       Field<&RunOptions::selection, &PlanOptions::dtypes>(),
       "only these types or lists of types (bf16-bf16-f32), comma separated",
       {.separator = ',', .everyday = true}},
      {"--scale",
       Field<&RunOptions::selection, &PlanOptions::scale>(),
       "divide the extents that the suite's lines `scale` name, as those of models/* do: a large network on a small "
       "machine",
       {.value = "1/N"}},
      {"--operators",
       Field<&RunOptions::selection, &PlanOptions::operators>(),
       "file of definitions (.py, or .json of assay define) whose operators are known besides the built-in ones, a "
       "folder of them (.py), or the word compositions for the shipped ones; may be repeated",
       {.value = "FILE", .check = NameDefinitions, .everyday = true, .effect = Effect::kCarried, .carry = FromRoot}},
      {"--shard",
       Field<&RunOptions::selection, &PlanOptions::shard>(),
       "I/N: only shard I of N, counted from 0; ASSAY_SHARD, GTEST_* and TEST_* do the same. An empty shard exits with "
       "0",
       {.everyday = true}},
      {"--seed",
       Field<&RunOptions::selection, &PlanOptions::seed>(),
       "seed in place of that of every case; random: a new one, which case ids and reports name",
       {.value = "NUMBER|random", .limits = {0, 0x1p64}, .check = DrawSeed, .everyday = true, .recorded = true}},
      {"--allow-unused",
       Field<&RunOptions::selection, &PlanOptions::allow_unused>(),
       "also run where a kernel of --kernels, an operator that a --plugin lists, or a name of --op or --impl meets no "
       "case; else that ends the run before it begins, with exit code 4",
       {.everyday = true}},
      {"--contract", Field<&RunOptions::selection, &PlanOptions::contract>(),
       "arithmetic that every case requires, e.g. f32acc"},
  };
}

Rows MakeBackendsRows() {
  return {
      {"--backend",
       Field<&RunOptions::backend, &BackendOptions::backends>(),
       "only these backends, comma separated; NAME:INDEX for one of its devices",
       {.value = "NAME[:INDEX]", .separator = ',', .everyday = true}},
      {"--plugin",
       Field<&RunOptions::backend, &BackendOptions::plugins>(),
       "further plugin, [name=]PATH; may be repeated",
       {.value = "PATH", .everyday = true}},
      {"--kernels",
       Field<&RunOptions::backend, &BackendOptions::kernels>(),
       "Python file (.py) of kernels as a further backend, [name=]PATH; may be repeated",
       {.value = "PATH", .everyday = true}},
      {"--framework",
       Field<&RunOptions::backend, &BackendOptions::frameworks>(),
       "torch, onnxruntime, jax, openvino, tinygrad, tensorflow, numpy or gloo, comma separated: that framework of the "
       "interpreter as a "
       "backend; functions of --operators are kernels of it",
       {.value = "NAME", .separator = ',', .everyday = true}},
      {"--python",
       Field<&RunOptions::backend, &BackendOptions::python>(),
       "interpreter for files of kernels and of definitions; default: $ASSAY_PYTHON (set by an installed package), "
       "that of $VIRTUAL_ENV, "
       "else python3",
       {.value = "PATH", .effect = Effect::kCarried}},
      {"--impl",
       Field<&RunOptions::backend, &BackendOptions::implementations>(),
       "only these implementations, comma separated",
       {.separator = ',', .everyday = true, .effect = Effect::kCompared}},
      {"--require-backend",
       Field<&RunOptions::backend, &BackendOptions::required_backends>(),
       "exit with 5 if one of these is absent or unusable",
       {.value = "NAME[:INDEX]", .separator = ',', .everyday = true}},
      {"--timeout",
       Field<&RunOptions::backend, &BackendOptions::timeout_s>(),
       "seconds that a call of a backend may take; more on a busy host. Default: 60 and its work's time, less once "
       "calls before it were fast",
       {.limits = kSecondsLimits, .everyday = true, .effect = Effect::kCarried}},
      {"--import-timeout",
       Field<&RunOptions::backend, &BackendOptions::import_timeout_s>(),
       fmt::format("seconds that importing a file of kernels, with its modules, may take, whatever --timeout says. "
                   "Default: {}, of assay judge 120",
                   kImportTimeoutS),
       {.limits = kSecondsLimits, .effect = Effect::kCarried}},
      {"--device",
       Field<&RunOptions::backend, &BackendOptions::devices>(),
       "only devices whose name matches the glob, e.g. 'NVIDIA*'; may be repeated",
       {.value = "GLOB"}},
      {"--devices",
       Field<&RunOptions::backend, &BackendOptions::sharing>(),
       "each: every device runs every case; pool: devices of one backend, which must be alike, share the cases",
       {.choices = {kEach, kPool}}},
  };
}

Rows MakeSandboxRows() {
  return {
      {"--sandbox,!--no-sandbox",
       Field<&RunOptions::backend, &BackendOptions::sandbox, &SandboxOptions::on>(),
       "run workers in a sandbox, without golden values, output, other processes and network (the default), or not, "
       "for drivers that need more",
       {.effect = Effect::kCarried}},
      {"--pass-env",
       Field<&RunOptions::backend, &BackendOptions::sandbox, &SandboxOptions::passed>(),
       "further environment variable for workers; may be repeated",
       {.value = "NAME", .effect = Effect::kCarried}},
      {"--grant",
       Field<&RunOptions::backend, &BackendOptions::sandbox, &SandboxOptions::granted>(),
       "further files or folders for workers to read and write, separated by ':'; ASSAY_GRANT does the same",
       {.value = "PATH", .separator = ':', .variable = "ASSAY_GRANT", .effect = Effect::kCarried, .carry = FromRoot}},
      {"--worker-limit",
       Field<&RunOptions::backend, &BackendOptions::sandbox, &SandboxOptions::limits>(),
       "limit of each worker: memory=8G, file=500M, processes=100 or descriptors=1024, or none; may be repeated",
       {.value = "KIND=AMOUNT", .check = CheckLimit, .effect = Effect::kCarried}},
  };
}

Rows MakeCourseRows() {
  return {
      {"--out",
       Field<&RunOptions::out>(),
       "folder for the output, new or empty; default: out/<time>",
       {.check = CheckOut, .everyday = true}},
      {"--resume",
       Field<&RunOptions::resume>(),
       "continue the run in --out, which was killed, interrupted or ran out of disk, with the same options; its "
       "results stay",
       {.everyday = true}},
      {"--jobs",
       Field<&RunOptions::jobs>(),
       "threads of the host, and workers that judge at a time; default: all cores, and one worker more",
       {.limits = {kThreadLimits.least, kThreadLimits.most}}},
      {"--maxfail",
       Field<&RunOptions::most_failures>(),
       "stop after this many failures; --resume continues",
       {.limits = {1, 1'000'000}, .everyday = true}},
      {"--retries",
       Field<&RunOptions::retries>(),
       "tries after a crash, timeout, error or nondeterministic result, each in a fresh worker; flaky if one ends "
       "differently. Default: one, after crashes and timeouts",
       {.limits = {0, 1000}, .everyday = true, .effect = Effect::kCarried, .recorded = true}},
      {"--repeat",
       Field<&RunOptions::repeat>(),
       "judge everything this many times, in random order; a result whose verdicts differ is flaky",
       {.limits = {1, 1'000'000'000}, .effect = Effect::kCarried, .recorded = true}},
      {"--for",
       Field<&RunOptions::time>(),
       "repeat for this long: 90s, 10m, 8h; each case at least once, and at most --repeat times",
       {.value = "TIME", .check = CheckTime, .effect = Effect::kCarried, .recorded = true}},
      {"--until-fails",
       Field<&RunOptions::until_fails>(),
       "repeat until something fails, but no longer than --for and no more often than --repeat",
       {.effect = Effect::kCarried, .recorded = true}},
      {"--on-device-lost",
       Field<&RunOptions::device_lost_command>(),
       "shell command that resets a lost device, named in $ASSAY_SELECTOR; the case is tried again after it",
       {.value = "COMMAND", .recorded = true}},
      {"--set-aside-after",
       Field<&RunOptions::set_aside_after>(),
       "after so many crashes, timeouts or device losses in a row, an operator's further cases are unavailable on that "
       "device; after twice as many of several operators, all cases; 0: never",
       {.limits = kCount}},
      {"--allow-changed", Field<&RunOptions::allow_changed>(),
       "with --resume: also if drivers, plugins, options or assay have changed since the run began"},
  };
}

Rows MakeJudgingRows() {
  return {
      {"--strict",
       Field<&RunOptions::strict>(),
       "also fail on inconclusive and suspect results and on times that cannot be true; implied by --suite conformance",
       {.everyday = true, .effect = Effect::kCompared, .recorded = true}},
      {"--expectations",
       Field<&RunOptions::expectations>(),
       "files of known failures, or none; default: those shipped with the backends",
       {.value = "FILE", .everyday = true, .effect = Effect::kCarried, .carry = FromRootUnlessNone}},
      {"--relations",
       Field<&RunOptions::relations>(),
       "relations between executions to check (batches, negation, ...): all, the cheap ones, or none",
       {.choices = {"all", "quick", "none"}, .effect = Effect::kCarried, .recorded = true}},
      {"--tier",
       Field<&RunOptions::tier>(),
       "how golden values are computed; auto: reproducible for f64 and --suite conformance, else fast",
       {.choices = {"auto", "fast", "reproducible"}, .effect = Effect::kCarried}},
      {"--sample",
       Field<&RunOptions::sample>(),
       "judge about this many elements of outputs that have more, at the cost of golden values of these alone; such "
       "cases are executed on no other data",
       {.limits = {1, 1'000'000'000}, .effect = Effect::kCarried, .recorded = true}},
      {"--max-memory",
       Field<&RunOptions::max_memory>(),
       "leave out each case that needs more of this host's memory, as unsupported, with what it needs: 500M, 10Gi",
       {.value = "SIZE", .check = CheckSize, .recorded = true}},
      {"--store,!--no-store", Field<&RunOptions::store>(),
       "keep golden values between runs, which is the default, or do not"},
  };
}

Rows MakeTimesRows() {
  return {
      {"--perf,!--no-perf",
       Field<&RunOptions::perf>(),
       "time what passes (the default), or time nothing",
       {.everyday = true, .effect = Effect::kCompared}},
      {"--rounds",
       Field<&RunOptions::rounds>(),
       "times to time everything, each in a fresh worker; assay compare needs several rounds",
       {.limits = {1, 1000}, .everyday = true, .effect = Effect::kCarried, .recorded = true, .counts = IsTimed}},
      {"--perf-time",
       Field<&RunOptions::perf_time_s>(),
       "seconds for timing one implementation on one case in one round; less if the median is known to 2 % earlier",
       {.limits = kSecondsLimits, .everyday = true, .effect = Effect::kCarried, .counts = HasRounds}},
      {"--sweep",
       Field<&RunOptions::selection, &PlanOptions::sweep>(),
       "run the cases of --case at many sizes: b=1..256 (doubling), b=1..256*4, l=64..512+64, b=1,3,5, shape.0=1..64",
       {.value = "KEY=VALUES"}},
      {"--cold,!--no-cold",
       Field<&RunOptions::cold>(),
       "also time with cold caches, for at most as long again; implied by --sweep",
       {.effect = Effect::kCompared, .counts = IsTimed}},
      {"--roofline,!--no-roofline", Field<&RunOptions::roofline>(),
       "measure the peak rates of each device, in seconds to minutes; implied by --sweep"},
      {"--ceilings",
       Field<&RunOptions::ceilings>(),
       "TOML file of peak rates from data sheets, which assay cannot measure itself; implies --roofline",
       {.value = "FILE"}},
      {"--launch-us",
       Field<&RunOptions::launches_us>(),
       "microseconds that launching an execution may take beside its duration, if the device's driver is slow, NUMBER "
       "or BACKEND=NUMBER; may be repeated",
       {.value = "[BACKEND=]NUMBER",
        .check = CheckLaunch,
        .effect = Effect::kCarried,
        .recorded = true,
        .counts = IsTimed}},
  };
}

Rows MakeEvidenceRows() {
  return {
      {"--evidence",
       Field<&RunOptions::evidence, &EvidenceOptions::results>(),
       "keep outputs for assay bundle: those of this many results, drawn after the run, and of all failures",
       {.limits = kCount}},
      {"--evidence-seed",
       Field<&RunOptions::evidence, &EvidenceOptions::seed>(),
       "file with the secret by which results are drawn; its SHA-256 may be published before. Default: a secret of "
       "this run",
       {.value = "FILE"}},
      {"--challenge", Field<&RunOptions::evidence, &EvidenceOptions::challenge>(),
       "text from whoever gets the evidence, which goes into the draw too"},
  };
}

Rows MakeOutputRows() {
  return {
      {"--profile", Field<&RunOptions::profile>(),
       "say where the time went, by phase and backend, on standard error and in the reports"},
      {"--trace",
       Field<&RunOptions::trace>(),
       "write what ran when, for ui.perfetto.dev or chrome://tracing",
       {.value = "FILE"}},
      {"--progress",
       Field<&RunOptions::progress>(),
       "progress on standard error; auto: a bar on a terminal, else a line now and then",
       {.choices = {"auto", "bar", "lines", "none"}}},
      {"--color",
       Field<&RunOptions::color>(),
       "colours; auto: on a terminal, unless NO_COLOR is set",
       {.choices = {"auto", "always", "never"}}},
  };
}

}  // namespace

const std::vector<OptionRow>& OptionTable() {
  static const Rows table = [] {
    Rows all;
    for (const auto& [heading, rows] : std::initializer_list<std::pair<const char*, Rows>>{
             {"Cases", MakeCasesRows()},
             {"Backends", MakeBackendsRows()},
             {"Sandbox", MakeSandboxRows()},
             {"Course", MakeCourseRows()},
             {"Judging", MakeJudgingRows()},
             {kTimesHeading, MakeTimesRows()},
             {"Evidence", MakeEvidenceRows()},
             {"Output", MakeOutputRows()},
         }) {
      for (const OptionRow& row : rows) all.emplace_back(row).heading = heading;
    }
    return all;
  }();
  return table;
}

const OptionRow& FindOption(std::string_view name) {
  const auto found = std::ranges::find(OptionTable(), name, &OptionRow::Name);
  ASSAY_CHECK(found != OptionTable().end());
  return *found;
}

}  // namespace assay::cli
