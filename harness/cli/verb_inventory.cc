// SPDX-License-Identifier: Apache-2.0
// assay inventory: of a framework's functions those that assay judges, and why not the others. Exit codes: 0 ok,
// 2 usage, 3 no framework.
#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "harness/cli/python_script.h"
#include "harness/cli/verbs.h"

namespace assay::cli {
namespace {

struct InventoryOptions {
  std::string framework, python;
  bool missing = false, json = false;
};

}  // namespace

void AddInventoryVerb(CLI::App& app, Action& action) {
  auto o = std::make_shared<InventoryOptions>();
  CLI::App* verb = app.add_subcommand(
      "inventory", "Count the functions of a framework that assay judges, and say why not the others");
  verb->add_option("FRAMEWORK", o->framework, "torch: the overloads of ATen in the installed PyTorch")
      ->required()
      ->check(CLI::IsMember({"torch"}));
  verb->add_flag("--missing", o->missing, "also name the functions that are not judged, by group");
  verb->add_flag("--json", o->json, "print JSON instead of text, with every overload");
  verb->add_option("--python", o->python, "interpreter with the framework; default: as assay run has it")
      ->type_name("PATH");
  verb->callback([o, &action] {
    action = [o] {
      const Json settings = {{"framework", o->framework}, {"missing", o->missing}, {"json", o->json}};
      return BecomeScript("_inventory_script.py", settings, o->python);
    };
  });
}

}  // namespace assay::cli
