// SPDX-License-Identifier: Apache-2.0
// assay bundle RUN: one file of a run that somebody without the hardware can verify.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <optional>

#include "harness/cli/terminal/output.h"
#include "harness/cli/verbs.h"
#include "harness/evidence/bundle.h"
#include "harness/evidence/sha256.h"
#include "harness/evidence/signature.h"

namespace assay::cli {
namespace fs = std::filesystem;
namespace {

struct BundleOptions {
  fs::path run, out = "run.assay.tar.zst";
  std::optional<fs::path> key;
  std::string challenge;
};

int Bundle(const BundleOptions& options) {
  std::error_code error;
  if (!options.out.native().ends_with(".tar.zst")) {
    return Complain(kExitUsage,
                    fmt::format("--out {0} does not end in .tar.zst, by which the sandbox knows what to hide "
                                "from plugins: give --out {0}.tar.zst",
                                options.out.string()));
  }
  if (fs::exists(options.out, error)) {
    return Complain(kExitUsage,
                    fmt::format("{} is there already: give another --out or remove it", options.out.string()));
  }
  const auto bundle = CollectBundle(options.run, options.challenge);
  if (!bundle) return Complain(kExitUsage, bundle.error().message);
  for (const std::string& note : bundle->notes) Note(note);
  if (auto written = WriteContainer(options.out, bundle->files); !written) {
    return Complain(kExitHarness, written.error().message);
  }
  Print(fmt::format("bundle: {} ({} files, {} kB)\nsha256: {}\n", options.out.string(), bundle->files.size(),
                    fs::file_size(options.out, error) / 1024, Sha256OfFile(options.out).value_or("unreadable")));
  if (!options.key) return kExitOk;
  if (auto signed_ = SignFile(options.out, *options.key); !signed_)
    return Complain(kExitUsage, signed_.error().message);
  Print(fmt::format("signature: {}\n", SignatureOf(options.out).string()));
  return kExitOk;
}

}  // namespace

void AddBundleVerb(CLI::App& app, Action& action) {
  auto o = std::make_shared<BundleOptions>();
  CLI::App* verb = app.add_subcommand(
      "bundle", "Put a run with its evidence into one file, which assay verify checks without the hardware");
  verb->add_option("RUN", o->run, "output folder of a run, best one with --evidence")->required();
  verb->add_option("-o,--out", o->out, "the file, whose name ends in .tar.zst, and which must not be there")
      ->type_name("FILE")
      ->capture_default_str();
  verb->add_option(
      "--challenge", o->challenge,
      "text by which results are drawn too, of whoever got the hash of the run's files that the run printed");
  verb->add_option("--sign", o->key, "key to sign it with, by ssh-keygen -Y: private, or public with an agent")
      ->type_name("KEY");
  verb->callback([o, &action] { action = [o] { return Bundle(*o); }; });
}

}  // namespace assay::cli
