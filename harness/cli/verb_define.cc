// SPDX-License-Identifier: Apache-2.0
// assay define: operators that are Python functions, as data. Exit codes: 0, 2 usage.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "harness/cli/terminal/output.h"
#include "harness/cli/verbs.h"
#include "harness/core/base/atomic_file.h"
#include "harness/engine/device/definitions.h"
#include "harness/engine/results/exit_code.h"
#include "ops/definition_file.h"

namespace assay::cli {
namespace {

struct DefineOptions {
  std::filesystem::path file, out;
  std::string python;
};

int Define(const DefineOptions& options) {
  if (options.out.extension() != ".json") {
    return Complain(kExitUsage, fmt::format("-o {}: name a file that ends with .json", options.out.string()));
  }
  const auto traced = TraceDefinitions(options.file, options.python);
  if (!traced) return Complain(kExitUsage, traced.error().message);
  const auto added = AddDefinitions(*traced, options.file.string());  // what nobody could load is no definition
  if (!added) return Complain(kExitUsage, added.error().message);
  if (const Status written = StreamFileAtomically(options.out, [&](const TextSink& write) { write(*traced); });
      !written) {
    return Complain(kExitUsage, written.error().message);
  }
  Print(fmt::format("{}: {}\n", options.out.string(), fmt::join(*added, ", ")));
  return kExitOk;
}

}  // namespace

void AddDefineVerb(CLI::App& app, Action& action) {
  auto o = std::make_shared<DefineOptions>();
  CLI::App* verb =
      app.add_subcommand("define", "Write operators that Python functions define as data, for --operators");
  verb->add_option("FILE", o->file, "Python file with functions under @assay.operator")
      ->required()
      ->type_name("FILE.py");
  verb->add_option("-o,--out", o->out, "the file to write; one that is there is replaced")
      ->required()
      ->type_name("FILE.json");
  verb->add_option("--python", o->python, "interpreter, CPython 3.10 or later; default: as assay run has it")
      ->type_name("PATH");
  verb->callback([o, &action] { action = [o] { return Define(*o); }; });
}

}  // namespace assay::cli
