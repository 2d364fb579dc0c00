// SPDX-License-Identifier: Apache-2.0
#include "harness/tools/import/ggml.h"

#include <fmt/format.h>

#include "harness/core/base/text.h"
#include "harness/core/base/whole_file.h"
#include "harness/tools/import/ggml_cases.h"

namespace assay {
namespace {

bool IsNameLetter(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

struct GgmlCase {
  std::string_view op, vars, whole;
};

// The first NAME(key=...) of a line, in capitals; all empty where it has none. A colour may stand before it.
GgmlCase FindCase(std::string_view line) {
  for (size_t open = line.find('('); open != std::string_view::npos; open = line.find('(', open + 1)) {
    size_t begin = open;
    while (begin > 0 && IsNameLetter(line[begin - 1])) --begin;
    const size_t close = line.find(')', open);
    if (close == std::string_view::npos) return {};
    const std::string_view vars = line.substr(open + 1, close - open - 1);
    if (begin < open && line[begin] >= 'A' && line[begin] <= 'Z' && vars.find('=') != std::string_view::npos) {
      return {line.substr(begin, open - begin), vars, line.substr(begin, close + 1 - begin)};
    }
  }
  return {};
}

void AddCase(const GgmlCase& found, const ForeignCase& from, bool near_types, Imports& imports) {
  const auto vars = GgmlVars::Parse(found.vars);
  if (!vars) return imports.Refuse(from, vars.error().message);
  auto mapped = MapGgml(found.op, *vars, near_types);
  if (!mapped) return imports.Refuse(from, mapped.error().message);
  const size_t before = imports.mapped();
  imports.Add(from, std::move(mapped->spec));
  if (mapped->replaced_types && imports.mapped() > before) imports.CountReplacedTypes();
}

}  // namespace

Status ImportGgml(const std::filesystem::path& file, bool near_types, Imports& imports) {
  const auto text = ReadStream(file);
  if (!text) return tl::unexpected(text.error());
  size_t number = 0;
  for (const std::string_view line : Split(*text, '\n')) {
    ++number;
    const GgmlCase found = FindCase(line);
    if (found.op.empty()) continue;
    AddCase(found, {fmt::format("{}:{}", file.string(), number), std::string(found.whole)}, near_types, imports);
  }
  return {};
}

}  // namespace assay
