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
#include "harness/tools/import/benchdnn.h"
#include "harness/tools/import/ggml.h"
#include "harness/tools/import/iree.h"
#include "harness/tools/import/onnx.h"

namespace assay::cli {
namespace {

constexpr std::string_view kFirstWords = "# Imported by assay import ";
constexpr size_t kMostSummary = 1 << 16;

struct ImportOptions {
  std::string format;
  std::vector<std::string> files;
  std::filesystem::path out;
  std::string driver;
  bool near_types = false, theirs_as_outputs = false, verbose = false;
};

bool WantsSuite(const ImportOptions& options) {
  return options.out.extension() == ".suite";
}

Status ReadForeign(const ImportOptions& options, const std::string& file, Imports& imports) {
  if (options.format == "benchdnn") return ImportBenchdnn(file, options.driver, imports);
  if (options.format == "ggml") return ImportGgml(file, options.near_types, imports);
  if (options.format == "onnx") {
    return ImportOnnx(file, WantsSuite(options) ? OnnxData::kShapesAlone : OnnxData::kWithTensors, imports);
  }
  return ImportIree(file, imports);
}

Status CheckOut(const ImportOptions& options) {
  if (!WantsSuite(options)) {
    if (options.format == "onnx") return {};
    return UsageError(fmt::format("--out {}: the name must end in .suite; only cases of onnx have data for a folder",
                                  options.out.string()));
  }
  if (options.theirs_as_outputs) {
    return UsageError(fmt::format("--theirs-as-outputs: a suite has no outputs; give --out the name of a folder"));
  }
  std::vector<ReadFile> read;
  for (const std::string& file : options.files) read.push_back({file, "a file to import"});
  const ResultKind imported{"suite made by assay import",
                            [](const std::filesystem::path& file) { return FileBeginsWith(file, kFirstWords); }};
  return CheckMayWrite({"--out", options.out, imported}, read);
}

int ComplainOfFile(const Error& error) {
  const bool unread = error.code == ErrorCode::kIo;
  return Complain(kExitUsage, unread ? fmt::format("cannot read {}; check the path", error.message) : error.message);
}

void TellUnmapped(const UnmappedCase& unmapped) {
  constexpr size_t kMostBytes = 600;
  const std::string line = fmt::format("{}: {}: {}", unmapped.from.where, unmapped.from.text, unmapped.reason);
  Print(CleanText(line, kMostBytes) + "\n");
}

int WriteSuite(const ImportOptions& options, const Imports& imports, const std::string& title) {
  const std::string text = ImportedSuite(imports, title);
  if (auto written = WriteFileAtomically(options.out, {{text.data(), text.size()}}); !written) {
    return Complain(kExitHarness, "--out: " + written.error().message);
  }
  Print(fmt::format("{}: assay run --suite {}\n", options.out.string(), options.out.string()));
  return kExitOk;
}

// A suite has shapes alone; a folder has the data too, for what runs elsewhere.
int WriteFolder(const ImportOptions& options, Imports& imports) {
  std::vector<GivenCase> cases;
  for (ImportedCase& one : imports.TakeCases()) {
    GivenCase given{{.spec = std::move(one.spec), .where = std::move(one.where), .held = std::move(one.bound)},
                    std::move(one.tensors.inputs),
                    std::move(one.tensors.outputs)};
    if (!one.label.empty()) given.planned.tags.push_back(one.label);
    given.planned.asked = given.planned.held->op->RequiredFields(given.planned.held->problem);
    cases.push_back(std::move(given));
  }
  const GivenOutputs outputs = options.theirs_as_outputs ? GivenOutputs::kJudged : GivenOutputs::kApart;
  auto written = WriteGivenFiles(options.out, options.format, std::move(cases), TensorFiles::kNpy, outputs);
  if (!written) {
    return Complain(written.error().code == ErrorCode::kUsage ? kExitUsage : kExitHarness, written.error().message);
  }
  Print(fmt::format("{}: assay check --manifest {}\n", (options.out / kManifestFile).string(), options.out.string()));
  return kExitOk;
}

int Import(const ImportOptions& options) {
  if (auto out = CheckOut(options); !out) return Complain(kExitUsage, out.error().message);
  Imports imports(Catalog(), options.verbose ? Imports::Callback(TellUnmapped) : Imports::Callback());
  for (const std::string& file : options.files) {
    if (auto read = ReadForeign(options, file, imports); !read) return ComplainOfFile(read.error());
  }
  Print(CleanText(ImportSummary(imports), kMostSummary, Lines::kKeep));
  if (imports.mapped() == 0) {
    return Complain(kExitNothing, fmt::format("{}: nothing in these files could be mapped, and nothing was written; "
                                              "--verbose lists each case with its reason, and "
                                              "harness/tools/import/README.md says what each format has to look like",
                                              options.format));
  }
  const std::string title = CleanText(
      fmt::format("{}{} {}", kFirstWords.substr(2), options.format, fmt::join(options.files, " ")), kMostSummary);
  return WantsSuite(options) ? WriteSuite(options, imports, title) : WriteFolder(options, imports);
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
  verb->add_option("files", o->files, "files of that project")->required()->type_name("FILE...");
  verb->add_option("-o,--out", o->out,
                   "suite to write, FILE.suite; replaces an imported one. onnx: any other name is a new or empty "
                   "folder for check --manifest")
      ->required()
      ->type_name("FILE.suite|DIR");
  verb->add_option("--driver", o->driver,
                   "benchdnn: driver of files that name none, such as matmul; default: the name of their folder");
  verb->add_flag("--near-types", o->near_types,
                 "ggml: if it mixes types and the operator here takes one, use the type of the weights for both");
  verb->add_flag("--theirs-as-outputs", o->theirs_as_outputs,
                 "onnx, into a folder: judge the outputs that the tests expect; else they are stored in `theirs`");
  verb->add_flag("--verbose", o->verbose, "list each case that was not mapped, with its reason");
  verb->callback([o, &action] { action = [o] { return Import(*o); }; });
}

}  // namespace assay::cli
