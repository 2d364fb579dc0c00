// SPDX-License-Identifier: Apache-2.0
// assay verify BUNDLE: whether a bundle is whole, by whom it is signed, and what of it comes out again.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <optional>

#include "harness/cli/number_option.h"
#include "harness/cli/options.h"
#include "harness/cli/terminal/output.h"
#include "harness/cli/terminal/progress.h"
#include "harness/cli/verbs.h"
#include "harness/core/base/amounts.h"
#include "harness/core/base/scratch.h"
#include "harness/tools/bundle/signature.h"
#include "harness/tools/bundle/verify.h"

namespace assay::cli {
namespace fs = std::filesystem;
namespace {

struct VerifyVerb {
  fs::path bundle;
  std::optional<fs::path> allowed;
  std::string identity, progress = "auto";
  VerifyOptions how;
};

void PrintList(const char* head, const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  Print(fmt::format("{}:\n", head));
  for (const std::string& line : lines) Print(fmt::format("  {}\n", line));
}

// False: it is not by whom it must be. Without a signature only where nobody was asked for.
bool AddSignature(const VerifyVerb& options, Verification& found) {
  std::error_code error;
  const fs::path file = SignatureOf(options.bundle);
  if (!fs::exists(file, error)) {
    if (options.allowed)
      found.contradicted.push_back(fmt::format("there is no signature {}", file.string()));
    else
      found.open.push_back("who made it: the bundle is not signed");
    return !options.allowed;
  }
  const auto signer = options.allowed ? std::optional(Signer{*options.allowed, options.identity}) : std::nullopt;
  const auto said = CheckSignature(options.bundle, signer);
  if (!said) {
    found.contradicted.push_back("signature: " + said.error().message);
    return false;
  }
  found.confirmed.push_back("signature: " + *said);
  if (!signer) found.open.push_back("whose key signed it: give --allowed-signers and --identity");
  return true;
}

// "": it may be a bundle.
std::string CheckMayBeBundle(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return "";
  fs::path folder = path.has_filename() ? path : path.parent_path();
  if (fs::exists(folder / kManifestName, error)) {
    return fmt::format("{} is an unpacked bundle: give the file that it was unpacked from, whose name ends in .tar.zst",
                       path.string());
  }
  return fmt::format(
      "{0} is a folder; make a bundle of it with `assay bundle {0} --out {1}.assay.tar.zst` and give that file",
      path.string(), folder.string());
}

int Verify(const VerifyVerb& options) {
  if (const std::string why = CheckMayBeBundle(options.bundle); !why.empty()) return Complain(kExitUsage, why);
  const auto container = ReadContainer(options.bundle);
  if (!container) return Complain(kExitUsage, container.error().message);
  if (!container->damage.empty()) {
    PrintList("damaged", container->damage);
    return Complain(kExitFailed, fmt::format("{} is refused: it is not what was bundled", options.bundle.string()));
  }
  Verification found;
  found.confirmed.push_back(fmt::format("integrity: all of {} have the SHA-256 of the MANIFEST",
                                        Counted(std::ssize(container->files), "file")));
  const bool signed_well = AddSignature(options, found);
  const Scratch scratch("verify");
  if (scratch.path.empty()) return Complain(kExitHarness, "cannot make a temporary folder; set TMPDIR");
  Verification computed;
  if (signed_well) {
    Progress progress(Progress::ParseMode(options.progress), 0);
    computed = VerifyBundle(container->files, scratch.path, options.how,
                            [&](const std::string& id, size_t done, size_t /*all*/) { progress.Update(done, 0, id); });
  }
  for (auto [from, to] :
       {std::pair{&computed.confirmed, &found.confirmed}, std::pair{&computed.open, &found.open},
        std::pair{&computed.claimed, &found.claimed}, std::pair{&computed.contradicted, &found.contradicted}}) {
    to->insert(to->end(), from->begin(), from->end());
  }
  PrintList("confirmed", found.confirmed);
  PrintList("not confirmed", found.open);
  PrintList("claimed, by the bundle alone", found.claimed);
  PrintList("contradicted", found.contradicted);
  if (found.contradicted.empty()) return kExitOk;
  return Complain(kExitFailed, fmt::format("{} is refused: {} of its statements do not hold", options.bundle.string(),
                                           found.contradicted.size()));
}

}  // namespace

void AddVerifyVerb(CLI::App& app, Action& action) {
  auto o = std::make_shared<VerifyVerb>();
  CLI::App* verb = app.add_subcommand(
      "verify", "Check a bundle without its hardware: is it whole, and does computing it again give the same?");
  verb->add_option("BUNDLE", o->bundle, "file of assay bundle; BUNDLE.sig beside it if it is signed")->required();
  auto* allowed =
      verb->add_option("--allowed-signers", o->allowed, "who may sign: lines 'IDENTITY KEY', see ssh-keygen(1)")
          ->type_name("FILE");
  auto* identity = verb->add_option("--identity", o->identity, "who must have signed it")->type_name("NAME");
  allowed->needs(identity);
  identity->needs(allowed);
  AddNumber<double>(
      *verb, "--recompute", o->how.recompute_s, {0, 1e6},
      "seconds for computing again cases without stored outputs, in an order that nobody could choose; 0: all");
  verb->add_option("--profile", o->how.own_profile, "the profile's file, for a bundle of assay conform --profile PATH")
      ->type_name("PATH");
  AddOptionFor(*verb, "--progress", o->progress);
  verb->callback([o, &action] { action = [o] { return Verify(*o); }; });
}

}  // namespace assay::cli
