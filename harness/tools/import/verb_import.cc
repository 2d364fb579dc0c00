// SPDX-License-Identifier: Apache-2.0
// assay import: test cases of other projects as a suite.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "harness/cli/replaced_file.h"
#include "harness/cli/terminal/output.h"
#include "harness/cli/verbs.h"
#include "harness/core/base/atomic_file.h"
#include "harness/exec/clean_text.h"
#include "harness/plan/catalog.h"
#include "harness/tools/check/given_files.h"
#include "harness/tools/import/foreign_files.h"

namespace assay::cli {
namespace {

constexpr std::string_view kFirstWords = "# Imported by assay import ";
constexpr std::string_view kDefinitions = "{\"assay_definitions\"";
constexpr size_t kMostSummary = 1 << 16;

struct ImportOptions {
  ForeignFiles files;
  std::filesystem::path out;
  bool theirs_as_outputs = false;
  std::string as;
};

bool WantsSuite(const ImportOptions& options) {
  return options.out.extension() == ".suite";
}

// Operators that assay lacks, as cases of onnx have them.
std::filesystem::path DefinitionsFile(const ImportOptions& options) {
  if (WantsSuite(options)) return std::filesystem::path(options.out).replace_extension(".json");
  return options.out / "definitions.json";
}

// The suite of a model's nodes lies beside whoever asks, unless --out says where.
Status TakeForm(ImportOptions& options) {
  if (options.out.empty() && options.as.empty()) {
    return UsageError("--out is missing: name the suite to write, as --out cases.suite");
  }
  if (options.as.empty()) return {};
  if (options.files.format != "onnx") return UsageError("--as suite: only models of onnx have nodes to count");
  options.files.by_node = true;
  if (options.out.empty()) options.out = std::filesystem::path(options.files.paths.front()).stem().string() + ".suite";
  if (WantsSuite(options)) return {};
  return UsageError(fmt::format("--as suite: --out {} has another ending than .suite", options.out.string()));
}

Status CheckOut(const ImportOptions& options) {
  if (!WantsSuite(options)) {
    if (options.files.format == "onnx") return {};
    return UsageError(
        fmt::format("--out {}: give a name that ends in .suite; only the cases of onnx have data for a folder",
                    options.out.string()));
  }
  if (options.theirs_as_outputs) {
    return UsageError(fmt::format("--theirs-as-outputs: a suite has no outputs; give --out the name of a folder"));
  }
  std::vector<ReadFile> read;
  for (const std::string& file : options.files.paths) read.push_back({file, "a file to import"});
  const ResultKind imported{"suite of assay import",
                            [](const std::filesystem::path& file) { return FileBeginsWith(file, kFirstWords); }};
  if (auto suite = CheckMayWrite({"--out", options.out, imported}, read); !suite) return suite;
  const ResultKind definitions{"file of definitions",
                               [](const std::filesystem::path& file) { return FileBeginsWith(file, kDefinitions); }};
  return CheckMayWrite({"--out", DefinitionsFile(options), definitions}, read);
}

void TellUnmapped(const Unmapped& unmapped) {
  constexpr size_t kMostBytes = 600;
  const std::string line = fmt::format("{}: {}: {}", unmapped.from.where, unmapped.from.text, unmapped.reason);
  Print(CleanText(line, kMostBytes) + "\n");
}

// Returns the words that make them known to a command; "": there are none.
Result<std::string> WriteDefinitions(const ImportOptions& options, const std::string& text) {
  if (text.empty()) return "";
  const std::filesystem::path file = DefinitionsFile(options);
  if (auto written = WriteFileAtomically(file, {{text.data(), text.size()}}); !written) {
    return Fail(ErrorCode::kIo, written.error().message);
  }
  return fmt::format(" --operators {}", file.string());
}

int WriteSuite(const ImportOptions& options, const Imports& imports, const std::string& title) {
  const auto operators = WriteDefinitions(options, ImportedDefinitions(imports));
  if (!operators) return Complain(kExitHarness, "--out: " + operators.error().message);
  const std::string text = ImportedSuite(imports, title);
  if (auto written = WriteFileAtomically(options.out, {{text.data(), text.size()}}); !written) {
    return Complain(kExitHarness, "--out: " + written.error().message);
  }
  Print(fmt::format("{}: assay run{} --suite {}\n", options.out.string(), *operators, options.out.string()));
  return kExitOk;
}

// A suite has shapes alone; a folder has the data too, for what runs elsewhere.
int WriteFolder(const ImportOptions& options, Imports& imports) {
  const std::string definitions = ImportedDefinitions(imports);
  std::vector<GivenTensors> cases;
  for (ImportedCase& one : imports.TakeCases()) {
    GivenTensors given{{.spec = std::move(one.spec), .where = std::move(one.where), .held = std::move(one.bound)},
                       std::move(one.tensors.inputs),
                       std::move(one.tensors.outputs)};
    if (!one.label.empty()) given.planned.tags.push_back(one.label);
    given.planned.asked = given.planned.held->op->TraitsOf(given.planned.held->problem, 0).required_fields;
    cases.push_back(std::move(given));
  }
  const GivenOutputs outputs = options.theirs_as_outputs ? GivenOutputs::kJudged : GivenOutputs::kApart;
  auto written = WriteGivenFiles(options.out, options.files.format, std::move(cases), TensorFiles::kNpy, outputs);
  if (!written) {
    return Complain(written.error().code == ErrorCode::kUsage ? kExitUsage : kExitHarness, written.error().message);
  }
  const auto operators = WriteDefinitions(options, definitions);
  if (!operators) return Complain(kExitHarness, "--out: " + operators.error().message);
  Print(fmt::format("{}: assay check{} --manifest {}\n", (options.out / kManifestFile).string(), *operators,
                    options.out.string()));
  return kExitOk;
}

int Import(ImportOptions options) {
  if (auto form = TakeForm(options); !form) return Complain(kExitUsage, form.error().message);
  if (auto out = CheckOut(options); !out) return Complain(kExitUsage, out.error().message);
  Imports imports(Catalog(), options.files.verbose ? Imports::Callback(TellUnmapped) : Imports::Callback());
  options.files.with_tensors = !WantsSuite(options);
  if (auto read = ReadForeignFiles(options.files, imports); !read) {
    return Complain(read.error().code == ErrorCode::kUsage ? kExitUsage : kExitHarness, read.error().message);
  }
  Print(CleanText(ImportSummary(imports), kMostSummary, Lines::kKeep));
  if (imports.mapped() == 0) {
    return Complain(kExitNothing, fmt::format("{}: nothing in these files could be mapped, and nothing was written; "
                                              "--verbose lists each case with its reason, and "
                                              "harness/tools/import/README.md says what each format has to look like",
                                              options.files.format));
  }
  const std::string title = CleanText(
      fmt::format("{}{} {}", kFirstWords.substr(2), options.files.format, fmt::join(options.files.paths, " ")),
      kMostSummary);
  return WantsSuite(options) ? WriteSuite(options, imports, title) : WriteFolder(options, imports);
}

}  // namespace

void AddImportVerb(CLI::App& app, Action& action) {
  auto o = std::make_shared<ImportOptions>();
  CLI::App* verb = app.add_subcommand("import", "Make a suite of the test cases of another project");
  verb->add_option("format", o->files.format,
                   "benchdnn (batch and shape files, output with __REPRO lines), ggml (what test-backend-ops prints), "
                   "onnx (models, folders of node tests), iree (calls that its generators of e2e tests write)")
      ->required()
      ->check(CLI::IsMember({"benchdnn", "ggml", "onnx", "iree"}))
      ->type_name("FORMAT");
  verb->add_option("files", o->files.paths, "of that project")->required()->type_name("FILE...");
  verb->add_option(
          "-o,--out", o->out,
          "the suite to write, FILE.suite; one that was imported before is replaced. onnx: FILE.json beside it has "
          "the definitions of graphs that are none of assay's operators, for --operators; any other name is that "
          "of a new or empty folder for the cases with their data: check --manifest")
      ->type_name("FILE.suite|DIR");
  verb->add_option(
          "--as", o->as,
          "onnx: suite: each node of a model as a case of its own, equal ones once with the tag calls-N; default "
          "of --out: MODEL.suite")
      ->check(CLI::IsMember({"suite"}))
      ->type_name("suite");
  verb->add_option("--driver", o->files.driver,
                   "benchdnn: the driver of files that name none, such as matmul; else the name of their folder");
  verb->add_flag("--near-types", o->files.near_types,
                 "ggml: where it mixes types and an operator here takes one, take that of the weights for both");
  verb->add_flag(
      "--theirs-as-outputs", o->theirs_as_outputs,
      "onnx, into a folder: the outputs that the tests expect are those to judge; else they lie in `theirs`");
  verb->add_option("--python", o->files.python,
                   "interpreter that reads the files, CPython 3.10 or later, for onnx with the package onnx; default: "
                   "$ASSAY_PYTHON, which is the one that an installed package belongs to, that of $VIRTUAL_ENV, else "
                   "python3 on the PATH")
      ->type_name("PATH");
  verb->add_flag("--verbose", o->files.verbose, "list each case that was not mapped, with its reason");
  verb->callback([o, &action] { action = [o] { return Import(*o); }; });
}

}  // namespace assay::cli
