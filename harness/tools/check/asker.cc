// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/check/asker.h"

#include <fmt/format.h>

namespace assay {

std::string OptionName(Asker asker, std::string_view option) {
  return fmt::format("{}{}", asker == Asker::kCommandLine ? "--" : "", option);
}

std::string OptionWith(Asker asker, std::string_view option, std::string_view value) {
  return fmt::format("{}{}'{}'", OptionName(asker, option), asker == Asker::kCommandLine ? " " : "=", value);
}

std::string AttributeWith(Asker asker, std::string_view key, std::string_view value) {
  return fmt::format("{}{}={}", asker == Asker::kCommandLine ? "--attr " : "", key, value);
}

std::string OperandWord(Asker asker, bool is_output, std::string_view name) {
  const char* kind = is_output ? "output" : "input";
  return asker == Asker::kCommandLine ? fmt::format("--{} {}=FILE", kind, name)
                                      : fmt::format("the {} '{}'", kind, name);
}

}  // namespace assay
