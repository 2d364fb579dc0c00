// SPDX-License-Identifier: Apache-2.0
// assay model: each node of a model of ONNX judged from its own operands, by the module assay in the user's Python,
// which this process becomes. Exit codes: 0 ok, 1 wrong results, 2 usage, 3 no runtime, 4 nothing judged.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "harness/cli/number_option.h"
#include "harness/cli/python_script.h"
#include "harness/cli/verbs.h"

namespace assay::cli {
namespace {

struct ModelOptions {
  std::string file, inputs, provider = "CPUExecutionProvider", contract, out, python;
  int64_t sample = 4096, seed = 0;
  bool fused = false;
};

int Become(const ModelOptions& options) {
  const Json settings = {{"file", options.file},         {"inputs", options.inputs}, {"provider", options.provider},
                         {"contract", options.contract}, {"out", options.out},       {"sample", options.sample},
                         {"seed", options.seed},         {"fused", options.fused}};
  return BecomeScript("_model_script.py", settings, options.python);
}

}  // namespace

void AddModelVerb(CLI::App& app, Action& action) {
  auto o = std::make_shared<ModelOptions>();
  CLI::App* verb = app.add_subcommand("model", "Say which node of a model of ONNX left its arithmetic first");
  verb->add_option("FILE", o->file, "the model, with its weights")->required()->type_name("FILE.onnx");
  verb->add_option("--inputs", o->inputs,
                   "arrays by the names of the graph's inputs; default: normal numbers by the shapes that the model "
                   "states, zeros of integers")
      ->type_name("FILE.npz");
  verb->add_option("--provider", o->provider,
                   "runtimes that execute its nodes, with commas between them: providers of ONNX Runtime, or openvino")
      ->type_name("NAMES")
      ->capture_default_str();
  verb->add_flag("--fused", o->fused, "also execute neighbours together, optimised, and name the smallest wrong group");
  verb->add_option("--contract", o->contract, "the arithmetic to judge by; default: that of each type");
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  AddNumber<int64_t>(*verb, "--sample", o->sample, {1, kMost}, "elements that are judged of a large output");
  AddNumber<int64_t>(*verb, "--seed", o->seed, {0, kMost}, "of inputs that are drawn");
  verb->add_option("--out", o->out,
                   "folder for a page, nodes.json and the tensors of each wrong result; several "
                   "runtimes have one each in it")
      ->type_name("DIR");
  verb->add_option("--python", o->python, "interpreter with onnx and onnxruntime; default: as assay run has it")
      ->type_name("PATH");
  verb->callback([o, &action] { action = [o] { return Become(*o); }; });
}

}  // namespace assay::cli
