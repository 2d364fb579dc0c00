// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/check/verb_tensors.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <string>

#include "harness/core/base/text.h"
#include "harness/tools/check/check_case.h"

namespace assay::cli {

void AddTensorOptions(CLI::App& verb, CheckRequest& request) {
  verb.add_option("--op", request.op, "operator; assay list ops --verbose shows operands and attributes");
  verb.add_option("--attr", request.attrs, "attribute, unless it follows from the shapes; may be repeated")
      ->type_name("KEY=VALUE");
  verb.add_option("--input", request.inputs,
                  "input operand: NAME=FILE.npy or NAME=FILE.safetensors:TENSOR; may be repeated")
      ->type_name("NAME=FILE");
  verb.add_option("--output", request.outputs, "output to judge; repeated for each output of the operator")
      ->type_name("NAME=FILE");
  verb.add_option("--dtype", request.dtypes, "type of an operand that its file does not state: x=bf16")
      ->type_name("NAME=TYPE");
}

void AddJudgedByOptions(CLI::App& verb, CheckRequest& request) {
  verb.add_option(
      "--contract", request.contract,
      fmt::format(
          "arithmetic to judge by, e.g. f32acc or 'tf32; ftz=all'. Default: that of the dtype, with intermediates in a "
          "16-bit type of the inputs; functions may be off by {} ulp unless math= says otherwise",
          kDefaultMathUlp));
  verb.add_option("--require", request.requirement, "arithmetic that --contract has to meet, else below_contract");
  verb.add_option("--exact-ulp", request.exact_ulp,
                  "for integer data on which every legal order is exact: largest distance from the rounded golden "
                  "value in ulp (0: equal; -0 is 0)")
      ->check([](const std::string& text) {
        const auto ulp = ParseNumber<double>(text);
        return ulp && std::isfinite(*ulp) && *ulp >= 0 ? std::string()
                                                       : "'" + text + "' is not a finite number of ulp; give 0 or more";
      });
  verb.add_option("--tier", request.tier, "how golden values are computed; auto: reproducible for f64, else fast")
      ->check(CLI::IsMember({"auto", "fast", "reproducible"}))
      ->capture_default_str();
}

}  // namespace assay::cli
