// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/golden/verb_golden.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "harness/cli/number_option.h"
#include "harness/cli/options.h"
#include "harness/cli/verbs.h"
#include "harness/core/base/amounts.h"
#include "harness/core/base/parallel.h"
#include "harness/plan/find_suite.h"

namespace assay::cli {
namespace {

using GoldenAction = int (*)(const GoldenOptions&);

CLI::App* AddGoldenPart(CLI::App& verb, const std::shared_ptr<GoldenOptions>& o, Action& action, const char* name,
                        const char* doc, GoldenAction part) {
  CLI::App* app = verb.add_subcommand(name, doc);
  app->add_option("--store", o->store, "folder of the store; default: $ASSAY_GOLDEN_STORE, else ~/.cache/assay/golden")
      ->type_name("DIR");
  app->callback([o, part, &action] {
    action = [o, part] {
      if (o->run.jobs > 0) SetThreadCount(o->run.jobs);
      const bool is_open = o->run.tier == RunOptions().tier;
      if (is_open && IsConformance(o->run.selection.suite)) o->run.tier = Name(Tier::kReproducible);
      return part(*o);
    };
  });
  return app;
}

void AddJobs(CLI::App& app, GoldenOptions& o) {
  AddOptions(app, o.run, {"--jobs", "--progress"});
  app.get_option("--jobs")->description("number of threads; default: all cores");
}

// An option whose text `parse` reads.
template <class Target, class Parse>
void AddParsed(CLI::App& app, const char* name, Target& target, Parse parse, const char* doc, const char* example) {
  app.add_option_function<std::string>(
         name, [&target, parse](const std::string& text) { target = parse(text); }, doc)
      ->check([parse, example](const std::string& text) {
        return parse(text) ? std::string() : fmt::format("'{}' is not valid; give one like {}", text, example);
      });
}

}  // namespace

void AddGoldenVerb(CLI::App& app, Action& action) {
  auto o = std::make_shared<GoldenOptions>();
  CLI::App* verb = app.add_subcommand("golden", "The store of golden values: fill, check, list, shrink, export");
  verb->require_subcommand(1);
  const auto add = [&](const char* name, const char* doc, GoldenAction part) {
    return AddGoldenPart(*verb, o, action, name, doc, part);
  };

  CLI::App* build = add("build", "Compute the golden values of cases that the store lacks", BuildGoldens);
  AddCases(*build, o->run);
  AddOptions(*build, o->run, {"--tier"});
  AddJobs(*build, *o);

  CLI::App* verify =
      add("verify", "Check the store's files, or a manifest; exit 1 on damage or difference", VerifyGoldens);
  AddOptions(*verify, o->run, {"--filter"});
  verify->add_flag("--recompute", o->recompute, "also compute every value again and compare");
  verify
      ->add_option("--manifest", o->manifest,
                   "instead of the store: compute the cases of this manifest and compare hashes")
      ->type_name("FILE");
  verify->add_flag("--json", o->json, "print JSON instead of text");
  AddJobs(*verify, *o);

  CLI::App* list = add("list", "List every golden value: id, tier, bytes, age, version", ListGoldens);
  AddOptions(*list, o->run, {"--filter"});
  list->add_flag("--json", o->json, "print JSON instead of text");

  CLI::App* gc =
      add("gc", "Remove values of other versions, damaged files and leftovers of killed writers; with limits, more",
          CollectGoldens);
  AddParsed(*gc, "--max-bytes", o->limits.max_bytes, ParseBytes,
            "also remove the longest unused values until the store has this size", "500M, 2Gi or 1000000");
  AddParsed(*gc, "--older-than", o->limits.older_than_s, ParseAge, "also remove values unused for this long",
            "30d, 12h, 5m or 10s");
  gc->add_flag("--dry-run", o->limits.dry_run, "only print what would be removed");

  CLI::App* exporting = add("export", "Write one golden value as a file, or a manifest of many", ExportGolden);
  AddCases(*exporting, o->run);
  AddOptions(*exporting, o->run, {"--tier"});
  exporting->add_option("--out", o->out, "file for the value of the selected case: all planes, or one of them as .npy")
      ->type_name("FILE.safetensors|FILE.npy");
  exporting->add_option("--plane", o->plane, "plane for a .npy: value, value_lo, magnitude, sigma, error, ...")
      ->default_str("value");
  exporting->add_option("--output", o->output, "output of a case with several; default: the first")->type_name("NAME");
  exporting
      ->add_option("--manifest", o->manifest, "file for the hashes of all selected cases, in the reproducible tier")
      ->type_name("FILE");
  AddJobs(*exporting, *o);
}

}  // namespace assay::cli
