// SPDX-License-Identifier: Apache-2.0
// assay bundle RUN: one file of a run that somebody without the hardware can verify.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "harness/cli/terminal/output.h"
#include "harness/cli/verbs.h"
#include "harness/core/base/amounts.h"
#include "harness/core/base/json_text.h"
#include "harness/core/base/scratch.h"
#include "harness/tools/bundle/bundle.h"
#include "harness/tools/bundle/draw.h"
#include "harness/tools/bundle/sha256.h"
#include "harness/tools/bundle/signature.h"
#include "harness/tools/bundle/verify.h"

namespace assay::cli {
namespace fs = std::filesystem;
namespace {

struct BundleOptions {
  fs::path run, out = "run.assay.tar.zst";
  std::optional<fs::path> key;
  std::string challenge;
};

// The nearest name that a bundle can have: "r.tar.zst" for "r.tar" and "r.zst".
fs::path NameForBundle(const fs::path& out) {
  fs::path name = out;
  if (out.filename() == ".tar.zst") return name.replace_filename(BundleOptions().out);
  const std::string_view packed[] = {".zst", ".tar", ".tgz", ".gz", ".xz", ".bz2", ".zip"};
  while (!name.stem().empty() && std::ranges::count(packed, name.extension().string()) > 0) name.replace_extension();
  return name += ".tar.zst";
}

Status CheckOut(const fs::path& out) {
  std::error_code error;
  if (!out.has_filename() || fs::is_directory(out, error)) {
    return UsageError(
        fmt::format("--out {} is a folder: give --out {}", out.string(), (out / BundleOptions().out).string()));
  }
  if (!out.native().ends_with(".tar.zst") || out.filename() == ".tar.zst") {
    return UsageError(fmt::format(
        "--out {}: the name must end in .tar.zst, so that the sandbox hides the file from plugins; give --out {}",
        out.string(), NameForBundle(out).string()));
  }
  for (const fs::path& file : {out, SignatureOf(out)}) {
    if (!fs::exists(file, error)) continue;
    return UsageError(fmt::format("{} is there already: give another --out or remove it", file.string()));
  }
  return {};
}

// How a bundle can be had that assay verify does not refuse.
std::string SuggestRepair(const fs::path& run, const BundledRun& bundle) {
  const std::string whole = "Give the folder as the run left it at its end, or ";
  if (ParseJson(bundle.files.at("environment.json")).contains("merged")) {
    return whole + "merge it again with all of its shards, each run to its end";
  }
  if (bundle.files.contains(kEvidenceFile)) {
    return whole + "run it again with another --out: a run with evidence cannot be continued";
  }
  return fmt::format("{}run it again; the same command with --out {} --resume runs only what is missing", whole,
                     run.string());
}

// Refuses what assay verify would refuse, whatever the device did.
Status CheckIsWhole(const fs::path& run, const BundledRun& bundle) {
  const Scratch scratch("bundle");
  if (scratch.path.empty()) return Fail(ErrorCode::kIo, "cannot make a temporary folder; set TMPDIR");
  const std::vector<std::string> wrong = FindContradictions(bundle.files, scratch.path);
  if (wrong.empty()) return {};
  return UsageError(fmt::format("{}: assay verify would refuse a bundle of it: {}{}. {}", run.string(), wrong[0],
                                wrong.size() > 1 ? fmt::format(" (and {} more)", wrong.size() - 1) : "",
                                SuggestRepair(run, bundle)));
}

// Nothing stands at --out before all is done: the bundle is written and signed under another name beside it.
Status WriteBundle(const BundleOptions& options, const BundledRun& bundle) {
  const fs::path unsigned_ =
      options.out.parent_path() / fmt::format(".{}.{}", getpid(), options.out.filename().string());
  Status status = WriteContainer(unsigned_, bundle.files, options.out);
  if (!status && status.error().code == ErrorCode::kIo) {
    const Error& error = status.error();
    status = Fail(error.code, fmt::format("--out {}; give another --out", error.message));
  }
  if (status && options.key) status = SignFile(unsigned_, *options.key);
  std::error_code error;
  if (status && options.key) fs::rename(SignatureOf(unsigned_), SignatureOf(options.out), error);
  if (status && !error) fs::rename(unsigned_, options.out, error);
  if (status && error) {
    status = Fail(ErrorCode::kIo, fmt::format("cannot write {}: {}", options.out.string(), error.message()));
    fs::remove(SignatureOf(options.out), error);
  }
  for (const fs::path& left : {unsigned_, SignatureOf(unsigned_)}) fs::remove(left, error);
  return status;
}

int Bundle(const BundleOptions& options) {
  if (auto fine = CheckOut(options.out); !fine) return Complain(kExitUsage, fine.error().message);
  const auto bundle = CollectBundle(options.run, options.challenge);
  if (!bundle) return Complain(kExitUsage, bundle.error().message);
  for (const std::string& note : bundle->notes) Note(note);
  Status written = CheckIsWhole(options.run, *bundle);
  if (written) written = WriteBundle(options, *bundle);
  if (!written) {
    return Complain(written.error().code == ErrorCode::kUsage ? kExitUsage : kExitHarness, written.error().message);
  }
  std::error_code error;
  Print(fmt::format("bundle: {} ({}, {} kB)\nsha256: {}\n", options.out.string(),
                    Counted(std::ssize(bundle->files), "file"), fs::file_size(options.out, error) / 1024,
                    Sha256OfFile(options.out).value_or("unreadable")));
  if (options.key) Print(fmt::format("signature: {}\n", SignatureOf(options.out).string()));
  return kExitOk;
}

}  // namespace

void AddBundleVerb(CLI::App& app, Action& action) {
  auto o = std::make_shared<BundleOptions>();
  CLI::App* verb = app.add_subcommand(
      "bundle", "Put a run with its evidence into one file, which assay verify checks without the hardware");
  verb->add_option("RUN", o->run, "output folder of a run, best with --evidence")->required();
  verb->add_option("-o,--out", o->out, "new file, whose name ends in .tar.zst")
      ->type_name("FILE")
      ->capture_default_str();
  verb->add_option("--challenge", o->challenge,
                   "text that goes into the draw too, from whoever got the printed hash of the run's files");
  verb->add_option("--sign", o->key, "key for ssh-keygen -Y to sign with: private, or public with an agent")
      ->type_name("KEY");
  verb->callback([o, &action] { action = [o] { return Bundle(*o); }; });
}

}  // namespace assay::cli
