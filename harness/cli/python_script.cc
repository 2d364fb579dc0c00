// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/python_script.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "harness/cli/verbs.h"
#include "harness/core/base/json_text.h"
#include "harness/engine/device/interpreter.h"

namespace assay::cli {

int BecomeScript(const std::string& script, const Json& settings, const std::string& python) {
  const auto modules = FindModules();
  if (!modules) return Complain(kExitHarness, modules.error().message);
  std::vector<std::string> words = {ChoosePython(python), (*modules / "assay" / script).string(), DumpJson(settings)};
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  execvp(pointers[0], pointers.data());
  return Complain(kExitUsage,
                  fmt::format("the interpreter {} cannot be run: {}; name one of CPython 3.10 or later with "
                              "--python PATH",
                              words[0], std::strerror(errno)));
}

}  // namespace assay::cli
