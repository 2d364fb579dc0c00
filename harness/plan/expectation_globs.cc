// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "harness/core/base/glob.h"
#include "harness/core/base/text.h"
#include "harness/core/data/dtype.h"
#include "harness/plan/expectation_words.h"

namespace assay {
namespace {

constexpr std::string_view kWild = "*?";

bool IsKeyCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// An id that stands there whole must be one that a case can have.
Status CheckId(std::string_view id, const OpCatalog& ops) {
  auto spec = ParseId(id);
  if (!spec) return tl::unexpected(spec.error());
  const OpSchema* schema = ops.find(spec->op);
  if (schema == nullptr) {
    return UnknownOperator(spec->op, ops);
  }
  auto canonical = Canonicalise(*std::move(spec), *schema);
  if (!canonical) return tl::unexpected(canonical.error());
  if (canonical->Id() == id) return {};
  return UsageError(fmt::format("there is no case '{}'; its id is {}", id, canonical->Id()));
}

// Lists the operators whose names fit the first part of the glob.
std::vector<const OpSchema*> OpsOf(std::string_view glob, const OpCatalog& ops) {
  const std::string_view start = glob.substr(0, std::min(glob.find('*'), glob.find('/')));
  const bool whole = start.size() < glob.size() && glob[start.size()] == '/';
  std::vector<const OpSchema*> found;
  for (const std::string& name : ops.names) {
    if (MatchesGlob(std::string(start) + (whole ? "" : "*"), name)) found.push_back(ops.find(name));
  }
  return found;
}

// Checks "key=" at `equals`: some operator has to have the key or, after a wildcard, one that ends in it.
Status CheckKey(std::string_view glob, size_t equals, const std::vector<const OpSchema*>& schemas) {
  size_t begin = equals;
  while (begin > 0 && IsKeyCharacter(glob[begin - 1])) --begin;
  const std::string_view key = glob.substr(begin, equals - begin);
  const bool open = begin == 0 || kWild.find(glob[begin - 1]) != std::string_view::npos;
  const auto matches = [&](std::string_view known) { return open ? known.ends_with(key) : known == key; };
  if (matches("fill") || matches("seed")) return {};
  for (const OpSchema* schema : schemas) {
    if (std::ranges::any_of(schema->attrs, [&](const AttrDef& def) { return matches(def.key); })) return {};
  }
  return UsageError(fmt::format("no operator that '{}' matches has a key '{}'", glob, key));
}

// The value of fill= in a glob, up to the next part of the id.
Status CheckFillIn(std::string_view glob) {
  const size_t at = glob.find("fill=");
  if (at == std::string_view::npos) return {};
  const std::string_view value = glob.substr(at + 5, glob.find('/', at) - at - 5);
  return value.empty() ? Status() : CheckFill(value);
}

// The second part of an id, where it stands in the glob without a wildcard.
Status CheckDTypesIn(std::string_view glob) {
  const std::vector<std::string_view> parts = Split(glob, '/');
  if (parts.size() < 3 || parts[0].find('*') != std::string_view::npos) return {};
  if (parts[1].find_first_of(kWild) != std::string_view::npos) return {};
  auto dtypes = ParseDTypeList(parts[1]);
  return dtypes ? Status() : tl::unexpected(dtypes.error());
}

}  // namespace

Status CheckCaseGlob(std::string_view glob, const OpCatalog& ops) {
  if (glob.find_first_of(kWild) == std::string_view::npos) return CheckId(glob, ops);
  const std::vector<const OpSchema*> schemas = OpsOf(glob, ops);
  if (schemas.empty()) {
    return UsageError(
        fmt::format("'{}' names no operator; {}", glob, KnownOperators(glob.substr(0, glob.find('/')), ops)));
  }
  for (size_t at = glob.find('='); at != std::string_view::npos; at = glob.find('=', at + 1)) {
    if (auto known = CheckKey(glob, at, schemas); !known) return known;
  }
  if (auto known = CheckDTypesIn(glob); !known) return known;
  return CheckFillIn(glob);
}

}  // namespace assay
