// SPDX-License-Identifier: Apache-2.0
// assay import: test cases of other projects as a suite.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "harness/base/atomic_file.h"
#include "harness/cli/replaced_file.h"
#include "harness/cli/terminal/output.h"
#include "harness/cli/verbs.h"
#include "harness/exec/clean_text.h"
#include "harness/import/benchdnn.h"
#include "harness/import/ggml.h"
#include "harness/import/iree.h"
#include "harness/import/onnx.h"
#include "harness/plan/catalog.h"

namespace assay::cli {
namespace {

constexpr std::string_view kFirstWords = "# Imported by assay import ";
constexpr size_t kMostSummary = 1 << 16;

struct ImportOptions {
  std::string format;
  std::vector<std::string> files;
  std::filesystem::path out;
  std::string driver;
  bool near_types = false, verbose = false;
};

Status ReadForeign(const ImportOptions& options, const std::string& file, Imports& imports) {
  if (options.format == "benchdnn") return ImportBenchdnn(file, options.driver, imports);
  if (options.format == "ggml") return ImportGgml(file, options.near_types, imports);
  if (options.format == "onnx") return ImportOnnx(file, OnnxData::kShapesAlone, imports);
  return ImportIree(file, imports);
}

Status CheckOut(const ImportOptions& options) {
  if (options.out.extension() != ".suite") {
    return UsageError(fmt::format("--out {}: give a name that ends in .suite", options.out.string()));
  }
  std::vector<ReadFile> read;
  for (const std::string& file : options.files) read.push_back({file, "a file to import"});
  const ResultKind imported{"imported suite",
                            [](const std::filesystem::path& file) { return FileBeginsWith(file, kFirstWords); }};
  return CheckMayWrite({"--out", options.out, imported}, read);
}

void TellUnmapped(const UnmappedCase& unmapped) {
  constexpr size_t kMostBytes = 600;
  const std::string line = fmt::format("{}: {}: {}", unmapped.from.where, unmapped.from.text, unmapped.reason);
  Print(CleanText(line, kMostBytes) + "\n");
}

int Import(const ImportOptions& options) {
  if (auto out = CheckOut(options); !out) return Complain(kExitUsage, out.error().message);
  Imports imports(Catalog(), options.verbose ? Imports::Told(TellUnmapped) : Imports::Told());
  for (const std::string& file : options.files) {
    if (auto read = ReadForeign(options, file, imports); !read) return Complain(kExitUsage, read.error().message);
  }
  Print(CleanText(ImportSummary(imports), kMostSummary, Lines::kKeep));
  if (imports.mapped() == 0) {
    return Complain(kExitNothing, fmt::format("{}: nothing in these files could be mapped, and nothing was written; "
                                              "--verbose lists each case with its reason, and "
                                              "harness/import/README.md says what each format has to look like",
                                              options.format));
  }
  const std::string title =
      fmt::format("{}{} {}", kFirstWords.substr(2), options.format, fmt::join(options.files, " "));
  const std::string text = ImportedSuite(imports, CleanText(title, kMostSummary));
  if (auto written = WriteFileAtomically(options.out, {{text.data(), text.size()}}); !written) {
    return Complain(kExitHarness, "--out: " + written.error().message);
  }
  Print(fmt::format("{}: assay run --suite {}\n", options.out.string(), options.out.string()));
  return kExitOk;
}

}  // namespace

void AddImportVerb(CLI::App& app, Action& action) {
  auto o = std::make_shared<ImportOptions>();
  CLI::App* verb = app.add_subcommand("import", "Make a suite of the test cases of another project");
  verb->add_option("format", o->format,
                   "benchdnn (batch and shape files, output with __REPRO lines), ggml (what test-backend-ops prints), "
                   "onnx (folders of node tests), iree (calls that its generators of e2e tests write)")
      ->required()
      ->check(CLI::IsMember({"benchdnn", "ggml", "onnx", "iree"}))
      ->type_name("FORMAT");
  verb->add_option("files", o->files, "of that project")->required()->type_name("FILE...");
  verb->add_option("-o,--out", o->out, "the suite to write; one that was imported before is replaced")
      ->required()
      ->type_name("FILE.suite");
  verb->add_option("--driver", o->driver,
                   "benchdnn: the driver of files that name none, such as matmul; else the name of their folder");
  verb->add_flag("--near-types", o->near_types,
                 "ggml: where it mixes types and an operator here takes one, take that of the weights for both");
  verb->add_flag("--verbose", o->verbose, "list each case that was not mapped, with its reason");
  verb->callback([o, &action] { action = [o] { return Import(*o); }; });
}

}  // namespace assay::cli
